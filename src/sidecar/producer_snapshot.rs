use super::ParsedSidecar;
use super::finding::{SidecarFindings, SidecarProblem};
use crate::error::Result;
use crate::wire::{Cursor, as_u64, checksum};

/// What a `.snapshot` keeps of one producer (SEG-8; `ProducerStateEntry` in Kafka).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Who.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Sequence of its last record, -1 for none in this epoch.
    pub last_sequence: i32,
    /// Offset of its last record, -1 for none in this epoch.
    pub last_offset: i64,
    /// Offsets between the first and the last record of its last batch.
    pub offset_delta: i32,
    /// Of its last batch or marker, ms.
    pub timestamp: i64,
    /// Of the coordinator that wrote its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// Where its open transaction starts, -1 for none.
    pub current_txn_first_offset: i64,
}

const VERSION: i16 = 1;
const HEADER_LEN: usize = 10;
const ENTRY_LEN: usize = 46;

/// Parses the file that holds the state up to `end_offset` (exclusive), which is its name.
///
/// A version other than 1 and a wrong checksum give no entries: nothing of them can be trusted.
pub fn parse(bytes: &[u8], end_offset: i64) -> ParsedSidecar<ProducerEntry> {
    let mut findings = SidecarFindings::default();
    let entries = body(bytes, end_offset, &mut findings).unwrap_or_default();
    ParsedSidecar { entries, findings: findings.finish() }
}

/// Writes the file, the entries in the given order.
pub fn to_bytes(entries: &[ProducerEntry]) -> Vec<u8> {
    let mut body = Vec::with_capacity(entries.len() * ENTRY_LEN + 4);
    body.extend_from_slice(&i32::try_from(entries.len()).unwrap_or(i32::MAX).to_be_bytes());
    for entry in entries {
        body.extend_from_slice(&entry.producer_id.to_be_bytes());
        body.extend_from_slice(&entry.producer_epoch.to_be_bytes());
        body.extend_from_slice(&entry.last_sequence.to_be_bytes());
        body.extend_from_slice(&entry.last_offset.to_be_bytes());
        body.extend_from_slice(&entry.offset_delta.to_be_bytes());
        body.extend_from_slice(&entry.timestamp.to_be_bytes());
        body.extend_from_slice(&entry.coordinator_epoch.to_be_bytes());
        body.extend_from_slice(&entry.current_txn_first_offset.to_be_bytes());
    }
    let mut bytes = Vec::with_capacity(body.len() + 6);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&checksum::crc32c(&body).to_be_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn body(bytes: &[u8], end_offset: i64, findings: &mut SidecarFindings) -> Option<Vec<ProducerEntry>> {
    let rule = "SEG-8";
    let len = as_u64(bytes.len());
    let mut cursor = Cursor::new(bytes, rule);
    let (Ok(version), Ok(crc)) = (cursor.take_i16("version"), cursor.take_array("crc")) else {
        findings.push(SidecarProblem::Unreadable { rule, what: "the file is shorter than its header" }, 0, len);
        return None;
    };
    if version != VERSION {
        findings.push(SidecarProblem::Entry { rule, what: "unknown version", value: i64::from(version), bound: i64::from(VERSION) }, 0, 2);
        return None;
    }
    let (stored, computed) = (u32::from_be_bytes(crc), checksum::crc32c(cursor.left()));
    if stored != computed {
        findings.push(SidecarProblem::Checksum { stored, computed }, 2, 4);
        return None;
    }
    let count = cursor.take_i32("producerEntries").ok().and_then(|count| usize::try_from(count).ok());
    let (whole, rest) = cursor.left().as_chunks::<ENTRY_LEN>();
    if count != Some(whole.len()) || !rest.is_empty() {
        findings.push(
            SidecarProblem::Unreadable { rule, what: "the number of entries does not fit the length of the file" },
            6,
            len.saturating_sub(6),
        );
    }
    let mut entries = Vec::with_capacity(whole.len());
    for (index, bytes) in whole.iter().take(count.unwrap_or(0)).enumerate() {
        let Ok(entry) = fields(bytes) else { continue };
        let (rule, bound) = (rule, end_offset);
        let at = as_u64(HEADER_LEN + index * ENTRY_LEN);
        if entry.last_offset >= end_offset || entry.current_txn_first_offset >= end_offset {
            let value = entry.last_offset.max(entry.current_txn_first_offset);
            findings.push(SidecarProblem::Entry { rule, what: "offset at or after the end of the snapshot", value, bound }, at, 46);
        }
        entries.push(entry);
    }
    Some(entries)
}

fn fields(bytes: &[u8; ENTRY_LEN]) -> Result<ProducerEntry> {
    let mut cursor = Cursor::new(bytes, "SEG-8");
    Ok(ProducerEntry {
        producer_id: i64::from_be_bytes(cursor.take_array("producerId")?),
        producer_epoch: cursor.take_i16("epoch")?,
        last_sequence: cursor.take_i32("lastSequence")?,
        last_offset: i64::from_be_bytes(cursor.take_array("lastOffset")?),
        offset_delta: cursor.take_i32("offsetDelta")?,
        timestamp: i64::from_be_bytes(cursor.take_array("timestamp")?),
        coordinator_epoch: cursor.take_i32("coordinatorEpoch")?,
        current_txn_first_offset: i64::from_be_bytes(cursor.take_array("currentTxnFirstOffset")?),
    })
}
