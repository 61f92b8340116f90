//! Drives a rewrite: entry after entry, in bounded memory.

use super::account::{Range, RangeAction, RecordCounts, RewriteAccount};
use super::batch::{BatchWriter, RecordActions, put_empty};
use super::digest::Mask;
use super::message_set::MessageWriter;
use super::output::RunOutput;
use super::plan::{BatchAction, Filter, RecordAction};
use super::retention::Retention;
use crate::codec::{Compression, Compressor};
use crate::decode::{ChecksumVerifier, DecodeOptions, DecodedBatch, Decoder, UploadCheck, parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::model::{BatchHeader, CompressionType, NewRecord, RecordFormat};
use crate::wire::as_u64;

/// How entries are rewritten.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// How entries are read.
    pub decode: DecodeOptions,
    /// What takes the place of values that are masked.
    pub mask: Mask,
    /// Codec of compressed entries that are written anew; `None` keeps that of each.
    pub compression: Option<CompressionType>,
    /// Rewrite Kafka 0.7, where later messages get other offsets.
    pub allows_loss: bool,
    /// Let the last entry of a partition go where it cannot stay without records (magic 0 and 1).
    pub allows_lower_end: bool,
    /// The log start offset: records below it are deleted, with the entries that have no others, whatever the filter says of them.
    pub log_start: Option<i64>,
}

/// Rewrites the entries of one file of a partition.
pub struct Rewriter<F> {
    options: RewriteOptions,
    filter: F,
    retention: Retention,
    runs: Runs,
    decoder: Decoder,
    compressor: Compressor,
    batches: BatchWriter,
    messages: MessageWriter,
    fates: Vec<RecordAction>,
    account: RewriteAccount,
    /// The log start offset until the first entry that ends at or after it was read.
    start: Option<i64>,
    /// Bytes of the output so far.
    written: u64,
    tail_bytes: u64,
}

/// What became of one entry, whose header is resolved if its records were looked at.
struct Done {
    action: RangeAction,
    header: BatchHeader,
    records: RecordCounts,
}

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;

impl<F: Filter> Rewriter<F> {
    /// A rewriter of everything in a source.
    ///
    /// # Errors
    /// None that an input causes.
    pub fn new(source: Source, options: RewriteOptions, filter: F, retention: Retention) -> Result<Self> {
        let decode = DecodeOptions { is_control_wanted: true, ..options.decode.clone() };
        let mut compressor = Compressor::default();
        compressor.set_plugins(decode.codecs.plugins.clone());
        Ok(Self {
            runs: Runs::new(source, decode.limits, RUN_LEN)
                .of(decode.formats)
                .with_source_check(UploadCheck::of(&decode))
                .checking_oversized(Box::new(ChecksumVerifier::of(&decode)))
                .refusing_hidden(Box::new(ChecksumVerifier::of(&decode))),
            decoder: Decoder::new(decode),
            start: options.log_start,
            options,
            filter,
            retention,
            compressor,
            batches: BatchWriter::default(),
            messages: MessageWriter::new()?,
            fates: Vec::new(),
            account: RewriteAccount::default(),
            written: 0,
            tail_bytes: 0,
        })
    }

    /// Puts what the next run became into `out`, and gives the run; `None` at the end.
    ///
    /// # Errors
    /// What framing and decoding meet; `Loss` where something would be lost that may not; with the position of the entry.
    pub fn advance(&mut self, out: &mut RunOutput) -> Result<Option<Run>> {
        match self.runs.next_piece()? {
            Some(FrameEvent::Run(run)) => {
                out.enter(run.bytes.clone());
                self.rewrite_run(&run, out)?;
                self.written = self.written.saturating_add(as_u64(out.len()));
                Ok(Some(run))
            }
            Some(FrameEvent::Damage(damage)) => Err(damage.error),
            // Only a recovering walk gives other pieces.
            Some(_) => Err(ErrorKind::Internal { what: "a piece of damage in a walk that stops there".to_owned() }.into()),
            None => {
                self.end();
                Ok(None)
            }
        }
    }

    /// After the end: the bytes of the source after its last whole entry, as a run of bytes or as zeros.
    pub fn tail(&self) -> (&[u8], u64) {
        match self.runs.tail() {
            Some(Tail::Zeros { bytes, .. }) => (&[], bytes),
            _ => (self.runs.left(), 0),
        }
    }

    /// How the source ended; `None` before it did.
    pub fn tail_state(&self) -> Option<Tail> {
        self.runs.tail()
    }

    /// Where every byte went, and the filter. Call it at the end.
    pub fn finish(self) -> (RewriteAccount, F) {
        (self.account, self.filter)
    }

    fn rewrite_run(&mut self, run: &Run, out: &mut RunOutput) -> Result<()> {
        self.decoder.enter(&run.bytes);
        let mut at = 0;
        loop {
            let entries = run.entries_from(at);
            let Step::Entry { len, magic } = step(entries, self.options.decode.formats, &self.options.decode.limits) else { break };
            let bytes = entries.get(..len).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            let start = out.len();
            let mut range = self.rewrite_entry(frame, out)?;
            if range.action == RangeAction::Copied {
                out.keep(at..at + len);
            }
            let written = |len: usize| self.written.saturating_add(as_u64(len));
            range.output = written(start)..written(out.len());
            self.account.add(range);
            at += len;
        }
        out.close();
        Ok(())
    }

    fn rewrite_entry(&mut self, frame: Frame<'_>, out: &mut RunOutput) -> Result<Range> {
        let decode = &self.options.decode;
        let header = parse_header(frame, decode.formats, decode.base_position).map_err(|error| error.at_byte(frame.position))?;
        let fate = self.filter.ensure_possible(&header).and_then(|()| self.filter.of_batch(&header, frame.bytes));
        let done = fate.and_then(|fate| match (self.start, fate) {
            (Some(start), _) if header.last_offset < start => self.drop_deleted(frame, &header),
            (Some(_), fate) => self.look(frame, fate, out),
            (None, BatchAction::Keep) => self.copy_unseen(frame, &header),
            (None, BatchAction::Drop) => self.drop_unseen(frame, &header, out),
            (None, BatchAction::Look) => self.look(frame, BatchAction::Look, out),
        });
        self.start = self.start.filter(|start| header.last_offset < *start);
        let Done { action, header, records } = done.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))?;
        let bytes = frame.position..frame.position.saturating_add(as_u64(frame.bytes.len()));
        let offsets = Some((header.base_offset, header.last_offset));
        Ok(Range { action, bytes, output: 0..0, offsets, entries: 1, records })
    }

    fn copy_unseen(&self, frame: Frame<'_>, header: &BatchHeader) -> Result<Done> {
        self.ensure_valid(frame, header)?;
        Ok(Done { action: RangeAction::Copied, header: *header, records: counts_of(header) })
    }

    fn drop_unseen(&mut self, frame: Frame<'_>, header: &BatchHeader, out: &mut RunOutput) -> Result<Done> {
        // The header decides what stays of the batch, so it must be that of its writer.
        self.ensure_valid(frame, header)?;
        let action = self.empty(header, out)?;
        let records = counts_of(header);
        Ok(Done { action, header: *header, records: RecordCounts { dropped: records.read, ..records } })
    }

    /// Drops an entry below the log start offset: nothing of it stays, as if a broker had deleted its segment.
    fn drop_deleted(&mut self, frame: Frame<'_>, header: &BatchHeader) -> Result<Done> {
        let records = if header.count.is_some() {
            self.ensure_valid(frame, header)?;
            let records = counts_of(header);
            self.account.below_start += if header.is_control() { 0 } else { records.read };
            RecordCounts { dropped: records.read, ..records }
        } else {
            let Some(opened) = self.decoder.open(frame)? else { return Err(unwanted()) };
            self.decide(&opened, frame, BatchAction::Drop)?.0
        };
        Ok(Done { action: RangeAction::Dropped, header: *header, records })
    }

    fn ensure_valid(&self, frame: Frame<'_>, header: &BatchHeader) -> Result<()> {
        if self.options.decode.check_crc {
            verify(frame.bytes, header)?;
        }
        self.options.decode.segment.ensure_holds(header)
    }

    /// Looks at the records of an entry. `fate` is that of the records from the log start offset on.
    fn look(&mut self, frame: Frame<'_>, fate: BatchAction, out: &mut RunOutput) -> Result<Done> {
        let Some(opened) = self.decoder.open(frame)? else { return Err(unwanted()) };
        let header = opened.header;
        let (records, keeps_tombstone) = self.decide(&opened, frame, fate)?;
        let has_horizon = header.delete_horizon_ms().is_some() || fate != BatchAction::Look;
        let horizon = if has_horizon { None } else { self.filter.delete_horizon_ms(&header, keeps_tombstone) };
        if records.is_unchanged() && horizon.is_none() {
            return Ok(Done { action: RangeAction::Copied, header, records });
        }
        if header.format == RecordFormat::V07 && !self.options.allows_loss {
            let losses = "the offsets of all later messages, which are byte positions in Kafka 0.7; pass allow_loss=True to accept that";
            return Err(ErrorKind::Loss { rule: "CMP-11", work: "rewrite", losses: losses.to_owned() }.into());
        }
        if records.dropped == records.read && !records.is_unchanged() {
            return Ok(Done { action: self.empty(&header, out)?, header, records });
        }
        self.write(&opened, horizon, (frame, out))?;
        Ok(Done { action: RangeAction::Rewritten, header, records })
    }

    /// Asks the filter about every record, unless `whole` decides; true when a record that stays is a tombstone.
    fn decide(&mut self, opened: &DecodedBatch, frame: Frame<'_>, whole: BatchAction) -> Result<(RecordCounts, bool)> {
        let Self { filter, fates, decoder, options, account, start, .. } = self;
        let section = decoder.section(opened, frame.bytes, frame.bytes);
        let (mut counts, mut keeps_tombstone) = (RecordCounts::default(), false);
        fates.clear();
        let reads_headers = filter.reads_headers();
        let mut decide = |record: &NewRecord<'_>| {
            let is_below = start.is_some_and(|start| record.offset < start);
            account.below_start += u64::from(is_below);
            let mut fate = match whole {
                _ if is_below => RecordAction::Drop,
                BatchAction::Keep => RecordAction::Keep,
                BatchAction::Drop => RecordAction::Drop,
                BatchAction::Look => filter.of_record(&opened.header, record),
            };
            if fate == RecordAction::Mask && matches!(options.mask, Mask::Empty) && record.value.is_some_and(<[u8]>::is_empty) {
                fate = RecordAction::Keep;
            }
            counts.read += 1;
            counts.dropped += u64::from(fate == RecordAction::Drop);
            counts.tombstoned += u64::from(fate == RecordAction::Tombstone);
            counts.masked += u64::from(fate == RecordAction::Mask);
            keeps_tombstone |= fate == RecordAction::Tombstone || fate == RecordAction::Keep && record.value.is_none();
            fates.push(fate);
        };
        let walked = if reads_headers {
            opened.rewrite::<true>(&section, |_, record| {
                decide(&record);
                Ok(())
            })
        } else {
            opened.rewrite::<false>(&section, |_, record| {
                decide(&record);
                Ok(())
            })
        };
        walked.map_err(|error| decoder.blame_plugin(&opened.header, error))?;
        Ok((counts, keeps_tombstone))
    }

    fn write(&mut self, opened: &DecodedBatch, delete_horizon_ms: Option<i64>, (frame, out): (Frame<'_>, &mut RunOutput)) -> Result<()> {
        let found = opened.header.compression();
        let kept = RecordActions {
            fates: &self.fates,
            mask: &self.options.mask,
            compression: Compression::new(self.options.compression.unwrap_or(found), None)?,
            delete_horizon_ms,
        };
        let section = self.decoder.section(opened, frame.bytes, frame.bytes);
        let target = (&mut self.compressor, out.sink());
        if opened.header.format.is_batch() {
            self.batches.write((opened, &section), kept, target)
        } else {
            self.messages.write((opened, &section), kept, target)
        }
    }

    /// Decides about an entry that lost all its records.
    fn empty(&mut self, header: &BatchHeader, out: &mut RunOutput) -> Result<RangeAction> {
        if header.format.is_batch() {
            if !self.retention.retains(header) {
                return Ok(RangeAction::Dropped);
            }
            self.account.emptied += 1;
            return put_empty(header, out.sink()).map(|()| RangeAction::Rewritten);
        }
        if self.retention.is_last(header) && !self.options.allows_lower_end {
            let losses = "the log end offset: the last entry of the partition loses all its records, and its format has no empty \
                          entries; pass allow_lower_end=True to accept that";
            return Err(ErrorKind::Loss { rule: "CMP-10", work: "rewrite", losses: losses.to_owned() }.into());
        }
        Ok(RangeAction::Dropped)
    }

    /// What comes after the last whole entry is left out.
    fn end(&mut self) {
        let Some((position, bytes)) = self.runs.tail().and_then(tail_of) else { return };
        if bytes == 0 || self.tail_bytes > 0 {
            return;
        }
        self.tail_bytes = bytes;
        self.account.add(Range {
            action: RangeAction::Dropped,
            bytes: position..position.saturating_add(bytes),
            output: self.written..self.written,
            offsets: None,
            entries: 0,
            records: RecordCounts::default(),
        });
    }
}

fn tail_of(tail: Tail) -> Option<(u64, u64)> {
    match tail {
        Tail::Torn { position, available, .. } => Some((position, available)),
        Tail::Zeros { position, bytes } => Some((position, bytes)),
        Tail::Complete | Tail::Damaged { .. } => None,
    }
}

fn unwanted() -> Error {
    ErrorKind::Internal { what: "an entry without an offset that is wanted".to_owned() }.into()
}

/// The records that a header counts.
fn counts_of(header: &BatchHeader) -> RecordCounts {
    RecordCounts { read: header.count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0), ..RecordCounts::default() }
}
