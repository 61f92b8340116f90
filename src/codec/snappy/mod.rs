//! Snappy as Kafka's clients write it: one raw block, or the chunks of snappy-java ("xerial").
//!
//! Sources: `SnappyCompression` of Kafka's clients, `SnappyInputStream` and `SnappyCodec` of snappy-java 1.1.10.

mod block;
mod elements;
mod pack;
mod raw;
mod xerial;

pub use pack::Encoder;
pub use xerial::MAGIC as XERIAL_MAGIC;

use super::output::Output;
use super::{Remark, bad};
use crate::error::{Error, Result};

/// Unpacks a stream of either framing.
pub(super) fn unpack(input: &[u8], out: &mut Output<'_>, remarks: Option<&mut Vec<Remark>>) -> Result<()> {
    if input.is_empty() {
        return Err(fault("COD-S2", "the input is empty"));
    }
    match xerial::chunks(input) {
        Some(chunks) => xerial::unpack(chunks, out, remarks),
        None => raw::unpack(input, out),
    }
}

#[cold]
fn fault(rule: &'static str, fault: &'static str) -> Error {
    bad("snappy", rule, fault)
}
