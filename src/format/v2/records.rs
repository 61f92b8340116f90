//! The records of an uncompressed section, one at a time, as ranges into a sink.
//!
//! Two readers of the same schema: `parse_fast` loads fixed windows and only says yes or no; `parse_checked` takes field by field and
//! says what is wrong. `parse_fast` serves all but the last records of a buffer; whatever it refuses goes to `parse_checked`.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::model::{Discard, HeaderRef, RecordRef, RecordSink, Section};
use crate::wire::prefetch::Ahead;
use crate::wire::varint::VarintWindow;
use crate::wire::{Cursor, as_u64};

/// A walk over the records of one section; it can stop after any record and go on later.
#[derive(Clone, Copy, Debug)]
pub struct V2RecordIter {
    count: usize,
    index: usize,
    position: usize,
    schema: RecordSchema,
}

/// What the header of a batch and the limits say about its records.
#[derive(Clone, Copy, Debug)]
struct RecordSchema {
    /// Told at run time: magic 3 then runs through the very code that magic 2 runs through, so that neither is the slower for how it was laid out.
    has_attributes: bool,
    max_headers: u64,
}

/// Bytes read in one go at the head of a record: five integers and the attributes take at most 26.
const HEAD_WINDOW: usize = 32;
/// Bytes read in one go for a single length or count.
const LENGTH_WINDOW: usize = 8;

impl V2RecordIter {
    /// A walk before its first record. Records have an attributes byte, as always in magic 2, or none (S-V5).
    pub fn new(count: usize, has_attributes: bool, limits: &Limits) -> Self {
        Self { count, index: 0, position: 0, schema: RecordSchema { has_attributes, max_headers: limits.max_headers } }
    }

    /// Records that have not been given yet.
    pub fn left(&self) -> usize {
        self.count - self.index
    }

    /// Where the next record starts in the section.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes of the next record, its length field included, as it claims; 0 when it is not known.
    pub fn next_len(&self, section: &Section<'_>) -> usize {
        section.bytes().get(self.position..).and_then(claimed_len).unwrap_or(0)
    }

    /// Gives the next `records` records to the sink, fewer when fewer are left; `ahead` is asked for meanwhile.
    ///
    /// # Errors
    /// `Length`, `Varint`, `Count`, `TrailingBytes` or `Limit`, with the record's index and the field.
    #[inline]
    pub fn advance_asking<S: RecordSink>(
        &mut self,
        section: &Section<'_>,
        records: usize,
        mut ahead: Ahead<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let stop = self.index.saturating_add(records).min(self.count);
        let mut position = self.position;
        for index in self.index..stop {
            position = match parse_fast(section, position, index, self.schema, sink) {
                Ok(end) => end,
                Err(NeedsChecks::NoWindow) => parse_checked(section, position, index, self.schema, sink)?,
                Err(NeedsChecks::Refused) => return Err(refusal(section, position, index, self.schema)),
            };
            ahead.step();
        }
        self.index = stop;
        self.position = position;
        Ok(())
    }

    /// Checks that the last record ends where the section ends. A batch that counts no records is ignored, as Kafka does (V2-10).
    ///
    /// # Errors
    /// `TrailingBytes` (V2-43).
    pub fn finish(&self, section: &Section<'_>) -> Result<()> {
        let bytes = section.len().saturating_sub(self.position);
        if bytes == 0 || self.left() > 0 || self.count == 0 {
            return Ok(());
        }
        Err(ErrorKind::TrailingBytes { rule: "V2-43", bytes: as_u64(bytes) }.into())
    }
}

/// Returns the bytes of the record that `bytes` start with, its length field included, as that claims; `None` if the field is cut or bad.
pub fn claimed_len(bytes: &[u8]) -> Option<usize> {
    let mut cursor = Cursor::new(bytes, "V2-35");
    let length = cursor.take_varint("length").map(non_null).ok()?;
    Some(length.saturating_add(bytes.len() - cursor.left().len()))
}

/// Why `parse_fast` did not give a record.
enum NeedsChecks {
    /// Too few bytes after the record to load windows.
    NoWindow,
    /// Something is wrong with it.
    Refused,
}

/// Positions only grow from field to field, so that one comparison at the end of the record tells that every field lay inside of it.
#[inline(always)]
fn parse_fast<S: RecordSink>(
    section: &Section<'_>,
    start: usize,
    index: usize,
    schema: RecordSchema,
    sink: &mut S,
) -> std::result::Result<usize, NeedsChecks> {
    let readable = section.readable();
    let Some(head) = window::<HEAD_WINDOW>(readable, start) else { return Err(NeedsChecks::NoWindow) };
    let mut head = VarintWindow::new(head);
    let Some(length) = head.varint() else { return Err(NeedsChecks::Refused) };
    let body = start + head.read_len();
    let attributes = if schema.has_attributes { head.byte() } else { 0 };
    let Some(timestamp_delta) = head.varlong() else { return Err(NeedsChecks::Refused) };
    let Some(offset_delta) = head.varint() else { return Err(NeedsChecks::Refused) };
    let Some(key_len) = head.varint() else { return Err(NeedsChecks::Refused) };
    let Ok(length) = usize::try_from(length) else { return Err(NeedsChecks::Refused) };
    let end = body + length;
    if end > section.len() {
        return Err(NeedsChecks::Refused);
    }
    if end + HEAD_WINDOW > readable.len() {
        return Err(NeedsChecks::NoWindow);
    }
    let key_start = start + head.read_len();
    let Some((value_len, value_start)) = integer(readable, key_start + non_null(key_len)) else { return Err(NeedsChecks::Refused) };
    let headers_start = value_start + non_null(value_len);
    let mut headers = 0;
    if headers_start + 1 != end || readable.get(headers_start) != Some(&0) {
        match parse_headers_fast(readable, headers_start, end, schema.max_headers, sink) {
            Some(count) => headers = count,
            None => return Err(NeedsChecks::Refused),
        }
    }
    sink.record(RecordRef {
        index,
        start,
        body,
        end,
        attributes,
        offset_delta: i64::from(offset_delta),
        timestamp_delta,
        key_start,
        key_len,
        value_start,
        value_len,
        headers,
    });
    Ok(end)
}

/// Headers from their count on; `None` when they do not end where the record ends.
#[inline]
fn parse_headers_fast<S: RecordSink>(readable: &[u8], start: usize, end: usize, max_headers: u64, sink: &mut S) -> Option<usize> {
    let (count, mut at) = integer(readable, start)?;
    let count = usize::try_from(count).ok()?;
    if at > end || count > end - at || u64::try_from(count).ok()? > max_headers {
        return None;
    }
    for _ in 0..count {
        let (key_len, key_start) = integer(readable, at)?;
        let value_at = key_start + usize::try_from(key_len).ok()?;
        let (value_len, value_start) = integer(readable, value_at)?;
        at = value_start + non_null(value_len);
        if at > end {
            return None;
        }
        sink.header(HeaderRef { key_start, key_len, value_start, value_len });
    }
    (at == end).then_some(count)
}

/// The 32-bit integer at `at`, and where it ends.
#[inline(always)]
fn integer(readable: &[u8], at: usize) -> Option<(i32, usize)> {
    let mut bytes = VarintWindow::new(window::<LENGTH_WINDOW>(readable, at)?);
    let value = bytes.varint()?;
    Some((value, at + bytes.read_len()))
}

#[inline(always)]
fn window<const N: usize>(readable: &[u8], at: usize) -> Option<&[u8; N]> {
    readable.get(at..).and_then(|tail| tail.first_chunk::<N>())
}

/// Bytes that follow a nullable length (PRM-8: every negative length is null).
#[inline(always)]
pub(in crate::format) fn non_null(len: i32) -> usize {
    usize::try_from(len).unwrap_or(0)
}

/// What is wrong with a record that `parse_fast` refused.
#[cold]
#[inline(never)]
fn refusal(section: &Section<'_>, start: usize, index: usize, schema: RecordSchema) -> Error {
    match parse_checked(section, start, index, schema, &mut Discard) {
        Err(error) => error,
        // Memory that is lent may change between two looks at it, against its owner's promise.
        Ok(_) => {
            let rule = if section.is_decompressed() { "V2-37" } else { "V2-35" };
            Error::from(ErrorKind::Invalid { rule, what: "the bytes changed while they were read" }).in_record(as_u64(index))
        }
    }
}

#[cold]
#[inline(never)]
fn parse_checked<S: RecordSink>(section: &Section<'_>, start: usize, index: usize, schema: RecordSchema, sink: &mut S) -> Result<usize> {
    let record = fields(section, start, index, schema, sink).map_err(|error| error.in_record(as_u64(index)))?;
    sink.record(record);
    Ok(record.end)
}

fn fields<S: RecordSink>(section: &Section<'_>, start: usize, index: usize, schema: RecordSchema, sink: &mut S) -> Result<RecordRef> {
    let bytes = section.bytes();
    let at = |cursor: &Cursor<'_>, end: usize| end - cursor.left().len();
    let (ended, overrun) = if section.is_decompressed() { ("V2-37", "V2-36") } else { ("V2-35", "V2-34") };
    let mut outer = Cursor::new(bytes.get(start..).unwrap_or_default(), ended);
    let length = outer.take_varint("length")?;
    let body = at(&outer, bytes.len());
    let end = body + record_len(length, outer.left().len(), overrun)?;
    let mut cursor = Cursor::new(bytes.get(body..end).unwrap_or_default(), "V2-38");
    let [attributes] = if schema.has_attributes { cursor.take_array("attributes")? } else { [0] };
    let timestamp_delta = cursor.take_varlong("timestampDelta")?;
    let offset_delta = cursor.take_varint("offsetDelta")?;
    let key_len = cursor.take_varint("keyLength")?;
    let key_start = at(&cursor, end);
    cursor.take(non_null(key_len), "key")?;
    let value_len = cursor.take_varint("valueLength")?;
    let value_start = at(&cursor, end);
    cursor.take(non_null(value_len), "value")?;
    let headers = counted_headers(&mut cursor, end, schema.max_headers, sink)?;
    let left = cursor.left().len();
    if left > 0 {
        return Err(Error::from(ErrorKind::TrailingBytes { rule: "V2-42", bytes: as_u64(left) }).in_field("length"));
    }
    Ok(RecordRef {
        index,
        start,
        body,
        end,
        attributes,
        offset_delta: i64::from(offset_delta),
        timestamp_delta,
        key_start,
        key_len,
        value_start,
        value_len,
        headers,
    })
}

fn counted_headers<S: RecordSink>(cursor: &mut Cursor<'_>, end: usize, max_headers: u64, sink: &mut S) -> Result<usize> {
    let count = cursor.take_varint("headersCount")?;
    let left = cursor.left().len();
    let declared = i64::from(count);
    let found = i64::try_from(left).unwrap_or(i64::MAX);
    let count =
        usize::try_from(count).map_err(|_| Error::from(ErrorKind::Count { rule: "V2-39", declared, found: 0 }).in_field("headersCount"))?;
    if count > left {
        return Err(Error::from(ErrorKind::Count { rule: "V2-40", declared, found }).in_field("headersCount"));
    }
    parse_headers_checked(cursor, end, count, max_headers, sink)?;
    Ok(count)
}

/// The headers after their count; `end` is where the cursor ends in the section.
pub(in crate::format) fn parse_headers_checked<S: RecordSink>(
    cursor: &mut Cursor<'_>,
    end: usize,
    count: usize,
    max_headers: u64,
    sink: &mut S,
) -> Result<()> {
    Limits { max_headers, ..Limits::default() }.ensure_headers(as_u64(count))?;
    for _ in 0..count {
        let key_len = cursor.take_varint("headerKeyLength")?;
        let key_bytes = usize::try_from(key_len).map_err(|_| {
            Error::from(ErrorKind::Length { rule: "V2-41", declared: i64::from(key_len), expected: 0 }).in_field("headerKeyLength")
        })?;
        let key_start = end - cursor.left().len();
        cursor.take(key_bytes, "headerKey")?;
        let value_len = cursor.take_varint("headerValueLength")?;
        let value_start = end - cursor.left().len();
        cursor.take(non_null(value_len), "headerValue")?;
        sink.header(HeaderRef { key_start, key_len, value_start, value_len });
    }
    Ok(())
}

/// The length of a record, held against the bytes that are left.
fn record_len(length: i32, left: usize, rule: &'static str) -> Result<usize> {
    let error = |expected: usize| {
        let expected = i64::try_from(expected).unwrap_or(i64::MAX);
        Error::from(ErrorKind::Length { rule, declared: i64::from(length), expected }).in_field("length")
    };
    let length = usize::try_from(length).map_err(|_| error(0))?;
    if length > left { Err(error(left)) } else { Ok(length) }
}
