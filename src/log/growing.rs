//! The end of a log that a broker appends to: what has come since it was looked at, and which transactions are open there.
//!
//! Headers and a place remembered go in, the last batch comes out. A place is trusted only when the same batch still stands there: a log
//! may have been cut and written again.

use std::ops::Range;

use super::lookup::is_valid;
use super::{Headers, ReadAt};
use crate::decode::transactions::Scan;
use crate::decode::verify;
use crate::error::Result;
use crate::framing::Tail;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The last batch; `None` when there was none.
    pub last: Option<LastBatch>,
    /// Whether there are batches behind the offset at which the walk was to end.
    pub has_more: bool,
    /// Where an entry begins that does not count, since the log ends inside of it or it is not valid yet; `None` when there is none.
    pub unfinished: Option<u64>,
    /// The zeros at the end of a preallocated log, for the next walk; empty when there are none, or the walk ended before.
    pub zeros: Range<u64>,
}

/// A log of `len` bytes, as it is now.
pub struct GrowingLog<'a> {
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
    /// Whether the very last batch must be valid to count: where nobody says how far the log is written, its bytes may still be on their way.
    pub is_checked: bool,
    /// What was found to be zeros at the end of this log before (`Walked::zeros`), and is not read again.
    pub zeros: Range<u64>,
    /// Asked between batches.
    pub interrupt: &'a Interrupt,
}

impl GrowingLog<'_> {
    /// Whether the batch is still where it was.
    ///
    /// # Errors
    /// `Io`.
    pub fn holds(&self, batch: &LastBatch) -> Result<bool> {
        if batch.position >= self.len {
            return Ok(false);
        }
        match self.headers(batch.position).next_header() {
            Ok(header) => Ok(header.is_some_and(|header| LastBatch::of(&header) == *batch)),
            Err(error) if error.is_about_data() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads headers from `start` on, where a batch starts, to the end of the whole ones, and tells them to `scan` where there is one.
    ///
    /// # Errors
    /// As `Headers::next_header`, and when the work is to stop. `Checksum` with a scan, which damage would lead astray without a word: of an
    /// entry that is or may have been a marker, and of the first batch of a transaction that stays open.
    pub fn walk(&self, start: u64, mut scan: Option<&mut Scan>) -> Result<Walked> {
        let walked = self.follow(start, scan.as_deref_mut())?;
        for place in scan.map(|scan| scan.begun_before(None)).unwrap_or_default() {
            let mut headers = self.headers(place.position);
            if let Some(header) = headers.next_header()? {
                valid_entry(&headers, &header)?;
            }
        }
        Ok(walked)
    }

    fn follow(&self, start: u64, mut scan: Option<&mut Scan>) -> Result<Walked> {
        let start = start.min(self.len);
        let mut headers = self.headers(start).knowing_zeros(self.zeros.clone());
        let mut walked = Walked { last: None, has_more: false, unfinished: None, zeros: self.zeros.clone() };
        let mut held = headers.next_header()?;
        while let Some(header) = held {
            self.interrupt.ensure_wanted()?;
            if self.until.is_some_and(|until| header.base_offset >= until) {
                walked.has_more = true;
                return Ok(walked);
            }
            held = headers.next_header()?;
            if held.is_none() && self.is_checked && !is_valid(&header, &headers.entry(&header)?) {
                walked.unfinished = Some(header.position);
                break;
            }
            if let Some(scan) = &mut scan {
                scan.visit_header(&header, || valid_entry(&headers, &header).map(Some))?;
            }
            walked.last = Some(LastBatch::of(&header));
        }
        walked.zeros = 0..0;
        match headers.tail() {
            Some(Tail::Torn { position, .. }) => _ = walked.unfinished.get_or_insert(position),
            Some(Tail::Zeros { position, bytes }) => walked.zeros = position..position.saturating_add(bytes),
            Some(Tail::Complete) | None => {}
        }
        Ok(walked)
    }

    fn headers(&self, start: u64) -> Headers<&dyn ReadAt> {
        Headers::new(self.log, self.limits, start, self.len).of(self.formats)
    }
}

fn valid_entry(headers: &Headers<&dyn ReadAt>, header: &BatchHeader) -> Result<Vec<u8>> {
    let entry = headers.entry(header)?;
    verify(&entry, header).map_err(|error| error.in_batch(header.base_offset).at_byte(header.position))?;
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::wire::as_u64;

    /// An empty batch of magic 2.
    fn batch(offset: i64) -> Vec<u8> {
        let mut batch = vec![0; 61];
        batch[..8].copy_from_slice(&offset.to_be_bytes());
        batch[11] = 49;
        batch[16] = 2;
        batch
    }

    /// A preallocated log, and how many bytes were read of it.
    struct Log(Vec<u8>, AtomicU64);

    impl Log {
        const LEN: usize = 8 << 20;

        fn of(batches: i64) -> Self {
            let mut bytes: Vec<u8> = (0..batches).flat_map(batch).collect();
            bytes.resize(Self::LEN, 0);
            Self(bytes, AtomicU64::new(0))
        }

        fn walk(&self, start: u64, zeros: Range<u64>) -> Result<(Walked, u64)> {
            let before = self.1.load(Ordering::Relaxed);
            let (limits, formats, interrupt) = (Limits::default(), Formats::Experimental, Interrupt::default());
            let len = as_u64(self.0.len());
            let tail = GrowingLog { log: self, len, limits, formats, until: None, is_checked: false, zeros, interrupt: &interrupt };
            tail.walk(start, None).map(|walked| (walked, self.1.load(Ordering::Relaxed) - before))
        }
    }

    impl ReadAt for Log {
        fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
            let len = self.0.as_slice().read_at(to, position)?;
            self.1.fetch_add(as_u64(len), Ordering::Relaxed);
            Ok(len)
        }
    }

    /// What every look at a log reads of it: the headers that it meets, and what stands around them.
    const FEW: u64 = 16 << 10;

    #[test]
    fn the_zeros_of_a_preallocated_log_are_read_once() {
        let mut log = Log::of(3);
        let (first, read) = log.walk(0, 0..0).unwrap();
        assert_eq!(first.zeros, 183..as_u64(Log::LEN));
        assert!(read > as_u64(Log::LEN), "nobody knew that they are zeros");
        let last = first.last.unwrap();
        let (again, read) = log.walk(last.position, first.zeros.clone()).unwrap();
        assert_eq!((&again, read < FEW), (&first, true), "{read}");
        log.0[183..244].copy_from_slice(&batch(3));
        let (more, read) = log.walk(last.position, again.zeros).unwrap();
        assert_eq!((more.last.unwrap().last_offset, more.zeros.clone()), (3, 244..as_u64(Log::LEN)));
        assert!(read < FEW, "{read}");
        log.0.resize(2 * Log::LEN, 0);
        let (longer, read) = log.walk(last.position, more.zeros).unwrap();
        assert_eq!(longer.zeros, 244..as_u64(2 * Log::LEN));
        assert!((as_u64(Log::LEN)..as_u64(Log::LEN) + FEW).contains(&read), "{read}");
        log.0.truncate(244);
        assert_eq!(log.walk(last.position, longer.zeros).unwrap().0.zeros, 0..0);
    }

    #[test]
    fn a_log_without_a_batch_is_all_zeros() {
        let log = Log::of(0);
        let (first, _) = log.walk(0, 0..0).unwrap();
        assert_eq!((first.last, first.zeros.clone()), (None, 0..as_u64(Log::LEN)));
        assert!(log.walk(0, first.zeros).unwrap().1 < FEW);
    }

    #[test]
    fn zeros_are_believed_from_where_they_were_found_on_and_where_they_still_stand() {
        let mut log = Log::of(3);
        log.0[5 << 20] = 1;
        let error = log.walk(0, 0..0).unwrap_err();
        assert_eq!(error.position().byte, Some(183), "what stands behind zeros is hidden by them");
        assert!(log.walk(0, 200..as_u64(Log::LEN)).is_err(), "they begin behind these");
        assert!(log.walk(0, 100..as_u64(Log::LEN)).is_ok());
        log.0[190] = 1;
        assert!(log.walk(0, 100..as_u64(Log::LEN)).is_err());
    }
}
