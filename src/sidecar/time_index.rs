use super::Parsed;
use super::finding::{SidecarFindings, SidecarProblem};
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
pub fn parse(bytes: &[u8], base_offset: i64) -> Parsed<TimeEntry> {
    let mut findings = SidecarFindings::default();
    let mut entries: Vec<TimeEntry> = Vec::new();
    for (at, [timestamp @ .., a, b, c, d]) in table::entries::<ENTRY_LEN>(bytes, &mut findings) {
        let relative = i32::from_be_bytes([*a, *b, *c, *d]);
        let entry = TimeEntry { timestamp: i64::from_be_bytes(*timestamp), offset: base_offset.wrapping_add(i64::from(relative)) };
        if let Some(problem) = contradiction(entry, base_offset, entries.last()) {
            findings.push(problem, at, 12);
        }
        entries.push(entry);
    }
    Parsed { entries, findings: findings.finish() }
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
        if let Some(relative) = super::index_builder::relative(entry.offset, base_offset) {
            bytes.extend_from_slice(&entry.timestamp.to_be_bytes());
            bytes.extend_from_slice(&relative.to_be_bytes());
        }
    }
    bytes
}

fn contradiction(entry: TimeEntry, base_offset: i64, previous: Option<&TimeEntry>) -> Option<SidecarProblem> {
    let rule = "SEG-4";
    if entry.offset < base_offset {
        return Some(SidecarProblem::Entry { rule, what: "offset below the segment's first", value: entry.offset, bound: base_offset });
    }
    if entry.timestamp < 0 {
        return Some(SidecarProblem::Entry { rule, what: "negative timestamp", value: entry.timestamp, bound: 0 });
    }
    let previous = previous?;
    if entry.timestamp <= previous.timestamp {
        let what = "timestamp does not increase on the entry before";
        return Some(SidecarProblem::Entry { rule, what, value: entry.timestamp, bound: previous.timestamp });
    }
    let what = "offset decreases on the entry before";
    (entry.offset < previous.offset).then_some(SidecarProblem::Entry { rule, what, value: entry.offset, bound: previous.offset })
}
