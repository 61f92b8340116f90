use super::ParsedSidecar;
use super::finding::SidecarProblem;
use super::table;

/// One entry of a `.timeindex` (SEG-4): no batch up to this one has a later timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    /// The largest timestamp so far, ms.
    pub timestamp: i64,
    /// Last offset of the batch that has it.
    pub offset: i64,
}

/// Bytes of an entry: timestamp int64, relative offset int32.
pub const ENTRY_LEN: usize = 12;

/// Parses the file of the segment that starts at `base_offset`.
pub fn parse(bytes: &[u8], base_offset: i64) -> ParsedSidecar<TimeEntry> {
    let read = |[timestamp @ .., a, b, c, d]: &[u8; ENTRY_LEN]| TimeEntry {
        timestamp: i64::from_be_bytes(*timestamp),
        offset: base_offset.wrapping_add(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
    };
    table::parse(bytes, read, |entry, previous| contradiction(entry, base_offset, previous))
}

/// The bytes of the leading entries with offsets before an offset.
pub fn len_before(bytes: &[u8], base_offset: i64, before: i64) -> usize {
    table::len_while(bytes, |[.., a, b, c, d]: &&[u8; ENTRY_LEN]| {
        base_offset.saturating_add(i64::from(u32::from_be_bytes([*a, *b, *c, *d]))) < before
    })
}

/// Writes the file. Entries whose relative offset does not fit are left out (SEG-13).
pub fn to_bytes(entries: &[TimeEntry], base_offset: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY_LEN);
    for entry in entries {
        if let Some(relative) = table::relative(entry.offset, base_offset) {
            bytes.extend_from_slice(&entry.timestamp.to_be_bytes());
            bytes.extend_from_slice(&relative.to_be_bytes());
        }
    }
    bytes
}

fn contradiction(entry: TimeEntry, base_offset: i64, previous: Option<&TimeEntry>) -> Option<SidecarProblem> {
    let (what, value, bound) = match previous {
        _ if entry.offset < base_offset => ("offset below the segment's first", entry.offset, base_offset),
        _ if entry.timestamp < 0 => ("negative timestamp", entry.timestamp, 0),
        Some(previous) if entry.timestamp <= previous.timestamp => {
            ("timestamp is not above the previous entry's", entry.timestamp, previous.timestamp)
        }
        Some(previous) if entry.offset < previous.offset => ("offset is below the previous entry's", entry.offset, previous.offset),
        _ => return None,
    };
    Some(SidecarProblem::Entry { rule: "SEG-4", what, value, bound })
}
