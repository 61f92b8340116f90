//! One row per entry: header fields only, under the names of `kafka-dump-log`. Nothing is decompressed.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::batch_columns::{BatchColumns, batch_fields};
use super::batch_source::BatchSource;
use super::run_pieces::{RUN_LEN, leave_out, runs_of, step_over, tail_finding};
use super::stream_options::StreamOptions;
use crate::decode::{DecodeOptions, Decoder, Stats, checksummed, parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, step};
use crate::model::BatchHeader;
use crate::validate::Findings;
use crate::wire::as_u64;

/// What streams of batch rows have in common: the rows under construction, and how the stream ended.
pub(super) struct Gathered {
    pub columns: BatchColumns,
    schema: SchemaRef,
    failed: Option<Error>,
    pub is_done: bool,
}

impl Gathered {
    pub fn new(options: &StreamOptions) -> Self {
        let columns = BatchColumns::new(&options.decode.codecs.plugins);
        let schema = Arc::new(Schema::new(batch_fields()));
        Self { columns, schema, failed: None, is_done: false }
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Writes the row of a header.
    pub fn push(&mut self, header: &BatchHeader, is_valid: Option<bool>) {
        self.columns.push(header, is_valid);
    }

    /// Gives what was gathered: rows before an error first, then the error, then nothing.
    pub fn give(&mut self, gathered: Result<()>) -> Result<Option<RecordBatch>> {
        if let Err(error) = gathered {
            self.is_done = true;
            self.failed = Some(error);
        }
        if self.columns.rows() == 0 {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let batch = RecordBatch::try_new(self.schema(), self.columns.finish());
        batch.map(Some).map_err(|error| ErrorKind::Internal { what: error.to_string() }.into())
    }
}

/// A stream of batch rows.
pub struct BatchRows {
    runs: Runs,
    options: StreamOptions,
    gathered: Gathered,
    findings: Findings,
    stats: Stats,
    /// Decompresses what only decompressing shows; `None` leaves it null.
    resolver: Option<Decoder>,
}

impl BatchRows {
    /// The entries of a source. Of the options, those about records mean nothing here.
    pub fn new(source: Source, options: StreamOptions) -> Self {
        // A wrong checksum is a column here, not damage, as long as the length is trusted.
        let runs = runs_of(source, &options, RUN_LEN).giving_broken();
        Self {
            runs: if options.decode.check_crc { runs } else { runs.skimmed() },
            gathered: Gathered::new(&options),
            options,
            findings: Findings::default(),
            stats: Stats::default(),
            resolver: None,
        }
    }

    /// Decompresses compressed messages before magic 2 for their base offset and count (L8-28).
    #[must_use]
    pub fn resolving(self) -> Self {
        // The checksum of an entry is a column; a wrong one alone does not make it unreadable.
        let decode = DecodeOptions { check_crc: false, ..self.options.decode.clone() };
        Self { resolver: Some(Decoder::new(decode)), ..self }
    }

    fn pull(&mut self) -> Result<()> {
        while !self.gathered.is_done && self.gathered.columns.rows() < self.options.batch_size {
            self.options.interrupt.ensure_wanted()?;
            match self.runs.next_piece()? {
                Some(FrameEvent::Run(run) | FrameEvent::Broken(run)) => self.visit_run(&run)?,
                Some(other) => leave_out(&self.options, &mut self.findings, &other)?,
                None => {
                    self.gathered.is_done = true;
                    return tail_finding(self.runs.tail(), &self.options, &mut self.findings);
                }
            }
        }
        Ok(())
    }

    fn visit_run(&mut self, run: &Run) -> Result<()> {
        let mut rest = run.entries_from(0);
        let mut position = run.position;
        let (formats, base, limits) = (self.options.decode.formats, self.options.decode.base_position, self.options.decode.limits);
        while let Step::Entry { len, magic } = step(rest, formats, &limits) {
            let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let frame = Frame { position, magic, bytes };
            self.stats.entries_read += 1;
            match parse_header(frame, formats, base).and_then(|header| self.held(header)).and_then(|header| self.resolved(header, frame)) {
                Ok(header) => self.push(&header, bytes),
                Err(error) => step_over(&self.options, &mut self.findings, error.at_byte(position), position, len)?,
            }
            rest = after;
            position += as_u64(len);
        }
        Ok(())
    }

    fn held(&self, header: BatchHeader) -> Result<BatchHeader> {
        self.options.decode.segment.ensure_holds(&header).map(|()| header).map_err(|error| error.in_batch(header.base_offset))
    }

    /// The header with what decompressing the entry tells, when that is asked for.
    fn resolved(&mut self, header: BatchHeader, frame: Frame<'_>) -> Result<BatchHeader> {
        let Some(resolver) = self.resolver.as_mut().filter(|_| header.count.is_none()) else { return Ok(header) };
        let opened = resolver.open(frame)?;
        self.stats.entries_decompressed = resolver.stats.entries_decompressed;
        self.stats.bytes_inflated = resolver.stats.bytes_inflated;
        Ok(opened.map_or(header, |opened| opened.header))
    }

    fn push(&mut self, header: &BatchHeader, bytes: &[u8]) {
        let is_valid = self.options.decode.check_crc.then(|| {
            self.stats.bytes_checksummed += checksummed(header);
            verify(bytes, header).is_ok()
        });
        self.gathered.push(header, is_valid);
    }
}

impl BatchSource for BatchRows {
    fn schema(&self) -> SchemaRef {
        self.gathered.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let gathered = self.pull();
        self.gathered.give(gathered)
    }

    fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), ..self.stats }
    }
}
