//! One test binary: the law of the rooms, properties of the parser, bounded memory.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::as_conversions, reason = "tests")]

mod batches;
mod budget;
mod conversions;
mod framing;
#[cfg(feature = "values")]
#[path = "../../fuzz/src/properties/mod.rs"]
mod fuzz_properties;
#[cfg(feature = "values")]
mod fuzzing;
mod inspect;
mod layering;
mod metadata_first;
#[cfg(feature = "arrow")]
mod mutations;
mod properties;
mod recovery;
mod sidecar;
#[cfg(not(feature = "values"))]
#[path = "../../fuzz/src/properties/tiles.rs"]
mod tiles;
mod vectors;

#[cfg(feature = "values")]
use fuzz_properties::tiles;
