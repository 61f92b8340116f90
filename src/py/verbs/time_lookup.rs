//! The first record of a time or later, by the records themselves.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use pyo3::prelude::*;

use crate::columns::batch_rows::{BatchRow, batch_rows};
use crate::columns::batches::BatchRows;
use crate::columns::{BatchSource, OnError, StreamOptions, stream};
use crate::error::Result;
use crate::model::{BatchHeader, CompressionType};
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;
use crate::py::source::store;
use crate::py::verbs::decode_files;

/// Headers that are read together.
const HEADERS: usize = 64;

/// Return the offset of the first record of a time (ms) or later, or None if there is none.
///
/// A read that skips damage trusts only batches whose checksums match: it reads every byte before the record, and decodes only batches that
/// may hold it.
///
/// Args:
///     source: the bytes of a segment.
///     timestamp: ms.
///     options: those of the decode, with the columns `offset` and `timestampMs`.
///
/// Raises:
///     RecordBatchError: if bytes cannot be read, unless damage is skipped.
///     OSError: if the file cannot be read.
#[pyfunction]
pub fn first_offset_at(py: Python<'_>, source: PyRef<'_, FileSource>, timestamp: i64, options: ReadOptions) -> PyResult<Option<i64>> {
    let (signals, interrupt) = Signals::new();
    signals.read_file(store::shown(&source.path));
    let records = options.to_record_stream(interrupt.clone())?;
    let headers = StreamOptions { batch_size: HEADERS, ..options.to_entry_stream(interrupt)? };
    signals.skip_damage(records.on_error == OnError::Skip);
    let search = Search { file: source.clone(), timestamp, options, records, signals: Arc::clone(&signals) };
    py.detach(|| search.first(headers)).map_err(|error| signals.raised(py, &error))
}

struct Search {
    file: FileSource,
    timestamp: i64,
    options: ReadOptions,
    records: StreamOptions,
    signals: Arc<Signals>,
}

impl Search {
    fn first(&self, mut headers: StreamOptions) -> Result<Option<i64>> {
        if self.records.on_error == OnError::Raise || !self.records.decode.check_crc {
            return self.first_in(&self.file);
        }
        let source = decode_files::open(&self.file, &self.signals, &self.options.reading, &mut headers.decode)?;
        let mut batches = BatchRows::new(source, headers);
        while let Some(rows) = batches.next_batch()? {
            for row in batch_rows(&rows).unwrap_or_default().iter().filter(|row| self.may_hold(row)) {
                if let Some(found) = self.first_in(&self.file.part(row.header.position, row.header.size))? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn may_hold(&self, row: &BatchRow) -> bool {
        let is_late = row.header.max_timestamp >= self.timestamp || lacks_time(&row.header);
        row.is_valid == Some(true) && is_late && row.header.last_offset >= self.records.decode.offsets.start
    }

    fn first_in(&self, file: &FileSource) -> Result<Option<i64>> {
        let mut options = self.records.clone();
        let source = decode_files::open(file, &self.signals, &self.options.reading, &mut options.decode)?;
        let mut records = stream::open(source, options);
        while let Some(rows) = records.next_batch()? {
            if let Some(found) = first_of(&rows, self.timestamp) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The header of a wrapper of magic 0 has no time; messages in it may have one (L8-33).
fn lacks_time(header: &BatchHeader) -> bool {
    header.magic == 0 && header.compression() != CompressionType::None
}

fn first_of(rows: &RecordBatch, timestamp: i64) -> Option<i64> {
    let offsets = rows.column_by_name("offset")?.as_primitive_opt::<Int64Type>()?;
    let times = rows.column_by_name("timestampMs")?.as_primitive_opt::<Int64Type>()?;
    let at = times.values().iter().position(|time| *time >= timestamp)?;
    offsets.values().get(at).copied()
}
