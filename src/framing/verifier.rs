//! What makes bytes believable as entries: framing asks, and who knows the formats answers.

use crate::error::Error;

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

/// What some bytes claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No entry.
    No,
    /// An entry that goes on past the bytes at hand, as far as known.
    Cut,
    /// An entry of this many bytes.
    Whole(usize),
}
