//! Records whose metadata comes before their payloads (S-H1 to S-H6): the prefix can be read without what follows it.

use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::records::{non_null, parse_headers_checked};
use crate::limits::Limits;
use crate::model::{RecordRef, RecordSink, Section};
use crate::wire::prefetch::Ahead;
use crate::wire::varint::VarintWindow;
use crate::wire::{Cursor, as_u64};

/// The metadata of a batch, read as far as its bytes are there.
#[derive(Clone, Copy, Debug)]
pub struct Prefix {
    count: usize,
    index: usize,
    position: usize,
    has_attributes: bool,
    max_headers: u64,
    /// Bytes of all payloads so far.
    payloads: u64,
}

/// What one record says about itself before its payload.
#[derive(Clone, Copy, Debug)]
pub struct RecordHead {
    /// The record as far as it is known. Its `end` is where it would end if its payload followed; key, value and headers have no place yet.
    pub record: RecordRef,
    /// Where its metadata ends.
    pub end: usize,
    /// Bytes of its payload.
    pub payload_len: usize,
}

/// A walk over the records of one section; it can stop after any record and go on later.
#[derive(Clone, Copy, Debug)]
pub struct V3RecordIter {
    prefix: Prefix,
    payload: usize,
}

/// Bytes read in one go at an entry of the prefix: six integers and the attributes take at most 36.
const WINDOW: usize = 64;
/// Integers of an entry of the prefix.
const INTEGERS: usize = 6;

impl Prefix {
    /// The metadata of `count` records, none of it read yet.
    pub fn new(count: usize, has_attributes: bool, limits: &Limits) -> Self {
        Self { count, index: 0, position: 0, has_attributes, max_headers: limits.max_headers, payloads: 0 }
    }

    /// Records whose metadata was not read yet.
    pub fn left(&self) -> usize {
        self.count - self.index
    }

    /// Reads on as far as `readable` goes, of which the first `len` bytes are there; true when all of it was read. Without `is_whole`
    /// more bytes may come, and metadata that is cut is no error.
    ///
    /// # Errors
    /// `Length`, `Varint`, `Count` or `Limit`, with the record's index and the field.
    #[inline]
    pub fn read(&mut self, readable: &[u8], len: usize, is_whole: bool, each: &mut impl FnMut(&RecordHead)) -> Result<bool> {
        while self.index < self.count {
            let metadata = match self.parse_fast(readable, len) {
                Some(metadata) => metadata,
                None => match self.parse_checked(readable.get(..len).unwrap_or(readable)) {
                    Ok(metadata) => metadata,
                    Err(error) if !is_whole && is_cut(&error) => return Ok(false),
                    Err(error) => return Err(error.in_record(as_u64(self.index))),
                },
            };
            each(&metadata);
            self.pass(&metadata);
        }
        Ok(true)
    }

    /// The next entry of metadata that is all there.
    #[inline(always)]
    fn next(&self, readable: &[u8], len: usize) -> Result<RecordHead> {
        match self.parse_fast(readable, len) {
            Some(metadata) => Ok(metadata),
            None => self.parse_checked(readable.get(..len).unwrap_or(readable)),
        }
    }

    /// Goes on behind an entry.
    #[inline(always)]
    fn pass(&mut self, metadata: &RecordHead) {
        self.position = metadata.end;
        self.payloads = self.payloads.saturating_add(as_u64(metadata.payload_len));
        self.index += 1;
    }

    /// Reads the metadata of all records from the first on and holds the payloads against the section (S-H6); gives where they start.
    #[cold]
    #[inline(never)]
    pub(super) fn ensure_whole(&self, section: &Section<'_>) -> Result<usize> {
        let mut whole = Self { index: 0, position: 0, payloads: 0, ..*self };
        whole.read(section.readable(), section.len(), true, &mut |_: &RecordHead| ())?;
        let left = as_u64(section.len() - whole.position);
        if self.count > 0 && whole.payloads > left {
            let [declared, expected] = [whole.payloads, left].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
            return Err(ErrorKind::Length { rule: "S-H6", declared, expected }.into());
        }
        if self.count > 0 && whole.payloads < left {
            return Err(ErrorKind::TrailingBytes { rule: "S-H6", bytes: left - whole.payloads }.into());
        }
        Ok(whole.position)
    }

    /// What is wrong with the batch, when its next record is refused for `error`: metadata that does not fit together says so before a record
    /// whose payload was looked for in the wrong place.
    #[cold]
    #[inline(never)]
    fn explained(&self, section: &Section<'_>, error: Error) -> Error {
        match self.ensure_whole(section) {
            Err(whole) => whole,
            Ok(_) => error.in_record(as_u64(self.index)),
        }
    }

    /// The next entry, when it can be read in one window and nothing is wrong with it.
    #[inline(always)]
    fn parse_fast(&self, readable: &[u8], len: usize) -> Option<RecordHead> {
        let mut head = VarintWindow::new(readable.get(self.position..)?.first_chunk::<WINDOW>()?);
        let length = head.varint()?;
        let body = self.position + head.read_len();
        let attributes = if self.has_attributes { head.byte() } else { 0 };
        let (timestamp_delta, offset_delta) = (head.varlong()?, head.varint()?);
        let (key_len, value_len, headers) = (head.varint()?, head.varint()?, head.varint()?);
        let end = self.position + head.read_len();
        if end > len {
            return None;
        }
        self.checked(length, body, end, (attributes, timestamp_delta, offset_delta), (key_len, value_len, headers)).ok()
    }

    #[cold]
    #[inline(never)]
    fn parse_checked(&self, bytes: &[u8]) -> Result<RecordHead> {
        let mut cursor = Cursor::new(bytes.get(self.position..).unwrap_or_default(), CUT);
        let length = cursor.take_varint("length")?;
        let body = bytes.len() - cursor.left().len();
        let [attributes] = if self.has_attributes { cursor.take_array("attributes")? } else { [0] };
        let timestamp_delta = cursor.take_varlong("timestampDelta")?;
        let offset_delta = cursor.take_varint("offsetDelta")?;
        let key_len = cursor.take_varint("keyLength")?;
        let value_len = cursor.take_varint("valueLength")?;
        let headers = cursor.take_varint("headersCount")?;
        let end = bytes.len() - cursor.left().len();
        self.checked(length, body, end, (attributes, timestamp_delta, offset_delta), (key_len, value_len, headers))
    }

    /// Holds the lengths against each other (S-H2, S-H6).
    #[inline(always)]
    fn checked(
        &self,
        length: i32,
        body: usize,
        end: usize,
        (attributes, timestamp_delta, offset_delta): (u8, i64, i32),
        (key_len, value_len, headers): (i32, i32, i32),
    ) -> Result<RecordHead> {
        let known = non_null(key_len) + non_null(value_len);
        let Some(payload_len) = usize::try_from(length).ok().and_then(|length| length.checked_sub(end - body)) else {
            return Err(length_error("S-H6", length, end - body, "length"));
        };
        let Some(left) = payload_len.checked_sub(known) else {
            return Err(length_error("V2-38", length, end - body + known, "length"));
        };
        let Ok(headers) = usize::try_from(headers) else {
            return Err(count_error("V2-39", headers, 0));
        };
        // A header takes two bytes at least, and what nobody counts is too much.
        if headers > left || headers == 0 && left > 0 {
            return Err(self.uncounted(headers, left));
        }
        if as_u64(headers) > self.max_headers {
            Limits { max_headers: self.max_headers, ..Limits::default() }.ensure_headers(as_u64(headers))?;
        }
        let record = RecordRef {
            index: self.index,
            start: self.position,
            body,
            end: end + payload_len,
            attributes,
            offset_delta: i64::from(offset_delta),
            timestamp_delta,
            key_start: 0,
            key_len,
            value_start: 0,
            value_len,
            headers,
        };
        Ok(RecordHead { record, end, payload_len })
    }

    #[cold]
    fn uncounted(&self, headers: usize, left: usize) -> Error {
        if headers == 0 {
            return Error::from(ErrorKind::TrailingBytes { rule: "V2-42", bytes: as_u64(left) }).in_field("length");
        }
        count_error("V2-40", i32::try_from(headers).unwrap_or(i32::MAX), left)
    }
}

/// The rule of metadata that ends inside of a field; where more bytes may come it is none.
const CUT: &str = "S-H5";

fn is_cut(error: &Error) -> bool {
    error.rule() == CUT
}

impl V3RecordIter {
    /// A walk before its first record. Where the payloads start is told by the ends of the integers before them, as far as records have no
    /// attributes byte; else the whole prefix is read for it.
    ///
    /// # Errors
    /// As `finish`, and what `Prefix::read` meets.
    #[inline]
    pub fn new(prefix: Prefix, section: &Section<'_>) -> Result<Self> {
        let integers = prefix.count.saturating_mul(INTEGERS);
        let end = if prefix.has_attributes { None } else { end_of_integers(section.bytes(), integers) };
        let payload = match end {
            Some(end) => end,
            None => prefix.ensure_whole(section)?,
        };
        Ok(Self { prefix, payload })
    }

    /// Records that have not been given yet.
    pub fn left(&self) -> usize {
        self.prefix.left()
    }

    /// Where the payload of the next record starts in the section.
    pub fn position(&self) -> usize {
        self.payload
    }

    /// Bytes of the next record, its length field included.
    pub fn next_len(&self, section: &Section<'_>) -> usize {
        let next = if self.left() > 0 { self.prefix.next(section.readable(), section.len()).ok() } else { None };
        next.map_or(0, |metadata| metadata.record.end - metadata.record.start)
    }

    /// Gives the next `records` records to the sink, fewer when fewer are left; `ahead` is asked for meanwhile.
    ///
    /// # Errors
    /// What is wrong with the metadata of any record, with the payloads as a whole (S-H6), or with the headers of a record, with its index
    /// and the field.
    #[inline]
    pub fn advance_asking<S: RecordSink>(
        &mut self,
        section: &Section<'_>,
        records: usize,
        mut ahead: Ahead<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let stop = self.prefix.index.saturating_add(records).min(self.prefix.count);
        let (mut prefix, mut payload) = (self.prefix, self.payload);
        while prefix.index < stop {
            let given = prefix.next(section.readable(), section.len()).and_then(|metadata| {
                give(section, &metadata, payload, prefix.max_headers, sink)?;
                Ok(metadata)
            });
            match given {
                Ok(metadata) => {
                    payload += metadata.payload_len;
                    prefix.pass(&metadata);
                }
                Err(error) => return Err(prefix.explained(section, error)),
            }
            ahead.step();
        }
        (self.prefix, self.payload) = (prefix, payload);
        Ok(())
    }

    /// Checks that the payloads are where the metadata of all records says they are. Whoever takes records that no checksum vouches for, or
    /// not all of them, asks before the first one: a wrong length gives every record after it the payload of others.
    ///
    /// # Errors
    /// As `finish`, and what `Prefix::read` meets.
    pub fn ensure_placed(&self, section: &Section<'_>) -> Result<()> {
        self.prefix.ensure_whole(section).map(|_| ())
    }

    /// Checks that the last payload ends where the section ends.
    ///
    /// # Errors
    /// `TrailingBytes` (S-H6).
    pub fn finish(&self, section: &Section<'_>) -> Result<()> {
        if self.left() > 0 || self.prefix.count == 0 || self.payload == section.len() {
            return Ok(());
        }
        self.prefix.ensure_whole(section).map(|_| ())
    }
}

/// Where the last of `count` integers ends: at the `count`th byte below 0x80. `None` when there are not so many.
#[inline]
fn end_of_integers(bytes: &[u8], count: usize) -> Option<usize> {
    /// Bytes that are counted at once; their number fits a byte.
    const BLOCK: usize = 64;
    let (mut at, mut left) = (0, count);
    for block in bytes.as_chunks::<BLOCK>().0 {
        let ends: u8 = block.iter().map(|byte| u8::from(*byte < 0x80)).sum();
        if usize::from(ends) >= left {
            break;
        }
        (at, left) = (at + BLOCK, left - usize::from(ends));
    }
    if left == 0 {
        return Some(at);
    }
    let mut ends = bytes.get(at..)?.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    ends.nth(left - 1).map(|(last, _)| at + last + 1)
}

/// Gives one record, whose payload starts at `payload`.
#[inline(always)]
fn give<S: RecordSink>(section: &Section<'_>, metadata: &RecordHead, payload: usize, max_headers: u64, sink: &mut S) -> Result<()> {
    let record = metadata.record;
    let value_start = payload + non_null(record.key_len);
    let headers_start = value_start + non_null(record.value_len);
    let end = payload + metadata.payload_len;
    if end > section.len() {
        return Err(length_error(
            "S-H6",
            i32::try_from(metadata.payload_len).unwrap_or(i32::MAX),
            section.len().saturating_sub(payload),
            "length",
        ));
    }
    if record.headers > 0 {
        give_headers(section, record.headers, headers_start..end, max_headers, sink)?;
    }
    sink.record(RecordRef { key_start: payload, value_start, ..record });
    Ok(())
}

#[inline(never)]
fn give_headers<S: RecordSink>(
    section: &Section<'_>,
    count: usize,
    place: std::ops::Range<usize>,
    max_headers: u64,
    sink: &mut S,
) -> Result<()> {
    let mut cursor = Cursor::new(section.bytes().get(place.clone()).unwrap_or_default(), "V2-38");
    parse_headers_checked(&mut cursor, place.end, count, max_headers, sink)?;
    let left = cursor.left().len();
    if left > 0 {
        return Err(Error::from(ErrorKind::TrailingBytes { rule: "V2-42", bytes: as_u64(left) }).in_field("length"));
    }
    Ok(())
}

#[cold]
fn length_error(rule: &'static str, length: i32, least: usize, field: &'static str) -> Error {
    let expected = i64::try_from(least).unwrap_or(i64::MAX);
    Error::from(ErrorKind::Length { rule, declared: i64::from(length), expected }).in_field(field)
}

#[cold]
fn count_error(rule: &'static str, headers: i32, left: usize) -> Error {
    let found = i64::try_from(left).unwrap_or(i64::MAX);
    Error::from(ErrorKind::Count { rule, declared: i64::from(headers), found }).in_field("headersCount")
}
