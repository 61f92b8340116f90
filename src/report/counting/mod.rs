//! What the headers of all batches of some logs tell, added up from rows of a view over batches, in bounded memory whatever the length of
//! the logs. Rows go in, file after file; counts, histograms and series come out, and which batches are worth looking into.

mod counter;
mod histogram;
mod producers;
mod series;

pub use counter::{Codec, Counter, Look, Purpose, Sums, Times};
pub use histogram::Histogram;
pub use producers::{Producer, Producers};
pub use series::{Bucket, Drawn, Series};
