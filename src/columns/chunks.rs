//! Runs to chunks: opens one entry after the other, writes its records into the columns, and closes the columns when they are full.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use bytes::Bytes;

use super::binary::BytesColumn;
use super::records::RecordColumns;
use super::run_pieces::step_over;
use super::schema::Column;
use super::stream_options::{OnError, StreamOptions};
use crate::decode::{Bundle, DecodedBatch, Decoder, MOST_AHEAD, RecordsSource, Stats};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Run, Step, step};
use crate::model::{Discard, Formats, Section};
use crate::pool::Pool;
use crate::validate::Findings;
use crate::wire::as_u64;

/// Most bytes behind 32-bit offsets.
const MOST_BYTES: usize = 0x7fff_ffff;

/// Turns one run after the other into chunks.
pub(super) struct ChunkBuilder<B> {
    pub options: StreamOptions,
    pub findings: Findings,
    pub columns: RecordColumns<B>,
    decoder: Decoder,
    run: Option<Run>,
    at: usize,
    entry: Option<OpenEntry>,
    kept: Pool<u8>,
    given: Stats,
    has_bundles: bool,
}

/// An opened entry that is not wholly in columns yet.
struct OpenEntry {
    opened: DecodedBatch,
    start: usize,
    end: usize,
    /// The decompressed records, when views into them are given out.
    decompressed: Option<(Bytes, usize)>,
    is_walked: bool,
}

/// About how many bytes of uncompressed messages are opened together: their records are written while they are still in the cache.
const BUNDLE_BYTES: usize = 32 << 10;

/// How many decompressed sections wait in the pool of a stream of views.
const KEPT_SECTIONS: usize = 64;

impl<B: BytesColumn> ChunkBuilder<B> {
    pub fn new(options: StreamOptions) -> Self {
        let decoder = Decoder::new(options.decode.clone());
        Self {
            columns: RecordColumns::new(options.projection.clone(), options.topic.clone(), options.partition, &options.decode),
            decoder: if options.on_error == OnError::Raise { decoder } else { decoder.trusting_framing() },
            findings: Findings::default(),
            run: None,
            at: 0,
            entry: None,
            kept: Pool::new(KEPT_SECTIONS),
            // What each entry tells for itself is kept per opened entry.
            has_bundles: ![Column::BatchBaseOffset, Column::EntryPosition].iter().any(|column| options.projection.has(*column)),
            given: Stats::default(),
            options,
        }
    }

    /// Says what the next runs are made of.
    pub fn set_formats(&mut self, formats: Formats) {
        self.options.decode.formats = formats;
        self.decoder.set_formats(formats);
    }

    /// Takes the next run; the one before must be used up.
    pub fn feed(&mut self, run: Run) {
        self.decoder.enter(&run.bytes);
        (self.run, self.at) = (Some(run), 0);
    }

    /// Forgets the run and what is open of it.
    pub fn drop_run(&mut self) {
        (self.run, self.entry) = (None, None);
    }

    /// The next chunk that is full; `None` when the run is used up first.
    pub fn next_full(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.entry.is_some() {
                if let Some(batch) = self.continue_entry()? {
                    return Ok(Some(batch));
                }
                continue;
            }
            if self.is_full() {
                return self.finish();
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    /// The rows at hand as the last chunk; `None` when there are none.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if self.columns.rows() == 0 {
            return Ok(None);
        }
        self.given.records += as_u64(self.columns.rows());
        self.given.bytes_copied += as_u64(self.columns.copied());
        self.findings.extend(self.columns.take_findings());
        self.columns.finish().map(Some).map_err(|error| internal(&error))
    }

    pub fn stats(&self) -> Stats {
        Stats { records: self.given.records, bytes_copied: self.given.bytes_copied, ..self.decoder.stats }
    }

    fn is_full(&self) -> bool {
        self.columns.rows() >= self.options.batch_size || self.columns.weight() >= self.options.batch_bytes && self.columns.rows() > 0
    }

    /// Opens the next entry of the run that has wanted records; false when there is none.
    fn open_next(&mut self) -> Result<bool> {
        let Some(run) = &self.run else { return Ok(false) };
        let decode = &self.options.decode;
        while let Step::Entry { len, magic } = step(run.entries_from(self.at), decode.formats, &decode.limits) {
            let start = self.at;
            self.at += len;
            let frame = Frame { position: run.position + as_u64(start), magic, bytes: run.bytes.get(start..self.at).unwrap_or_default() };
            let records = if self.has_bundles { self.options.batch_size.saturating_sub(self.columns.rows()) } else { 1 };
            let bundle = Bundle { records, bytes: BUNDLE_BYTES.min(self.options.batch_bytes) };
            match self.decoder.open_bundled(frame, run.entries_from(start), bundle) {
                Ok((None, _)) => {}
                Ok((Some(opened), len)) => {
                    let end = start + len;
                    self.at = end;
                    let mut entry = OpenEntry { opened, start, end, decompressed: None, is_walked: false };
                    if B::KEEPS_SECTIONS {
                        entry.decompressed = self.kept_decompressed(opened.records_source);
                    }
                    self.entry = Some(entry);
                    return Ok(true);
                }
                Err(error) => step_over(&self.options, &mut self.findings, error, frame.position, len)?,
            }
        }
        self.run = None;
        Ok(false)
    }

    /// The decompressed records as memory that views may point into.
    fn kept_decompressed(&mut self, records_source: RecordsSource) -> Option<(Bytes, usize)> {
        match records_source {
            RecordsSource::Input => None,
            RecordsSource::Plugin => Some((self.decoder.given().clone(), self.decoder.given().len())),
            RecordsSource::Decompressed => {
                let (storage, len) = self.decoder.exchange_decompressed(self.kept.take());
                Some((Bytes::from_owner(self.kept.guard(storage)), len))
            }
        }
    }

    /// Writes as much of the open entry as fits; a chunk, when one became full before the entry was used up.
    fn continue_entry(&mut self) -> Result<Option<RecordBatch>> {
        let Some(mut entry) = self.entry.take() else { return Ok(None) };
        let Some(run) = self.run.take() else { return Ok(None) };
        let given = self.fill_from(&mut entry, &run);
        let position = run.position + as_u64(entry.start);
        self.run = Some(run);
        match given {
            Ok(Some(batch)) => {
                self.entry = Some(entry);
                Ok(Some(batch))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                let error = self.decoder.blame_plugin(&entry.opened.header, error);
                let error = error.in_batch(entry.opened.header.base_offset).at_byte(position);
                step_over(&self.options, &mut self.findings, error, position, entry.end - entry.start)?;
                Ok(None)
            }
        }
    }

    fn fill_from(&mut self, entry: &mut OpenEntry, run: &Run) -> Result<Option<RecordBatch>> {
        let owned;
        let section = match &entry.decompressed {
            Some((bytes, len)) => {
                owned = bytes.clone();
                Section::new(&owned, *len).decompressed()
            }
            None => {
                let after = run.bytes.get(entry.start..).unwrap_or_default();
                let own = run.bytes.get(entry.start..entry.end).unwrap_or_default();
                self.decoder.section(&entry.opened, own, after)
            }
        };
        let left = section.len().saturating_sub(entry.opened.walk.position());
        let weight = self.columns.weight_of(entry.opened.walk.left(), left, entry.opened.records_source);
        let capacity = Capacity::of(&self.options, self.columns.rows(), self.columns.weight());
        if capacity.holds(entry.opened.walk.left(), weight) {
            keep_section(&mut self.columns, entry, run);
            // The next entry is likely as long as this one, and longer bytes than that do not stay in the cache anyway.
            let len = (entry.end - entry.start).min(MOST_AHEAD);
            let next = run.bytes.get(entry.end..).map(|rest| rest.get(..len).unwrap_or(rest)).unwrap_or_default();
            self.columns.append(&mut entry.opened, &section, usize::MAX, next)?;
            return Ok(None);
        }
        if self.columns.rows() > 0 {
            return self.finish();
        }
        if !entry.is_walked {
            entry.opened.walk.read_all(&section, &mut Discard)?;
            entry.is_walked = true;
        }
        keep_section(&mut self.columns, entry, run);
        let capacity = capacity.strict(&self.options);
        while entry.opened.walk.left() > 0 && self.columns.rows() < capacity.rows {
            let next = self.columns.weight_of(1, entry.opened.walk.next_len(&section), entry.opened.records_source);
            let would_be = self.columns.weight().saturating_add(next);
            if self.columns.rows() > 0 && (self.columns.weight() >= capacity.bytes || would_be > MOST_BYTES) {
                break;
            }
            self.columns.append(&mut entry.opened, &section, 1, &[])?;
        }
        if entry.opened.walk.left() == 0 {
            return Ok(None);
        }
        // The borrow of the section ends here; the rows are closed by the next call of the loop.
        self.finish()
    }
}

/// What a chunk still takes.
#[derive(Clone, Copy)]
struct Capacity {
    rows: usize,
    bytes: usize,
}

impl Capacity {
    /// Whole entries may overshoot the bytes of an empty chunk up to twice, so that batches of the common 1 MiB are not torn apart.
    fn of(options: &StreamOptions, rows: usize, weight: usize) -> Self {
        let bytes = if rows == 0 { options.batch_bytes.saturating_mul(2) } else { options.batch_bytes.saturating_mul(5) / 4 };
        Self { rows: options.batch_size.saturating_sub(rows), bytes: bytes.min(MOST_BYTES).saturating_sub(weight) }
    }

    fn holds(self, rows: usize, bytes: usize) -> bool {
        rows <= self.rows && bytes <= self.bytes
    }

    fn strict(self, options: &StreamOptions) -> Self {
        Self { rows: options.batch_size.max(1), bytes: options.batch_bytes.min(MOST_BYTES) }
    }
}

fn keep_section<B: BytesColumn>(columns: &mut RecordColumns<B>, entry: &OpenEntry, run: &Run) {
    if !B::KEEPS_SECTIONS {
        return;
    }
    match &entry.decompressed {
        Some((bytes, _)) => columns.keep(bytes, 0),
        None => columns.keep(&run.bytes, entry.start + entry.opened.records_at),
    }
}

fn internal(error: &ArrowError) -> Error {
    ErrorKind::Internal { what: error.to_string() }.into()
}
