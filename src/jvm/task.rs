//! The data of a task: bytes that Python wrote go in, what is read comes out. `logsegment.spark.jvm.tasks` writes them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::codec::Plugins;
use crate::columns::{BinaryKind, OnError, Projection, StreamOptions};
use crate::decode::{DecodeOptions, Isolation, OffsetRange, Transactions};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Ending;
use crate::interrupt::Interrupt;
use crate::io::{has_next, named_offset};
use crate::limits::Limits;
use crate::model::Formats;
use crate::model::timestamp::TimeRange;
use crate::wire::Cursor;

/// A number that is not given.
const NONE: i64 = i64::MIN;

/// What one Spark task reads.
pub struct Task {
    /// What follows an error about damage: the option that skips it.
    pub hint: String,
    /// The options that all parts share.
    pub options: StreamOptions,
    /// The bytes of segments, in order.
    pub parts: Vec<Part>,
}

/// Bytes of a segment, and how they are read.
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// First byte.
    pub start: u64,
    /// Byte after the last one; `None` for the end of the file.
    pub end: Option<u64>,
    segment: OffsetRange,
    wanted: OffsetRange,
    share: OffsetRange,
    times: Option<TimeRange>,
    topic: Option<String>,
    partition: Option<i32>,
    is_tail_strict: bool,
    next_offset: Option<i64>,
    is_inner: bool,
    isolation: Isolation,
}

impl Task {
    /// Parse a task: the columns and the most rows, which Java writes, then what Python wrote.
    ///
    /// # Errors
    /// `Internal` if the bytes are not those of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields(Cursor::new(bytes, "INTERNAL"));
        let task = fields.task().map_err(|_| Error::from(ErrorKind::Internal { what: "the data of a Spark task is unreadable".into() }))?;
        if fields.0.left().is_empty() {
            Ok(task)
        } else {
            Err(ErrorKind::Internal { what: "the data of a Spark task is too long".into() }.into())
        }
    }
}

impl Part {
    /// Return what follows the last byte. Ask after the file was opened: a broker cuts a log by deleting the next segment first.
    pub fn ending(&self) -> Ending {
        match (self.end, self.next_offset) {
            (Some(at), _) if self.is_inner => Ending::Entry { at },
            (_, Some(next)) if has_next(&self.path, next) => Ending::Segment { first: named_offset(&self.path), next },
            _ => Ending::Open,
        }
    }

    /// The first offset of the next segment.
    pub fn next_offset(&self) -> Option<i64> {
        self.next_offset
    }

    /// True if the range ends where another entry of the file begins.
    pub fn is_inner(&self) -> bool {
        self.is_inner
    }

    /// The options of this part.
    pub fn options(&self, shared: &StreamOptions) -> StreamOptions {
        let decode = DecodeOptions {
            offsets: self.wanted,
            share: self.share,
            times: self.times,
            segment: self.segment,
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

struct Fields<'a>(Cursor<'a>);

impl Fields<'_> {
    fn task(&mut self) -> Result<Task> {
        let columns = (0..self.len()?).map(|_| self.text()).collect::<Result<Vec<_>>>()?;
        let most_rows = self.size()?;
        let (hint, registry) = (self.text()?, self.text()?);
        let mut options = self.options(&columns, most_rows)?;
        options.decode.codecs.plugins = Plugins::absent(&registry);
        let parts = (0..self.len()?).map(|_| self.part()).collect::<Result<_>>()?;
        Ok(Task { hint, options, parts })
    }

    fn options(&mut self, columns: &[String], most_rows: usize) -> Result<StreamOptions> {
        let projection = Projection::named(Some(columns), BinaryKind::Binary)
            .map_err(|error| Error::from(ErrorKind::Usage { argument: "columns", problem: error.to_string() }))?;
        let formats = Formats::later(self.long()? != 0);
        let (batch_size, batch_bytes) = (self.size()?.min(most_rows).max(1), self.size()?.max(1));
        let decode = DecodeOptions { formats, limits: self.limits()?, ..DecodeOptions::default() };
        Ok(StreamOptions {
            decode,
            projection: Projection { has_null_headers: true, ..projection },
            topic: None,
            partition: None,
            on_error: OnError::Raise,
            is_tail_strict: false,
            batch_size,
            batch_bytes,
            keys: None,
            threads: 1,
            interrupt: Interrupt::default(),
        })
    }

    fn limits(&mut self) -> Result<Limits> {
        Ok(Limits {
            max_batch_bytes: self.unsigned()?,
            max_decompressed_bytes: self.unsigned()?,
            max_ratio: self.unsigned()?,
            max_records: self.unsigned()?,
            max_headers: self.unsigned()?,
            max_nesting: u32::try_from(self.unsigned()?).unwrap_or(u32::MAX),
        })
    }

    fn part(&mut self) -> Result<Part> {
        Ok(Part {
            path: self.path()?,
            start: self.unsigned()?,
            end: self.given()?.and_then(|end| u64::try_from(end).ok()),
            // A range without a first offset begins at the least number there is, which is also the mark of none.
            segment: OffsetRange { start: self.long()?, end: self.given()? },
            wanted: OffsetRange { start: self.long()?, end: self.given()? },
            share: OffsetRange { start: self.long()?, end: self.given()? },
            times: self.times()?,
            topic: if self.long()? == 0 { None } else { Some(self.text()?) },
            partition: self.given()?.and_then(|partition| i32::try_from(partition).ok()),
            is_tail_strict: self.long()? != 0,
            next_offset: self.given()?,
            is_inner: self.long()? != 0,
            isolation: self.isolation()?,
        })
    }

    /// The transactions of a committed read.
    fn isolation(&mut self) -> Result<Isolation> {
        if self.long()? == 0 {
            return Ok(Isolation::ReadUncommitted);
        }
        let (stable, aborted, undecided) = (self.given()?, self.ranges()?, self.ranges()?);
        Ok(Isolation::ReadCommitted(Arc::new(Transactions::from_parts(aborted, undecided, stable))))
    }

    /// Producer id, first offset and last offset of each transaction.
    fn ranges(&mut self) -> Result<Vec<(i64, i64, i64)>> {
        (0..self.len()?).map(|_| Ok((self.long()?, self.long()?, self.long()?))).collect()
    }

    fn long(&mut self) -> Result<i64> {
        self.0.take_array("task").map(i64::from_be_bytes)
    }

    /// A number; limits that are lifted are the largest one.
    fn unsigned(&mut self) -> Result<u64> {
        self.0.take_array("task").map(u64::from_be_bytes)
    }

    fn times(&mut self) -> Result<Option<TimeRange>> {
        let (start, end) = (self.long()?, self.given()?);
        Ok((start != NONE || end.is_some()).then_some(TimeRange { start, end }))
    }

    fn given(&mut self) -> Result<Option<i64>> {
        self.long().map(|value| (value != NONE).then_some(value))
    }

    fn size(&mut self) -> Result<usize> {
        Ok(usize::try_from(self.unsigned()?).unwrap_or(usize::MAX))
    }

    fn len(&mut self) -> Result<i32> {
        self.0.take_i32("task")
    }

    fn bytes(&mut self) -> Result<&[u8]> {
        let len = self.len()?;
        self.0.take(usize::try_from(len).unwrap_or(usize::MAX), "task")
    }

    fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Names of files are bytes, which need not be text.
    #[cfg(unix)]
    fn path(&mut self) -> Result<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(self.bytes()?).into())
    }

    #[cfg(not(unix))]
    fn path(&mut self) -> Result<PathBuf> {
        Ok(self.text()?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_prolonged_data_is_an_error() {
        let mut data = Vec::new();
        data.extend(1_i32.to_be_bytes());
        data.extend(6_i32.to_be_bytes());
        data.extend(b"offset");
        data.extend(i64::MAX.to_be_bytes());
        data.extend([0_i32; 2].map(i32::to_be_bytes).concat());
        data.extend([0_i64, 65536, 1 << 22, 1, 2, 3, 4, 5, 6].map(i64::to_be_bytes).concat());
        data.extend(0_i32.to_be_bytes());
        let task = Task::parse(&data).unwrap();
        assert_eq!((task.options.batch_size, task.options.decode.limits.max_records), (65536, 4));
        for len in 0..data.len() {
            assert!(Task::parse(&data[..len]).is_err(), "{len}");
        }
        assert!(Task::parse(&[data, vec![0]].concat()).is_err());
    }
}
