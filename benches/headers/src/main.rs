//! bare-header-loop <file> <repeat>: a loop over the batches of a segment that reads every field of each 61-byte header.
//! Prints one JSON line {"records":BATCHES,"checksum":"S","seconds":[...]}; the checksum is the sum that `measure.py`
//! makes again from the table of `batches`. A ruler: it panics on bad input.

use std::hint::black_box;
use std::time::Instant;

const HEADER_BYTES: usize = 61;
const LOG_OVERHEAD: usize = 12;

/// The fields in wire order.
struct Header {
    base_offset: i64,
    length: i32,
    partition_leader_epoch: i32,
    magic: i8,
    crc: u32,
    attributes: i16,
    last_offset_delta: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    records_count: i32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).expect("a readable file");
    let repeat: usize = arguments[2].parse().expect("a number of repeats");
    let (batches, checksum) = pass(&data);
    let seconds: Vec<f64> = (0..repeat).map(|_| timed_pass(&data)).collect();
    println!("{{\"records\":{batches},\"checksum\":\"{checksum}\",\"seconds\":{seconds:?}}}");
}

fn timed_pass(data: &[u8]) -> f64 {
    let start = Instant::now();
    black_box(pass(black_box(data)));
    start.elapsed().as_secs_f64()
}

/// Returns the number of batches and the sum of the fields that `batches` shows unchanged.
fn pass(data: &[u8]) -> (u64, i64) {
    let (mut position, mut batches, mut sum) = (0, 0, 0i64);
    while position + HEADER_BYTES <= data.len() {
        let header = black_box(read(&data[position..position + HEADER_BYTES]));
        sum = sum.wrapping_add(checksum(&header));
        batches += 1;
        position += LOG_OVERHEAD + header.length as usize;
    }
    assert_eq!(position, data.len(), "a torn tail");
    (batches, sum)
}

fn read(bytes: &[u8]) -> Header {
    Header {
        base_offset: i64::from_be_bytes(take(bytes, 0)),
        length: i32::from_be_bytes(take(bytes, 8)),
        partition_leader_epoch: i32::from_be_bytes(take(bytes, 12)),
        magic: i8::from_be_bytes(take(bytes, 16)),
        crc: u32::from_be_bytes(take(bytes, 17)),
        attributes: i16::from_be_bytes(take(bytes, 21)),
        last_offset_delta: i32::from_be_bytes(take(bytes, 23)),
        base_timestamp: i64::from_be_bytes(take(bytes, 27)),
        max_timestamp: i64::from_be_bytes(take(bytes, 35)),
        producer_id: i64::from_be_bytes(take(bytes, 43)),
        producer_epoch: i16::from_be_bytes(take(bytes, 51)),
        base_sequence: i32::from_be_bytes(take(bytes, 53)),
        records_count: i32::from_be_bytes(take(bytes, 57)),
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("N bytes")
}

fn checksum(header: &Header) -> i64 {
    let last_offset = header.base_offset.wrapping_add(i64::from(header.last_offset_delta));
    [
        header.base_offset, last_offset, header.base_timestamp, header.max_timestamp, header.producer_id,
        LOG_OVERHEAD as i64 + i64::from(header.length), i64::from(header.partition_leader_epoch),
        i64::from(header.magic), i64::from(header.crc), i64::from(header.attributes),
        i64::from(header.producer_epoch), i64::from(header.base_sequence), i64::from(header.records_count),
    ]
    .into_iter()
    .fold(0, i64::wrapping_add)
}
