use super::ParsedSidecar;
use super::finding::SidecarProblem;
use super::table;

/// One entry of an `.index` (SEG-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// Last offset of the batch; before Kafka 0.10.1 its first one.
    pub offset: i64,
    /// Where the batch starts in the `.log`.
    pub position: i32,
}

/// Bytes of an entry: relative offset int32, position int32.
pub const ENTRY_LEN: usize = 8;

/// Parses the file of the segment that starts at `base_offset`.
pub fn parse(bytes: &[u8], base_offset: i64) -> ParsedSidecar<OffsetEntry> {
    let read = |[a, b, c, d, position @ ..]: &[u8; ENTRY_LEN]| OffsetEntry {
        offset: base_offset.wrapping_add(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
        position: i32::from_be_bytes(*position),
    };
    table::parse(bytes, read, |entry, previous| contradiction(entry, base_offset, previous))
}

/// The entries of a part of the file, sound or not, that lead somewhere.
pub fn entries(bytes: &[u8], base_offset: i64) -> Vec<OffsetEntry> {
    let mut parsed = parse(bytes, base_offset).entries;
    parsed.retain(|entry| entry.position > 0);
    parsed
}

/// The bytes of the leading entries with offsets before an offset.
pub fn len_before(bytes: &[u8], base_offset: i64, before: i64) -> usize {
    table::len_while(bytes, |[a, b, c, d, ..]: &&[u8; ENTRY_LEN]| {
        base_offset.saturating_add(i64::from(u32::from_be_bytes([*a, *b, *c, *d]))) < before
    })
}

/// Writes the file. Entries whose relative offset does not fit are left out: such a segment is one that Kafka splits (SEG-13).
pub fn to_bytes(entries: &[OffsetEntry], base_offset: i64) -> Vec<u8> {
    let relative = |entry: &OffsetEntry| table::relative(entry.offset, base_offset).map(|offset| (offset, entry.position));
    entries.iter().filter_map(relative).flat_map(|(offset, position)| [offset.to_be_bytes(), position.to_be_bytes()]).flatten().collect()
}

fn contradiction(entry: OffsetEntry, base_offset: i64, previous: Option<&OffsetEntry>) -> Option<SidecarProblem> {
    let position = i64::from(entry.position);
    let (what, value, bound) = match previous {
        _ if entry.offset < base_offset => ("offset below the segment's first", entry.offset, base_offset),
        _ if position < 0 => ("negative position", position, 0),
        Some(previous) if entry.offset <= previous.offset => ("offset is not above the previous entry's", entry.offset, previous.offset),
        Some(previous) if entry.position <= previous.position => {
            ("position is not above the previous entry's", position, i64::from(previous.position))
        }
        _ => return None,
    };
    Some(SidecarProblem::Entry { rule: "SEG-3", what, value, bound })
}
