//! Drives the decoder over everything, and collects.

use std::sync::Arc;

use super::batch::{Neighbours, clock_rule, header_rules, max_timestamp_rule};
use super::depth::Depth;
use super::finding::{Finding, Severity};
use super::findings::Findings;
use super::gaps::Gaps;
use super::kind::FindingKind;
use super::message::wrapper_rules;
use super::producers::ProducerRules;
use super::record::RecordRules;
use super::walk::{cut_set_rule, walk, walk_messages};
use crate::codec::CodecFinding;
use crate::decode::transactions::{is_marker, marker};
use crate::decode::{
    ChecksumVerifier, DecodeOptions, Decoder, OffsetRange, Stats, UploadCheck, checksummed, ensure_codec, ensure_count,
    is_empty_compressed, records_at,
};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::interrupt::Interrupt;
use crate::model::{BatchHeader, CompressionType, RecordFormat, Section, Totals};
use crate::wire::as_u64;

/// Validates one source, front to back, past every damage.
pub struct Validator {
    runs: Runs,
    decoder: Decoder,
    depth: Depth,
    is_tail_strict: bool,
    is_followed: bool,
    /// The offsets that the batches may hold, as names say; the last batch held others.
    segment: OffsetRange,
    is_outside: bool,
    /// The base offset of the segment, until an offset is too far above it.
    base_offset: Option<i64>,
    before: EarlierBatches,
    findings: Findings,
    /// What was found in the entry at hand.
    fresh: Vec<Finding>,
    /// The following bytes are after an entry that is longer than the input.
    is_beyond: bool,
    /// The first batch of an unreleased format is reported.
    reports_proposed: bool,
    codec_findings: Vec<CodecFinding>,
    records: u64,
    totals: SourceTotals,
}

/// What the headers so far add up to.
#[derive(Clone, Copy, Debug)]
enum SourceTotals {
    Nothing,
    Known(Totals),
    /// One header does not have them.
    Unknown,
}

/// What the batches so far say about the next ones: of one source, or of the segments of a partition one after the other.
#[derive(Debug, Default)]
pub struct EarlierBatches {
    neighbours: Neighbours,
    gaps: Gaps,
    producers: ProducerRules,
}

impl EarlierBatches {
    /// The same, before another file.
    #[must_use]
    pub fn in_file_named(mut self, file: &Arc<str>) -> Self {
        self.gaps.enter(file);
        self.producers.enter(file);
        self
    }
}

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;

impl Validator {
    /// A validator of everything in a source, under the limits and with the checks of a decode.
    pub fn new(source: Source, options: DecodeOptions, depth: Depth, is_tail_strict: bool) -> Self {
        let verifier = ChecksumVerifier::of(&options);
        let reports_proposed = options.formats.reads_proposed();
        let runs = Runs::new(source, options.limits, RUN_LEN).of(options.formats).with_recovery(Box::new(verifier));
        let runs = runs.with_source_check(UploadCheck::of(&options)).checking_oversized(Box::new(verifier));
        let segment = options.segment;
        let decode = DecodeOptions { is_control_wanted: true, segment: OffsetRange::default(), ..options };
        let decoder = Decoder::new(decode).trusting_framing();
        Self {
            runs,
            decoder,
            depth,
            is_tail_strict,
            is_followed: false,
            segment,
            is_outside: false,
            base_offset: (segment.start != i64::MIN).then_some(segment.start),
            before: EarlierBatches::default(),
            findings: Findings::default(),
            fresh: Vec::new(),
            is_beyond: false,
            reports_proposed,
            codec_findings: Vec::new(),
            records: 0,
            totals: SourceTotals::Nothing,
        }
    }

    /// Continues after the segment before, whose `take_before` this is.
    #[must_use]
    pub fn after(self, before: EarlierBatches) -> Self {
        Self { before, ..self }
    }

    /// Sets the base offset of the segment, from its name.
    #[must_use]
    pub fn in_segment(self, base_offset: Option<i64>) -> Self {
        Self { base_offset: base_offset.or(self.base_offset), ..self }
    }

    /// Continues with the producers and transactions of the segments before.
    #[must_use]
    pub fn after_producers(mut self, producers: ProducerRules) -> Self {
        self.before.producers = producers;
        self
    }

    /// Return the producers and transactions for the batches of the next segment. Call it after `take_findings`.
    pub fn take_producers(&mut self) -> ProducerRules {
        std::mem::take(&mut self.before.producers)
    }

    /// Sets whether another segment follows: open transactions may have their markers there.
    #[must_use]
    pub fn followed(self, is_followed: bool) -> Self {
        Self { is_followed, ..self }
    }

    /// The state for the batches of the next segment; open transactions are not reported then. Call it at the end.
    pub fn take_before(&mut self) -> EarlierBatches {
        std::mem::take(&mut self.before)
    }

    /// Asked while a search goes on inside of `advance`.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.runs = self.runs.with_interrupt(interrupt);
        self
    }

    /// Looks at the next run; false at the end. Call it in a loop, so that the caller can stop in between.
    ///
    /// # Errors
    /// `Io` and `Interrupted` only: bad bytes are findings.
    pub fn advance(&mut self) -> Result<bool> {
        let piece = self.runs.next_piece()?;
        match &piece {
            Some(FrameEvent::Run(run)) => self.visit_run(run)?,
            Some(other) => {
                self.before.gaps.interrupt();
                self.before.producers.interrupt();
                if other.is_out_of_order() {
                    // Said of this batch, which is left out: not of those after it too.
                    self.before.neighbours.forget_offset();
                }
                self.fresh.extend(Finding::of_piece(other));
            }
            None => self.visit_tail(),
        }
        self.move_fresh();
        self.is_beyond |= matches!(piece, Some(FrameEvent::Swallowed(_)));
        Ok(piece.is_some())
    }

    /// What was found, in the order of the input. Call it at the end.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.before.gaps.finish(&mut self.fresh);
        if !self.is_followed {
            self.before.producers.finish(&mut self.fresh);
        }
        self.move_fresh();
        std::mem::take(&mut self.findings).into_vec()
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), records: self.records, ..self.decoder.stats }
    }

    /// Return true if no entry was found.
    pub fn is_empty(&self) -> bool {
        matches!(self.totals, SourceTotals::Nothing)
    }

    /// What the headers of all entries add up to; `None` when there are none, or one does not count its records. Where something is damaged
    /// these are not the totals of what can be read.
    pub fn totals(&self) -> Option<Totals> {
        if let SourceTotals::Known(totals) = self.totals { Some(totals) } else { None }
    }

    /// Moves what was found to the findings.
    fn move_fresh(&mut self) {
        // A decode that does not recover ends at the torn entry and never fails after it.
        let most = if self.is_beyond { Severity::Warning } else { Severity::Error };
        let unreadable = self.decoder.options().unreadable;
        let findings = self.fresh.drain(..).map(|finding| finding.unless_raised(unreadable));
        self.findings.extend(findings.map(|finding| Finding { severity: finding.severity.min(most), ..finding }));
    }

    fn visit_run(&mut self, run: &Run) -> Result<()> {
        let (formats, limits) = (self.decoder.options().formats, self.decoder.options().limits);
        self.decoder.enter(&run.bytes);
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
            let bytes = run.bytes.get(at..at + len).unwrap_or_default();
            let after = run.bytes.get(at..).unwrap_or_default();
            let frame = Frame { position: run.position + as_u64(at), magic, bytes };
            at += len;
            if let Err(error) = self.visit(frame, after) {
                if !error.is_about_data() {
                    return Err(error);
                }
                self.fresh.push(Finding::of_error(&error, frame.position, as_u64(len)));
            }
            self.move_fresh();
        }
        Ok(())
    }

    fn visit(&mut self, frame: Frame<'_>, after: &[u8]) -> Result<()> {
        let header = crate::decode::parse_header(frame, self.decoder.options().formats, self.decoder.options().base_position)?;
        if header.format == RecordFormat::V3 && std::mem::take(&mut self.reports_proposed) {
            self.fresh.push(Finding::of_proposed(header.format, frame.position));
        }
        self.ensure_in_segment(&header);
        header_rules(&header, &mut self.fresh);
        clock_rule(&header, self.depth != Depth::Headers, &mut self.fresh);
        if self.depth == Depth::Headers {
            self.hold(&header, frame.bytes);
            self.decoder.stats.entries_read += 1;
            self.decoder.count_compared(checksummed(&header));
            return self.ensure_header(&header, frame);
        }
        if self.depth == Depth::Metadata && has_compressed_metadata_first(&header) {
            self.hold(&header, frame.bytes);
            return self.visit_metadata(frame, &header).map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position));
        }
        let in_batch = |error: Error| error.in_batch(header.base_offset).at_byte(frame.position);
        let opened = self.decoder.open_with_findings(frame, Some(&mut self.codec_findings));
        let resolved = opened.as_ref().ok().and_then(|opened| opened.as_ref().map(|opened| opened.header));
        let header = resolved.unwrap_or(header);
        self.hold(&header, frame.bytes);
        if matches!(header.format, RecordFormat::V0 | RecordFormat::V1) && header.compression() != CompressionType::None {
            wrapper_rules(frame.bytes, &header, &mut self.fresh);
        }
        for finding in self.codec_findings.drain(..) {
            self.fresh.push(codec_finding(finding, &header));
        }
        let Some(mut opened) = opened? else { return Ok(()) };
        let section = self.decoder.section(&opened, frame.bytes, after);
        let stored = if header.format.is_batch() { frame.bytes.len().saturating_sub(records_at(&header, frame.bytes)) } else { 0 };
        match header.format {
            RecordFormat::V2 | RecordFormat::V3 => walk(&mut opened, &section, stored, self.depth, &mut self.fresh)
                .map_err(|error| in_batch(self.decoder.blame_plugin(&header, error)))?,
            RecordFormat::V0 | RecordFormat::V1 => walk_messages(&mut opened, &section, &mut self.fresh).map_err(in_batch)?,
            RecordFormat::V07 => cut_set_rule(&mut opened, &section, &mut self.fresh).map_err(in_batch)?,
        }
        self.records += u64::try_from(header.count.unwrap_or(0)).unwrap_or(0);
        Ok(())
    }

    /// Report the first batch of each run of batches that contradict the name of the segment.
    fn ensure_in_segment(&mut self, header: &BatchHeader) {
        let outside = self.segment.ensure_holds(header).err();
        if let Some(error) = outside.as_ref().filter(|_| !self.is_outside) {
            let finding = Finding::of_error(&error.clone().in_batch(header.base_offset), header.position, header.size);
            self.fresh.push(Finding { last_offset: Some(header.last_offset), ..finding });
        }
        self.is_outside = outside.is_some();
        if let Some(base_offset) = self.base_offset
            && !self.is_outside
            && header.last_offset.saturating_sub(base_offset) > i64::from(i32::MAX)
        {
            self.base_offset = None;
            let kind = FindingKind::FarOffset { last: header.last_offset, base_offset };
            self.fresh.push(Finding::in_batch(kind, Severity::Warning, header).at_field("baseOffset"));
        }
    }

    /// Looks at offsets, timestamps and lengths, and decompresses no payload (S-H5).
    fn visit_metadata(&mut self, frame: Frame<'_>, header: &BatchHeader) -> Result<()> {
        let before = self.fresh.len();
        let mut rules = RecordRules::new(header, Section::new(&[], 0), &mut self.fresh, false);
        let read = self.decoder.read_metadata(frame, header, |metadata| rules.metadata(metadata));
        let max_timestamp = rules.max_timestamp();
        rules.finish();
        if let Err(error) = read {
            self.fresh.truncate(before);
            return Err(error);
        }
        max_timestamp_rule(header, max_timestamp, &mut self.fresh);
        self.records += u64::try_from(header.count.unwrap_or(0)).unwrap_or(0);
        Ok(())
    }

    /// Holds a batch against those before it.
    fn hold(&mut self, header: &BatchHeader, bytes: &[u8]) {
        self.totals = match (self.totals, Totals::of(header)) {
            (SourceTotals::Nothing, Some(totals)) => SourceTotals::Known(totals),
            (SourceTotals::Known(all), Some(totals)) => SourceTotals::Known(all.and(totals)),
            _ => SourceTotals::Unknown,
        };
        self.before.neighbours.visit(header, &mut self.fresh);
        self.before.gaps.visit(header, &mut self.fresh);
        let marker = if is_marker(header) { marker(header, bytes).ok().flatten() } else { None };
        self.before.producers.visit(header, marker, &mut self.fresh);
    }

    /// Without decompressing, the count can only be held against the limits.
    fn ensure_header(&mut self, header: &BatchHeader, frame: Frame<'_>) -> Result<()> {
        if !header.format.is_batch() {
            let known = ensure_codec(header, frame.bytes);
            if known.is_ok() && header.format == RecordFormat::V07 && header.compression() == CompressionType::Lz4 {
                self.fresh.push(codec_finding(CodecFinding::Lz4In07, header));
            }
            return known.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position));
        }
        let count = u64::try_from(header.count.unwrap_or(0)).unwrap_or(0);
        let stored = frame.bytes.len().saturating_sub(records_at(header, frame.bytes));
        let limited = self.decoder.options().limits.ensure_records(count);
        let plural = match header.compression() {
            CompressionType::None => ensure_count(header, stored, false).map(|_| ()),
            _ if is_empty_compressed(header) => Ok(()),
            CompressionType::Unknown(id) => Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id }).in_field("attributes")),
            _ => ensure_count(header, usize::MAX, true).map(|_| ()),
        };
        plural.and(limited).map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    fn visit_tail(&mut self) {
        let tail = self.runs.tail().unwrap_or(Tail::Complete);
        let Some(mut finding) = Finding::of_tail(tail) else { return };
        if let (Tail::Torn { needed, available, .. }, true) = (tail, self.is_tail_strict) {
            finding.severity = Severity::Error;
            finding.kind = FindingKind::Failure(ErrorKind::Truncated { rule: "L8-14", needed, available });
        }
        self.fresh.push(finding);
    }
}

/// What a codec skipped. The codec of Kafka 0.7 that it never had is no deviation.
fn codec_finding(finding: CodecFinding, header: &BatchHeader) -> Finding {
    let (severity, field) = match finding {
        CodecFinding::Lz4In07 => (Severity::Info, "attributes"),
        _ => (Severity::Warning, "records"),
    };
    Finding::in_batch(FindingKind::Codec(finding), severity, header).at_field(field)
}

/// True for a batch whose metadata can be had by decompressing a part of it. Who made a plugin gives everything or nothing; without records no
/// part is less than all, and uncounted bytes there are reported.
fn has_compressed_metadata_first(header: &BatchHeader) -> bool {
    use CompressionType::{Gzip, Lz4, Snappy, Zstd};
    header.is_metadata_first()
        && !header.is_control()
        && header.count != Some(0)
        && matches!(header.compression(), Gzip | Snappy | Lz4 | Zstd)
}
