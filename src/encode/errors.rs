//! What Kafka's builder refuses, in its words (V2-60 to V2-64; `IllegalArgumentException` in `MemoryRecordsBuilder`).

use crate::error::{Error, ErrorKind};
use crate::model::RecordFormat;

#[cold]
pub(super) fn refused(rule: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Refused { rule, reason: reason.into() }.into()
}

/// Something that came with a later format.
#[cold]
pub(super) fn too_old(what: &str, format: RecordFormat) -> Error {
    match format {
        RecordFormat::V07 => refused("V2-60", format!("{what} not supported by Kafka 0.7")),
        _ => refused("V2-60", format!("{what} not supported for magic {}", format.magic())),
    }
}

#[cold]
pub(super) fn not_increasing(offset: i64, last: i64) -> Error {
    refused("V2-62", format!("Illegal offset {offset} following previous offset {last} (Offsets must increase monotonically)."))
}

#[cold]
pub(super) fn too_far(offset: i64, base_offset: i64) -> Error {
    refused("V2-62", format!("Maximum offset delta exceeded, baseOffset: {base_offset}, offset: {offset}"))
}

#[cold]
pub(super) fn too_many() -> Error {
    refused("V2-62", format!("Maximum number of records per batch exceeded, max records: {}", i32::MAX))
}

#[cold]
pub(super) fn negative_timestamp(timestamp: i64) -> Error {
    refused("V2-17", format!("Invalid negative timestamp {timestamp}"))
}

#[cold]
pub(super) fn mixed_control() -> Error {
    refused("V2-64", "Control records can only be appended to control batches")
}

/// Readers take an offset below 0 for an error of the set (L8-27).
#[cold]
pub(super) fn negative_offset(offset: i64) -> Error {
    refused("L8-27", format!("Offset {offset} is negative, which a compressed message set of magic 1 cannot store"))
}
