//! One folder per wire format: `layout` (the schema, once), `parse` (headers), `records` (the records of an uncompressed section).
//! Knows neither codecs nor framing.

pub mod record_batch;
pub mod v07;
pub mod v0_v1;
pub mod v2;
pub mod v3;
