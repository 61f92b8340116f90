/// Which bytes an entry is made of. The magic byte alone does not say it: Kafka 0.7 used 0 and 1 for other layouts (MAP-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RecordFormat {
    /// Message of Kafka 0.6 and 0.7; its magic is 0 or 1.
    V07,
    /// Message set entry, magic 0.
    V0,
    /// Message set entry, magic 1 (KIP-31, KIP-32).
    V1,
    /// Record batch, magic 2 (KIP-98).
    V2,
    /// Record batch, magic 3: a proposal that never shipped (KIP-931). Read only by name.
    V3,
}

impl RecordFormat {
    /// Every format, oldest first.
    pub const ALL: [Self; 5] = [Self::V07, Self::V0, Self::V1, Self::V2, Self::V3];

    /// The magic byte of the format; the larger one for 0.7, which its producers wrote.
    pub fn magic(self) -> i8 {
        match self {
            Self::V0 => 0,
            Self::V07 | Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The name users give: `"0.7"`, `"v0"` to `"v3"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V07 => "0.7",
            Self::V0 => "v0",
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
        }
    }

    /// True for record batches: magic 2 and what builds on it.
    #[inline]
    pub fn is_batch(self) -> bool {
        matches!(self, Self::V2 | Self::V3)
    }
}
