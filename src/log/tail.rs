//! The end of a log that a broker appends to: what has come since it was looked at, and which transactions are open there.
//!
//! Headers and a place remembered go in, the last batch comes out. A place is believed only when the same batch still stands there: a log
//! may have been cut and written again.

use super::lookup::is_intact;
use super::{Headers, ReadAt};
use crate::decode::transactions::{Scan, is_marker};
use crate::error::Result;
use crate::framing;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats};

/// A batch that was the last one of a log once, and how to know it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastBatch {
    /// Where it starts.
    pub position: u64,
    /// Its stored checksum.
    pub crc: u32,
    /// Its last offset.
    pub last_offset: i64,
}

impl LastBatch {
    fn of(header: &BatchHeader) -> Self {
        Self { position: header.position, crc: header.crc, last_offset: header.last_offset }
    }
}

/// What a walk met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The last batch; `None` when there was none.
    pub last: Option<LastBatch>,
    /// Whether there are batches behind the offset at which the walk was to end.
    pub has_more: bool,
    /// Where an entry begins that does not count, since the log ends inside of it or it is not intact yet; `None` when there is none.
    pub unfinished: Option<u64>,
}

/// A log of `len` bytes, as it is now.
pub struct Tail<'a> {
    /// The log.
    pub log: &'a dyn ReadAt,
    /// Its bytes.
    pub len: u64,
    /// What a batch may claim.
    pub limits: Limits,
    /// What the batches may be.
    pub formats: Formats,
    /// Batches from this offset on are not looked at.
    pub until: Option<i64>,
    /// Whether the very last batch must be intact to count: where nobody says how far the log is written, its bytes may still be on their way.
    pub is_checked: bool,
    /// Asked between batches.
    pub interrupt: &'a Interrupt,
}

impl Tail<'_> {
    /// Whether the batch is still where it was.
    ///
    /// # Errors
    /// `Io`.
    pub fn stands(&self, batch: &LastBatch) -> Result<bool> {
        if batch.position >= self.len {
            return Ok(false);
        }
        match self.headers(batch.position).next_header() {
            Ok(header) => Ok(header.is_some_and(|header| LastBatch::of(&header) == *batch)),
            Err(error) if error.is_about_data() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads headers from `start` on, where a batch starts, to the end of the whole ones, and tells them to `scan`.
    ///
    /// # Errors
    /// As `Headers::next_header`, and when the work is to stop.
    pub fn walk(&self, start: u64, scan: &mut Scan) -> Result<Walked> {
        let mut headers = self.headers(start.min(self.len));
        let mut last = None;
        let mut held = headers.next_header()?;
        while let Some(header) = held {
            self.interrupt.ensure_wanted()?;
            if self.until.is_some_and(|until| header.base_offset >= until) {
                return Ok(Walked { last, has_more: true, unfinished: None });
            }
            held = headers.next_header()?;
            if held.is_none() && self.is_checked && !is_intact(&header, &headers.entry(&header)?) {
                return Ok(Walked { last, has_more: false, unfinished: Some(header.position) });
            }
            let marker = if is_marker(&header) { headers.marker(&header)? } else { None };
            scan.visit_header(&header, marker);
            last = Some(LastBatch::of(&header));
        }
        let unfinished = match headers.tail() {
            Some(framing::Tail::Torn { position, .. }) => Some(position),
            _ => None,
        };
        Ok(Walked { last, has_more: false, unfinished })
    }

    fn headers(&self, start: u64) -> Headers<&dyn ReadAt> {
        Headers::new(self.log, self.limits, start, self.len).of(self.formats)
    }
}
