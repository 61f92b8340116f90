//! Whether a batch has the magic of the other batch format (FND-18). No checksum covers the magic, and one flipped bit makes 3 of 2, or 2 of 3:
//! a producer of garbage, whose transaction would never end, or a batch without records.
//!
//! A batch is refused when the reading that its magic states does not hold, and the other one does. The records are part of a reading, as far as
//! they can be seen: whoever reads headers alone has a few of their bytes, and refuses nothing that is read when all of them are there.

use super::layout::MIN_RECORD_LEN;
use super::metadata::Prefix;
use super::parse;
use crate::error::{Error, ErrorKind};
use crate::format::v2;
use crate::format::v2::layout::LENGTH_END;
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, Producer, Section};
use crate::wire::{Cursor, as_u64};

/// The error of such a batch.
#[cold]
pub fn refusal(what: &'static str) -> Error {
    Error::from(ErrorKind::Invalid { rule: "FND-18", what }).in_field("magic")
}

/// True for an entry of magic 2 that says 3. `header` is that of magic 3, and the records are `behind` it.
#[inline]
pub(super) fn is_magic_2(header: &BatchHeader, last_offset_delta: i32, bytes: &[u8], behind: &[u8]) -> bool {
    !makes_sense(header, last_offset_delta, behind) && fit_as_2(bytes) > fit(header, bytes, bytes.len() - behind.len())
}

/// True for an entry of magic 3 that says 2. To be asked of those with attributes that magic 2 does not use, and of those that are none of it.
#[cold]
#[inline(never)]
pub fn is_magic_3(bytes: &[u8]) -> bool {
    let Ok(header) = parse::header(bytes, 0) else { return false };
    let records_at = parse::header_len(bytes);
    let fit = fit(&header, bytes, records_at);
    let last_offset_delta = i32::try_from(last_offset_delta(&header)).unwrap_or(-1);
    // Records that are where they should be say more than timestamps, which delete horizons put far apart.
    let is_likely =
        fit == Fit::Yes && header.count > Some(0) || makes_sense(&header, last_offset_delta, bytes.get(records_at..).unwrap_or_default());
    is_likely && fit > fit_as_2(bytes)
}

/// True for a header as writers make them. Others are read too, unless they are of magic 2: that is asked of these only.
#[inline]
fn makes_sense(header: &BatchHeader, last_offset_delta: i32, behind: &[u8]) -> bool {
    /// Timestamps are of later than April 1970, or there are none.
    const EARLIEST: i64 = 1 << 33;
    /// Milliseconds: timestamps of one batch are some 70 years apart at most.
    const LONGEST: i64 = 1 << 41;
    let count = i64::from(header.count.unwrap_or(-1));
    let spread = header.max_timestamp.wrapping_sub(header.base_timestamp);
    (0..=i64::from(last_offset_delta) + 1).contains(&count)
        && (count > 0 || behind.is_empty())
        && (header.base_timestamp == -1 || header.base_timestamp >= EARLIEST && (0..LONGEST).contains(&spread))
        && is_known(header.producer)
}

/// True for a producer with an epoch, and for none.
fn is_known(producer: Producer) -> bool {
    producer == Producer::default() || producer.id >= 0 && producer.epoch >= 0 && producer.base_sequence >= -1
}

/// How well a reading holds; the better the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It cannot be.
    No,
    /// Nothing speaks against it.
    Maybe,
    /// The records are where they should be, as far as they are seen.
    Yes,
}

/// How well an entry is one of magic 2, whose header makes sense besides.
#[cold]
fn fit_as_2(bytes: &[u8]) -> Fit {
    let Ok(header) = v2::parse::header(bytes, 0) else { return Fit::No };
    let last_offset_delta = last_offset_delta(&header);
    // Emptied batches keep their offsets. Where magic 2 has its last one, magic 3 without a producer has -1.
    let has_offsets = last_offset_delta >= 0 && i64::from(header.count.unwrap_or(-1)) <= last_offset_delta.saturating_add(1);
    // Some clients tell sequences without an id.
    let Producer { id, epoch, base_sequence } = header.producer;
    let has_producer = id >= -1 && epoch >= -1 && base_sequence >= -1;
    if has_offsets && has_producer && header.base_timestamp >= -1 { fit(&header, bytes, v2::layout::HEADER_LEN) } else { Fit::No }
}

/// How well the records of an entry fit what its header says.
#[cold]
fn fit(header: &BatchHeader, bytes: &[u8], records_at: usize) -> Fit {
    let end = entry_len(bytes);
    let len = end.saturating_sub(as_u64(records_at));
    let seen = bytes.get(records_at..).unwrap_or_default();
    let seen = usize::try_from(len).ok().and_then(|len| seen.get(..len)).unwrap_or(seen);
    let count = i64::from(header.count.unwrap_or(-1));
    if count < 0 || len == 0 {
        return if count == 0 { Fit::Yes } else { Fit::No };
    }
    let are_there = match header.compression() {
        CompressionType::None => return if count > 0 && are_records(header, seen, len) { Fit::Yes } else { Fit::No },
        CompressionType::Gzip => starts_alike(seen, b"\x1f\x8b"),
        CompressionType::Snappy => starts_alike(seen, b"\x82SNAPPY\0"),
        CompressionType::Lz4 => starts_alike(seen, b"\x04\x22\x4d\x18"),
        CompressionType::Zstd => starts_alike(seen, b"\x28\xb5\x2f\xfd"),
        CompressionType::Plugin(_) | CompressionType::Unknown(_) => false,
    };
    // Some codecs have other ways to begin, and plugins any.
    let may_be = (1..=last_offset_delta(header).saturating_add(1)).contains(&count);
    if are_there {
        Fit::Yes
    } else if may_be {
        Fit::Maybe
    } else {
        Fit::No
    }
}

fn last_offset_delta(header: &BatchHeader) -> i64 {
    header.last_offset.wrapping_sub(header.base_offset)
}

/// Bytes of the entry, as it says.
fn entry_len(bytes: &[u8]) -> u64 {
    let length = bytes.get(LENGTH_END - 4..).and_then(|rest| rest.first_chunk::<4>());
    u64::try_from(length.map_or(0, |length| i32::from_be_bytes(*length))).unwrap_or(0) + as_u64(LENGTH_END)
}

/// True when one is the beginning of the other.
fn starts_alike(seen: &[u8], signature: &[u8]) -> bool {
    seen.iter().zip(signature).all(|(byte, expected)| byte == expected)
}

/// True when plain records end where their `len` bytes end, as far as they are `seen`.
fn are_records(header: &BatchHeader, seen: &[u8], len: u64) -> bool {
    let count = usize::try_from(header.count.unwrap_or(0)).unwrap_or(0);
    let least = if header.has_record_attributes() { v2::layout::MIN_RECORD_LEN } else { MIN_RECORD_LEN };
    if as_u64(count).saturating_mul(as_u64(least)) > len {
        return false;
    }
    let is_whole = as_u64(seen.len()) == len;
    if header.is_metadata_first() {
        let limits = Limits { max_headers: u64::MAX, ..Limits::default() };
        let mut prefix = Prefix::new(count, header.has_record_attributes(), &limits);
        return match is_whole {
            true => prefix.ensure_whole(&Section::new(seen, seen.len())).is_ok(),
            false => prefix.read(seen, seen.len(), false, &mut |_| ()).is_ok(),
        };
    }
    let mut at = 0;
    for _ in 0..count {
        let rest = usize::try_from(at).ok().and_then(|at| seen.get(at..)).unwrap_or_default();
        let mut cursor = Cursor::new(rest, CUT);
        let body = match cursor.take_varint("length") {
            Ok(body) => u64::try_from(body).unwrap_or(0),
            Err(error) => return !is_whole && error.rule() == CUT,
        };
        let record = as_u64(rest.len() - cursor.left().len()) + body;
        at += record;
        if record < as_u64(least) || at > len {
            return false;
        }
    }
    at == len
}

/// The rule of a length that ends behind what is seen.
const CUT: &str = "FND-18";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::v2::write::Deltas;
    use crate::format::v3::layout::MAX_HEADER_LEN;
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

    /// A batch of these values, 13 ms apart.
    fn written(new: &BatchHeader, values: &[&[u8]], is_metadata_first: bool) -> Vec<u8> {
        let (mut out, mut front, mut back) = Default::default();
        write::open(&mut out, new);
        for (offset, value) in (0..).zip(values) {
            let (record, deltas) = (NewRecord { value: Some(value), ..NewRecord::default() }, Deltas { timestamp: 13, offset });
            let body_len = write::body_len(&record, deltas, false);
            match is_metadata_first {
                true => write::put_parts((&mut front, &mut back), &record, deltas, body_len, false).unwrap(),
                false => write::put_record(&mut front, &record, deltas, body_len, false).unwrap(),
            }
        }
        out.put(front.bytes());
        out.put(back.bytes());
        write::seal(&mut out, 0).unwrap();
        out.into_vec()
    }

    #[test]
    fn s_v11_what_is_read_whole_is_refused_by_no_part_of_it() {
        let values: [&[&[u8]]; 5] = [&[&[0; 8]], &[&[0; 10]], &[&[0; 10], b""], &[&[0; 2], &[0; 2], &[0, 0, 0, 1]], &[&[0; 90]]];
        let mut asked = 0;
        for producer in [0, 5, 1 << 40].map(|id| Producer { id, epoch: 1, base_sequence: 0 }) {
            for (base, values) in [0, 127, 128, 1000, 86_400_000].into_iter().flat_map(|base| values.map(|values| (base, values))) {
                for (is_metadata_first, bits) in [(false, 0x80), (true, 0x1080)] {
                    let count = i32::try_from(values.len()).unwrap();
                    let new = BatchHeader {
                        last_offset: 4 + i64::from(count),
                        count: Some(count),
                        attributes: Attributes(bits),
                        base_timestamp: base,
                        max_timestamp: base + 13,
                        producer,
                        ..made_up()
                    };
                    let entry = written(&new, values, is_metadata_first);
                    for len in parse::header_len(&entry)..=entry.len() {
                        assert_eq!(header(&entry[..len], 0).map(|read| read.count), Ok(Some(count)), "{new:?} {len}");
                    }
                    asked += usize::from(!makes_sense(&new, count - 1, &[0]));
                }
            }
        }
        assert_eq!(asked, 3 * 5 * 5 * 2);
    }

    #[test]
    fn s_v11_a_batch_of_magic_3_whose_magic_was_flipped_is_none_of_magic_2() {
        for producer in
            [Producer::default(), Producer { id: 0, epoch: 0, base_sequence: 0 }, Producer { id: 9, epoch: 3, base_sequence: 1 << 20 }]
        {
            for (is_metadata_first, bits) in [(false, 0x80), (true, 0x1080)] {
                for time in (0..300).map(|index| (1 << 33) + index * 7_000_000_019) {
                    let new = BatchHeader {
                        last_offset: 6,
                        count: Some(2),
                        attributes: Attributes(bits),
                        base_timestamp: time,
                        max_timestamp: time + 13,
                        producer,
                        ..made_up()
                    };
                    let mut entry = written(&new, &[b"value", &[0; 9]], is_metadata_first);
                    entry[16] = 2;
                    assert!(is_magic_3(&entry), "{new:?}");
                }
            }
        }
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
