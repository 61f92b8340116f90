//! Whether a batch that says magic 3 is one of magic 2 (FND-18). No checksum covers the magic: one flipped bit makes 3 of 2, and would bring a
//! producer of garbage, whose transaction would never end.
//!
//! A batch is refused when its header makes no sense as magic 3, and header and first record do as magic 2. No more than the bytes of the
//! longest header are looked at: whoever reads headers alone has no others.

use super::layout::MAX_HEADER_LEN;
use crate::format::v2;
use crate::model::{BatchHeader, CompressionType, Producer};
use crate::wire::{Cursor, as_u64};

/// True for an entry of magic 2. `header` is that of magic 3, and the records are `behind` it.
#[inline]
pub(super) fn is_magic_2(header: &BatchHeader, last_offset_delta: i32, bytes: &[u8], behind: &[u8]) -> bool {
    !makes_sense(header, last_offset_delta, behind) && !is_packed_behind(header, bytes, behind) && makes_sense_as_2(bytes)
}

/// Milliseconds: timestamps of one batch are some 70 years apart at most.
const LONGEST: i64 = 1 << 41;

/// True for a header as writers make them. Others are read too, unless they are of magic 2: that is asked of these only.
#[inline]
fn makes_sense(header: &BatchHeader, last_offset_delta: i32, behind: &[u8]) -> bool {
    /// Timestamps are of later than April 1970, or there are none.
    const EARLIEST: i64 = 1 << 33;
    let count = i64::from(header.count.unwrap_or(-1));
    let spread = header.max_timestamp.wrapping_sub(header.base_timestamp);
    (0..=i64::from(last_offset_delta) + 1).contains(&count)
        && (count > 0 || behind.is_empty())
        && (header.base_timestamp == -1 || header.base_timestamp >= EARLIEST && (0..LONGEST).contains(&spread))
        && is_known(header.producer)
}

/// True when a stream of the batch's codec starts where the records of magic 3 start.
#[cold]
fn is_packed_behind(header: &BatchHeader, bytes: &[u8], behind: &[u8]) -> bool {
    let signature: &[u8] = match header.compression() {
        CompressionType::Gzip => b"\x1f\x8b",
        CompressionType::Snappy => b"\x82SNA",
        CompressionType::Lz4 => b"\x04\x22\x4d\x18",
        CompressionType::Zstd => b"\x28\xb5\x2f\xfd",
        _ => return false,
    };
    let seen = MAX_HEADER_LEN.saturating_sub(bytes.len() - behind.len());
    behind.get(..seen.min(behind.len())).is_some_and(|seen| seen.starts_with(signature))
}

/// True for a header of magic 2 whose first record, where it is not packed, has a length that fits.
#[cold]
fn makes_sense_as_2(bytes: &[u8]) -> bool {
    let Ok(header) = v2::parse::header(bytes, 0) else { return false };
    let last_offset_delta = header.last_offset.wrapping_sub(header.base_offset);
    let count = i64::from(header.count.unwrap_or(-1));
    let spread = header.max_timestamp.wrapping_sub(header.base_timestamp);
    let section_len = section_len(bytes);
    // Emptied batches keep their offsets. Where magic 2 has its last one, magic 3 without a producer has -1.
    last_offset_delta >= 0
        && (0..=last_offset_delta.saturating_add(1)).contains(&count)
        && (count > 0) == (section_len > 0)
        && header.base_timestamp >= -1
        // Stamps of a broker may be earlier than those of the client.
        && (header.base_timestamp == -1 || (-LONGEST..LONGEST).contains(&spread))
        && is_possible(header.producer)
        && (count == 0 || header.compression() != CompressionType::None || first_fits(bytes, count, section_len))
}

/// Bytes of the records of magic 2, as the length of the batch says.
fn section_len(bytes: &[u8]) -> u64 {
    let len = bytes.get(v2::layout::LENGTH_END - 4..).and_then(|rest| rest.first_chunk::<4>());
    let len = u64::try_from(len.map_or(0, |len| i32::from_be_bytes(*len))).unwrap_or(0);
    (len + as_u64(v2::layout::LENGTH_END)).saturating_sub(as_u64(v2::layout::HEADER_LEN))
}

/// True when a plain record of magic 2 fits behind its header, or, as the only one, ends where the batch ends.
fn first_fits(bytes: &[u8], count: i64, section_len: u64) -> bool {
    let seen = bytes.get(v2::layout::HEADER_LEN..bytes.len().min(MAX_HEADER_LEN)).unwrap_or_default();
    let mut cursor = Cursor::new(seen, "FND-18");
    let Ok(Ok(len)) = cursor.take_varint("length").map(u64::try_from) else { return false };
    let end = as_u64(seen.len() - cursor.left().len()) + len;
    len + 1 >= as_u64(v2::layout::MIN_RECORD_LEN) && if count == 1 { end == section_len } else { end < section_len }
}

/// True for a producer with an epoch, and for none.
fn is_known(producer: Producer) -> bool {
    producer == Producer::default() || producer.id >= 0 && producer.epoch >= 0 && producer.base_sequence >= -1
}

/// True for a producer as clients write it: some tell sequences without an id.
fn is_possible(producer: Producer) -> bool {
    producer.id >= -1 && producer.epoch >= -1 && producer.base_sequence >= -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::v2::write::Deltas;
    use crate::format::v3::parse::header;
    use crate::format::v3::write;
    use crate::model::{Attributes, NewRecord, RecordFormat};

    fn made_up() -> BatchHeader {
        BatchHeader {
            position: 0,
            size: 0,
            format: RecordFormat::V3,
            magic: 3,
            base_offset: 5,
            last_offset: 5,
            count: Some(1),
            attributes: Attributes(0x80),
            base_timestamp: 0,
            max_timestamp: 0,
            crc: 0,
            partition_leader_epoch: -1,
            producer: Producer::default(),
        }
    }

    #[test]
    fn s_v11_a_batch_of_magic_2_whose_magic_was_flipped_is_none_of_magic_3() {
        const DAY: i64 = 86_400_000;
        let record = NewRecord { value: Some(b"value"), ..NewRecord::default() };
        for time in (0..300).map(|index| 1_050_000_000_000 + index * 51 * DAY + index * 7919) {
            let producers = [-1, 0, 1, 9, 300, 4000, 70_000, 1 << 33, (1 << 33) + 5].into_iter().cycle();
            for (count, producer) in (0..20).map(|index| 1 + index * index).zip(producers) {
                let new = BatchHeader {
                    format: RecordFormat::V2,
                    magic: 3,
                    base_offset: 0,
                    last_offset: count - 1,
                    count: Some(i32::try_from(count).unwrap()),
                    attributes: Attributes(0x10),
                    base_timestamp: time,
                    max_timestamp: time + count * 13,
                    producer: if producer < 0 { Producer::default() } else { Producer { id: producer, epoch: 0, base_sequence: 5 } },
                    ..made_up()
                };
                let mut out = crate::wire::Sink::default();
                v2::write::open(&mut out);
                for offset in 0..i32::try_from(count).unwrap() {
                    let deltas = Deltas { timestamp: 13, offset };
                    v2::write::put_record(&mut out, &record, deltas, v2::write::body_len(&record, deltas)).unwrap();
                }
                v2::write::seal(&mut out, 0, &new).unwrap();
                let mut entry = out.bytes().to_vec();
                assert_eq!(v2::parse::header(&entry, 0).unwrap().count, new.count);
                entry[16] = 3;
                let refused = header(&entry, 0).map(|header| (header.count, header.producer)).unwrap_err();
                assert!(["FND-18", "PRM-4"].contains(&refused.rule()), "{time} {count} {producer}: {refused}");
            }
        }
    }

    #[test]
    fn s_v11_early_batches_of_magic_3_are_read_whatever_their_bytes_are() {
        let producers =
            [Producer::default(), Producer { id: 0, epoch: 0, base_sequence: 0 }, Producer { id: 7, epoch: 1, base_sequence: 65_536 }];
        let bodies = [
            [0_u8; 40],
            [1; 40],
            [0xff; 40],
            std::array::from_fn(|at| u8::from(at % 4 == 3)),
            std::array::from_fn(|at| u8::from(at % 4 == 1)),
        ];
        let mut seen = 0;
        for (codec, signature) in [
            (0, b"".as_slice()),
            (1, b"\x1f\x8b"),
            (2, b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"),
            (3, b"\x04\x22\x4d\x18"),
            (4, b"\x28\xb5\x2f\xfd"),
        ] {
            for (base, spread) in [(0, 0), (5, 0), (100, 300), (9000, 1), (1 << 32, 1 << 20), (-2, 0)] {
                for (producer, body) in producers.iter().flat_map(|producer| bodies.iter().map(move |body| (*producer, body))) {
                    for last_offset in [5, 6, 300] {
                        let new = BatchHeader {
                            last_offset,
                            attributes: Attributes(0x80 | codec),
                            base_timestamp: base,
                            max_timestamp: base + spread,
                            producer,
                            ..made_up()
                        };
                        let mut out = crate::wire::Sink::default();
                        write::open(&mut out, &new);
                        out.put(signature);
                        out.put(body);
                        write::seal(&mut out, 0).unwrap();
                        for seen in [out.bytes().len(), MAX_HEADER_LEN] {
                            let read = header(&out.bytes()[..seen], 0);
                            assert_eq!(read.map(|read| read.count), Ok(Some(1)), "{new:?} {body:?}");
                        }
                        seen += 1;
                    }
                }
            }
        }
        assert_eq!(seen, 5 * 6 * 15 * 3);
    }

    #[test]
    fn s_v11_a_small_batch_of_magic_3_is_no_empty_one_of_magic_2() {
        // One of 61 bytes ends where a header of magic 2 ends, with zeros for its count.
        for len in 1..64 {
            let mut out = crate::wire::Sink::default();
            write::open(&mut out, &made_up());
            out.put(&[0; 64][..len]);
            write::seal(&mut out, 0).unwrap();
            assert_eq!(header(out.bytes(), 0).map(|read| read.count), Ok(Some(1)), "{len}");
        }
    }
}
