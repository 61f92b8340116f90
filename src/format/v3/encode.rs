//! The batch header and records as bytes, the mirror of parse.rs and records.rs.

use super::layout::MAGIC;
use crate::error::Result;
use crate::format::v2::encode as v2;
use crate::format::v2::layout::{CHECKSUMMED, CRC, LENGTH_END};
use crate::model::{BatchHeader, NewRecord};
use crate::wire::{FieldSink, Sink, checksum};

pub use crate::format::v2::encode::{Deltas, record_len};

/// Bytes of a record after its length field.
#[inline]
pub fn body_len(record: &NewRecord<'_>, deltas: Deltas, has_attributes: bool) -> usize {
    v2::body_len(record, deltas) - usize::from(!has_attributes)
}

/// Writes a record of `body_len` bytes after its length field, as one run.
///
/// # Errors
/// `Limit` when it has more bytes than a length can say.
#[inline]
pub fn put_record(out: &mut Sink, record: &NewRecord<'_>, deltas: Deltas, body_len: usize, has_attributes: bool) -> Result<()> {
    match has_attributes {
        true => v2::put_record_as::<true>(out, record, deltas, body_len),
        false => v2::put_record_as::<false>(out, record, deltas, body_len),
    }
}

/// Writes a record whose bytes after the attributes byte are there.
///
/// # Errors
/// `Limit` when it has more bytes than a length can say.
pub fn put_run(out: &mut Sink, attributes: Option<u8>, rest: &[u8]) -> Result<()> {
    let len = rest.len() + usize::from(attributes.is_some());
    if i32::try_from(len).is_err() {
        return Err(v2::too_long("record", len));
    }
    put_integers(out, [v2::wide(len)]);
    if let Some(attributes) = attributes {
        out.put(&[attributes]);
    }
    out.put(rest);
    Ok(())
}

/// Writes a record in two parts: its metadata, and its payload (S-H1).
///
/// # Errors
/// `Limit` when it has more bytes than a length can say.
pub fn put_parts(
    (metadata, payloads): (&mut Sink, &mut Sink),
    record: &NewRecord<'_>,
    deltas: Deltas,
    body_len: usize,
    has_attributes: bool,
) -> Result<()> {
    let before = payloads.len();
    payloads.put(record.key.unwrap_or_default());
    payloads.put(record.value.unwrap_or_default());
    for header in record.headers {
        put_integers(payloads, [v2::wide(header.key.len())]);
        payloads.put(header.key);
        put_integers(payloads, [v2::stored_len(header.value)]);
        payloads.put(header.value.unwrap_or_default());
    }
    let metadata_of = WrittenMetadata {
        attributes: has_attributes.then_some(record.attributes),
        deltas: (deltas.timestamp, i64::from(deltas.offset)),
        lengths: (v2::stored_len(record.key), v2::stored_len(record.value)),
        headers: record.headers.len(),
    };
    put_metadata(metadata, &metadata_of, body_len).inspect_err(|_| payloads.truncate(before))
}

/// The fields of a record before its payload.
#[derive(Clone, Copy, Debug)]
struct WrittenMetadata {
    /// The attributes byte, where records have one.
    attributes: Option<u8>,
    /// To the base timestamp (ms), and to the base offset.
    deltas: (i64, i64),
    /// Of key and value; below zero is null.
    lengths: (i64, i64),
    /// How many headers there are.
    headers: usize,
}

/// Writes the metadata of a record of `body_len` bytes after its length field.
///
/// # Errors
/// `Limit` when it has more bytes than a length can say.
fn put_metadata(out: &mut Sink, metadata: &WrittenMetadata, body_len: usize) -> Result<()> {
    if i32::try_from(body_len).is_err() {
        return Err(v2::too_long("record", body_len));
    }
    put_integers(out, [v2::wide(body_len)]);
    if let Some(attributes) = metadata.attributes {
        out.put(&[attributes]);
    }
    let ((timestamp, offset), (key, value)) = (metadata.deltas, metadata.lengths);
    put_integers(out, [timestamp, offset, key, value, v2::wide(metadata.headers)]);
    Ok(())
}

/// Writes the header, but for length and checksum, which `seal` writes; what is written next are the records.
pub fn open(out: &mut Sink, header: &BatchHeader) {
    let last_offset_delta = header.last_offset.wrapping_sub(header.base_offset);
    let last_offset_delta = i32::try_from(last_offset_delta).unwrap_or(i32::MAX).cast_unsigned();
    for field in [
        header.base_offset.to_be_bytes().as_slice(),
        &[0; 4],
        &header.partition_leader_epoch.to_be_bytes(),
        &MAGIC.to_be_bytes(),
        &[0; CHECKSUMMED - CRC],
        &header.attributes.0.to_be_bytes(),
        &header.producer.id.to_be_bytes(),
        &header.producer.epoch.to_be_bytes(),
        &header.producer.base_sequence.to_be_bytes(),
    ] {
        out.put(field);
    }
    put_unsigned(out, u64::from(last_offset_delta));
    put_integers(out, [header.base_timestamp]);
    put_unsigned(out, header.max_timestamp.wrapping_sub(header.base_timestamp).cast_unsigned());
    out.put(&header.count.unwrap_or(0).to_be_bytes());
}

/// Writes length and checksum of the entry that starts at `start` and ends where `out` ends.
///
/// # Errors
/// `Limit` when the entry has more bytes than its length can say.
pub fn seal(out: &mut Sink, start: usize) -> Result<()> {
    let len = out.len().saturating_sub(start + LENGTH_END);
    let length = i32::try_from(len).map_err(|_| v2::too_long("batch", len))?;
    out.patch(start + LENGTH_END - 4, &length.to_be_bytes());
    let crc = checksum::crc32c(out.from(start + CHECKSUMMED));
    out.patch(start + CRC, &crc.to_be_bytes());
    Ok(())
}

/// Writes zigzag integers.
fn put_integers<const N: usize>(out: &mut Sink, integers: [i64; N]) {
    let mut buffer = [0; 64];
    let mut fields = FieldSink::new(&mut buffer);
    integers.iter().for_each(|integer| fields.varlong(*integer));
    let len = fields.len();
    out.put(buffer.get(..len).unwrap_or_default());
}

/// Writes an unsigned integer in its shortest form (S-V12).
fn put_unsigned(out: &mut Sink, mut value: u64) {
    while value >= 0x80 {
        out.put(&[u8::try_from(value & 0x7f).unwrap_or(0) | 0x80]);
        value >>= 7;
    }
    out.put(&[u8::try_from(value).unwrap_or(0)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::v3::layout::{MAX_HEADER_LEN, MIN_HEADER_LEN};
    use crate::format::v3::parse;
    use crate::model::{Attributes, RecordFormat};

    fn header(last_offset_delta: i32, base_timestamp: i64, max_timestamp: i64) -> BatchHeader {
        BatchHeader {
            base_offset: 5,
            last_offset: 5 + i64::from(last_offset_delta),
            count: Some(0),
            attributes: Attributes(0x80),
            base_timestamp,
            max_timestamp,
            ..BatchHeader::new(RecordFormat::V3)
        }
    }

    #[test]
    fn s_v30_to_s_v33_the_header_is_as_long_as_its_fields_and_comes_back() {
        const TIME: i64 = 1_600_000_000_000;
        for (last, base, max, len) in [
            (160, TIME, TIME + 16_000, 51),
            (127, TIME, TIME + 127, 49),
            (0, -1, -1, MIN_HEADER_LEN),
            (4, -1, TIME, 49),
            (-1, i64::MIN, 0, MAX_HEADER_LEN),
            (16_383, TIME, TIME - 1, 59),
            (i32::MAX, (1 << 41) - 1, i64::MAX, 61),
            (0, 1 << 41, 1 << 41, 50),
        ] {
            let expected = header(last, base, max);
            let mut out = Sink::default();
            out.put(b"before");
            open(&mut out, &expected);
            seal(&mut out, 6).unwrap();
            assert_eq!((out.len() - 6, parse::header_len(out.from(6))), (len, len), "{last} {base} {max}");
            let found = parse::header(out.from(6), 0).unwrap();
            parse::verify(out.from(6), found.crc).unwrap();
            assert_eq!(found, BatchHeader { size: found.size, crc: found.crc, ..expected });
        }
    }
}
