use crate::error::{ErrorKind, Result};

/// The compression type: the number in attributes bits 0-2 (COD table in FORMAT section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionType {
    /// 0
    None,
    /// 1
    Gzip,
    /// 2
    Snappy,
    /// 3
    Lz4,
    /// 4
    Zstd,
    /// 5 to 7: no codec is assigned.
    Unknown(u8),
}

impl CompressionType {
    /// The type with this number.
    pub fn from_id(id: u8) -> Self {
        match id {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            other => Self::Unknown(other),
        }
    }

    /// Its number.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
            Self::Unknown(id) => id,
        }
    }

    /// The type with this name, exactly as Kafka's clients spell it (COD-1).
    ///
    /// # Errors
    /// `UnknownCompressionName`.
    pub fn named(name: &str) -> Result<Self> {
        let known = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];
        let found = known.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| ErrorKind::UnknownCompressionName { name: name.to_owned() }.into())
    }

    /// Kafka's name (COD-1); `unknown:5` and so on where there is none.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Unknown(5) => "unknown:5",
            Self::Unknown(6) => "unknown:6",
            Self::Unknown(_) => "unknown:7",
        }
    }
}
