//! Records, batches and findings as Arrow arrays, and rows of Arrow tables as records to be written. Knows nothing of Python.

mod array_checks;
mod batch_columns;
pub mod batch_rows;
mod batch_source;
pub mod batches;
mod binary;
mod bitmap;
mod chunks;
mod constant;
mod converted;
pub mod encoded;
pub mod findings;
pub mod header_rows;
mod headers;
mod key_filter;
pub mod parallel;
mod perbatch;
mod pooled_vec;
mod record_metadata;
pub mod records;
pub mod rows;
mod run_pieces;
pub mod schema;
pub mod selection;
pub mod source_chain;
pub mod stream;
mod stream_options;
mod value_notes;
pub mod values;
mod views;

pub use batch_source::BatchSource;
pub use record_metadata::internal::json::Json as InternalJson;
pub use records::RecordColumns;
pub use schema::{BinaryKind, Column, ColumnError, Projection};
pub use stream_options::{OnError, StreamOptions, schema_of};
pub use value_notes::ValueNotes;
