use super::{BatchHeaders, ReadAt};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::sidecar::{
    AbortedTxn, IndexBuilder, LeaderEpochs, OffsetEntry, ProducerEntry, Producers, TimeEntry, checkpoint, offset_index, producer_snapshot,
    time_index, txn_index,
};

/// Makes the files next to the segments of one partition anew, segment by segment in offset order.
#[derive(Debug, Default)]
pub struct SidecarRebuild {
    interval: Option<u64>,
    producers: Producers,
    epochs: LeaderEpochs,
    next_offset: Option<i64>,
}

/// The entries of the files of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFiles {
    /// First offset of the segment, its name.
    pub base_offset: i64,
    /// Offset after the last one; the base offset when the segment is empty.
    pub next_offset: i64,
    /// Bytes of whole entries; a torn or zero tail is not counted.
    pub valid_bytes: u64,
    /// `.index`.
    pub offset_index: Vec<OffsetEntry>,
    /// `.timeindex`.
    pub time_index: Vec<TimeEntry>,
    /// `.txnindex`; no file when there are none.
    pub aborted: Vec<AbortedTxn>,
    /// `.snapshot` of the state before the segment, in the name of its base offset.
    pub producers: Vec<ProducerEntry>,
}

impl SidecarRebuild {
    /// With Kafka's `log.index.interval.bytes`; `None` for its default.
    pub fn new(interval: Option<u64>) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Goes on from the state in a `.snapshot`, when the segments before it are gone.
    #[must_use]
    pub fn after(self, snapshot: &[ProducerEntry]) -> Self {
        Self { producers: Producers::from_snapshot(snapshot), ..self }
    }

    /// Reads the headers of the next segment, of `len` bytes.
    ///
    /// # Errors
    /// As `BatchHeaders::next_header`, and when the work is to stop.
    pub fn segment(&mut self, log: &dyn ReadAt, len: u64, base_offset: i64, interrupt: &Interrupt) -> Result<SegmentFiles> {
        let producers = self.producers.snapshot();
        let mut index = IndexBuilder::new(base_offset, self.interval.unwrap_or(crate::sidecar::index_builder::DEFAULT_INTERVAL));
        let mut aborted = Vec::new();
        let mut next_offset = base_offset;
        let mut headers = BatchHeaders::new(log, Limits::default(), 0, len);
        while let Some(header) = headers.next_header()? {
            interrupt.ensure_wanted()?;
            index.visit(&header);
            self.epochs.visit(&header);
            let marker = if header.producer.id >= 0 { headers.marker(&header)? } else { None };
            aborted.extend(self.producers.visit(&header, marker));
            next_offset = next_offset.max(header.next_offset());
        }
        let (offset_index, time_index) = index.finish();
        self.next_offset = Some(next_offset);
        let valid_bytes = headers.position();
        Ok(SegmentFiles { base_offset, next_offset, valid_bytes, offset_index, time_index, aborted, producers })
    }

    /// The files that belong to the end of the log: the last `.snapshot` and the `leader-epoch-checkpoint`.
    pub fn finish(&self) -> Vec<(String, Vec<u8>)> {
        let epochs = checkpoint::epochs_to_bytes(self.epochs.entries());
        let mut files = vec![("leader-epoch-checkpoint".to_owned(), epochs)];
        if let Some(next_offset) = self.next_offset {
            files.push((name(next_offset, "snapshot"), producer_snapshot::to_bytes(&self.producers.snapshot())));
        }
        files
    }
}

impl SegmentFiles {
    /// Names and bytes of the files. Kafka keeps no snapshot at the beginning of a log, so the first segment has none.
    pub fn to_files(&self, is_first: bool) -> Vec<(String, Vec<u8>)> {
        let base = self.base_offset;
        let mut files = vec![
            (name(base, "index"), offset_index::to_bytes(&self.offset_index, base)),
            (name(base, "timeindex"), time_index::to_bytes(&self.time_index, base)),
        ];
        if !self.aborted.is_empty() {
            files.push((name(base, "txnindex"), txn_index::to_bytes(&self.aborted)));
        }
        if !is_first {
            files.push((name(base, "snapshot"), producer_snapshot::to_bytes(&self.producers)));
        }
        files
    }
}

/// Kafka's name of a file: the offset in twenty digits and a suffix (SEG-1).
pub fn name(offset: i64, suffix: &str) -> String {
    format!("{offset:020}.{suffix}")
}
