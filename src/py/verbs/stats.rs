//! Counts of batch rows, for `logsegment stats`.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::py::arrow::export::ArrowBatch;
use crate::report::counting::{Bucket, Counter, Histogram, Purpose, Series};

/// Count the rows of `logsegment.batches` for statistics.
#[pyclass(frozen, module = "logsegment._core")]
pub struct BatchCounter(Mutex<Counter>);

/// Position, codec, what it is looked at for: "type", "ratio" or "time".
type SampledRow = (u64, String, &'static str);
/// Where a bucket begins, bytes, records, earliest and latest time, late batches.
type Point = (i64, u64, u64, Option<(i64, i64)>, u64);
/// Counts by bucket, how many, their sum, the smallest and the largest.
type Sizes = (Vec<(usize, u64)>, u64, u64, Option<u64>, Option<u64>);

#[pymethods]
impl BatchCounter {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// The next rows are those of another file.
    fn enter(&self, file: &str, is_of_0_7: bool, is_another_partition: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).enter(file, is_of_0_7, is_another_partition);
    }

    /// Counts rows; gives the batches that are worth looking into. `log_start` is an offset, and the number of records of the first batch
    /// before it, which are not counted.
    #[pyo3(signature = (rows, log_start=None))]
    fn add(&self, py: Python<'_>, rows: &ArrowBatch, log_start: Option<(i64, i32)>) -> PyResult<Vec<SampledRow>> {
        let rows = &rows.0;
        let looks = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).add(rows, log_start));
        let looks = looks.ok_or_else(|| PyValueError::new_err("rows must be those of batches()"))?;
        Ok(looks.into_iter().map(|look| (look.position, look.compression, purpose(look.purpose))).collect())
    }

    /// Takes the time of the first record (ms) of the batch that is looked at for its time; None if it has none.
    fn found_first_time(&self, time: Option<i64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).found_first_time(time);
    }

    /// Everything that was counted, by the names of `logsegment.counting.Stats`.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counter = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let counts = PyDict::new(py);
        put_sums(&counts, &counter)?;
        counts.set_item("formats", &counter.formats)?;
        counts.set_item("timestamp_types", &counter.timestamp_types)?;
        let codecs = counter.codecs.iter().map(|(name, codec)| (name, (codec.batches, codec.records, codec.bytes)));
        counts.set_item("codecs", codecs.collect::<Vec<_>>())?;
        counts.set_item("sizes", histogram(&counter.sizes))?;
        counts.set_item("counts", histogram(&counter.counts))?;
        counts.set_item("by_offset", series(&counter.by_offset))?;
        counts.set_item("by_time", series(&counter.by_time))?;
        counts.set_item("gaps", counter.gaps.iter().map(|(file, first, last)| (&**file, *first, *last)).collect::<Vec<_>>())?;
        let producers = counter.producers.known().into_iter();
        let producers = producers
            .map(|(id, producer)| (id, (producer.batches, producer.records, producer.transactional, producer.epoch, producer.is_open)));
        counts.set_item("producers", producers.collect::<Vec<_>>())?;
        let partitions = counter.partitions.iter();
        let partitions = partitions.map(|partition| {
            (
                partition.files,
                partition.batches,
                partition.records,
                partition.bytes,
                partition.offsets,
                (partition.times.first, partition.times.last),
            )
        });
        counts.set_item("partitions", partitions.collect::<Vec<_>>())?;
        counts.set_item("other_partitions", counter.other_partitions)?;
        counts.set_item("other_producers", counter.producers.other_batches())?;
        Ok(counts)
    }
}

fn put_sums(counts: &Bound<'_, PyDict>, counter: &Counter) -> PyResult<()> {
    let sums = &counter.sums;
    for (name, count) in [
        ("bytes", sums.bytes),
        ("batches", sums.batches),
        ("records", sums.records),
        ("uncounted", sums.uncounted),
        ("produced", sums.produced),
        ("gap_count", sums.gap_count),
        ("missing", sums.missing),
        ("overlaps", sums.overlaps),
        ("late", sums.late),
        ("latest_step", sums.latest_step),
        ("untimed", sums.untimed),
        ("transactional", sums.transactional),
        ("control", sums.control),
    ] {
        counts.set_item(name, count)?;
    }
    counts.set_item("first_offset", counter.offsets.map(|(first, _)| first))?;
    counts.set_item("last_offset", counter.offsets.map(|(_, last)| last))?;
    counts.set_item("first_time", counter.times.first)?;
    counts.set_item("last_time", counter.times.last)
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::ControlType => "type",
        Purpose::Ratio => "ratio",
        Purpose::FirstTime => "time",
    }
}

fn histogram(histogram: &Histogram) -> Sizes {
    let (least, most) = (histogram.bounds().map(|(least, _)| least), histogram.bounds().map(|(_, most)| most));
    (histogram.counts().collect(), histogram.total(), histogram.sum(), least, most)
}

/// The width of a bucket, the buckets, those of outliers, and the first and the last place of the others.
type PlottedRow = (i64, Vec<Point>, Vec<Point>, Option<(i64, i64)>);

fn series(series: &Series) -> PlottedRow {
    let drawn = series.drawn();
    let points = |buckets: Vec<(i64, Bucket)>| {
        buckets.into_iter().map(|(start, bucket)| (start, bucket.bytes, bucket.records, bucket.times, bucket.late)).collect()
    };
    (drawn.width, points(drawn.points), points(drawn.outliers), drawn.ends)
}
