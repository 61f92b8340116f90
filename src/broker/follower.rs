//! Batches that have their offsets (`UnifiedLog.appendAsFollower`, and a Raft leader's append): nothing in them changes and nothing is
//! decompressed. Only where they go, whose they are and the producers' state are looked at.

use super::entries::EntryWithHeader;
use super::options::{AppendOptions, Appended};
use super::origin::AppendOrigin;
use super::producers::ProducerState;
use super::refusal::refused;
use crate::compat::error_codes::UNKNOWN_SERVER_ERROR;
use crate::error::Result;
use crate::model::batch::NO_PARTITION_LEADER_EPOCH;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{BatchHeader, RecordFormat};

/// Where nothing is appended, as in `LogAppendInfo`.
const NO_OFFSET: i64 = -1;

/// Takes the entries as they are.
///
/// # Errors
/// `Rejected` when the first one is after the end of the log, and for a producer's epoch that is over (VAL-20).
pub fn append(entries: &[EntryWithHeader<'_>], options: &AppendOptions, producers: &mut ProducerState) -> Result<Appended> {
    let (Some((_, first)), Some((_, last))) = (entries.first(), entries.last()) else {
        return Ok(Appended { first_offset: NO_OFFSET, last_offset: NO_OFFSET, max_timestamp: NO_TIMESTAMP, ..Appended::default() });
    };
    let first_offset = first_offset(first);
    if first_offset < options.first_offset {
        let which = if first.format == RecordFormat::V2 { "First offset" } else { "Last offset of the first batch" };
        let reason = format!("Unexpected offset in append. {which} {first_offset} is less than the next offset {}", options.first_offset);
        return Err(refused("VAL-2", UNKNOWN_SERVER_ERROR, reason));
    }
    let mut after = producers.clone();
    for (frame, header) in entries {
        let offsets = (header.base_offset, header.last_offset);
        after.append(header, options.origin, offsets, header.max_timestamp).map_err(|error| error.at_byte(frame.position))?;
    }
    *producers = after;
    let max_timestamp = entries.iter().map(|(_, header)| header.max_timestamp).max().unwrap_or(NO_TIMESTAMP);
    let data = entries.iter().flat_map(|(frame, _)| frame.bytes).copied().collect();
    Ok(Appended { data, first_offset, last_offset: last.last_offset, max_timestamp, is_duplicate: false })
}

/// True for a batch of a leader that came after the one whose epoch was asked for (KAFKA-18723); with no epoch given there is none.
pub fn is_ahead(header: &BatchHeader, options: &AppendOptions) -> bool {
    let epoch = options.partition_leader_epoch;
    options.origin == AppendOrigin::Replication && epoch != NO_PARTITION_LEADER_EPOCH && header.partition_leader_epoch > epoch
}

/// Offsets grow from entry to entry.
///
/// # Errors
/// `Rejected` when they do not.
pub fn ensure_ascending(before: Option<&BatchHeader>, header: &BatchHeader) -> Result<()> {
    let last_offset = before.map_or(NO_OFFSET, |before| before.last_offset);
    if last_offset < header.last_offset {
        return Ok(());
    }
    let reason = format!("Out of order offsets found in append: {} after {last_offset}", header.last_offset);
    Err(refused("VAL-2", UNKNOWN_SERVER_ERROR, reason))
}

/// Before magic 2 a compressed set has its first offset only in its compressed messages, so the last offset is used.
fn first_offset(header: &BatchHeader) -> i64 {
    match header.format {
        RecordFormat::V2 => header.base_offset,
        _ => header.last_offset,
    }
}
