//! Encode contestant: kafka-protocol's RecordBatchEncoder. Its levels are its own, whatever LEVEL says.
//! usage: encode-kafka-protocol CODEC LEVEL FILE REPEAT OUTPUT
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::records::{Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let options = RecordEncodeOptions { version: 2, compression: compression(&args[1]) };
    let batches = load(std::fs::read(&args[3]).unwrap());
    let repeat: usize = args[4].parse().unwrap();
    let mut buffer = BytesMut::with_capacity(2 << 20);
    write(&batches, &options, &mut buffer, &args[5]);
    let mut size = encode(&batches, &options, &mut buffer);
    let mut seconds = vec![];
    for _ in 0..repeat {
        let start = Instant::now();
        size = encode(&batches, &options, &mut buffer);
        seconds.push(start.elapsed().as_secs_f64());
    }
    let records: usize = batches.iter().map(Vec::len).sum();
    println!("{{\"records\":{records},\"bytes\":{size},\"seconds\":{seconds:?}}}");
}

fn compression(codec: &str) -> Compression {
    match codec {
        "none" => Compression::None,
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        _ => panic!("codec {codec}"),
    }
}

/// The records of each batch of a segment, numbered from 0 as a producer does.
fn load(segment: Vec<u8>) -> Vec<Vec<Record>> {
    let mut left = Bytes::from(segment);
    let mut batches = vec![];
    while left.has_remaining() {
        let mut records = RecordBatchDecoder::decode(&mut left).unwrap().records;
        for (index, record) in records.iter_mut().enumerate() {
            record.offset = index as i64;
            record.sequence = index as i32;
        }
        batches.push(records);
    }
    batches
}

fn encode(batches: &[Vec<Record>], options: &RecordEncodeOptions, buffer: &mut BytesMut) -> usize {
    let mut size = 0;
    for batch in batches {
        buffer.clear();
        RecordBatchEncoder::encode(buffer, batch.iter(), options).unwrap();
        size += buffer.len();
    }
    size
}

fn write(batches: &[Vec<Record>], options: &RecordEncodeOptions, buffer: &mut BytesMut, path: &str) {
    let mut out = vec![];
    for batch in batches {
        buffer.clear();
        RecordBatchEncoder::encode(buffer, batch.iter(), options).unwrap();
        out.extend_from_slice(buffer);
    }
    std::fs::write(path, out).unwrap();
}
