//! The encryption of a segment, as its manifest has it.

/// The encryption of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The id of a key pair.
    pub key_id: String,
    /// The data key of the segment, encrypted under that key pair.
    pub wrapped_key: Vec<u8>,
    /// The associated data of the chunks.
    pub aad: Vec<u8>,
}
