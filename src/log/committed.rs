//! What a committed read of a partition must know, from its markers.
//!
//! Neither a `.txnindex` nor a `.snapshot` can prove what it lacks: one that was lost, cut or copied from another log looks like that of a log
//! without transactions. So the scan starts at the beginning of the log, goes by the markers, and ends when every transaction that began
//! before the end of the wanted offsets has ended. A snapshot only adds caution: where offsets are missing, it can show that a marker was
//! among them.
//!
//! No header is trusted that one flipped bit would make a lie about a transaction: markers, and entries that may have been some, count when
//! their checksum matches, and so does the first batch of a transaction that stays open. What is skipped puts transactions in doubt.

use super::committed_entries::{Committed, EntrySource, is_cut};
use super::{BatchHeaders, ReadAt};
use crate::decode::transactions::TransactionScan;
use crate::decode::{Checksums, Transactions};
use crate::error::Result;
use crate::framing::Tail;
use crate::sidecar::ProducerEntry;

/// One segment of a partition.
pub trait SegmentSource: EntrySource {
    /// Its first offset.
    fn base_offset(&self) -> i64;
    /// The log and its length.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self) -> Result<(Box<dyn ReadAt>, u64)>;
    /// True if only the headers and markers are at hand, and other bytes have to be fetched.
    fn has_headers_only(&self) -> bool {
        false
    }
    /// The entries of the sound `.snapshot` of the state before the segment.
    fn snapshot(&self) -> Option<Vec<ProducerEntry>>;
}

impl Committed<'_> {
    /// The transactions of the segments, which are in offset order, as far as the wanted offsets need them.
    ///
    /// # Errors
    /// As `visit_source`.
    pub fn transactions<S: SegmentSource>(&self, segments: &[S]) -> Result<Transactions> {
        self.proven(segments, |committed| committed.scan(segments)).map(TransactionScan::finish)
    }

    /// The transactions that are open at the end of the segments: producer id and first offset.
    ///
    /// # Errors
    /// As `transactions`.
    pub fn open_transactions<S: SegmentSource>(&self, segments: &[S]) -> Result<Vec<(i64, i64)>> {
        self.proven(segments, |committed| committed.scan(segments)).map(|scan| scan.open())
    }

    fn scan<S: SegmentSource>(&self, segments: &[S]) -> Result<TransactionScan> {
        let mut scan = TransactionScan::default();
        for (index, segment) in segments.iter().enumerate() {
            if self.is_enough(&scan, segment.base_offset()) {
                break;
            }
            scan.enter(index, Some(segment.base_offset()));
            if scan.may_lack_markers()
                && let Some(producers) = segment.snapshot()
            {
                scan.agree(&producers);
            }
            let visited = self.visit(segment, &mut scan);
            if !visited.map_err(|error| segment.named(error))? {
                break;
            }
        }
        Ok(scan)
    }

    /// False when nothing more needs to be known.
    fn visit<S: SegmentSource>(&self, segment: &S, scan: &mut TransactionScan) -> Result<bool> {
        if self.verifier.checksums == Checksums::All {
            return self.visit_from(segment, 0, scan).map(|()| true);
        }
        let (log, len) = segment.open()?;
        let headers = BatchHeaders::new(&*log, self.verifier.limits, 0, len).of(self.verifier.formats);
        match self.visit_headers(headers, scan)? {
            VisitedHeaders::All => Ok(true),
            VisitedHeaders::Enough => Ok(false),
            VisitedHeaders::UpTo(damage) => self.visit_from(segment, damage, scan).map(|()| true),
        }
    }

    /// Visits whole entries from a position on. A storage that gives none of the bytes has lost all of them.
    fn visit_from<S: SegmentSource>(&self, segment: &S, start: u64, scan: &mut TransactionScan) -> Result<()> {
        if self.visit_source(segment.source(start)?, scan)? == 0 && segment.open()?.1 > start {
            scan.mark_undecided();
        }
        Ok(())
    }

    fn visit_headers(&self, mut headers: BatchHeaders<&dyn ReadAt>, scan: &mut TransactionScan) -> Result<VisitedHeaders> {
        let mut after = None;
        loop {
            self.interrupt.ensure_wanted()?;
            let header = match headers.next_header() {
                Ok(Some(header)) => header,
                // A torn entry may hide valid ones, with markers: a range can begin after it.
                Ok(None) if matches!(headers.tail(), Some(Tail::Torn { .. })) => return Ok(VisitedHeaders::UpTo(headers.position())),
                Ok(None) if is_cut(headers.tail()) => {
                    scan.tear();
                    return Ok(VisitedHeaders::All);
                }
                Ok(None) => return Ok(VisitedHeaders::All),
                Err(error) if error.is_about_data() => return Ok(VisitedHeaders::UpTo(headers.position())),
                Err(error) => return Err(error),
            };
            // One header alone may have a flipped bit: the next one goes on from there when it has none.
            if after.is_some_and(|last| header.base_offset > last) && self.is_enough(scan, header.base_offset) {
                return Ok(VisitedHeaders::Enough);
            }
            after = self.is_after(header.base_offset).then_some(header.last_offset);
            let goes_on = scan.goes_on_with(&header);
            if !scan.visit_header(&header, || headers.valid_entry(&header))? {
                return Ok(VisitedHeaders::UpTo(header.position));
            }
            // What may follow is not looked at: a preallocated log has a GiB of zeros.
            if goes_on && self.is_enough(scan, header.last_offset.saturating_add(1)) && headers.valid_entry(&header)?.is_some() {
                return Ok(VisitedHeaders::Enough);
            }
        }
    }

    fn is_after(&self, offset: i64) -> bool {
        self.wanted.end.is_some_and(|end| offset >= end)
    }

    fn is_enough(&self, scan: &TransactionScan, offset: i64) -> bool {
        self.is_after(offset) && !self.wanted.end.is_some_and(|end| scan.is_open_before(end))
    }
}

/// How far the headers of a segment were visited.
enum VisitedHeaders {
    /// To its end, or as far as the markers decide.
    All,
    /// Until nothing more needs to be known, of no segment.
    Enough,
    /// Up to this position, where an entry cannot be trusted.
    UpTo(u64),
}
