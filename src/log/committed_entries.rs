//! Transactions by whole entries, and the proof of those that stay open.
//!
//! A transaction without a marker cuts the read where it began. When the checksum of the batch does not match with which it began, a flipped
//! bit made it one: then everything is read once more, and nothing trusted whose checksum does not match.

use crate::decode::transactions::TransactionScan;
use crate::decode::{ChecksumVerifier, Checksums, OffsetRange, Transactions, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::record_batch;
use crate::framing::{Frame, FrameEvent, Runs, Source, Step, Tail, Verifier, step};
use crate::interrupt::Interrupt;
use crate::model::Formats;

/// How to go about it.
pub struct Committed<'a> {
    /// The offsets that will be read.
    pub wanted: OffsetRange,
    /// What is trusted. When it compares all checksums, every entry is read; else headers and markers are.
    pub verifier: ChecksumVerifier,
    /// The decode that follows skips batches of magic 3 where they are not read; without it they are refused.
    pub skips_unreadable: bool,
    /// Asked between batches.
    pub interrupt: &'a Interrupt,
}

/// Entries that can be read again, opened when they are needed: a partition may have more segments than a process may have open files.
pub trait EntrySource {
    /// The bytes from a position on, to be read front to back past all damage.
    ///
    /// # Errors
    /// When they cannot be opened.
    fn source(&self, start: u64) -> Result<Source>;
    /// An error of these entries, with the name by which people know them.
    fn named(&self, error: Error) -> Error {
        error
    }
}

impl Committed<'_> {
    /// The transactions of sources of which nothing is known but their order.
    ///
    /// # Errors
    /// As `visit_source`, and `Usage` when they are not in the order of their offsets: a marker would be taken for that of another transaction.
    pub fn transactions_of<E: EntrySource>(&self, sources: &[E]) -> Result<Transactions> {
        self.proven(sources, |committed| committed.scan_sources(sources)).map(TransactionScan::finish)
    }

    /// What a scan of sources finds, or the same scan by checksums when a transaction that cuts the read has none that matches.
    pub(super) fn proven<E: EntrySource>(&self, sources: &[E], scan: impl Fn(&Self) -> Result<TransactionScan>) -> Result<TransactionScan> {
        let scanned = scan(self)?;
        for place in scanned.begun_before(self.wanted.end) {
            let Some(entries) = sources.get(place.segment) else { continue };
            let is_proven = entries.source(place.position).and_then(|source| self.is_proven(source));
            if !is_proven.map_err(|error| entries.named(error))? {
                let thorough = Self { verifier: ChecksumVerifier { checksums: Checksums::All, ..self.verifier }, ..*self };
                return scan(&thorough);
            }
        }
        Ok(scanned)
    }

    /// Whether the first entry is one whose checksum matches; always where all are compared.
    fn is_proven(&self, source: Source) -> Result<bool> {
        if self.verifier.checksums == Checksums::All {
            return Ok(true);
        }
        let mut runs = Runs::new(source, self.verifier.limits, 1).of(self.verifier.formats);
        match runs.next_piece() {
            Ok(Some(FrameEvent::Run(run))) => {
                let Step::Entry { len, .. } = step(run.entries_from(0), self.verifier.formats, &self.verifier.limits) else {
                    return Ok(false);
                };
                Ok(self.verifier.is_valid(run.bytes.get(..len).unwrap_or_default()))
            }
            Err(error) if !error.is_about_data() => Err(error),
            _ => Ok(false),
        }
    }

    fn scan_sources<E: EntrySource>(&self, sources: &[E]) -> Result<TransactionScan> {
        let mut scan = TransactionScan::default();
        let mut before = None;
        for (index, entries) in sources.iter().enumerate() {
            scan.enter(index, None);
            entries.source(0).and_then(|source| self.visit_source(source, &mut scan)).map_err(|error| entries.named(error))?;
            let Some(first) = scan.take_first_offset() else { continue };
            if let Some((earlier, start)) = before.replace((index, first)).filter(|(_, start)| first < *start) {
                let problem = format!(
                    "must be in the order of their offsets: sources[{earlier}] starts at offset {start}, sources[{index}] at {first}"
                );
                return Err(ErrorKind::Usage { argument: "sources", problem }.into());
            }
        }
        Ok(scan)
    }

    /// Visits complete entries, and returns the number of bytes. Entries that the verifier rejects are skipped; transactions that are open
    /// there become undecided.
    ///
    /// # Errors
    /// `UnsupportedFormat` (MAP-3) for a valid batch of magic 3 where they are not read: a transaction may begin or end in it. `Io`, and
    /// when the work is to stop.
    pub fn visit_source(&self, source: Source, scan: &mut TransactionScan) -> Result<u64> {
        let refuses_proposed = !self.skips_unreadable && self.verifier.formats == Formats::Auto;
        // One that is refused must be found first.
        let formats = if refuses_proposed { Formats::Every } else { self.verifier.formats };
        let verifier = ChecksumVerifier { formats, ..self.verifier };
        let mut runs = Runs::new(source, verifier.limits, 1 << 20)
            .of(formats)
            .with_recovery(Box::new(verifier))
            .with_interrupt(self.interrupt.clone());
        while let Some(piece) = runs.next_piece()? {
            self.interrupt.ensure_wanted()?;
            let FrameEvent::Run(run) = piece else {
                scan.mark_undecided();
                continue;
            };
            let mut at = 0;
            while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &verifier.limits) {
                let position = run.position.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
                let frame = Frame { position, magic, bytes: run.bytes.get(at..at + len).unwrap_or_default() };
                at += len;
                if refuses_proposed && magic == record_batch::LAST_MAGIC {
                    if verifier.is_valid(frame.bytes) {
                        parse_header(frame, self.verifier.formats, 0).map_err(|error| error.at_byte(position))?;
                    }
                    scan.mark_undecided();
                    continue;
                }
                scan.visit(frame);
            }
        }
        if is_cut(runs.tail()) {
            scan.tear();
        }
        Ok(runs.bytes_read())
    }
}

/// True when a log ends in the midst of an entry, or in zeros.
pub(super) fn is_cut(tail: Option<Tail>) -> bool {
    matches!(tail, Some(Tail::Torn { .. } | Tail::Zeros { .. }))
}
