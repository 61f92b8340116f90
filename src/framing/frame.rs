//! One entry where it lies, and what a reader sees at the front of some bytes.

use crate::error::Error;

/// One whole entry and where it is in the input.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Position in the input, in bytes.
    pub position: u64,
    /// The magic byte; says how to read the rest.
    pub magic: i8,
    /// The entry, its offset and size fields included.
    pub bytes: &'a [u8],
}

/// What is at the front of some bytes.
#[derive(Debug)]
#[expect(missing_docs, reason = "lengths in bytes, named by the variants")]
pub enum Step {
    /// An entry of this many bytes, all of them there.
    Entry { len: usize, magic: i8 },
    /// The beginning of an entry of at least `needed` bytes.
    Incomplete { needed: usize },
    /// Something that no reader can step over.
    Error(Error),
}
