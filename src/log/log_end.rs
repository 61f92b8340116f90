//! The end of a log to which a broker appends: its last batch, and how the bytes after it end.
//!
//! Headers and the end of an earlier look go in, the end now comes out. A remembered batch is trusted only if the same batch is still at its
//! position: a log may have been cut and written again.

use std::ops::Range;

use super::headers::is_valid;
use super::{BatchHeaders, ReadAt};
use crate::decode::transactions::TransactionScan;
use crate::decode::{ChecksumVerifier, Checksums, DecodeOptions, UploadCheck, parse_header, verify};
use crate::error::Result;
use crate::framing::{Frame, FrameEvent, Runs, Source, Step, Tail, step};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats};
use crate::validate::Finding;
use crate::wire::as_u64;

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

/// Where a log ends.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEnd {
    /// The last batch that counts; `None` if there is none.
    pub last: Option<LastBatch>,
    /// How the bytes end: after the last batch, inside an entry that may still be written, in zeros, or in damage.
    pub tail: Tail,
    /// The zeros at the end of a preallocated log, for the next look; empty if there are none.
    pub zeros: Range<u64>,
    /// The finding of a damaged tail, unless damage is skipped.
    pub finding: Option<Finding>,
}

/// The result of a walk along headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Walked {
    /// The last batch; `None` if there was none.
    pub last: Option<LastBatch>,
    /// True if there are batches after the offset at which the walk was to end.
    pub has_more: bool,
    /// How the log ends after the last batch.
    pub tail: Tail,
    /// As in `LogEnd`; those that were known before if the walk ended before.
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
    /// The very last batch must be valid to count. False if the caller knows up to which offset the log is written.
    pub is_checked: bool,
    /// The end is looked for past damage.
    pub skips_damage: bool,
    /// Zeros at the end of this log that an earlier look found (`LogEnd::zeros`), which are not read again.
    pub zeros: Range<u64>,
    /// Asked between batches.
    pub interrupt: &'a Interrupt,
}

/// Opens the bytes of a log from a position on, up to another one or to the end.
pub type OpenBytes<'a> = &'a dyn Fn(u64, Option<u64>) -> Result<Source>;

/// Bytes of entries that are searched at a time.
const RUN_LEN: usize = 1 << 20;

impl GrowingLog<'_> {
    /// True if the batch is still at its position.
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

    /// Finds the end of the log.
    ///
    /// A header is not proven by its checksum, so that an entry which is torn, or invalid and the last one, may cover valid batches. Then it
    /// is damage. Without valid batches after its beginning it may still be written.
    ///
    /// # Errors
    /// As `BatchHeaders::next_header`, unless damage is skipped; `Io`, and when the work is to stop.
    pub fn end(&self, since: Option<LastBatch>, start: u64, open: OpenBytes<'_>) -> Result<LogEnd> {
        let start = since.map_or(start, |since| since.position);
        let walked = match self.walk(start, None, None) {
            Err(error) if self.skips_damage && error.is_about_data() => {
                let tail = Tail::Damaged { position: error.position().byte.unwrap_or(start) };
                let last = self.search(open(start, None)?)?.last.or(since);
                return Ok(LogEnd { last, tail, zeros: 0..0, finding: None });
            }
            walked => walked?,
        };
        let (last, tail, zeros) = (walked.last.or(since), walked.tail, walked.zeros);
        let end = LogEnd { last, tail, zeros, finding: None };
        let stop = Some(end.zeros.start).filter(|_| !end.zeros.is_empty());
        match end.tail {
            Tail::Torn { position, .. } if !self.skips_damage => {
                let found = self.search(open(position, stop)?)?;
                let is_followed = found.last.is_some_and(|last| last.position > position);
                let damage = found.finding.filter(|_| is_followed);
                Ok(if damage.is_some() { LogEnd { tail: Tail::Damaged { position }, finding: damage, ..end } } else { end })
            }
            Tail::Torn { .. } => self.past_damage(end, start, stop, open),
            _ if self.skips_damage && !self.is_checked => self.past_damage(end, start, stop, open),
            _ => Ok(end),
        }
    }

    /// Moves the end to the last valid batch from the last known one on.
    fn past_damage(&self, end: LogEnd, start: u64, stop: Option<u64>, open: OpenBytes<'_>) -> Result<LogEnd> {
        let from = end.last.map_or(start, |last| last.position);
        let last = self.search(open(from, stop)?)?.last.or(end.last);
        Ok(LogEnd { last, ..end })
    }

    /// Reads headers from `start` on, where a batch starts, to the end of the whole ones or to `until`, and passes them to `scan` if there is
    /// one.
    ///
    /// # Errors
    /// As `BatchHeaders::next_header`, and when the work is to stop. `Checksum` with a scan, which damage would mislead: of an entry that is or
    /// may have been a marker, and of the first batch of a transaction that stays open.
    pub(super) fn walk(&self, start: u64, until: Option<i64>, mut scan: Option<&mut TransactionScan>) -> Result<Walked> {
        let walked = self.follow(start, until, scan.as_deref_mut())?;
        for place in scan.map(|scan| scan.begun_before(None)).unwrap_or_default() {
            let mut headers = self.headers(place.position);
            if let Some(header) = headers.next_header()? {
                valid_entry(&headers, &header)?;
            }
        }
        Ok(walked)
    }

    fn follow(&self, start: u64, until: Option<i64>, mut scan: Option<&mut TransactionScan>) -> Result<Walked> {
        let start = start.min(self.len);
        let mut headers = self.headers(start).knowing_zeros(self.zeros.clone());
        let mut walked = Walked { last: None, has_more: false, tail: Tail::Complete, zeros: self.zeros.clone() };
        let mut held = headers.next_header()?;
        let mut unfinished = None;
        while let Some(header) = held {
            self.interrupt.ensure_wanted()?;
            if until.is_some_and(|until| header.base_offset >= until) {
                walked.has_more = true;
                return Ok(walked);
            }
            held = headers.next_header()?;
            if held.is_none() && self.is_checked && !is_valid(&header, &headers.entry(&header)?) {
                unfinished = Some(Tail::Torn { position: header.position, needed: header.size, available: header.size });
                break;
            }
            if let Some(scan) = &mut scan {
                scan.visit_header(&header, || valid_entry(&headers, &header).map(Some))?;
            }
            walked.last = Some(LastBatch::of(&header));
        }
        let tail = headers.tail().unwrap_or(Tail::Complete);
        walked.zeros = if let Tail::Zeros { position, bytes } = tail { position..position.saturating_add(bytes) } else { 0..0 };
        walked.tail = unfinished.unwrap_or(tail);
        Ok(walked)
    }

    /// Finds the last valid entry, past damage, and the first damage.
    fn search(&self, source: Source) -> Result<Searched> {
        let (formats, limits) = (self.formats, self.limits);
        let options = DecodeOptions { formats, limits, upload: source.upload(), ..DecodeOptions::default() };
        let verifier = ChecksumVerifier { formats, limits, checksums: Checksums::All };
        let mut runs = Runs::new(source, limits, RUN_LEN)
            .of(formats)
            .with_source_check(UploadCheck::of(&options))
            .with_recovery(Box::new(verifier))
            .with_interrupt(self.interrupt.clone());
        let mut found = Searched { last: None, finding: None };
        while let Some(piece) = runs.next_piece()? {
            self.interrupt.ensure_wanted()?;
            let FrameEvent::Run(run) = piece else {
                found.finding = found.finding.or_else(|| Finding::of_piece(&piece));
                continue;
            };
            let mut at = 0;
            while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
                let position = run.position.saturating_add(as_u64(at));
                let frame = Frame { position, magic, bytes: run.bytes.get(at..at + len).unwrap_or_default() };
                at += len;
                found.last = parse_header(frame, formats, 0).ok().map(|header| LastBatch::of(&header)).or(found.last);
            }
        }
        Ok(found)
    }

    fn headers(&self, start: u64) -> BatchHeaders<&dyn ReadAt> {
        BatchHeaders::new(self.log, self.limits, start, self.len).of(self.formats)
    }
}

/// The result of a search past damage.
struct Searched {
    last: Option<LastBatch>,
    finding: Option<Finding>,
}

fn valid_entry(headers: &BatchHeaders<&dyn ReadAt>, header: &BatchHeader) -> Result<Vec<u8>> {
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
            let (limits, formats, interrupt) = (Limits::default(), Formats::Every, Interrupt::default());
            let len = as_u64(self.0.len());
            let (is_checked, skips_damage) = (false, false);
            let growing = GrowingLog { log: self, len, limits, formats, is_checked, skips_damage, zeros, interrupt: &interrupt };
            growing.walk(start, None, None).map(|walked| (walked, self.1.load(Ordering::Relaxed) - before))
        }
    }

    impl ReadAt for Log {
        fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
            let len = self.0.as_slice().read_at(to, position)?;
            self.1.fetch_add(as_u64(len), Ordering::Relaxed);
            Ok(len)
        }
    }

    /// The bytes that every look at a log reads: headers, and the bytes around them.
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
        assert_eq!(error.position().byte, Some(183), "zeros hide what is after them");
        assert!(log.walk(0, 200..as_u64(Log::LEN)).is_err(), "the walk begins after the zeros");
        assert!(log.walk(0, 100..as_u64(Log::LEN)).is_ok());
        log.0[190] = 1;
        assert!(log.walk(0, 100..as_u64(Log::LEN)).is_err());
    }
}
