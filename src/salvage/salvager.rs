//! Drives a salvage: piece after piece, in bounded memory, past every damage.

use super::account::{SalvageAccount, bound_lost_offsets};
use super::opening::{Readability, RecordChecker};
use super::order::AllowedOffsets;
use super::place::EntryPosition;
use super::records::Rescue;
use super::runs::EntryRuns;
use crate::decode::{ChecksumVerifier, DecodeOptions, Unreadable, parse_header};
use crate::error::Result;
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, Verifier, step};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::{CompressionType, Formats, RecordFormat};
use crate::validate::{Finding, Findings, Neighbours};
use crate::wire::{Sink, as_u64};

/// How entries are salvaged.
#[derive(Clone, Debug, Default)]
pub struct SalvageOptions {
    /// What the entries are and what they may claim. Checksums are always compared.
    pub decode: DecodeOptions,
    /// The offsets that an entry of the log may have.
    pub fit: AllowedOffsets,
    /// List the place of every entry, so that they can be settled.
    pub lists_places: bool,
    /// Read what can be read of the records of damaged batches.
    pub wants_records: bool,
    /// Open each kept entry, to report those whose records cannot be read.
    pub opens_entries: bool,
}

/// Salvages one source, front to back.
pub struct Salvager {
    runs: Runs,
    verifier: ChecksumVerifier,
    formats: Formats,
    options: SalvageOptions,
    rescue: Option<Rescue>,
    opener: Option<RecordChecker>,
    neighbours: Neighbours,
    found: Salvaged,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Where every byte went.
    pub account: SalvageAccount,
    /// What is wrong with the input.
    pub findings: Findings,
    /// Where the valid entries are, when that was asked for.
    pub places: Vec<EntryPosition>,
    /// There were too many entries to list their places.
    pub has_too_many: bool,
    /// Entries do not follow each other in the order of their offsets, or do not fit into the log.
    pub is_disordered: bool,
    /// Records of damaged batches that were read.
    pub rescued: u64,
    /// Kept entries whose records cannot be read, as far as they are listed.
    pub undecodable: Vec<Finding>,
    /// Kept entries that cannot be opened here, without known damage.
    pub undecompressed: u64,
    /// Those among them that a reader can read that accepts quirks; findings name the quirks.
    pub needing_quirks: u64,
    /// The entries, by the damage between them.
    pub runs: EntryRuns,
}

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;
/// Entries without readable records that are listed.
const MOST_UNDECODABLE: usize = 100_000;
/// Places that are listed, 160 MiB of them.
const MOST_PLACES: usize = 4 << 20;

impl Salvager {
    /// A salvager of everything in a source.
    ///
    /// # Errors
    /// None that an input causes.
    pub fn new(source: Source, options: SalvageOptions) -> Result<Self> {
        let decode = DecodeOptions { check_crc: true, ..options.decode.clone() };
        let verifier = ChecksumVerifier::of(&decode);
        let rescue = options.wants_records.then(|| Rescue::new(decode.clone())).transpose()?;
        let opener = options.opens_entries.then(|| RecordChecker::new(&decode));
        let runs = Runs::new(source, decode.limits, RUN_LEN)
            .of(decode.formats)
            .with_recovery(Box::new(verifier))
            .checking_oversized(Box::new(verifier))
            .giving_oversized()
            .giving_broken()
            .giving_doubtful(options.lists_places);
        let options = SalvageOptions { decode, ..options };
        Ok(Self {
            runs,
            verifier,
            formats: options.decode.formats,
            options,
            rescue,
            opener,
            neighbours: Neighbours::default(),
            found: Salvaged::default(),
        })
    }

    /// Asked while a search goes on inside of `advance`.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.runs = self.runs.with_interrupt(interrupt);
        self
    }

    /// Writes what is valid of the next piece after what `out` holds, and readable records of damaged batches after what `aside`
    /// holds; false at the end.
    ///
    /// # Errors
    /// `UnsupportedFormat` for a valid batch of magic 3 where they are not read, `Io` and `Interrupted`: bad bytes are findings.
    pub fn advance(&mut self, out: &mut Sink, aside: &mut Sink) -> Result<bool> {
        match self.runs.next_piece()? {
            // A limit is not damage: what is too large to be opened here is kept.
            Some(FrameEvent::Run(run) | FrameEvent::Oversized(run)) => {
                out.put(run.bytes.get(..run.len).unwrap_or_default());
                self.keep(&run)?;
            }
            Some(FrameEvent::Broken(run)) => self.visit_broken(&run, aside),
            // Whole, and not to be thrown away for want of a word.
            Some(FrameEvent::Damage(damage)) if damage.error.is_refused_format() => return Err(damage.error),
            Some(piece) => self.lose(&piece),
            None => {
                self.end();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What came of it. Call it at the end.
    pub fn finish(mut self) -> Salvaged {
        self.found.is_disordered |= !self.formats.is_v07() && !self.found.runs.are_supported();
        if self.found.is_disordered {
            bound_lost_offsets(&mut self.found.account);
        }
        self.found
    }

    fn keep(&mut self, run: &Run) -> Result<()> {
        let mut at = 0;
        let mut fresh = Vec::new();
        if let Some(opener) = &mut self.opener {
            opener.enter(&run.bytes);
        }
        let limits = Limits { max_batch_bytes: u64::MAX, ..self.options.decode.limits };
        while let Step::Entry { len, magic } = step(run.entries_from(at), self.formats, &limits) {
            let bytes = run.entries_from(at).get(..len).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            at += len;
            // Framing trusts no entry whose header cannot be parsed.
            let Ok(header) = parse_header(frame, self.formats, self.options.decode.base_position) else { continue };
            self.neighbours.visit(&header, &mut fresh);
            self.found.findings.extend(fresh.drain(..));
            self.open(frame)?;
            let is_message = matches!(header.format, RecordFormat::V0 | RecordFormat::V1) && header.compression() == CompressionType::None;
            self.place(EntryPosition::of(&header), is_message);
        }
        Ok(())
    }

    /// Reports an entry whose records cannot be read. It is kept: its bytes are those of its writer.
    fn open(&mut self, frame: Frame<'_>) -> Result<()> {
        let Some(opener) = &mut self.opener else { return Ok(()) };
        let is_too_large = self.options.decode.limits.ensure_batch_bytes(as_u64(frame.bytes.len())).is_err();
        match if is_too_large { Readability::NotOpened } else { opener.open(frame)? } {
            Readability::Readable => {}
            Readability::NotOpened => self.found.undecompressed = self.found.undecompressed.saturating_add(1),
            Readability::NeedsQuirks(error) => {
                self.found.undecompressed = self.found.undecompressed.saturating_add(1);
                self.found.needing_quirks = self.found.needing_quirks.saturating_add(1);
                let finding = Finding::of_error(&error, frame.position, as_u64(frame.bytes.len()));
                self.found.findings.push(finding.unless_raised(Unreadable::Skip));
            }
            Readability::Undecodable(error) => {
                let finding = Finding::of_error(&error, frame.position, as_u64(frame.bytes.len()));
                self.found.findings.push(finding.clone());
                if self.found.undecodable.len() < MOST_UNDECODABLE {
                    self.found.undecodable.push(finding);
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, place: EntryPosition, is_message: bool) {
        let found = &mut self.found;
        found.runs.add(&place, is_message, place.position < self.runs.doubtful_until());
        if !self.formats.is_v07() {
            let is_after = found.account.last_offset().is_none_or(|last| last < place.base_offset);
            found.is_disordered |= !is_after || !self.options.fit.allows(&place);
        }
        found.account.keep(place.bytes(), place.base_offset, place.last_offset);
        if self.options.lists_places && !found.has_too_many {
            if found.places.len() < MOST_PLACES {
                found.places.push(place);
            } else {
                (found.places, found.has_too_many) = (Vec::new(), true);
            }
        }
    }

    /// A whole batch whose checksum is wrong.
    fn visit_broken(&mut self, run: &Run, aside: &mut Sink) {
        let bytes = run.bytes.get(..run.len).unwrap_or_default();
        let end = run.position.saturating_add(as_u64(run.len));
        let Step::Entry { magic, .. } = step(bytes, self.formats, &self.options.decode.limits) else { return };
        let Some(error) = self.verifier.damage_of(bytes, magic) else { return };
        let error = error.at_byte(run.position);
        let rule = error.kind().rule();
        self.found.findings.push(Finding::of_error(&error, run.position, as_u64(run.len)));
        self.found.account.lose(run.position..end, rule);
        if let Some(rescue) = &mut self.rescue {
            let frame = Frame { position: run.position, magic, bytes };
            self.found.rescued = self.found.rescued.saturating_add(rescue.rescue(frame, rule, aside));
        }
    }

    fn lose(&mut self, piece: &FrameEvent) {
        if self.runs.has_searched() {
            self.found.runs.interrupt();
        }
        let Some(finding) = Finding::of_piece(piece) else { return };
        match piece {
            FrameEvent::Damage(damage) => self.found.account.lose(damage.bytes.clone(), finding.rule()),
            FrameEvent::Swallowed(bytes) => self.found.account.lose(bytes.clone(), finding.rule()),
            // These bytes were left out already, by what could not be trusted without a search.
            FrameEvent::Run(_) | FrameEvent::Broken(_) | FrameEvent::Oversized(_) | FrameEvent::Unsearched(_) => {}
        }
        self.found.findings.push(finding);
    }

    fn end(&mut self) {
        let tail = self.runs.tail().unwrap_or(Tail::Complete);
        let torn = matches!(tail, Tail::Torn { .. }).then(|| self.runs.left().first_chunk().copied().map_or(i64::MIN, i64::from_be_bytes));
        self.found.runs.end(torn);
        let Some(finding) = Finding::of_tail(tail) else { return };
        self.found.account.lose(finding.position..finding.position.saturating_add(finding.length), finding.rule());
        self.found.findings.push(finding);
    }
}
