//! Batches as writers make them are read by their own magic, whole and in part, and refused under the other.

use super::*;
use crate::format::v2::encode::Deltas;
use crate::format::v3::encode;
use crate::format::v3::layout::MAX_HEADER_LEN;
use crate::format::v3::parse::{self, header};
use crate::model::{Attributes, NewRecord, RecordFormat};

fn made_up() -> BatchHeader {
    BatchHeader {
        base_offset: 5,
        last_offset: 5,
        count: Some(1),
        attributes: Attributes(0x80),
        base_timestamp: 0,
        max_timestamp: 0,
        ..BatchHeader::new(RecordFormat::V3)
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
            v2::encode::open(&mut out);
            for offset in 0..i32::try_from(count).unwrap() {
                let deltas = Deltas { timestamp: 13, offset };
                v2::encode::put_record(&mut out, &record, deltas, v2::encode::body_len(&record, deltas)).unwrap();
            }
            v2::encode::seal(&mut out, 0, &new).unwrap();
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
    let bodies =
        [[0_u8; 40], [1; 40], [0xff; 40], std::array::from_fn(|at| u8::from(at % 4 == 3)), std::array::from_fn(|at| u8::from(at % 4 == 1))];
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
                    encode::open(&mut out, &new);
                    out.put(signature);
                    out.put(body);
                    encode::seal(&mut out, 0).unwrap();
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
    encode::open(&mut out, new);
    for (offset, value) in (0..).zip(values) {
        let (record, deltas) = (NewRecord { value: Some(value), ..NewRecord::default() }, Deltas { timestamp: 13, offset });
        let body_len = encode::body_len(&record, deltas, false);
        match is_metadata_first {
            true => encode::put_parts((&mut front, &mut back), &record, deltas, body_len, false).unwrap(),
            false => encode::put_record(&mut front, &record, deltas, body_len, false).unwrap(),
        }
    }
    out.put(front.bytes());
    out.put(back.bytes());
    encode::seal(&mut out, 0).unwrap();
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
        encode::open(&mut out, &made_up());
        out.put(&[0; 64][..len]);
        encode::seal(&mut out, 0).unwrap();
        assert_eq!(header(out.bytes(), 0).map(|read| read.count), Ok(Some(1)), "{len}");
    }
}
