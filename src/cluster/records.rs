//! The records of a file, one by one, past damage.

use std::path::Path;

use super::context::ReadContext;
use crate::decode::{ChecksumVerifier, Checksums, DecodeOptions, DecodedBatch, Decoder};
use crate::error::Result;
use crate::framing::{Frame, FrameEvent, Runs, Step, Tail, step};
use crate::model::{BatchHeader, ControlType, Formats, HeaderRef, RecordRef, RecordSink, Section};
use crate::partition::AtDamage;
use crate::validate::Finding;
use crate::wire::as_u64;

/// Bytes of entries that are looked at together.
const RUN_LEN: usize = 1 << 20;

/// A record.
pub(super) struct LogRecord<'a> {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp, ms; -1 for none.
    pub timestamp: i64,
    /// The header of its batch.
    pub batch: &'a BatchHeader,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

impl LogRecord<'_> {
    /// The producer of a transaction, and whether it commits, of a transaction marker.
    pub fn marker(&self) -> Option<(i64, bool)> {
        if !self.batch.is_control() {
            return None;
        }
        let kind = ControlType::parse(self.key).ok().filter(|kind| kind.is_marker())?;
        Some((self.batch.producer.id, kind == ControlType::Commit))
    }

    /// The producer of a record in a transaction.
    pub fn transaction(&self) -> Option<i64> {
        Some(self.batch.producer.id).filter(|id| self.batch.is_transactional() && *id >= 0)
    }
}

/// What comes next in a file.
pub(super) enum LogItem<'a> {
    /// A record.
    Record(LogRecord<'a>),
    /// Bytes that are skipped.
    Damage(Finding),
}

/// The bytes of a file that are read.
#[derive(Clone, Copy)]
pub(super) struct RecordRange<'a> {
    /// The file.
    pub path: &'a Path,
    /// Position of the first byte, where an entry begins.
    pub start: u64,
    /// Position after the last byte; `None` for the end of the file.
    pub end: Option<u64>,
}

impl<'a> RecordRange<'a> {
    /// A whole file.
    pub fn whole(path: &'a Path) -> Self {
        Self { path, start: 0, end: None }
    }
}

/// Passes the records of a file on, control records included, and the findings of damage. Returns how the file ends.
///
/// # Errors
/// If the file cannot be read, and when the work is to stop.
pub(super) fn read(
    file: RecordRange<'_>,
    ReadContext { limits, storage }: ReadContext<'_>,
    each: &mut dyn FnMut(LogItem<'_>),
) -> Result<Tail> {
    let formats = Formats::Auto;
    let options = DecodeOptions { formats, limits, is_control_wanted: true, ..DecodeOptions::default() };
    let verifier = ChecksumVerifier { formats, limits, checksums: Checksums::All };
    let source = storage.source(file.path, file.start, file.end, AtDamage::GoOn)?;
    let mut runs = Runs::new(source, limits, RUN_LEN).of(formats).with_recovery(Box::new(verifier)).with_interrupt(storage.interrupt());
    let mut decoder = Decoder::new(options).trusting_framing();
    let name = storage.shown(file.path).into();
    while let Some(piece) = runs.next_piece()? {
        let FrameEvent::Run(run) = piece else {
            if let Some(finding) = Finding::of_piece(&piece) {
                each(LogItem::Damage(finding.in_file(&name)));
            }
            continue;
        };
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
            let bytes = run.bytes.get(at..at + len).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            let after = run.bytes.get(at..).unwrap_or_default();
            at += len;
            let opened = decoder.open(frame);
            let read =
                opened.and_then(|opened| opened.map_or(Ok(()), |opened| pass(&opened, decoder.section(&opened, bytes, after), each)));
            match read {
                Err(error) if error.is_about_data() || error.is_unreadable() => {
                    each(LogItem::Damage(Finding::of_error(&error, frame.position, as_u64(len)).in_file(&name)));
                }
                read => read?,
            }
        }
    }
    Ok(runs.tail().unwrap_or(Tail::Complete))
}

fn pass(opened: &DecodedBatch, section: Section<'_>, each: &mut dyn FnMut(LogItem<'_>)) -> Result<()> {
    let mut records = Records { opened, section, each };
    opened.walk.read_all(&section, &mut records)
}

struct Records<'a, 'e> {
    opened: &'a DecodedBatch,
    section: Section<'a>,
    each: &'e mut dyn FnMut(LogItem<'_>),
}

impl RecordSink for Records<'_, '_> {
    fn header(&mut self, _: HeaderRef) {}

    fn record(&mut self, record: RecordRef) {
        let bytes = |range: Option<(usize, usize)>| range.map(|(start, len)| self.section.run(start, len));
        let batch = &self.opened.header;
        (self.each)(LogItem::Record(LogRecord {
            offset: batch.base_offset.wrapping_add(record.offset_delta),
            timestamp: self.opened.timestamp(&record),
            batch,
            key: bytes(record.key()),
            value: bytes(record.value()),
        }));
    }
}
