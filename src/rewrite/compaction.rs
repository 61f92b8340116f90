//! A log compacted by key (`Cleaner.doClean`): the offset map in a first pass, what stays in a second one.

use std::sync::Arc;

use super::cleaned_transactions::CleanedTransactions;
use super::offset_map::OffsetMap;
use super::plan::{BatchAction, Filter, RecordAction};
use crate::decode::transactions::marker;
use crate::decode::{ChecksumVerifier, DecodeOptions, Decoder, UploadCheck, parse_header};
use crate::error::{ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, step};
use crate::interrupt::Interrupt;
use crate::model::{BatchHeader, NewRecord};
use crate::sidecar::AbortedTxn;
use crate::wire::as_u64;

/// Notes the latest offset of each key of a log, segment after segment, until the map is full.
pub struct MapBuilder {
    map: OffsetMap,
    transactions: CleanedTransactions,
    /// Records before it are in an earlier map.
    first_offset: i64,
    /// Records from here on stay: the first open transaction.
    end_offset: Option<i64>,
    latest: Option<i64>,
    is_full: bool,
}

/// When tombstones and markers may go.
#[derive(Clone, Copy, Debug)]
pub struct Deletion {
    /// The time of the compaction, ms.
    pub now: i64,
    /// How long after it a tombstone or marker stays that has no delete horizon yet, ms.
    pub retention_ms: i64,
}

/// What stays of a log.
pub struct Compaction {
    map: Arc<OffsetMap>,
    latest: Option<i64>,
    transactions: CleanedTransactions,
    deletion: Deletion,
    is_marker_of_nothing: bool,
}

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;

impl MapBuilder {
    /// A builder of a map of at most `memory` bytes.
    pub fn new(memory: usize, aborted: &[AbortedTxn], first_offset: i64, end_offset: Option<i64>) -> Self {
        let transactions = CleanedTransactions::new(aborted);
        Self { map: OffsetMap::new(memory), transactions, first_offset, end_offset, latest: None, is_full: false }
    }

    /// Notes the records of the next segment.
    ///
    /// # Errors
    /// What framing and decoding meet, with the position of the entry.
    pub fn visit(&mut self, source: Source, decode: DecodeOptions, interrupt: &Interrupt) -> Result<()> {
        let mut runs = Runs::new(source, decode.limits, RUN_LEN)
            .of(decode.formats)
            .with_source_check(UploadCheck::of(&decode))
            .checking_oversized(Box::new(ChecksumVerifier::of(&decode)))
            .refusing_hidden(Box::new(ChecksumVerifier::of(&decode)));
        let mut decoder = Decoder::new(DecodeOptions { is_control_wanted: true, ..decode });
        while !self.is_full {
            interrupt.ensure_wanted()?;
            match runs.next_piece()? {
                Some(FrameEvent::Run(run)) => self.visit_run(&run, &mut decoder)?,
                Some(FrameEvent::Damage(damage)) => return Err(damage.error),
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// The map, the last offset up to which it holds all keys, and whether it is full.
    pub fn finish(self) -> (Arc<OffsetMap>, Option<i64>, bool) {
        (Arc::new(self.map), self.latest, self.is_full)
    }

    fn visit_run(&mut self, run: &Run, decoder: &mut Decoder) -> Result<()> {
        decoder.enter(&run.bytes);
        let (mut at, formats, limits) = (0, decoder.options().formats, decoder.options().limits);
        while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
            let bytes = run.entries_from(at).get(..len).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            let header = parse_header(frame, formats, 0).map_err(|error| error.at_byte(frame.position))?;
            if self.end_offset.is_some_and(|end| header.last_offset >= end) || !self.visit_entry(frame, &header, decoder)? {
                self.is_full |= self.end_offset.is_none_or(|end| header.last_offset < end);
                return Ok(());
            }
            self.latest = Some(header.last_offset);
            at += len;
        }
        Ok(())
    }

    /// False when the map is full.
    fn visit_entry(&mut self, frame: Frame<'_>, header: &BatchHeader, decoder: &mut Decoder) -> Result<bool> {
        let named = |error: crate::Error| error.in_batch(header.base_offset).at_byte(frame.position);
        if header.is_control() {
            self.transactions.is_of_nothing(header, marker(header, frame.bytes).map_err(named)?);
            return Ok(true);
        }
        if self.transactions.is_aborted(header) || header.last_offset < self.first_offset {
            return Ok(true);
        }
        let Some(opened) = decoder.open(frame)? else { return Ok(true) };
        let section = decoder.section(&opened, frame.bytes, frame.bytes);
        let mut has_room = true;
        opened
            .rewrite::<false>(&section, |_, record| {
                if let Some(key) = record.key.filter(|_| record.offset >= self.first_offset) {
                    has_room &= self.map.put(key, record.offset);
                }
                Ok(())
            })
            .map_err(|error| named(decoder.blame_plugin(header, error)))?;
        Ok(has_room)
    }
}

impl Compaction {
    /// What stays up to `latest`, all of whose keys are in the map.
    pub fn new(map: Arc<OffsetMap>, latest: Option<i64>, aborted: &[AbortedTxn], deletion: Deletion) -> Self {
        let transactions = CleanedTransactions::new(aborted);
        Self { map, latest, transactions, deletion, is_marker_of_nothing: false }
    }
}

impl Filter for Compaction {
    fn reads_headers(&self) -> bool {
        false
    }

    fn of_batch(&mut self, header: &BatchHeader, entry: &[u8]) -> Result<BatchAction> {
        self.is_marker_of_nothing = false;
        if self.latest.is_none_or(|latest| header.last_offset > latest) {
            return Ok(BatchAction::Keep);
        }
        if !header.is_control() {
            let is_dropped = self.transactions.is_aborted(header) || header.count == Some(0);
            return Ok(if is_dropped { BatchAction::Drop } else { BatchAction::Look });
        }
        let is_of_nothing = self.transactions.is_of_nothing(header, marker(header, entry)?);
        if !is_of_nothing {
            return Ok(if header.count == Some(0) { BatchAction::Drop } else { BatchAction::Keep });
        }
        match header.delete_horizon_ms() {
            Some(horizon) if horizon <= self.deletion.now => Ok(BatchAction::Drop),
            Some(_) => Ok(BatchAction::Keep),
            None if header.count == Some(0) => Ok(BatchAction::Drop),
            None => {
                self.is_marker_of_nothing = true;
                Ok(BatchAction::Look)
            }
        }
    }

    fn of_record(&mut self, header: &BatchHeader, record: &NewRecord<'_>) -> RecordAction {
        if header.is_control() {
            return RecordAction::Keep;
        }
        // A record without a key says nothing in a compacted log.
        let Some(key) = record.key else { return RecordAction::Drop };
        let is_latest = self.map.get(key).is_none_or(|latest| record.offset >= latest);
        let is_due = record.value.is_none() && header.delete_horizon_ms().is_some_and(|horizon| horizon <= self.deletion.now);
        if is_latest && !is_due { RecordAction::Keep } else { RecordAction::Drop }
    }

    fn delete_horizon_ms(&self, header: &BatchHeader, keeps_tombstone: bool) -> Option<i64> {
        let is_wanted = header.format.is_batch() && (keeps_tombstone && !header.is_control() || self.is_marker_of_nothing);
        is_wanted.then(|| self.deletion.now.saturating_add(self.deletion.retention_ms))
    }

    fn ensure_possible(&self, header: &BatchHeader) -> Result<()> {
        if header.format == crate::model::RecordFormat::V07 {
            return Err(
                ErrorKind::Usage { argument: "source", problem: "records of Kafka 0.7 have no keys to compact by".to_owned() }.into()
            );
        }
        Ok(())
    }
}
