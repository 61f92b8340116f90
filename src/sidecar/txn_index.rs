use super::ParsedSidecar;
use super::finding::{SidecarFindings, SidecarProblem};
use super::table;
use crate::error::Result;
use crate::wire::{Cursor, as_u64};

/// One entry of a `.txnindex`: an aborted transaction (SEG-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTxn {
    /// Whose it was.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: i64,
    /// Offset of its ABORT marker.
    pub last_offset: i64,
    /// Where committed data ended when the marker was written: the first offset of the oldest transaction that was still open.
    pub last_stable_offset: i64,
}

/// Bytes of an entry: version int16, four int64.
pub const ENTRY_LEN: usize = 34;

/// Parses the file. Entries of an unknown version are left out.
pub fn parse(bytes: &[u8]) -> ParsedSidecar<AbortedTxn> {
    let mut findings = SidecarFindings::default();
    let mut entries: Vec<AbortedTxn> = Vec::new();
    let (whole, rest) = bytes.as_chunks::<ENTRY_LEN>();
    for (index, bytes) in whole.iter().enumerate() {
        let at = as_u64(index * ENTRY_LEN);
        let Ok((version, entry)) = fields(bytes) else { continue };
        if let Some(problem) = contradiction(version, entry, entries.last()) {
            findings.push(problem, at, 34);
        }
        if version == 0 {
            entries.push(entry);
        }
    }
    if !rest.is_empty() {
        findings.push(SidecarProblem::CutEntry { bytes: as_u64(rest.len()) }, as_u64(whole.len() * ENTRY_LEN), as_u64(rest.len()));
    }
    ParsedSidecar { entries, findings: findings.finish() }
}

/// The bytes of the leading entries of transactions that ended before an offset.
pub fn len_before(bytes: &[u8], before: i64) -> usize {
    table::len_while(bytes, |entry: &&[u8; ENTRY_LEN]| fields(entry).is_ok_and(|(_, txn)| txn.last_offset < before))
}

/// Writes the file.
pub fn to_bytes(entries: &[AbortedTxn]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY_LEN);
    for entry in entries {
        bytes.extend_from_slice(&0_i16.to_be_bytes());
        for field in [entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset] {
            bytes.extend_from_slice(&field.to_be_bytes());
        }
    }
    bytes
}

fn fields(bytes: &[u8; ENTRY_LEN]) -> Result<(i16, AbortedTxn)> {
    let mut cursor = Cursor::new(bytes, "SEG-7");
    let version = cursor.take_i16("version")?;
    let mut next = |field| cursor.take_array(field).map(i64::from_be_bytes);
    let (producer_id, first_offset) = (next("producerId")?, next("firstOffset")?);
    let (last_offset, last_stable_offset) = (next("lastOffset")?, next("lastStableOffset")?);
    Ok((version, AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset }))
}

fn contradiction(version: i16, entry: AbortedTxn, previous: Option<&AbortedTxn>) -> Option<SidecarProblem> {
    let (what, value, bound) = match previous {
        _ if version != 0 => ("unknown version", i64::from(version), 0),
        _ if entry.producer_id < 0 => ("negative producer id", entry.producer_id, 0),
        _ if entry.first_offset < 0 || entry.first_offset > entry.last_offset => {
            ("first offset is not from 0 to the last", entry.first_offset, entry.last_offset)
        }
        Some(previous) if entry.last_offset <= previous.last_offset => {
            ("last offset is not above the previous entry's", entry.last_offset, previous.last_offset)
        }
        _ => return None,
    };
    Some(SidecarProblem::Entry { rule: "SEG-7", what, value, bound })
}
