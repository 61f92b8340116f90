//! How much of an entry is shown.

use crate::decode::DecodeOptions;
use crate::validate::Depth;

/// What is shown of an entry.
#[derive(Clone, Debug)]
pub struct InspectOptions {
    /// `Headers`: the fields of the header. `Metadata`: also the frames of the codec. `Full`: also the records, decompressed.
    pub depth: Depth,
    /// Records that are shown one by one.
    pub records: usize,
}

/// The context of all parts of an inspection.
pub(super) struct InspectContext<'a> {
    pub options: &'a DecodeOptions,
    pub shown: &'a InspectOptions,
}

impl InspectContext<'_> {
    pub fn is_deep(&self) -> bool {
        self.shown.depth == Depth::Full
    }
}
