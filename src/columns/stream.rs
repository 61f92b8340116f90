//! A source of bytes to a stream of record batches, on the thread that asks.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::binary::{BytesColumn, Copied};
use super::chunks::ChunkBuilder;
use super::key_filter::KeyFilter;
use super::parallel::Parallel;
use super::schema::{BinaryKind, Column, Projection};
use super::value_notes::ValueNotes;
use super::views::Views;
use crate::decode::{ChecksumVerifier, DecodeOptions, Decoder, Stats, Unreadable, UploadCheck};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Damage, Frame, Piece, Run, Runs, Source, Step, Tail, step};
use crate::interrupt::Interrupt;
use crate::model::RecordFormat;
use crate::validate::{Finding, Findings};
use crate::wire::as_u64;

/// A stream of record batches of one schema.
pub trait BatchSource: Send {
    /// The schema of every batch.
    fn schema(&self) -> SchemaRef;
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with the bytes; the stream ends there.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
    /// Takes the findings met since the last call: torn and zero tails, and what was stepped over.
    fn take_findings(&mut self) -> Findings;
    /// What was done so far.
    fn stats(&self) -> Stats;
    /// What was noticed about typed values so far.
    fn value_notes(&self) -> ValueNotes {
        ValueNotes::default()
    }
}

/// What to do at damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// End the stream with the error.
    #[default]
    Raise,
    /// Leave out what is damaged, remember a finding, go on.
    Skip,
}

/// How a stream is made.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// What to decode.
    pub decode: DecodeOptions,
    /// Which columns.
    pub projection: Projection,
    /// Value of the column `topic`.
    pub topic: Option<String>,
    /// Value of the column `partition`.
    pub partition: Option<i32>,
    /// At damage.
    pub on_error: OnError,
    /// A torn tail is an error.
    pub is_tail_strict: bool,
    /// Most rows of a batch.
    pub batch_size: usize,
    /// About how many bytes of keys, values and headers a batch holds.
    pub batch_bytes: usize,
    /// Only records with one of these keys.
    pub keys: Option<Arc<[Vec<u8>]>>,
    /// Threads that decode; 1 is the thread that asks.
    pub threads: usize,
    /// Asked between runs.
    pub interrupt: Interrupt,
}

/// Bytes of entries that are cut off a source at a time.
pub const RUN_LEN: usize = 1 << 20;
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
    let reports_experimental = options.decode.reports_experimental;
    let stream = match options.projection.binary {
        BinaryKind::Binary => open_as::<Copied<i32>>(source, options),
        BinaryKind::LargeBinary => open_as::<Copied<i64>>(source, options),
        BinaryKind::BinaryView => open_as::<Views>(source, options),
    };
    if reports_experimental { Box::new(Experimental { stream, counts_as_listed: false }) } else { stream }
}

/// A stream of a format that never shipped, which was named and not allowed: a finding says so.
struct Experimental {
    stream: Box<dyn BatchSource>,
    counts_as_listed: bool,
}

impl BatchSource for Experimental {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.stream.next_batch()
    }

    fn take_findings(&mut self) -> Findings {
        let mut findings = Findings::default();
        if !self.counts_as_listed && self.stream.stats().entries_read > 0 {
            self.counts_as_listed = true;
            findings.push(Finding::of_experimental(RecordFormat::V3, 0));
        }
        findings.append(self.stream.take_findings());
        findings
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }

    fn value_notes(&self) -> ValueNotes {
        self.stream.value_notes()
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

/// The runs of a source, recovering when damage is to be skipped.
pub fn runs_of(source: Source, options: &StreamOptions, run_len: usize) -> Runs {
    let verifier = ChecksumVerifier::of(&options.decode);
    let runs = Runs::new(source, options.decode.limits, run_len)
        .of(options.decode.formats)
        .with_source_check(UploadCheck::of(&options.decode))
        .checking_oversized(Box::new(verifier));
    match options.on_error {
        OnError::Raise => runs,
        OnError::Skip => runs.with_recovery(Box::new(verifier)).with_interrupt(options.interrupt.clone()),
    }
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

/// Pieces between two questions whether to go on; a piece is one entry or a run of them, microseconds to a few milliseconds.
pub const ASK_EVERY: u32 = 16;

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
                Some(Piece::Run(run)) => {
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

/// Fails with the error, or turns it into a finding.
pub(super) fn step_over(options: &StreamOptions, findings: &mut Findings, error: Error, position: u64, len: usize) -> Result<()> {
    let raises = if error.is_unreadable() { options.decode.unreadable == Unreadable::Raise } else { options.on_error == OnError::Raise };
    if raises || !error.is_about_data() {
        return Err(error);
    }
    findings.push(Finding::of_damage(&Damage { error, bytes: position..position + as_u64(len) }).unless_raised(options.decode.unreadable));
    Ok(())
}

/// Check the first run of a stream with `Decoder::ensure_decided_before`.
///
/// # Errors
/// `Undecided`, unless damage is skipped.
pub(super) fn check_first_run(options: &StreamOptions, findings: &mut Findings, has_begun: &mut bool, run: &Run) -> Result<()> {
    if std::mem::replace(has_begun, true) {
        return Ok(());
    }
    let entries = run.entries_from(0);
    let Step::Entry { len, magic } = step(entries, options.decode.formats, &options.decode.limits) else { return Ok(()) };
    let frame = Frame { position: run.position, magic, bytes: entries.get(..len).unwrap_or_default() };
    match Decoder::ensure_decided_before(&options.decode, frame) {
        Ok(()) => Ok(()),
        Err(error) => step_over(options, findings, error, run.position, len),
    }
}

/// Remembers what framing left out.
///
/// # Errors
/// The error of a batch that cannot be read here, unless such batches are skipped.
pub(super) fn leave_out(options: &StreamOptions, findings: &mut Findings, piece: &Piece) -> Result<()> {
    if let Piece::Damage(Damage { error, .. }) = piece
        && error.is_unreadable()
        && options.decode.unreadable == Unreadable::Raise
    {
        return Err(error.clone());
    }
    findings.extend(Finding::of_piece(piece).map(|finding| finding.unless_raised(options.decode.unreadable)));
    Ok(())
}

/// The finding that the end of the source makes.
///
/// # Errors
/// `Truncated` for a torn tail when tails are strict.
pub(super) fn tail_finding(tail: Option<Tail>, options: &StreamOptions, findings: &mut Findings) -> Result<()> {
    let tail = tail.unwrap_or(Tail::Complete);
    if let (Tail::Torn { position, needed, available }, true) = (tail, options.is_tail_strict) {
        return Err(Error::from(ErrorKind::Truncated { rule: "L8-14", needed, available }).at_byte(position));
    }
    findings.extend(Finding::of_tail(tail));
    Ok(())
}

/// A schema for a stream that never gives a batch.
pub fn schema_of(options: &StreamOptions) -> SchemaRef {
    Arc::clone(&options.projection.schema())
}
