//! The first record of a time or later, by the records themselves.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use pyo3::prelude::*;

use crate::columns::batch_rows::{BatchRow, batch_rows};
use crate::columns::batches::BatchRows;
use crate::columns::{BatchSource, OnError, StreamOptions, stream};
use crate::error::{Error, Result};
use crate::log::hides_times;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, CompressionType, RecordFormat};
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;
use crate::py::source::uris;
use crate::py::verbs::{decode_files, header_walk};

/// Headers that are read together.
const HEADERS: usize = 64;

/// Return the offset of the first record of a time (ms) or later, and the base offset of its batch; None if there is none.
///
/// A read that skips damage trusts only batches whose checksums match: it reads every byte before the record, and decodes only batches that
/// may hold it.
///
/// Args:
///     source: the bytes of a segment.
///     timestamp: ms.
///     options: those of the decode, with the columns `offset`, `timestampMs` and `batchBaseOffset`.
///
/// Raises:
///     RecordBatchError: if bytes cannot be read, unless damage is skipped.
///     OSError: if the file cannot be read.
#[pyfunction]
pub fn first_offset_at(
    py: Python<'_>,
    source: PyRef<'_, FileSource>,
    timestamp: i64,
    options: ReadOptions,
) -> PyResult<Option<FoundOffset>> {
    let (signals, interrupt) = Signals::new();
    signals.read_file(uris::redacted_uri(&source.path));
    let records = options.to_record_stream(interrupt.clone())?;
    let headers = StreamOptions { batch_size: HEADERS, ..options.to_entry_stream(interrupt)? };
    signals.skip_damage(records.on_error == OnError::Skip);
    let search = RecordSearch { file: source.clone(), timestamp, options, records, signals: Arc::clone(&signals) };
    py.detach(|| search.first(headers)).map_err(|error| signals.raised(py, &error))
}

/// Return True if no record of a source is before a time (ms), by the headers alone.
///
/// The header of each batch must give the time of all of its records: LogAppendTime, or one record.
///
/// Args:
///     source: the bytes of a segment, from a batch on.
///     timestamp: ms.
///     options: those of the read.
///
/// Raises:
///     OSError: if the file cannot be read.
#[pyfunction]
pub fn begins_at(py: Python<'_>, source: PyRef<'_, FileSource>, timestamp: i64, options: ReadOptions) -> PyResult<bool> {
    let (signals, interrupt) = Signals::new();
    signals.read_file(uris::redacted_uri(&source.path));
    let mut headers = StreamOptions { batch_size: HEADERS, ..options.to_entry_stream(interrupt.clone())? };
    let is_control_wanted = options.to_record_stream(interrupt)?.decode.is_control_wanted;
    let file = source.clone();
    let is_later = |row: &BatchRow| {
        let header = &row.header;
        let is_ignored = header.count == Some(0) || (header.is_control() && !is_control_wanted);
        is_ignored || time_of_all(header).is_some_and(|time| time >= timestamp)
    };
    let found = py.detach(|| -> Result<bool> {
        let walk = header_walk::rows(&file, &options, &headers, &signals).map_err(Error::from)?;
        let mut rows = match walk {
            Some(rows) => rows,
            None => Box::new(BatchRows::new(decode_files::open(&file, &signals, &options.reading, &mut headers.decode)?, headers)),
        };
        while let Some(rows) = rows.next_batch()? {
            if !batch_rows(&rows).unwrap_or_default().iter().all(is_later) {
                return Ok(false);
            }
        }
        Ok(true)
    });
    match found {
        Err(error) if error.is_about_data() => Ok(false),
        found => found.map_err(|error| signals.raised(py, &error)),
    }
}

/// The time of every record of a batch, where the header alone gives it. Of several records `baseTimestamp` is not the smallest time.
fn time_of_all(header: &BatchHeader) -> Option<i64> {
    let (base, largest) = (header.base_timestamp, header.max_timestamp);
    let is_only = match header.format {
        _ if header.append_time().is_some() => true,
        RecordFormat::V1 => header.compression() == CompressionType::None,
        RecordFormat::V2 | RecordFormat::V3 => header.count == Some(1) && base == largest && header.delete_horizon_ms().is_none(),
        RecordFormat::V0 | RecordFormat::V07 => false,
    };
    Some(largest).filter(|time| is_only && *time != NO_TIMESTAMP)
}

/// The offset of a record, and the base offset of its batch.
type FoundOffset = (i64, i64);

struct RecordSearch {
    file: FileSource,
    timestamp: i64,
    options: ReadOptions,
    records: StreamOptions,
    signals: Arc<Signals>,
}

impl RecordSearch {
    fn first(&self, mut headers: StreamOptions) -> Result<Option<FoundOffset>> {
        if self.records.on_error == OnError::Raise || !self.records.decode.check_crc {
            return self.first_in(&self.file);
        }
        let source = decode_files::open(&self.file, &self.signals, &self.options.reading, &mut headers.decode)?;
        let mut batches = BatchRows::new(source, headers);
        let mut found: Option<FoundOffset> = None;
        while let Some(rows) = batches.next_batch()? {
            for row in batch_rows(&rows).unwrap_or_default().iter().filter(|row| row.is_valid == Some(true)) {
                if let Some(found) = found {
                    return Ok(Some(before(found, row.header.base_offset)));
                }
                if self.may_hold(row) {
                    found = self.first_in(&self.file.part(row.header.position, row.header.size))?;
                }
            }
        }
        Ok(found)
    }

    fn may_hold(&self, row: &BatchRow) -> bool {
        let is_late = row.header.max_timestamp >= self.timestamp || hides_times(&row.header);
        is_late && row.header.last_offset >= self.records.decode.offsets.start
    }

    fn first_in(&self, file: &FileSource) -> Result<Option<FoundOffset>> {
        let mut options = self.records.clone();
        let source = decode_files::open(file, &self.signals, &self.options.reading, &mut options.decode)?;
        let mut records = stream::open(source, options);
        while let Some(rows) = records.next_batch()? {
            let Some(found) = first_of(&rows, self.timestamp) else { continue };
            let mut next = next_base(&rows, found.1);
            while next.is_none() {
                // The read itself returns an error after the record.
                let Ok(Some(rows)) = records.next_batch() else { break };
                next = next_base(&rows, found.1);
            }
            return Ok(Some(next.map_or(found, |next| before(found, next))));
        }
        Ok(None)
    }
}

fn first_of(rows: &RecordBatch, timestamp: i64) -> Option<FoundOffset> {
    let (offsets, bases, times) = (column(rows, "offset")?, column(rows, "batchBaseOffset")?, column(rows, "timestampMs")?);
    let at = times.iter().position(|time| *time >= timestamp)?;
    Some((*offsets.get(at)?, *bases.get(at)?))
}

/// The base offset of the first batch after those of a base offset.
fn next_base(rows: &RecordBatch, base: i64) -> Option<i64> {
    let bases = column(rows, "batchBaseOffset")?;
    let own = bases.iter().rposition(|other| *other == base).map_or(0, |last| last + 1);
    bases.get(own).copied()
}

fn column<'a>(rows: &'a RecordBatch, name: &str) -> Option<&'a [i64]> {
    Some(rows.column_by_name(name)?.as_primitive_opt::<Int64Type>()?.values())
}

/// Return the place of a record, or an earlier place if the next batch has a lower base offset. No checksum covers base offsets, and the batches
/// after a damaged one must not be skipped.
fn before((offset, base): FoundOffset, next: i64) -> FoundOffset {
    (offset.min(next), base.min(next))
}
