//! What a committed read of a partition must know, from producer snapshots and markers.
//!
//! A `.txnindex` cannot tell what it lacks: a lost or cut one looks like that of a log without aborts. Nor can it prove what it has: that the
//! transaction of a marker began where an entry says, and not behind a commit in between, all headers tell and nothing less. A snapshot is
//! guarded by a checksum and says which transactions are open at its offset. So the reading begins at a snapshot, goes by the markers, and
//! ends when every transaction that began before the end of the wanted offsets has ended. Segments in which none of them ends are passed
//! over: the snapshot behind one says so.
//!
//! No header is believed that one flipped bit would make a lie about a transaction: markers, and entries that may have been some, count when
//! their checksum matches, and so does the first batch of a transaction that stays open. What is passed over puts transactions in doubt.

use std::sync::Arc;

use super::{Headers, ReadAt};
use crate::decode::transactions::{Scan, is_marker, marker, may_be_marker};
use crate::decode::{ChecksumJudge, Checksums, OffsetRange, Transactions, parse_header};
use crate::error::Result;
use crate::format::v3;
use crate::framing::{Frame, Judge, Piece, Runs, Source, Step, Tail, step};
use crate::interrupt::Interrupt;
use crate::model::{BatchHeader, Formats};
use crate::sidecar::ProducerEntry;

/// One segment of a partition, opened when it is needed: a partition may have more of them than a process may have open files.
pub trait Segment {
    /// The name by which errors tell it.
    fn name(&self) -> Arc<str>;
    /// Its first offset.
    fn base_offset(&self) -> i64;
    /// The log and its length.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self) -> Result<(Box<dyn ReadAt>, u64)>;
    /// The log from a position on, to be read front to back past all damage.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn source(&self, start: u64) -> Result<Source>;
    /// The entries of the sound `.snapshot` of the state before the segment.
    fn snapshot(&self) -> Option<Vec<ProducerEntry>>;
}

/// How to go about it.
pub struct Committed<'a> {
    /// The offsets that will be read.
    pub wanted: OffsetRange,
    /// What is believed. When it compares all checksums, every entry is read; else headers and markers are.
    pub judge: ChecksumJudge,
    /// The decode that follows skips damage and tells it, also batches of magic 3 where they are not read; without it they are refused.
    pub is_recovering: bool,
    /// Asked between batches.
    pub interrupt: &'a Interrupt,
}

impl Committed<'_> {
    /// The transactions of the segments, which are in offset order, as far as the wanted offsets need them.
    ///
    /// # Errors
    /// As `visit_source`.
    pub fn transactions<S: Segment>(&self, segments: &[S]) -> Result<Transactions> {
        let scan = self.scan(segments)?;
        for place in scan.begun_before(self.wanted.end) {
            let Some(segment) = segments.get(place.segment) else { continue };
            if !segment.source(place.position).and_then(|source| self.is_proven(source)).map_err(|error| error.in_file(&segment.name()))? {
                return Ok(self.thorough().scan(segments)?.finish());
            }
        }
        Ok(scan.finish())
    }

    /// The same work by entries whose checksums match, all of them read.
    #[must_use]
    pub fn thorough(&self) -> Self {
        Self { judge: ChecksumJudge { checksums: Checksums::All, ..self.judge }, ..*self }
    }

    /// Whether the first entry is one whose checksum matches; always where all are compared.
    ///
    /// # Errors
    /// `Io`, and when the work is to stop.
    pub fn is_proven(&self, source: Source) -> Result<bool> {
        if self.judge.checksums == Checksums::All {
            return Ok(true);
        }
        let mut runs = Runs::new(source, self.judge.limits, 1).of(self.judge.formats);
        match runs.next_piece() {
            Ok(Some(Piece::Run(run))) => {
                let formats = self.judge.formats;
                let Step::Entry { len, .. } = step(run.entries_from(0), formats, &self.judge.limits) else { return Ok(false) };
                Ok(self.judge.is_intact(run.bytes.get(..len).unwrap_or_default()))
            }
            Err(error) if !error.is_about_data() => Err(error),
            _ => Ok(false),
        }
    }

    fn scan<S: Segment>(&self, segments: &[S]) -> Result<Scan> {
        let first = segments.partition_point(|segment| segment.base_offset() <= self.wanted.start).saturating_sub(1);
        let known = segments.iter().enumerate().take(first + 1).rev().find_map(|(index, segment)| Some((index, segment.snapshot()?)));
        let (from, snapshot) = known.unwrap_or_default();
        let mut scan = Scan::default();
        for producer in snapshot.iter().filter(|producer| producer.current_txn_first_offset >= 0) {
            scan.begin(producer.producer_id, producer.current_txn_first_offset);
        }
        for (index, segment) in segments.iter().enumerate().skip(from) {
            if self.is_enough(&scan, segment.base_offset()) {
                break;
            }
            scan.enter(index, Some(segment.base_offset()));
            if scan.may_lack_markers()
                && let Some(producers) = segment.snapshot()
            {
                scan.agree(&producers);
            }
            let visited = self.visit(segment, segments.get(index + 1), &mut scan);
            if !visited.map_err(|error| error.in_file(&segment.name()))? {
                break;
            }
        }
        Ok(scan)
    }

    /// False when nothing more needs to be known.
    fn visit<S: Segment>(&self, segment: &S, next: Option<&S>, scan: &mut Scan) -> Result<bool> {
        if self.judge.checksums == Checksums::All {
            self.visit_source(segment.source(0)?, scan)?;
            return Ok(true);
        }
        let mut is_behind = self.is_behind(segment.base_offset());
        if is_behind && self.is_known(next, scan) {
            return Ok(true);
        }
        let (log, len) = segment.open()?;
        let mut headers = Headers::new(&*log, self.judge.limits, 0, len).of(self.judge.formats);
        let mut behind = None;
        let damaged_at = loop {
            self.interrupt.ensure_wanted()?;
            match headers.next_header() {
                Ok(None) => {
                    if is_cut(headers.tail()) {
                        scan.tear();
                    }
                    return Ok(true);
                }
                Ok(Some(header)) => {
                    // One header alone may have a flipped bit: the next one goes on from there when it has none.
                    if behind.is_some_and(|last| header.base_offset > last) {
                        if self.is_enough(scan, header.base_offset) {
                            return Ok(false);
                        }
                        if !is_behind {
                            is_behind = true;
                            if self.is_known(next, scan) {
                                return Ok(true);
                            }
                        }
                    }
                    behind = self.is_behind(header.base_offset).then_some(header.last_offset);
                    let goes_on = scan.goes_on_with(&header);
                    if !visit_header(&headers, &header, scan)? {
                        break header.position;
                    }
                    // What may follow is not looked at: a preallocated log has a GiB of zeros.
                    if goes_on && self.is_enough(scan, header.last_offset.saturating_add(1)) && headers.intact_entry(&header)?.is_some() {
                        return Ok(false);
                    }
                }
                Err(error) if error.is_about_data() => break headers.position(),
                Err(error) => return Err(error),
            }
        };
        self.visit_source(segment.source(damaged_at)?, scan)?;
        Ok(true)
    }

    /// Behind the wanted offsets: whether the headers of a segment can tell nothing that is needed.
    fn is_known<S: Segment>(&self, next: Option<&S>, scan: &Scan) -> bool {
        let Some(end) = self.wanted.end else { return false };
        !scan.is_open_before(end) || next.is_some_and(|next| are_still_open(next, end, scan))
    }

    fn is_behind(&self, offset: i64) -> bool {
        self.wanted.end.is_some_and(|end| offset >= end)
    }

    fn is_enough(&self, scan: &Scan, offset: i64) -> bool {
        self.is_behind(offset) && !self.wanted.end.is_some_and(|end| scan.is_open_before(end))
    }

    /// Visits whole entries. What the judge does not believe is passed over, and puts in doubt what is open there.
    ///
    /// # Errors
    /// `UnsupportedFormat` (MAP-3) for an intact batch of magic 3 where they are not read: a transaction may begin or end in it. `Io`, and
    /// when the work is to stop.
    pub fn visit_source(&self, source: Source, scan: &mut Scan) -> Result<()> {
        let refuses_v3 = !self.is_recovering && self.judge.formats == Formats::Auto;
        // One that is refused must be found first.
        let formats = if refuses_v3 { Formats::Experimental } else { self.judge.formats };
        let judge = ChecksumJudge { formats, ..self.judge };
        let mut runs = Runs::new(source, judge.limits, 1 << 20).of(formats).recovering(Box::new(judge)).asking(self.interrupt.clone());
        while let Some(piece) = runs.next_piece()? {
            self.interrupt.ensure_wanted()?;
            let Piece::Run(run) = piece else {
                scan.doubt();
                continue;
            };
            let mut at = 0;
            while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &judge.limits) {
                let position = run.position.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
                let frame = Frame { position, magic, bytes: run.bytes.get(at..at + len).unwrap_or_default() };
                at += len;
                if refuses_v3 && magic == v3::layout::MAGIC {
                    if judge.is_intact(frame.bytes) {
                        parse_header(frame, self.judge.formats, 0).map_err(|error| error.at_byte(position))?;
                    }
                    scan.doubt();
                    continue;
                }
                scan.visit(frame);
            }
        }
        if is_cut(runs.tail()) {
            scan.tear();
        }
        Ok(())
    }
}

/// Shows a header to the scan; false when its entry is, or may have been, a marker, and its checksum does not match.
fn visit_header(headers: &Headers<&dyn ReadAt>, header: &BatchHeader, scan: &mut Scan) -> Result<bool> {
    let mut found = None;
    if header.is_control() || (scan.has_open() && may_be_marker(header)) {
        let Some(entry) = headers.intact_entry(header)? else { return Ok(false) };
        if is_marker(header) {
            found = marker(header, &entry).ok().flatten();
        }
    }
    scan.visit_header(header, found);
    Ok(true)
}

fn is_cut(tail: Option<Tail>) -> bool {
    matches!(tail, Some(Tail::Torn { .. } | Tail::Zeros { .. }))
}

/// True when the snapshot of the state before `next` says of all transactions from before `end` that they are open still.
fn are_still_open<S: Segment>(next: &S, end: i64, scan: &Scan) -> bool {
    let Some(producers) = next.snapshot() else { return false };
    let is_open = |id: i64, first: i64| producers.iter().any(|one| one.producer_id == id && one.current_txn_first_offset == first);
    scan.open().into_iter().filter(|(_, first)| *first < end).all(|(id, first)| is_open(id, first))
}
