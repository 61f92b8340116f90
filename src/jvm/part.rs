//! Bytes of a segment that a task reads, and how.

use std::path::PathBuf;
use std::sync::Arc;

use crate::columns::StreamOptions;
use crate::decode::{DecodeOptions, Isolation, OffsetRange};
use crate::jvm::note::TaskNote;
use crate::model::timestamp::TimeRange;

/// Bytes of a segment, and how they are read.
pub struct TaskPart {
    /// The bytes.
    pub bytes: SegmentBytes,
    /// The name of its topic, as all its records have it.
    pub topic: Option<String>,
    /// The number of its partition.
    pub partition: Option<i32>,
    /// The part of its damage that this task reports.
    pub share: Share,
    /// What the driver knows of the file.
    pub finding: Option<TaskNote>,
    /// The offsets that the query wants.
    pub wanted: OffsetRange,
    /// The offsets that this task has of those that several tasks share.
    pub shared: OffsetRange,
    /// The times that the query wants.
    pub times: Option<TimeRange>,
    /// A torn tail is an error.
    pub is_tail_strict: bool,
    /// The transactions of a committed read.
    pub isolation: Isolation,
}

/// Bytes of a file.
#[derive(Clone, Debug)]
pub struct SegmentBytes {
    /// The file.
    pub path: PathBuf,
    /// First byte.
    pub start: u64,
    /// Byte after the last one; `None` for the end of the file.
    pub end: Option<u64>,
    /// The offsets that the batches may hold.
    pub offsets: OffsetRange,
    /// The first offset of the next segment.
    pub next_offset: Option<i64>,
    /// The range ends where another entry of the file begins.
    pub is_inner: bool,
}

impl TaskPart {
    /// The options of this part.
    pub fn options(&self, shared: &StreamOptions) -> StreamOptions {
        let decode = DecodeOptions {
            offsets: self.wanted,
            share: self.shared,
            times: self.times,
            segment: self.bytes.offsets,
            isolation: self.isolation.clone(),
            // Each part reports the end of the committed records by itself.
            undecided_reported: Arc::default(),
            ..shared.decode.clone()
        };
        StreamOptions {
            decode,
            topic: self.topic.clone(),
            partition: self.partition,
            is_tail_strict: self.is_tail_strict,
            ..shared.clone()
        }
    }
}

impl SegmentBytes {
    /// The rest of the file, whatever its name says.
    pub fn after(&self, end: u64) -> Self {
        Self { path: self.path.clone(), start: end, end: None, offsets: OffsetRange::default(), next_offset: None, is_inner: false }
    }
}

/// The offsets of a segment that a task has.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// First offset of the segment.
    pub first: i64,
    /// Those of the task.
    pub offsets: OffsetRange,
    /// Another task has the offsets before those of this task; else the query begins there.
    pub resumes: bool,
}

impl Share {
    /// True if this task reports the place from offset `begin` to before `end`, which is `None` if it is not known.
    pub fn reports(&self, begin: i64, end: Option<i64>) -> bool {
        let starts_inside = !self.resumes && end.is_none_or(|end| end > self.offsets.start);
        let begin = if starts_inside { begin.max(self.offsets.start) } else { begin };
        self.offsets.contains(begin)
    }
}
