//! The messages of an uncompressed section, one at a time, as ranges into a sink.
//!
//! `MessageScan` goes over all of them first: offsets of magic 1 count from the last one (L8-25), so nothing can be given before the end is known.
//! It also compares the checksums and everything else that can fail, so that the walk after it only reads fields.

use super::parse::{self, V0V1Message};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::model::{RecordRef, RecordSink, Section};
use crate::wire::as_u64;

/// What a look through the inner messages of a wrapper tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageScan {
    /// Whole messages.
    pub count: usize,
    /// Stored offset of the first one.
    pub first_offset: i64,
    /// Stored offset of the last one.
    pub last_offset: i64,
    /// Where the last one ends; what follows is cut short (L8-23).
    pub end: usize,
}

/// A walk over messages that were scanned; it can stop after any of them and go on later.
#[derive(Clone, Copy, Debug)]
pub struct V0V1RecordIter {
    count: usize,
    index: usize,
    position: usize,
    shift: i64,
    base_timestamp: i64,
    append_time: Option<i64>,
    is_wrapped: bool,
}

impl MessageScan {
    /// Goes over the inner messages of a wrapper.
    ///
    /// # Errors
    /// With the index of the message: `Length` for a size below 14 (L8-23) and what `V0V1Message::parse` says, `Invalid` for a compressed one
    /// (L8-21), `Checksum`, `Limit`.
    pub fn of_inner(messages: &[u8], check_crc: bool, limits: &Limits) -> Result<Self> {
        let mut scan = Self::default();
        while let Some(len) = inner_len(messages, scan.end).map_err(|error| error.in_record(as_u64(scan.count)))? {
            let entry = messages.get(scan.end..).and_then(|tail| tail.get(..len)).unwrap_or_default();
            let offset = inner_offset(entry, check_crc).map_err(|error| error.in_record(as_u64(scan.count)))?;
            if scan.count == 0 {
                scan.first_offset = offset;
            }
            scan.last_offset = offset;
            scan.count += 1;
            scan.end += len;
        }
        limits.ensure_records(as_u64(scan.count))?;
        Ok(scan)
    }
}

impl V0V1RecordIter {
    /// Walks over the inner messages of a wrapper.
    ///
    /// `shift` makes their stored offsets differences to the wrapper's base offset. `append_time` replaces the timestamps of magic 1, not those
    /// of magic 0, which stay -1 (L8-29).
    pub fn of_inner(scan: &MessageScan, shift: i64, base_timestamp: i64, append_time: Option<i64>) -> Self {
        Self { count: scan.count, index: 0, position: 0, shift, base_timestamp, append_time, is_wrapped: true }
    }

    /// Over `count` uncompressed messages that follow each other, each an entry of its own.
    pub fn of_uncompressed(count: usize, base_offset: i64, base_timestamp: i64) -> Self {
        Self { count, index: 0, position: 0, shift: base_offset.wrapping_neg(), base_timestamp, append_time: None, is_wrapped: false }
    }

    /// Messages that have not been given yet.
    #[inline]
    pub fn left(&self) -> usize {
        self.count - self.index
    }

    /// Where the next message starts in the section.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes of the next message; 0 when it is not known.
    pub fn next_len(&self, section: &Section<'_>) -> usize {
        section.bytes().get(self.position..).and_then(parse::claimed_len).unwrap_or(0)
    }

    /// Gives the next `records` messages to the sink, fewer when fewer are left.
    ///
    /// # Errors
    /// As `V0V1Message::parse`; never for messages that were scanned.
    pub fn advance<S: RecordSink>(&mut self, section: &Section<'_>, records: usize, sink: &mut S) -> Result<()> {
        let stop = self.index.saturating_add(records).min(self.count);
        let bytes = section.bytes();
        let (mut index, mut start) = (self.index, self.position);
        while index < stop {
            let rest = bytes.get(start..).unwrap_or_default();
            let len = parse::claimed_len(rest).unwrap_or(0);
            let message = V0V1Message::parse(rest.get(..len).unwrap_or(rest))?;
            let append_time = self.append_time.filter(|_| message.magic != 0);
            sink.record(RecordRef {
                index: if self.is_wrapped { index } else { 0 },
                start,
                body: start,
                end: start + len,
                attributes: message.attributes,
                offset_delta: message.offset.wrapping_add(self.shift),
                timestamp_delta: append_time.unwrap_or(message.timestamp).wrapping_sub(self.base_timestamp),
                key_start: start + message.key_start,
                key_len: message.key_len,
                value_start: start + message.value_start,
                value_len: message.value_len,
                headers: 0,
            });
            start += len;
            index += 1;
        }
        (self.index, self.position) = (index, start);
        Ok(())
    }
}

/// Bytes of the inner message at `at`; `None` where the set ends, be it inside of a message (L8-10, L8-23).
#[inline]
fn inner_len(messages: &[u8], at: usize) -> Result<Option<usize>> {
    const LOG_OVERHEAD: usize = 12;
    const MIN_SIZE: i32 = 14;
    let rest = messages.get(at..).unwrap_or_default();
    let Some(size) = rest.get(8..LOG_OVERHEAD).and_then(|field| field.first_chunk::<4>()) else { return Ok(None) };
    let size = i32::from_be_bytes(*size);
    if size < MIN_SIZE {
        let kind = ErrorKind::Length { rule: "L8-23", declared: i64::from(size), expected: i64::from(MIN_SIZE) };
        return Err(Error::from(kind).in_field("size"));
    }
    let len = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(LOG_OVERHEAD);
    Ok((len <= rest.len()).then_some(len))
}

#[inline]
fn inner_offset(entry: &[u8], check_crc: bool) -> Result<i64> {
    let message = V0V1Message::parse(entry)?;
    if message.is_compressed() {
        let nested = ErrorKind::Invalid { rule: "L8-21", what: "an inner message is itself compressed" };
        return Err(Error::from(nested).in_field("attributes"));
    }
    if check_crc {
        parse::verify(entry, message.crc)?;
    }
    Ok(message.offset)
}
