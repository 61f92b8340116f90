//! Compress and decompress the records of an entry, decompression under a `Budget`.
//!
//! Accepts what Kafka's Java reader accepts; a deviation that the Java reader ignores is a `CodecFinding`, for callers that ask.
//! Knows neither batches nor magics: the caller names the codec and which LZ4 header checksum to accept.
//! A length in the stream is a claim: storage follows the bytes that are there, never the claim alone.

mod compress;
mod error;
mod finding;
pub mod gzip;
pub mod lz4;
mod output;
mod plugin;
pub mod snappy;
#[cfg(test)]
mod testing;
pub mod zstd;

pub use compress::{Compression, Compressor};
pub use finding::CodecFinding;
pub use lz4::{ChecksumForm, EntryLen, FoundChecksum, HeaderChecksum, NO_ENTRIES, is_lz4_frame};
pub use output::{Decompressed, SLACK};
pub use plugin::{CodecTable, Memory, NativeCodec, OutputPlacement, PluginCodecs, PluginOutput, Plugins};

use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::quirks::{Quirk, Quirks};
use output::Output;

/// The kind of a compressed stream, as the caller names it.
#[derive(Clone, Copy, Debug)]
pub enum Codec {
    /// RFC 1952 members.
    Gzip,
    /// A raw snappy block, or the chunks of snappy-java.
    Snappy,
    /// One LZ4 frame, with this header checksum, of entries with these lengths.
    Lz4(HeaderChecksum, EntryLen),
    /// Zstandard frames.
    Zstd,
}

/// The decompression contexts of one thread, kept between entries because making one costs more than a small batch.
///
/// Each context is made when it is first needed.
#[derive(Default)]
pub struct Decompressor {
    gzip: gzip::GzipDecompressor,
    zstd: zstd::ZstdDecompressor,
    quirks: Quirks,
}

impl Decompressor {
    /// Sets the deviations that are accepted.
    #[must_use]
    pub fn with_quirks(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }

    /// Sets the dictionaries that zstd frames may name (COD-Z5).
    #[must_use]
    pub fn with_zstd_dictionaries(mut self, dictionaries: zstd::Dictionaries) -> Self {
        self.zstd.set_dictionaries(dictionaries);
        self
    }

    /// Decompresses the whole of `input` into `out`, whose former content is lost.
    ///
    /// Deviations that Kafka's reader ignores are added to `findings`; without `findings` no time is spent on them.
    ///
    /// # Errors
    /// `Codec` when the stream is corrupt, `Limit` when it decompresses to more than `budget` or than memory; `out` is empty then.
    pub fn decompress(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Decompressed,
        budget: &Budget,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<()> {
        let decompressed = self.decompress_valid_part(codec, input, out, budget, findings);
        if decompressed.is_err() {
            out.clear();
        }
        decompressed
    }

    /// Decompresses like `decompress`, but keeps in `out` what precedes the corruption, block by block.
    ///
    /// # Errors
    /// As `decompress`.
    pub fn decompress_valid_part(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Decompressed,
        budget: &Budget,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<()> {
        let decompressed = self.decompress_to(codec, input, &mut Output::new(out, budget)?, findings);
        decompressed.map_err(|error| self.naming_quirks(error, codec, input, budget))
    }

    /// Decompresses `input` into `out` until `is_enough` returns true for the decompressed bytes, which it is asked after each step.
    ///
    /// Steps are small where the codec allows it: some KiB of gzip and zstd, a block of LZ4, a chunk of snappy-java. A raw snappy block has
    /// no steps.
    ///
    /// # Errors
    /// As `decompress`, as far as the bytes were read.
    pub fn decompress_until(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Decompressed,
        budget: &Budget,
        is_enough: &mut dyn FnMut(&Decompressed) -> bool,
    ) -> Result<()> {
        let decompressed = self.decompress_to(codec, input, &mut Output::new(out, budget)?.watched(is_enough), None);
        decompressed.map_err(|error| self.naming_quirks(error, codec, input, budget))
    }

    fn decompress_to(
        &mut self,
        codec: Codec,
        input: &[u8],
        output: &mut Output<'_>,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<()> {
        match codec {
            Codec::Gzip => self.gzip.decompress(input, output, findings),
            Codec::Snappy => snappy::decompress(input, output, findings),
            Codec::Lz4(accepted, entry_len) => {
                let read = lz4::FrameOptions { accepted: accepted.with(self.quirks), entry_len, quirks: self.quirks };
                lz4::decompress(input, read, output, findings)
            }
            Codec::Zstd => self.zstd.decompress(input, output, findings),
        }
    }

    /// Adds the quirks with which a stream can be read to its error, if there are any.
    #[cold]
    fn naming_quirks(&self, error: Error, codec: Codec, input: &[u8], budget: &Budget) -> Error {
        let mut needed = Quirks::default();
        let mut missing = Quirk::of_rule(error.rule());
        while let Some(quirk) = missing.filter(|quirk| !needed.has(*quirk)) {
            needed = needed.with(quirk);
            let accepted = needed.iter().fold(self.quirks, Quirks::with);
            let mut decompressor = Self::default().with_quirks(accepted);
            let mut scratch = Decompressed::default();
            let read = Output::new(&mut scratch, budget).and_then(|mut output| decompressor.decompress_to(codec, input, &mut output, None));
            match read {
                Ok(()) => return error.readable_with(needed),
                Err(other) => missing = Quirk::of_rule(other.rule()),
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn contexts_move_between_threads() {
        fn assert_send<T: Send>() {}
        assert_send::<Decompressor>();
        assert_send::<Decompressed>();
    }

    #[test]
    fn one_decompressor_accepts_every_codec_and_recovers_from_errors() -> Result<()> {
        const STREAMS: [(Codec, &[u8]); 4] = [
            (Codec::Gzip, b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"),
            (Codec::Snappy, b"\x05\x10hello"),
            (Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES), b"\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0"),
            (Codec::Zstd, b"\x28\xb5\x2f\xfd\0\x58\x29\0\0hello"),
        ];
        let (mut decompressor, mut decompressed, budget) =
            (Decompressor::default(), Decompressed::default(), Budget::for_entry(&Limits::default(), 100));
        for (at, (codec, stream)) in STREAMS.into_iter().enumerate() {
            for (other_at, (other, _)) in STREAMS.into_iter().enumerate() {
                assert_eq!(
                    decompressor.decompress(other, stream, &mut decompressed, &budget, None).is_ok(),
                    other_at == at,
                    "{codec:?} as {other:?}"
                );
                assert_eq!(decompressed.is_empty(), other_at != at);
            }
            decompressor.decompress(codec, stream, &mut decompressed, &budget, None)?;
            assert_eq!(decompressed.bytes(), b"hello");
        }
        Ok(())
    }

    #[test]
    fn storage_is_reused() -> Result<()> {
        let (mut decompressor, budget) = (Decompressor::default(), Budget::for_entry(&Limits::default(), 100));
        let mut decompressed = Decompressed::from_vec(vec![9; 1000]);
        decompressor.decompress(Codec::Snappy, b"\x05\x10hello", &mut decompressed, &budget, None)?;
        assert!(decompressed.readable().starts_with(b"hello"));
        assert_eq!((decompressed.len(), decompressed.readable().len(), decompressed.into_vec().len()), (5, 5 + SLACK, 1000));
        Ok(())
    }
}
