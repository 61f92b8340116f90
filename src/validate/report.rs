//! Drives the decoder over everything, and collects.

use super::batch::{Neighbours, header_rules, max_timestamp_rule};
use super::finding::{Finding, Severity, What};
use super::record::RecordRules;
use crate::codec::Remark;
use crate::decode::{ChecksumJudge, DecodeOptions, Decoder, Opened, Stats};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::parse;
use crate::framing::{Frame, Judge, LOG_OVERHEAD, Piece, Run, Runs, Source, Step, Tail, step};
use crate::model::{BatchHeader, ControlType, control};
use crate::model::{HeaderRef, RecordRef, RecordSink, Section};

/// How far validation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Framing, headers and checksums; nothing is decompressed.
    Headers,
    /// Also the offsets, timestamps and lengths of the records.
    Metadata,
    /// Everything.
    #[default]
    Full,
}

/// Validates one source, front to back, past every damage.
pub struct Validator {
    runs: Runs,
    decoder: Decoder,
    depth: Depth,
    is_tail_strict: bool,
    neighbours: Neighbours,
    findings: Vec<Finding>,
    remarks: Vec<Remark>,
    records: u64,
}

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;

impl Validator {
    /// A validator of everything in a source, under the limits and with the checks of a decode.
    pub fn new(source: Source, options: DecodeOptions, depth: Depth, is_tail_strict: bool) -> Self {
        let judge = ChecksumJudge { limits: options.limits, check_crc: options.check_crc };
        let runs = Runs::new(source, options.limits, RUN_LEN).recovering(Box::new(judge));
        // Recovering framing has already compared the checksums.
        let decoder = Decoder::new(DecodeOptions { check_crc: false, is_control_wanted: true, ..options });
        Self {
            runs,
            decoder,
            depth,
            is_tail_strict,
            neighbours: Neighbours::default(),
            findings: Vec::new(),
            remarks: Vec::new(),
            records: 0,
        }
    }

    /// Looks at the next run; false at the end. Call it in a loop, so that the caller can stop in between.
    ///
    /// # Errors
    /// `Io` only: bad bytes are findings.
    pub fn advance(&mut self) -> Result<bool> {
        match self.runs.next_piece()? {
            Some(Piece::Run(run)) => self.visit_run(&run)?,
            Some(Piece::Damage(damage)) => self.findings.push(Finding::of_damage(&damage)),
            None => {
                self.visit_tail();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was found so far, in the order of the input.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), records: self.records, ..self.decoder.stats }
    }

    fn visit_run(&mut self, run: &Run) -> Result<()> {
        let limits = self.decoder.options().limits;
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.bytes.get(at..).unwrap_or_default(), &limits) {
            let bytes = run.bytes.get(at..at + len).unwrap_or_default();
            let behind = run.bytes.get(at..).unwrap_or_default();
            let frame = Frame { position: run.position + as_u64(at), magic, bytes };
            at += len;
            if let Err(error) = self.visit(frame, behind) {
                if matches!(error.kind(), ErrorKind::Internal { .. }) {
                    return Err(error);
                }
                self.findings.push(Finding::of_error(&error, frame.position, as_u64(len)));
            }
        }
        Ok(())
    }

    fn visit(&mut self, frame: Frame<'_>, behind: &[u8]) -> Result<()> {
        let header = crate::decode::parse_header(frame)?;
        header_rules(&header, &mut self.findings);
        self.neighbours.visit(&header, &mut self.findings);
        if self.depth == Depth::Headers {
            self.decoder.stats.entries_read += 1;
            return self.ensure_header(&header, frame);
        }
        let in_batch = |error: Error| error.in_batch(header.base_offset).at_byte(frame.position);
        let Some(mut opened) = self.decoder.open_remarked(frame, Some(&mut self.remarks))? else { return Ok(()) };
        for remark in self.remarks.drain(..) {
            self.findings.push(Finding::in_batch(What::Codec(remark), Severity::Warning, &header).at_field("records"));
        }
        let section = self.decoder.section(&opened, frame.bytes, behind);
        walk(&mut opened, &section, self.depth, &mut self.findings).map_err(in_batch)?;
        self.records += u64::try_from(header.count.unwrap_or(0)).unwrap_or(0);
        Ok(())
    }

    /// Without unpacking, the count can only be held against the limits.
    fn ensure_header(&self, header: &BatchHeader, frame: Frame<'_>) -> Result<()> {
        let count = u64::try_from(header.count.unwrap_or(0)).unwrap_or(0);
        let stored = parse::records_section(frame.bytes).len();
        let limited = self.decoder.options().limits.ensure_records(count);
        let counted = match header.compression() {
            crate::model::CompressionType::None => parse::ensure_count(header.count.unwrap_or(0), stored).map(|_| ()),
            crate::model::CompressionType::Unknown(id) => {
                Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id }).in_field("attributes"))
            }
            _ => parse::ensure_count(header.count.unwrap_or(0), usize::MAX).map(|_| ()),
        };
        limited.and(counted).map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    fn visit_tail(&mut self) {
        let tail = self.runs.tail().unwrap_or(Tail::Complete);
        let Some(mut finding) = Finding::of_tail(tail) else { return };
        if let (Tail::Torn { needed, available, .. }, true) = (tail, self.is_tail_strict) {
            finding.severity = Severity::Error;
            finding.what = What::Failure(ErrorKind::Truncated { rule: "L8-14", needed, available });
        }
        self.findings.push(finding);
        if let Tail::Torn { position, .. } = tail {
            self.search_tail(position);
        }
    }

    /// A length that was made larger hides the entries behind it: a torn tail with an intact entry in it is no honest one.
    fn search_tail(&mut self, position: u64) {
        let limits = self.decoder.options().limits;
        let judge = ChecksumJudge { limits, check_crc: true };
        if let Some(at) = first_intact(self.runs.front(), &judge) {
            let what = What::Swallowed { at: position + as_u64(at) };
            let length = as_u64(self.runs.front().len());
            let (base_offset, last_offset, record_index) = (None, None, None);
            let field = Some("batchLength");
            let severity = Severity::Warning;
            self.findings.push(Finding { what, severity, position, length, base_offset, last_offset, record_index, field });
        }
    }
}

fn first_intact(front: &[u8], judge: &dyn Judge) -> Option<usize> {
    let mut effort = crate::framing::plausible::Effort::default();
    match crate::framing::plausible::find(front, LOG_OVERHEAD, true, judge, &mut effort) {
        crate::framing::plausible::Found::At(at) => Some(at),
        crate::framing::plausible::Found::NotBefore(_) => None,
    }
}

fn walk(opened: &mut Opened, section: &Section<'_>, depth: Depth, findings: &mut Vec<Finding>) -> Result<()> {
    let header = opened.header;
    let before = findings.len();
    let mut rules = RecordRules::new(&header, *section, findings, depth == Depth::Full);
    let walked = opened.walk.advance(section, usize::MAX, &mut rules).and_then(|()| opened.walk.finish(section));
    let max_timestamp = rules.max_timestamp;
    if let Err(error) = walked {
        findings.truncate(before);
        return Err(error);
    }
    if header.count == Some(0) && !section.is_empty() {
        let what = What::UncountedBytes { bytes: as_u64(section.len()) };
        findings.push(Finding::in_batch(what, Severity::Warning, &header).at_field("recordsCount"));
    }
    max_timestamp_rule(&header, max_timestamp, findings);
    if header.attributes.is_control() && depth == Depth::Full {
        marker_rules(&header, section, findings);
    }
    Ok(())
}

/// CTL-1, CTL-4: a marker batch has one record, whose value holds the coordinator's epoch.
fn marker_rules(header: &BatchHeader, section: &Section<'_>, findings: &mut Vec<Finding>) {
    let mut markers = Markers { section: *section, markers: 0, has_bad_value: false };
    let Ok(count) = parse::ensure_count(header.count.unwrap_or(0), section.len()) else { return };
    let mut walk = crate::format::v2::records::Walk::new(count, &crate::limits::Limits::default());
    if walk.advance(section, usize::MAX, &mut markers).is_err() {
        return;
    }
    let mut warn = |what| findings.push(Finding::in_batch(What::Marker { what }, Severity::Warning, header));
    if markers.markers > 1 {
        warn("the control batch holds more than one transaction marker");
    }
    if markers.has_bad_value {
        warn("the value of a transaction marker is not a version and a coordinator epoch");
    }
}

struct Markers<'a> {
    section: Section<'a>,
    markers: usize,
    has_bad_value: bool,
}

impl RecordSink for Markers<'_> {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        let run = |range: Option<(usize, usize)>| range.map(|(start, len)| self.section.run(start, len));
        if matches!(ControlType::parse(run(record.key())), Ok(ControlType::Abort | ControlType::Commit)) {
            self.has_bad_value |= control::coordinator_epoch(run(record.value())).is_err();
            self.markers += 1;
        }
    }
}

fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
