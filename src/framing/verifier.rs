//! What makes bytes believable as entries: framing asks, and who knows the formats answers.

use crate::error::Error;
use crate::wire::checksum::Running;

/// The check of entries for framing, which does not parse their content.
pub trait Verifier: Send {
    /// Returns why a complete entry is not trusted; `None` if it is trusted, or if that is unknown.
    fn damage_of(&self, entry: &[u8], magic: i8) -> Option<Error>;
    /// True when a whole entry is certainly one: its header parses and its checksum matches.
    fn is_valid(&self, entry: &[u8]) -> bool;
    /// False for entries of this magic, which may be valid, and are refused all the same.
    fn reads(&self, magic: i8) -> bool;
    /// What the bytes at `front` claim to be.
    fn claim(&self, front: &[u8]) -> Claim;
    /// How the checksum of the entry is compared that the bytes at `front` claim to begin, if it need not be at hand as a whole.
    fn checksum_of(&self, front: &[u8]) -> Option<EntryChecksum> {
        let _ = front;
        None
    }
    /// Where in `bytes` the next candidate for an entry starts; cheap, and often wrong.
    fn next(&self, bytes: &[u8]) -> Option<usize>;
    /// Number of bytes at the start that identify a candidate; fewer bytes contain none.
    fn reach(&self) -> usize;
}

/// Compares each entry with what is known of the whole source.
pub trait SourceCheck: Send {
    /// Why an entry, which the verifier trusts, cannot come next in the source.
    fn error_of(&self, entry: &[u8], magic: i8) -> Option<Error>;
    /// The entry comes next.
    fn pass(&mut self, entry: &[u8], magic: i8);
}

/// The checksum of an entry whose bytes are read piece by piece.
pub struct EntryChecksum {
    /// The first byte that it covers, from the start of the entry; it covers all bytes after it.
    pub start: usize,
    /// The value that the entry has.
    pub stored: u32,
    /// The checksum of the bytes so far.
    pub running: Running,
}

/// What some bytes claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No entry.
    No,
    /// An entry of which not even the header is at hand.
    Cut,
    /// An entry of this many bytes, which goes on past the bytes at hand.
    Long(usize),
    /// An entry of this many bytes.
    Whole(usize),
}
