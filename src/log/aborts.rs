//! What need not be read behind the wanted offsets: whether the transactions that are open there were aborted, by a `.txnindex` that the log
//! proves, or are open still where the next segment begins, by its producer snapshot.
//!
//! An entry proves an abort when its marker stands where it says. That there is none proves nothing: the file may have lost it, and Kafka
//! keeps no file without entries.

use super::committed::Segment;
use super::lookup::is_intact;
use super::{Headers, Lookup};
use crate::decode::transactions::{Scan, is_marker};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::model::ControlType;
use crate::sidecar::AbortedTxn;

/// Closes the transactions from before `end` of which the segment's `.txnindex` proves that they were aborted there.
///
/// # Errors
/// `Io`.
pub fn close_proven<S: Segment>(segment: &S, end: i64, limits: Limits, scan: &mut Scan) -> Result<()> {
    let open = scan.open();
    let is_told = |entry: &AbortedTxn| {
        entry.first_offset < end && open.contains(&(entry.producer_id, entry.first_offset)) && entry.last_offset >= end
    };
    let told: Vec<AbortedTxn> = segment.aborted().into_iter().filter(is_told).collect();
    if told.is_empty() {
        return Ok(());
    }
    let (log, len) = segment.open()?;
    let offsets = segment.offset_index();
    let lookup = Lookup { log: &*log, len, limits, offsets: &offsets, times: &[] };
    for entry in told {
        match is_proven(&lookup, entry) {
            Ok(true) => scan.abort(entry.producer_id, entry.last_offset),
            Ok(false) => {}
            Err(error) => ensure_about_data(error)?,
        }
    }
    Ok(())
}

/// True when the snapshot of the state before `next` says of all transactions from before `end` that they are open still.
pub fn are_still_open<S: Segment>(next: &S, end: i64, scan: &Scan) -> bool {
    let Some(producers) = next.snapshot() else { return false };
    let is_open = |id: i64, first: i64| producers.iter().any(|one| one.producer_id == id && one.current_txn_first_offset == first);
    scan.open().into_iter().filter(|(_, first)| *first < end).all(|(id, first)| is_open(id, first))
}

fn is_proven(lookup: &Lookup<'_>, entry: AbortedTxn) -> Result<bool> {
    let Some(header) = lookup.offset(entry.last_offset)?.header else { return Ok(false) };
    if !is_marker(&header) || header.producer.id != entry.producer_id || header.last_offset != entry.last_offset {
        return Ok(false);
    }
    let headers = Headers::new(lookup.log, lookup.limits, header.position, lookup.len);
    let is_abort = headers.marker(&header)?.is_some_and(|marker| marker.control_type == ControlType::Abort);
    Ok(is_abort && is_intact(&header, &headers.entry(&header)?))
}

fn ensure_about_data(error: Error) -> Result<()> {
    if error.is_about_data() { Ok(()) } else { Err(error) }
}
