//! How far validation goes.

/// How far validation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Framing, headers and checksums; nothing is decompressed.
    Headers,
    /// Also the offsets, timestamps and lengths of the records.
    Metadata,
    /// Everything.
    #[default]
    Full,
}
