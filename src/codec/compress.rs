//! Records to compressed streams, in the form that Kafka's clients and brokers write.

use super::lz4::ChecksumForm;
use super::{Plugins, gzip, lz4, snappy, zstd};
use crate::error::{ErrorKind, Result};
use crate::model::CompressionType;
use crate::wire::Sink;

/// A codec with its level (KIP-390), both valid. The output does not record the level (COD-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// 1 to 9.
    Gzip {
        /// As in zlib; Java's default is 6.
        level: u8,
    },
    /// The chunks of snappy-java, as every Java client and broker writes them (COD-S8); there are no levels.
    Snappy,
    /// One frame of independent blocks of 64 KiB (COD-L4).
    Lz4 {
        /// 1 to 17: the high compressor, which treats levels above 12 like 12; `None`: the fast compressor (COD-3).
        level: Option<u8>,
        /// Which header checksum the frame gets (COD-L8).
        checksum: ChecksumForm,
    },
    /// One frame.
    Zstd {
        /// -131072 to 22.
        level: i32,
    },
    /// The stream of a plugin (S-P6).
    Plugin {
        /// 0 to 15.
        id: u8,
        /// The meaning is the plugin's own.
        level: Option<i32>,
    },
}

/// Java's default, which is zlib's.
const GZIP_DEFAULT: u8 = 6;
/// The level that means the fast compressor (COD-3).
const LZ4_FAST: i32 = 9;
const ZSTD_DEFAULT: i32 = 3;
const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

impl Compression {
    /// Returns the compression of this type at this level, or at Kafka's default level; `None` for no compression.
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

    /// Sets the header checksum of LZ4 frames; other codecs have none.
    #[must_use]
    pub fn with_lz4_header_checksum(self, checksum: ChecksumForm) -> Self {
        match self {
            Self::Lz4 { level, .. } => Self::Lz4 { level, checksum },
            other => other,
        }
    }

    /// Returns the compression type of the attributes.
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

/// The compression contexts of one thread, kept between entries because making one costs more than a small batch.
///
/// Each context is made when it is first needed.
#[derive(Default)]
pub struct Compressor {
    gzip: gzip::GzipCompressor,
    snappy: snappy::SnappyCompressor,
    lz4: lz4::Lz4Compressor,
    zstd: zstd::ZstdCompressor,
    plugins: Plugins,
}

impl Compressor {
    /// Sets the plugins that can be called.
    pub fn set_plugins(&mut self, plugins: Plugins) {
        self.plugins = plugins;
    }

    /// Compresses `input` as one stream and appends it to `out`.
    ///
    /// # Errors
    /// `Internal` when a codec fails, as it does only without memory; what a plugin fails with.
    pub fn compress(&mut self, compression: Compression, input: &[u8], out: &mut Sink) -> Result<()> {
        self.compress_in_two(compression, (input, 0), out)
    }

    /// Compresses `input` like `compress`; where the codec works block by block, a block ends after the first `front` bytes, so that readers
    /// can decompress them alone.
    ///
    /// # Errors
    /// As `compress`.
    pub fn compress_in_two(&mut self, compression: Compression, (input, front): (&[u8], usize), out: &mut Sink) -> Result<()> {
        match compression {
            Compression::Gzip { level } => self.gzip.compress(input, level, out),
            Compression::Snappy => self.snappy.compress((input, front), out),
            Compression::Lz4 { level, checksum } => {
                self.lz4.compress((input, front), level, checksum, out);
                Ok(())
            }
            Compression::Zstd { level } if front == 0 => self.zstd.compress(input, level, out),
            Compression::Zstd { level } => self.zstd.compress_in_two((input, front), level, out),
            Compression::Plugin { id, level } => {
                let mut lent = Sink::default();
                lent.put(input);
                self.plugins.compress(id, &mut lent, level, out)
            }
        }
    }

    /// Compresses `input` like `compress_in_two`, and may take its bytes: a plugin reads them without a copy.
    ///
    /// # Errors
    /// As `compress`.
    pub fn compress_owned(&mut self, compression: Compression, (input, front): (&mut Sink, usize), out: &mut Sink) -> Result<()> {
        match compression {
            Compression::Plugin { id, level } => self.plugins.compress(id, input, level, out),
            built_in => self.compress_in_two(built_in, (input.bytes(), front), out),
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
    use crate::codec::testing::{DecompressionOutcome, decompress};
    use crate::codec::{ChecksumForm, Codec, HeaderChecksum, NO_ENTRIES};

    /// Text, noise and runs, longer than a block of LZ4 and a chunk of snappy.
    fn samples() -> Vec<Vec<u8>> {
        let text: Vec<u8> = (0..30_000).flat_map(|n: u32| format!("order {} of customer {}; ", n, n % 97).into_bytes()).collect();
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        });
        let noise: Vec<u8> = noise.take(200_000).collect();
        [vec![], b"a".to_vec(), b"hello".to_vec(), vec![0; 65_536], vec![7; 65_537], text[..32_768].to_vec(), text, noise].to_vec()
    }

    fn compressions() -> Vec<(Compression, Codec)> {
        let lz4 = |level, checksum| Compression::Lz4 { level, checksum };
        let mut all = vec![
            (Compression::Snappy, Codec::Snappy),
            (lz4(None, ChecksumForm::Correct), Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES)),
            (lz4(None, ChecksumForm::Broken), Codec::Lz4(HeaderChecksum::Any, NO_ENTRIES)),
        ];
        all.extend((1..=9).map(|level| (Compression::Gzip { level }, Codec::Gzip)));
        all.extend([1, 3, 12, 17].map(|level| (lz4(Some(level), ChecksumForm::Correct), Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES))));
        all.extend([-131_072, -5, 1, 3, 19].map(|level| (Compression::Zstd { level }, Codec::Zstd)));
        all
    }

    #[test]
    fn compressed_bytes_decompress_to_the_same_bytes_with_reused_contexts() {
        let (mut compressor, mut out) = (Compressor::default(), Sink::default());
        for input in samples() {
            for (compression, codec) in compressions() {
                out.clear();
                out.put(b"before");
                compressor.compress(compression, &input, &mut out).unwrap();
                assert!(out.bytes().starts_with(b"before"));
                assert_eq!(decompress(codec, out.from(6)), DecompressionOutcome::of(&input), "{compression:?}, {} bytes", input.len());
            }
        }
    }

    #[test]
    fn s_h5_the_first_of_two_parts_can_be_decompressed_alone() {
        let (mut compressor, mut out) = (Compressor::default(), Sink::default());
        for input in samples() {
            for front in [1, 1000, input.len() / 2, input.len()].map(|front| front.min(input.len())) {
                for (compression, codec) in compressions() {
                    out.clear();
                    compressor.compress_in_two(compression, (&input, front), &mut out).unwrap();
                    assert_eq!(
                        decompress(codec, out.bytes()),
                        DecompressionOutcome::of(&input),
                        "{compression:?}, {front} of {} bytes",
                        input.len()
                    );
                    if matches!(codec, Codec::Gzip) {
                        continue;
                    }
                    let (mut decompressor, mut got) = (crate::codec::Decompressor::default(), crate::codec::Decompressed::default());
                    let budget = crate::limits::Budget::for_entry(&crate::limits::Limits::default(), 1 << 20);
                    let mut is_enough = |got: &crate::codec::Decompressed| got.len() >= front;
                    decompressor.decompress_until(codec, out.bytes(), &mut got, &budget, &mut is_enough).unwrap();
                    // No more than a step of zstd more.
                    assert!((front..=front + 4096).contains(&got.len()), "{compression:?}, {front}: {}", got.len());
                }
            }
        }
    }

    #[test]
    fn levels_change_the_output() {
        let mut state = 1_u32;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{} ", (state >> 16) % 5000 * 7919)
        });
        let input = words.take(20_000).collect::<String>().into_bytes();
        let len = |compression| {
            let mut out = Sink::default();
            Compressor::default().compress(compression, &input, &mut out).map(|()| out.len())
        };
        let lz4 = |level| len(Compression::Lz4 { level, checksum: ChecksumForm::Correct }).unwrap();
        assert!(lz4(Some(12)) < lz4(Some(3)) && lz4(Some(3)) < lz4(None));
        assert_eq!(lz4(Some(12)), lz4(Some(17)));
        assert!(len(Compression::Gzip { level: 9 }).unwrap() < len(Compression::Gzip { level: 1 }).unwrap());
        assert!(len(Compression::Zstd { level: 19 }).unwrap() < len(Compression::Zstd { level: -5 }).unwrap());
    }

    #[test]
    fn contexts_move_between_threads() {
        fn assert_send<T: Send>() {}
        assert_send::<Compressor>();
    }

    #[test]
    fn cod_2_levels_and_defaults_are_those_of_kip_390() {
        let lz4 = |level| Compression::Lz4 { level, checksum: ChecksumForm::Correct };
        for (kind, level, compression) in [
            (CompressionType::None, None, None),
            (CompressionType::Gzip, None, Some(Compression::Gzip { level: 6 })),
            (CompressionType::Gzip, Some(-1), Some(Compression::Gzip { level: 6 })),
            (CompressionType::Gzip, Some(9), Some(Compression::Gzip { level: 9 })),
            (CompressionType::Snappy, None, Some(Compression::Snappy)),
            (CompressionType::Lz4, None, Some(lz4(None))),
            (CompressionType::Lz4, Some(9), Some(lz4(None))),
            (CompressionType::Lz4, Some(1), Some(lz4(Some(1)))),
            (CompressionType::Lz4, Some(17), Some(lz4(Some(17)))),
            (CompressionType::Zstd, None, Some(Compression::Zstd { level: 3 })),
            (CompressionType::Zstd, Some(-131_072), Some(Compression::Zstd { level: -131_072 })),
            (CompressionType::Zstd, Some(22), Some(Compression::Zstd { level: 22 })),
        ] {
            assert_eq!(Compression::new(kind, level), Ok(compression));
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
            let error = Compression::new(kind, Some(level)).unwrap_err();
            assert_eq!(error.to_string(), format!("[COD-2] {} doesn't support given compression level: {level}", kind.name()));
        }
    }
}
