//! What the headers of all batches of some logs tell, added up from rows of a view over batches, in bounded memory whatever the length of
//! the logs. Rows go in, file after file; counts, histograms and series come out, and which batches are worth looking into.

mod counter;
mod histogram;
mod producers;
mod series;

pub use counter::{CodecCounts, Counter, Purpose, SampledBatch, Sums, TimeBounds};
pub use histogram::Histogram;
pub use producers::{ProducerCounts, ProducersById};
pub use series::{Bucket, PlottedSeries, Series};
