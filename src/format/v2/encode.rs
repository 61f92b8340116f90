//! Records and the batch header as bytes, the mirror of records.rs and parse.rs.
//!
//! A record is measured before it is written: its length is first, and a batch that is nearly full must know it too.

use super::layout::{CHECKSUMMED, CRC, HEADER_LEN, LENGTH_END, MAGIC, MAX_RECORD_OVERHEAD};
use crate::error::{ErrorKind, Result};
use crate::model::{BatchHeader, NewHeader, NewRecord};
use crate::wire::varint::len_of;
use crate::wire::{FieldSink, Sink, checksum};

/// What a record stores relative to its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deltas {
    /// To baseOffset.
    pub offset: i32,
    /// To baseTimestamp, ms.
    pub timestamp: i64,
}

/// Bytes of a record after its length field.
#[inline]
pub fn body_len(record: &NewRecord<'_>, deltas: Deltas) -> usize {
    1 + len_of(deltas.timestamp) + len_of(i64::from(deltas.offset)) + contents_len(record)
}

/// Bytes of a record with its length field.
#[inline]
pub fn record_len(body_len: usize) -> usize {
    len_of(wide(body_len)) + body_len
}

/// The most bytes that a record can have whatever its deltas, as Kafka's producer reckons.
pub fn record_len_bound(record: &NewRecord<'_>) -> usize {
    MAX_RECORD_OVERHEAD + contents_len(record)
}

/// Writes a record of `body_len` bytes after its length field.
///
/// # Errors
/// `Limit` when it has more bytes than a length can say.
#[inline]
pub fn put_record(out: &mut Sink, record: &NewRecord<'_>, deltas: Deltas, body_len: usize) -> Result<()> {
    put_record_as::<true>(out, record, deltas, body_len)
}

/// The same with or without the attributes byte.
///
/// # Errors
/// As `put_record`.
#[inline]
pub fn put_record_as<const HAS_ATTRIBUTES: bool>(out: &mut Sink, record: &NewRecord<'_>, deltas: Deltas, body_len: usize) -> Result<()> {
    if i32::try_from(body_len).is_err() {
        return Err(too_long("record", body_len));
    }
    let buffer = out.unfilled(body_len + 2 * WINDOW);
    match put_fields::<HAS_ATTRIBUTES>(RecordEncoder { buffer, at: 0 }, record, deltas, body_len) {
        Some(written) => out.fill(written),
        None => return Err(ErrorKind::Internal { what: "a record is longer than its measure".to_owned() }.into()),
    }
    Ok(())
}

/// Leaves space for the header that `seal` writes; what is written next are the records.
#[inline]
pub fn open(out: &mut Sink) {
    out.put(&[0; HEADER_LEN]);
}

/// Writes the header of the entry that starts at `start` and ends where `out` ends, with the length and checksum that follow from the rest.
///
/// # Errors
/// `Limit` when the entry has more bytes than its length can say.
pub fn seal(out: &mut Sink, start: usize, header: &BatchHeader) -> Result<()> {
    let len = out.len().saturating_sub(start + LENGTH_END);
    let length = i32::try_from(len).map_err(|_| too_long("batch", len))?;
    let last_offset_delta = i32::try_from(header.last_offset.wrapping_sub(header.base_offset)).unwrap_or(i32::MAX);
    let mut head = [0; HEADER_LEN];
    let mut pen = RecordEncoder { buffer: &mut head, at: 0 };
    for field in [
        header.base_offset.to_be_bytes().as_slice(),
        &length.to_be_bytes(),
        &header.partition_leader_epoch.to_be_bytes(),
        &MAGIC.to_be_bytes(),
        &[0; CHECKSUMMED - CRC],
        &header.attributes.0.to_be_bytes(),
        &last_offset_delta.to_be_bytes(),
        &header.base_timestamp.to_be_bytes(),
        &header.max_timestamp.to_be_bytes(),
        &header.producer.id.to_be_bytes(),
        &header.producer.epoch.to_be_bytes(),
        &header.producer.base_sequence.to_be_bytes(),
        &header.count.unwrap_or(0).to_be_bytes(),
    ] {
        pen.run(field);
    }
    out.patch(start, &head);
    let crc = checksum::crc32c(out.from(start + CHECKSUMMED));
    out.patch(start + CRC, &crc.to_be_bytes());
    Ok(())
}

/// Bytes that a run of small fields may take: length, attributes, both deltas and the key length are 26 at most.
const WINDOW: usize = 32;

/// Key, value and headers with their lengths.
#[inline]
fn contents_len(record: &NewRecord<'_>) -> usize {
    let contents = nullable_len(record.key) + nullable_len(record.value) + len_of(wide(record.headers.len()));
    record.headers.iter().fold(contents, |len, header| len + header_len(header))
}

fn header_len(header: &NewHeader<'_>) -> usize {
    nullable_len(Some(header.key)) + nullable_len(header.value)
}

#[inline(always)]
fn nullable_len(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| len_of(wide(bytes.len())) + bytes.len())
}

#[inline(always)]
fn put_fields<const HAS_ATTRIBUTES: bool>(
    mut pen: RecordEncoder<'_>,
    record: &NewRecord<'_>,
    deltas: Deltas,
    body_len: usize,
) -> Option<usize> {
    pen.fields(|fields| {
        fields.varlong(wide(body_len));
        if HAS_ATTRIBUTES {
            fields.byte(record.attributes);
        }
        fields.varlong(deltas.timestamp);
        fields.varlong(i64::from(deltas.offset));
        fields.varlong(stored_len(record.key));
    })?;
    pen.run(record.key.unwrap_or_default())?;
    pen.fields(|fields| fields.varlong(stored_len(record.value)))?;
    pen.run(record.value.unwrap_or_default())?;
    pen.fields(|fields| fields.varlong(wide(record.headers.len())))?;
    for header in record.headers {
        pen.fields(|fields| fields.varlong(wide(header.key.len())))?;
        pen.run(header.key)?;
        pen.fields(|fields| fields.varlong(stored_len(header.value)))?;
        pen.run(header.value.unwrap_or_default())?;
    }
    Some(pen.at)
}

/// Writes one field after the other into a buffer, of which a window after the last field is left.
struct RecordEncoder<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl RecordEncoder<'_> {
    #[inline(always)]
    fn fields(&mut self, write: impl FnOnce(&mut FieldSink<'_, WINDOW>)) -> Option<()> {
        let mut fields = FieldSink::new(self.buffer.get_mut(self.at..)?.first_chunk_mut()?);
        write(&mut fields);
        self.at += fields.len();
        Some(())
    }

    #[inline(always)]
    fn run(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.at + bytes.len();
        copy(bytes, self.buffer.get_mut(self.at..end)?)?;
        self.at = end;
        Some(())
    }
}

/// Copies a run to a room as long. Keys and headers are a few bytes, which two moves that overlap copy sooner than a call.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) -> Option<()> {
    match from.len() {
        0 => Some(()),
        4..=7 => ends::<4>(from, to),
        8..=16 => ends::<8>(from, to),
        17..=32 => ends::<16>(from, to),
        _ => {
            to.copy_from_slice(from);
            Some(())
        }
    }
}

/// Copies the first and the last `N` bytes, which together are all of them.
#[inline(always)]
fn ends<const N: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
    let (first, last) = (*from.first_chunk::<N>()?, *from.last_chunk::<N>()?);
    *to.first_chunk_mut()? = first;
    *to.last_chunk_mut()? = last;
    Some(())
}

/// The length that is stored: -1 for null (PRM-8).
#[inline(always)]
pub(in crate::format) fn stored_len(bytes: Option<&[u8]>) -> i64 {
    bytes.map_or(-1, |bytes| wide(bytes.len()))
}

#[inline(always)]
pub(in crate::format) fn wide(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

#[cold]
pub(in crate::format) fn too_long(what: &'static str, len: usize) -> crate::Error {
    let limit = if what == "record" { "2147483647 bytes of a record" } else { "2147483647 bytes of a batch" };
    ErrorKind::Limit { limit, asked: u64::try_from(len).unwrap_or(u64::MAX), allowed: 0x7fff_ffff }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RecordFormat;

    #[test]
    fn v2_65_the_example_comes_out_byte_for_byte() {
        let header = NewHeader { key: b"h", value: Some(b"v") };
        let first = NewRecord { key: Some(b"k"), value: Some(b"hello"), headers: &[header], ..NewRecord::default() };
        let mut entry = Sink::default();
        entry.put(b"before");
        open(&mut entry);
        for (record, deltas) in [(first, Deltas::default()), (NewRecord::default(), Deltas { offset: 1, timestamp: 7 })] {
            let len = body_len(&record, deltas);
            let before = entry.len();
            put_record(&mut entry, &record, deltas, len).unwrap();
            assert_eq!(entry.len() - before, record_len(len));
            assert!(record_len(len) <= record_len_bound(&record));
        }
        let base_timestamp = 1_600_000_000_000;
        let header = BatchHeader {
            base_offset: 5,
            last_offset: 6,
            count: Some(2),
            base_timestamp,
            max_timestamp: base_timestamp + 7,
            ..BatchHeader::new(RecordFormat::V2)
        };
        seal(&mut entry, 6, &header).unwrap();
        let expected = "000000000000000500000049ffffffff02c0283d5400000000000100000174876e800000000174876e8007\
            ffffffffffffffffffffffffffff0000000220000000026b0a68656c6c6f02026802760c000e02010100";
        let found: String = entry.from(6).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn runs_of_every_length_are_copied_whole() {
        let bytes: Vec<u8> = (0..100).collect();
        for len in 0..bytes.len() {
            let (from, mut to) = (&bytes[..len], vec![255; len]);
            copy(from, &mut to).unwrap();
            assert_eq!(to, from, "{len}");
        }
    }

    #[test]
    fn a_record_is_as_long_as_measured_at_every_width_of_its_fields() {
        for len in [0, 63, 64, 8191, 8192, 1 << 20] {
            let value = vec![1; len];
            for offset in [0, 63, 64, i32::MAX] {
                for timestamp in [0, -1, -64, -65, i64::MAX, i64::MIN] {
                    let deltas = Deltas { offset, timestamp };
                    let record = NewRecord { key: Some(&value), value: Some(&value), ..NewRecord::default() };
                    let mut out = Sink::default();
                    let body = body_len(&record, deltas);
                    put_record(&mut out, &record, deltas, body).unwrap();
                    assert_eq!(out.len(), record_len(body));
                }
            }
        }
    }
}
