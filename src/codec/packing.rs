//! How records are compressed: the codec, its level, and for LZ4 which header checksum the readers want.

use super::lz4::ChecksumForm;
use crate::error::{ErrorKind, Result};
use crate::model::CompressionType;

/// A codec with its level (KIP-390), both legal. The level is recorded nowhere in the output (COD-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// 1 to 9.
    Gzip {
        /// As in zlib; Java's default is 6.
        level: u8,
    },
    /// The chunks of snappy-java, as every Java client and broker writes them (COD-S8); there are no levels.
    Snappy,
    /// One frame of independent blocks of 64 KiB (COD-L4).
    Lz4 {
        /// 1 to 17: the high compressor, which treats those above 12 like 12; without, the fast one (COD-3).
        level: Option<u8>,
        /// Which header checksum the frame gets (COD-L8).
        checksum: ChecksumForm,
    },
    /// One frame.
    Zstd {
        /// -131072 to 22.
        level: i32,
    },
    /// What a plugin makes of it (S-P6).
    Plugin {
        /// 0 to 15.
        id: u8,
        /// Whatever it means to the plugin.
        level: Option<i32>,
    },
}

/// Java's default, which is zlib's.
const GZIP_DEFAULT: u8 = 6;
/// The level that means the fast compressor (COD-3).
const LZ4_FAST: i32 = 9;
const ZSTD_DEFAULT: i32 = 3;
const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

impl Packing {
    /// The packing of this type at this level, with Kafka's default level without one; nothing for no compression.
    ///
    /// # Errors
    /// `Refused` for a level out of Kafka's range, or one where there are none (COD-2); `UnknownCompression` for a type without a codec.
    pub fn new(kind: CompressionType, level: Option<i32>) -> Result<Option<Self>> {
        match kind {
            CompressionType::Gzip => gzip_level(level).map(|level| Some(Self::Gzip { level })),
            CompressionType::Lz4 => {
                let level = lz4_level(level)?;
                Ok(Some(Self::Lz4 { level, checksum: ChecksumForm::Correct }))
            }
            CompressionType::Zstd => zstd_level(level).map(|level| Some(Self::Zstd { level })),
            CompressionType::Plugin(id) => Ok(Some(Self::Plugin { id, level })),
            CompressionType::Unknown(id) => Err(ErrorKind::UnknownCompression { rule: "V2-33", id }.into()),
            CompressionType::None | CompressionType::Snappy => match level {
                Some(level) => Err(refused(kind, level)),
                None => Ok((kind == CompressionType::Snappy).then_some(Self::Snappy)),
            },
        }
    }

    /// The same with this LZ4 header checksum; others than LZ4 have none.
    #[must_use]
    pub fn with_lz4_header_checksum(self, checksum: ChecksumForm) -> Self {
        match self {
            Self::Lz4 { level, .. } => Self::Lz4 { level, checksum },
            other => other,
        }
    }

    /// The compression type that stands in the attributes.
    pub fn compression_type(self) -> CompressionType {
        match self {
            Self::Gzip { .. } => CompressionType::Gzip,
            Self::Snappy => CompressionType::Snappy,
            Self::Lz4 { .. } => CompressionType::Lz4,
            Self::Zstd { .. } => CompressionType::Zstd,
            Self::Plugin { id, .. } => CompressionType::Plugin(id),
        }
    }
}

/// 1 to 9; -1 is zlib's word for its default.
fn gzip_level(level: Option<i32>) -> Result<u8> {
    match level {
        None | Some(-1) => Ok(GZIP_DEFAULT),
        Some(level) => in_range(CompressionType::Gzip, level, 1..=9),
    }
}

fn lz4_level(level: Option<i32>) -> Result<Option<u8>> {
    match level {
        None | Some(LZ4_FAST) => Ok(None),
        Some(level) => in_range(CompressionType::Lz4, level, 1..=17).map(Some),
    }
}

fn zstd_level(level: Option<i32>) -> Result<i32> {
    let level = level.unwrap_or(ZSTD_DEFAULT);
    if ZSTD_LEVELS.contains(&level) { Ok(level) } else { Err(refused(CompressionType::Zstd, level)) }
}

fn in_range(kind: CompressionType, level: i32, levels: std::ops::RangeInclusive<u8>) -> Result<u8> {
    u8::try_from(level).ok().filter(|level| levels.contains(level)).ok_or_else(|| refused(kind, level))
}

/// In the words of `GzipCompression`, `Lz4Compression` and `ZstdCompression`.
#[cold]
fn refused(kind: CompressionType, level: i32) -> crate::Error {
    ErrorKind::Refused { rule: "COD-2", reason: format!("{} doesn't support given compression level: {level}", kind.name()) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cod_2_levels_and_defaults_are_those_of_kip_390() {
        let lz4 = |level| Packing::Lz4 { level, checksum: ChecksumForm::Correct };
        for (kind, level, packing) in [
            (CompressionType::None, None, None),
            (CompressionType::Gzip, None, Some(Packing::Gzip { level: 6 })),
            (CompressionType::Gzip, Some(-1), Some(Packing::Gzip { level: 6 })),
            (CompressionType::Gzip, Some(9), Some(Packing::Gzip { level: 9 })),
            (CompressionType::Snappy, None, Some(Packing::Snappy)),
            (CompressionType::Lz4, None, Some(lz4(None))),
            (CompressionType::Lz4, Some(9), Some(lz4(None))),
            (CompressionType::Lz4, Some(1), Some(lz4(Some(1)))),
            (CompressionType::Lz4, Some(17), Some(lz4(Some(17)))),
            (CompressionType::Zstd, None, Some(Packing::Zstd { level: 3 })),
            (CompressionType::Zstd, Some(-131_072), Some(Packing::Zstd { level: -131_072 })),
            (CompressionType::Zstd, Some(22), Some(Packing::Zstd { level: 22 })),
        ] {
            assert_eq!(Packing::new(kind, level), Ok(packing));
        }
    }

    #[test]
    fn cod_2_other_levels_are_refused_in_kafkas_words() {
        for (kind, level) in [
            (CompressionType::Gzip, 0),
            (CompressionType::Gzip, 10),
            (CompressionType::Gzip, -2),
            (CompressionType::Lz4, 0),
            (CompressionType::Lz4, 18),
            (CompressionType::Zstd, 23),
            (CompressionType::Zstd, -131_073),
            (CompressionType::Snappy, 1),
            (CompressionType::None, 1),
        ] {
            let error = Packing::new(kind, Some(level)).unwrap_err();
            assert_eq!(error.to_string(), format!("[COD-2] {} doesn't support given compression level: {level}", kind.name()));
        }
    }
}
