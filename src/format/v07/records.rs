//! The messages of an uncompressed section, one at a time, as ranges into a sink; and what may be wrong with a set, looked at before.

use super::layout::LENGTH_LEN;
use super::parse::{self, V07Message};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{RecordRef, RecordSink, Section};

/// The entries of a decompressed set, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct V07Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    count: u64,
}

/// A walk over messages that were looked at; it can stop after any of them and go on later.
#[derive(Clone, Copy, Debug)]
pub struct V07RecordIter {
    count: usize,
    index: usize,
    position: usize,
    /// Bytes of the wrapper; `None` for messages that are in the log themselves.
    wrapper: Option<i64>,
}

impl<'a> V07Entries<'a> {
    /// Of the messages that a wrapper decompressed to.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, count: 0 }
    }

    /// Where the next entry starts; after the last, what follows is cut short (L7-21).
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next entry; `None` at the end, be it inside of an entry, unless that is the first one (L7-11).
    ///
    /// # Errors
    /// With the index of the entry: `Length` for one that is too short, negative, or the first and cut; `Magic`; `Checksum` when asked for.
    pub fn next(&mut self, check_crc: bool) -> Result<Option<(V07Message, &'a [u8])>> {
        self.take(check_crc).map_err(|error| error.in_record(self.count))
    }

    fn take(&mut self, check_crc: bool) -> Result<Option<(V07Message, &'a [u8])>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(length) = rest.first_chunk::<LENGTH_LEN>() else { return Ok(None) };
        let length = i32::from_be_bytes(*length);
        let Some(len) = parse::claimed_len(rest) else { return Err(invalid_size(length, rest.len())) };
        let Some(entry) = rest.get(..len) else {
            return if self.count == 0 { Err(invalid_size(length, rest.len())) } else { Ok(None) };
        };
        let message = V07Message::parse(entry)?;
        if check_crc {
            message.verify(entry)?;
        }
        self.at += len;
        self.count += 1;
        Ok(Some((message, entry)))
    }
}

impl V07RecordIter {
    /// Over the messages of a wrapper of `size` bytes: all but the last carry its position, the last one that after it (L7-24).
    pub fn of_inner(count: usize, size: u64) -> Self {
        Self { count, index: 0, position: 0, wrapper: Some(i64::try_from(size).unwrap_or(i64::MAX)) }
    }

    /// Over `count` uncompressed messages that follow each other in the log: each carries the position after it (L7-23).
    pub fn of_uncompressed(count: usize) -> Self {
        Self { count, index: 0, position: 0, wrapper: None }
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
    /// As `V07Message::parse`; never for messages that were looked at.
    pub fn advance<S: RecordSink>(&mut self, section: &Section<'_>, records: usize, sink: &mut S) -> Result<()> {
        let stop = self.index.saturating_add(records).min(self.count);
        let bytes = section.bytes();
        while self.index < stop {
            let start = self.position;
            let rest = bytes.get(start..).unwrap_or_default();
            let entry = rest.get(..parse::claimed_len(rest).unwrap_or(0)).unwrap_or_default();
            let message = V07Message::parse(entry)?;
            let end = start + entry.len();
            let offset_delta = match self.wrapper {
                Some(size) if self.index + 1 == self.count => size,
                Some(_) => 0,
                None => i64::try_from(end).unwrap_or(i64::MAX),
            };
            let value_start = start + message.payload_start;
            sink.record(RecordRef {
                index: if self.wrapper.is_some() { self.index } else { 0 },
                start,
                body: start,
                end,
                attributes: message.attributes,
                offset_delta,
                timestamp_delta: 0,
                key_start: value_start,
                key_len: -1,
                value_start,
                value_len: i32::try_from(end - value_start).unwrap_or(i32::MAX),
                headers: 0,
            });
            self.position = end;
            self.index += 1;
        }
        Ok(())
    }
}

/// Kafka 0.7 answers such a size with its own code, 4.
#[cold]
fn invalid_size(length: i32, available: usize) -> Error {
    let expected = if length < 0 { 0 } else { i64::try_from(available).unwrap_or(i64::MAX).saturating_sub(4) };
    Error::from(ErrorKind::Length { rule: "L7-11", declared: i64::from(length), expected }).in_field("length")
}
