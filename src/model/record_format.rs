/// Which bytes an entry is made of. The magic byte alone does not say it: Kafka 0.7 used 0 and 1 for other layouts (MAP-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordFormat {
    /// Record batch, magic 2 (KIP-98).
    V2,
}

impl RecordFormat {
    /// The magic byte of the format.
    pub fn magic(self) -> i8 {
        match self {
            Self::V2 => 2,
        }
    }

    /// The name users give: `"v2"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
        }
    }
}
