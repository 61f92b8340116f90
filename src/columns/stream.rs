//! A source of bytes to a stream of record batches, on the thread that asks.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batch_source::BatchSource;
use super::binary::{BytesColumn, Copied};
use super::chunks::ChunkBuilder;
use super::key_filter::KeyFilter;
use super::parallel::Parallel;
use super::run_pieces::{ASK_EVERY, RUN_LEN, check_first_run, leave_out, runs_of, tail_finding};
use super::schema::{BinaryKind, Column};
use super::stream_options::StreamOptions;
use super::views::Views;
use crate::decode::Stats;
use crate::error::{Error, Result};
use crate::framing::{FrameEvent, Runs, Source};
use crate::validate::Findings;

/// Most of them that a worker thread takes at a time.
const MOST_RUN_LEN: usize = 8 << 20;

/// Most bytes that the topic's name takes in a chunk; its column is made for up to twice the rows, behind 32-bit offsets.
const MOST_TOPIC_BYTES: usize = 1 << 29;

/// Opens a stream.
pub fn open(source: Source, mut options: StreamOptions) -> Box<dyn BatchSource> {
    if let Some(keys) = options.keys.take() {
        let columns = &mut options.projection.columns;
        let width = columns.len();
        columns.extend((!columns.contains(&Column::Key)).then_some(Column::Key));
        return Box::new(KeyFilter::new(open(source, options), keys, width));
    }
    let topic_len = options.topic.as_ref().map_or(1, |topic| topic.len().max(1));
    options.batch_size = options.batch_size.min((MOST_TOPIC_BYTES / topic_len).max(1));
    if !options.decode.codecs.plugins.is_none() {
        // A thread that calls a plugin may need the interpreter, which a consumer may hold while it waits for that thread.
        options.threads = 1;
    }
    match options.projection.binary {
        BinaryKind::Binary => open_as::<Copied<i32>>(source, options),
        BinaryKind::LargeBinary => open_as::<Copied<i64>>(source, options),
        BinaryKind::BinaryView => open_as::<Views>(source, options),
    }
}

fn open_as<B: BytesColumn>(source: Source, options: StreamOptions) -> Box<dyn BatchSource> {
    // Entry by entry, the next header is already on its way into the cache when the checksum reaches the end of the one before.
    // Views want few, large runs instead: each is a buffer of its own in the Arrow array.
    let is_stepwise = source.is_memory() && options.threads == 1 && !B::KEEPS_SECTIONS;
    // A worker's run is a chunk: handing fewer, larger ones over costs less.
    let run_len = if options.threads > 1 { options.batch_bytes.clamp(RUN_LEN, MOST_RUN_LEN) } else { RUN_LEN };
    let runs = runs_of(source, &options, if is_stepwise { 1 } else { run_len });
    if options.threads > 1 { Box::new(Parallel::<B>::new(runs, options)) } else { Box::new(Sequential::<B>::new(runs, options)) }
}

/// Runs to batches, in order.
struct Sequential<B> {
    runs: Runs,
    chunks: ChunkBuilder<B>,
    failed: Option<Error>,
    is_done: bool,
    has_begun: bool,
    pieces: u32,
}

impl<B: BytesColumn> Sequential<B> {
    fn new(runs: Runs, options: StreamOptions) -> Self {
        Self { runs, chunks: ChunkBuilder::new(options), failed: None, is_done: false, has_begun: false, pieces: 0 }
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.chunks.next_full()? {
                return Ok(Some(batch));
            }
            self.pieces = self.pieces.wrapping_add(1);
            if self.pieces.is_multiple_of(ASK_EVERY) {
                self.chunks.options.interrupt.ensure_wanted()?;
            }
            match self.runs.next_piece()? {
                Some(FrameEvent::Run(run)) => {
                    check_first_run(&self.chunks.options, &mut self.chunks.findings, &mut self.has_begun, &run)?;
                    self.chunks.feed(run);
                }
                Some(other) => leave_out(&self.chunks.options, &mut self.chunks.findings, &other)?,
                None => {
                    self.is_done = true;
                    tail_finding(self.runs.tail(), &self.chunks.options, &mut self.chunks.findings)?;
                    return self.chunks.finish();
                }
            }
        }
    }
}

impl<B: BytesColumn> BatchSource for Sequential<B> {
    fn schema(&self) -> SchemaRef {
        self.chunks.columns.schema()
    }

    /// Rows before an error are given first, then the error, then nothing.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.is_done {
            return Ok(None);
        }
        match self.pull() {
            Err(error) => {
                self.is_done = true;
                match self.chunks.finish() {
                    Ok(Some(rows)) => {
                        self.failed = Some(error);
                        Ok(Some(rows))
                    }
                    _ => Err(error),
                }
            }
            given => given,
        }
    }

    fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.chunks.findings)
    }

    fn stats(&self) -> Stats {
        Stats { bytes_read: self.runs.bytes_read(), ..self.chunks.stats() }
    }
}
