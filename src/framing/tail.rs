//! What the end of a run of bytes means: whole, torn, zeros or damaged. What follows the bytes decides if entries are missing there.

use crate::error::{Error, ErrorKind};

/// How a run of bytes ends after its last whole entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "positions and lengths in bytes, named by the variants")]
pub enum Tail {
    /// With the entry.
    Complete,
    /// Inside an entry that needs `needed` bytes, of which `available` are there (L8-14). All are there of an invalid last entry of a log
    /// that grows.
    Torn { position: u64, needed: u64, available: u64 },
    /// In zeros up to the end, as a preallocated file does (SEG-2).
    Zeros { position: u64, bytes: u64 },
    /// In bytes that are no entry, or in an entry with valid ones after its beginning.
    Damaged { position: u64 },
}

impl Tail {
    /// The name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Torn { .. } => "torn",
            Self::Zeros { .. } => "zeros",
            Self::Damaged { .. } => "damaged",
        }
    }

    /// The position after the bytes of the tail; `None` if there are none, or that is not known.
    pub fn end(self) -> Option<u64> {
        match self {
            Self::Complete | Self::Damaged { .. } => None,
            Self::Torn { position, available, .. } => Some(position.saturating_add(available)),
            Self::Zeros { position, bytes } => Some(position.saturating_add(bytes)),
        }
    }

    /// Where the bytes after the last whole entry begin; `None` if there are none.
    pub fn position(self) -> Option<u64> {
        match self {
            Self::Complete => None,
            Self::Torn { position, .. } | Self::Zeros { position, .. } | Self::Damaged { position } => Some(position),
        }
    }
}

/// What follows the last byte of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Unknown: a broker may still append.
    #[default]
    Open,
    /// Nothing: an upload is complete.
    Uploaded,
    /// The next segment of the partition. A broker creates it after the last byte of this one.
    Segment {
        /// The first offset of this segment by its name; a position in Kafka 0.7.
        first: Option<i64>,
        /// The first offset of the next segment by its name; a position in Kafka 0.7.
        next: i64,
    },
    /// Another entry of the same file, at this position.
    Entry {
        /// The position after the last byte.
        at: u64,
    },
}

/// The entries before a tail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// The highest offset of these entries; `None` if there are none, or their framing does not show offsets.
    pub last: Option<i64>,
    /// True if offsets are positions, as in Kafka 0.7.
    pub is_v07: bool,
}

impl Ending {
    /// The error of a tail that hides entries; `None` for a tail that is allowed here.
    ///
    /// A torn tail is allowed only at an open end. Zeros are allowed there, too, and in a segment without missing offsets.
    pub fn error_of(self, tail: Tail, before: Before) -> Option<Error> {
        let (position, needed, available) = match tail {
            Tail::Torn { position, needed, available } => (position, needed, available),
            Tail::Zeros { position, bytes } => (position, 0, bytes),
            Tail::Complete | Tail::Damaged { .. } => return None,
        };
        let is_torn = matches!(tail, Tail::Torn { .. });
        let truncated = ErrorKind::Truncated { rule: "L8-14", needed, available };
        let kind = match self {
            Self::Open => return None,
            Self::Uploaded if is_torn => truncated,
            Self::Uploaded => return None,
            // A file that became shorter is for its reader to report.
            Self::Entry { at } if position.saturating_add(available) != at => return None,
            Self::Entry { .. } if is_torn => truncated,
            Self::Entry { .. } => ErrorKind::Length { rule: "L8-11", declared: 0, expected: 14 },
            Self::Segment { first, next } => {
                let start = first_missing(first, position, before);
                if !is_torn && start.is_some_and(|start| start >= next) {
                    return None;
                }
                let missing = start.filter(|start| *start < next).map(|start| (start, next.saturating_sub(1)));
                let error = Error::from(ErrorKind::Unfinished { needed, available, next, missing }).at_byte(position);
                return Some(if let Some((start, _)) = missing { error.in_batch(start) } else { error });
            }
        };
        Some(Error::from(kind).at_byte(position))
    }
}

/// The first offset after the entries before a tail at `position`.
fn first_missing(first: Option<i64>, position: u64, before: Before) -> Option<i64> {
    let after_start = |first: i64| i64::try_from(position).ok().and_then(|position| first.checked_add(position));
    match before {
        Before { is_v07: true, .. } => first.and_then(after_start),
        Before { last: Some(last), .. } => last.checked_add(1),
        Before { last: None, .. } => first.filter(|_| position == 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORN: Tail = Tail::Torn { position: 100, needed: 80, available: 30 };
    const ZEROS: Tail = Tail::Zeros { position: 100, bytes: 30 };
    const NEXT: Ending = Ending::Segment { first: Some(0), next: 5 };

    fn missing(ending: Ending, tail: Tail, last: Option<i64>) -> Option<Option<(i64, i64)>> {
        let error = ending.error_of(tail, Before { last, is_v07: false })?;
        assert_eq!((error.rule(), error.position().byte), ("SEG-23", tail.position()));
        if let ErrorKind::Unfinished { missing, .. } = error.kind() { Some(*missing) } else { None }
    }

    #[test]
    fn seg_23_a_torn_tail_is_an_error_before_another_segment() {
        assert_eq!(missing(NEXT, TORN, Some(2)), Some(Some((3, 4))));
        assert_eq!(missing(NEXT, TORN, Some(4)), Some(None), "no offset is missing, and the bytes are no entry");
        assert_eq!(missing(NEXT, TORN, None), Some(None));
        assert_eq!(missing(NEXT, Tail::Torn { position: 0, needed: 80, available: 30 }, None), Some(Some((0, 4))));
        assert_eq!(missing(Ending::Open, TORN, Some(2)), None);
    }

    #[test]
    fn seg_23_zeros_are_an_error_if_offsets_are_missing() {
        assert_eq!(missing(NEXT, ZEROS, Some(2)), Some(Some((3, 4))));
        assert_eq!(missing(NEXT, ZEROS, Some(4)), None);
        assert_eq!(missing(NEXT, Tail::Complete, Some(2)), None, "a cleaner leaves such gaps");
    }

    #[test]
    fn l7_12_offsets_of_kafka_0_7_are_positions() {
        let next = Ending::Segment { first: Some(1000), next: 1130 };
        let error = next.error_of(TORN, Before { last: None, is_v07: true }).unwrap();
        let missing = Some((1100, 1129));
        assert_eq!(*error.kind(), ErrorKind::Unfinished { needed: 80, available: 30, next: 1130, missing });
    }

    #[test]
    fn a_range_of_a_file_ends_where_an_entry_ends() {
        let inside = Ending::Entry { at: 130 };
        let error = |tail| inside.error_of(tail, Before::default()).map(|error| error.rule());
        assert_eq!((error(TORN), error(ZEROS)), (Some("L8-14"), Some("L8-11")));
        assert_eq!(Ending::Entry { at: 150 }.error_of(TORN, Before::default()), None, "the file became shorter");
    }
}
