//! Records, batches and findings as Arrow arrays, and rows of Arrow tables as records to be written. Knows nothing of Python.

mod array_checks;
mod batch_columns;
pub mod batch_rows;
pub mod batches;
mod binary;
mod bitmap;
mod chunks;
pub mod compare;
mod constant;
mod converted;
pub mod counting;
pub mod encoded;
pub mod findings;
pub mod header_rows;
mod headers;
pub mod jsonl;
mod key_filter;
pub mod parallel;
mod perbatch;
mod pooled_vec;
pub mod preview;
mod record_metadata;
pub mod records;
pub mod rows;
pub mod schema;
pub mod selection;
pub mod source_chain;
pub mod stream;
mod value_notes;
pub mod values;
mod views;

pub use records::RecordColumns;
pub use schema::{BinaryKind, Column, ColumnError, Projection};
pub use stream::{BatchSource, OnError, StreamOptions};
pub use value_notes::ValueNotes;
