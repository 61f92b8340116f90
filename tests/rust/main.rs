//! One test binary: the law of the rooms, properties of the parser, bounded memory.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::as_conversions, reason = "tests")]

mod batches;
mod budget;
mod conversions;
mod framing;
mod inspect;
mod layering;
mod properties;
mod recovery;
mod sidecar;
mod vectors;
