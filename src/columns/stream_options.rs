//! How a stream is made, and what it does at damage.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::schema::Projection;
use crate::decode::DecodeOptions;
use crate::interrupt::Interrupt;

/// What to do at damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// End the stream with the error.
    #[default]
    Raise,
    /// Leave out what is damaged, remember a finding, go on.
    Skip,
}

/// How a stream is made.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// What to decode.
    pub decode: DecodeOptions,
    /// Which columns.
    pub projection: Projection,
    /// Value of the column `topic`.
    pub topic: Option<String>,
    /// Value of the column `partition`.
    pub partition: Option<i32>,
    /// At damage.
    pub on_error: OnError,
    /// A torn tail is an error.
    pub is_tail_strict: bool,
    /// Most rows of a batch.
    pub batch_size: usize,
    /// About how many bytes of keys, values and headers a batch holds.
    pub batch_bytes: usize,
    /// Only records with one of these keys.
    pub keys: Option<Arc<[Vec<u8>]>>,
    /// Threads that decode; 1 is the thread that asks.
    pub threads: usize,
    /// Asked between runs.
    pub interrupt: Interrupt,
}

/// A schema for a stream that never gives a batch.
pub fn schema_of(options: &StreamOptions) -> SchemaRef {
    Arc::clone(&options.projection.schema())
}
