//! Compressed records to plain ones, under a `Budget`, and back (FORMAT section 7).
//!
//! Accepts what Kafka's Java reader accepts; what that passes over in silence is a `Remark` for those who ask.
//! Knows neither batches nor magics: the caller names the codec and which LZ4 header checksum to take.
//! A length in the stream is a claim: storage follows what is really there, never the claim alone.

pub mod gzip;
pub mod lz4;
mod matches;
mod output;
mod packer;
mod packing;
mod plain;
mod plugin;
mod remark;
mod room;
pub mod snappy;
#[cfg(test)]
mod testing;
pub mod zstd;

pub use lz4::{ChecksumForm, EntryLen, FoundChecksum, HeaderChecksum, NO_ENTRIES};
pub use packer::Packer;
pub use packing::Packing;
pub use plain::{Plain, SLACK};
pub use plugin::{CodecTable, Memory, NativeCodec, Place, PluginCodecs, Plugins, Unpacked};
pub use remark::Remark;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;
use output::Output;

/// The compressed stream's kind, told by the caller.
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

/// The unpacking contexts of one thread, kept between entries because making one costs more than a small batch.
///
/// Nothing is made before it is needed.
#[derive(Default)]
pub struct Unpacker {
    gzip: gzip::Inflater,
    zstd: zstd::Decompressor,
    allows_dependent_lz4_blocks: bool,
}

impl Unpacker {
    /// Takes LZ4 frames whose blocks depend on each other too, which brokers refuse.
    #[must_use]
    pub fn allowing_dependent_lz4_blocks(self, allows: bool) -> Self {
        Self { allows_dependent_lz4_blocks: allows, ..self }
    }

    /// Decodes zstd frames that name one of these dictionaries too (COD-Z5).
    #[must_use]
    pub fn supplying(mut self, dictionaries: zstd::Dictionaries) -> Self {
        self.zstd.supply(dictionaries);
        self
    }

    /// Unpacks the whole of `input` into `out`, whose former content is gone.
    ///
    /// Remarks are added to `remarks`; without it nobody looks for them, and no time is spent.
    ///
    /// # Errors
    /// `Codec` when the stream is bad, `Limit` when it unpacks to more than `budget` or than memory; `out` is empty then.
    pub fn unpack(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Plain,
        budget: &Budget,
        remarks: Option<&mut Vec<Remark>>,
    ) -> Result<()> {
        let unpacked = self.unpack_what_is_good(codec, input, out, budget, remarks);
        if unpacked.is_err() {
            out.len = 0;
        }
        unpacked
    }

    /// The same; what a bad stream gave before it went bad stays in `out`, block by block.
    ///
    /// # Errors
    /// As `unpack`.
    pub fn unpack_what_is_good(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Plain,
        budget: &Budget,
        remarks: Option<&mut Vec<Remark>>,
    ) -> Result<()> {
        self.unpack_to(codec, input, &mut Output::new(out, budget)?, remarks)
    }

    /// Unpacks `input` into `out` as far as it is wanted: `is_enough` looks at what is there after each step, and ends it.
    ///
    /// Steps are small where the codec allows it: some KiB of gzip and zstd, a block of LZ4, a chunk of snappy-java. A raw snappy block has
    /// no steps.
    ///
    /// # Errors
    /// As `unpack`, as far as the bytes were looked at.
    pub fn unpack_until(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut Plain,
        budget: &Budget,
        is_enough: &mut dyn FnMut(&Plain) -> bool,
    ) -> Result<()> {
        self.unpack_to(codec, input, &mut Output::new(out, budget)?.watched(is_enough), None)
    }

    fn unpack_to(&mut self, codec: Codec, input: &[u8], output: &mut Output<'_>, remarks: Option<&mut Vec<Remark>>) -> Result<()> {
        match codec {
            Codec::Gzip => self.gzip.unpack(input, output, remarks),
            Codec::Snappy => snappy::unpack(input, output, remarks),
            Codec::Lz4(accepted, entry_len) => {
                let read = lz4::Reading { accepted, entry_len, allows_dependent: self.allows_dependent_lz4_blocks };
                lz4::unpack(input, read, output, remarks)
            }
            Codec::Zstd => self.zstd.unpack(input, output, remarks),
        }
    }
}

/// A fault of a stream.
#[cold]
fn bad(codec: &'static str, rule: &'static str, fault: &'static str) -> Error {
    ErrorKind::Codec { rule, codec, problem: fault }.into()
}

/// A 32-bit length as a length of this machine.
fn to_len(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn contexts_move_between_threads() {
        fn assert_send<T: Send>() {}
        assert_send::<Unpacker>();
        assert_send::<Plain>();
    }

    #[test]
    fn one_unpacker_takes_every_codec_and_recovers_from_errors() -> Result<()> {
        const STREAMS: [(Codec, &[u8]); 4] = [
            (Codec::Gzip, b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"),
            (Codec::Snappy, b"\x05\x10hello"),
            (Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES), b"\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0"),
            (Codec::Zstd, b"\x28\xb5\x2f\xfd\0\x58\x29\0\0hello"),
        ];
        let (mut unpacker, mut plain, budget) = (Unpacker::default(), Plain::default(), Budget::for_entry(&Limits::default(), 100));
        for (at, (codec, stream)) in STREAMS.into_iter().enumerate() {
            for (other_at, (other, _)) in STREAMS.into_iter().enumerate() {
                assert_eq!(unpacker.unpack(other, stream, &mut plain, &budget, None).is_ok(), other_at == at, "{codec:?} as {other:?}");
                assert_eq!(plain.is_empty(), other_at != at);
            }
            unpacker.unpack(codec, stream, &mut plain, &budget, None)?;
            assert_eq!(plain.bytes(), b"hello");
        }
        Ok(())
    }

    #[test]
    fn storage_goes_round() -> Result<()> {
        let (mut unpacker, budget) = (Unpacker::default(), Budget::for_entry(&Limits::default(), 100));
        let mut plain = Plain::from_vec(vec![9; 1000]);
        unpacker.unpack(Codec::Snappy, b"\x05\x10hello", &mut plain, &budget, None)?;
        assert!(plain.readable().starts_with(b"hello"));
        assert_eq!((plain.len(), plain.readable().len(), plain.into_vec().len()), (5, 5 + SLACK, 1000));
        Ok(())
    }
}
