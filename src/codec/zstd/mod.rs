//! Zstandard frames, one after the other, as one stream.
//!
//! Sources: `ZstdCompression` of Kafka's clients, zstd-jni, RFC 8878. Each frame is measured before it is decompressed in one go:
//! one-shot decoding checks no window limit, and Java's frames do not declare their size.

mod compress;
mod dictionaries;
mod frame;

pub use compress::ZstdCompressor;
pub use dictionaries::Dictionaries;

use super::CodecFinding;
use super::error::zstd_error;
use super::output::Output;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::as_u64;
use ::zstd::zstd_safe;
use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use ::zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};
use frame::{ZstdFrame, ZstdPart};

/// Bytes of buffer that a frame gets on the claim of its header alone.
const TRUSTED: usize = 8 << 20;
/// Or this many bytes for each of its own; records rarely compress better.
const TRUSTED_RATIO: usize = 64;

/// Bytes that are decompressed at a time where they may be enough.
const PIECE: usize = 4 << 10;
/// The largest window that is kept for it, outside of what the budget counts: that of all levels but the last three. A frame with a larger
/// one, up to the 128 MiB that Java takes, is decompressed in one go, into the budget alone.
const MOST_WINDOW: u64 = 8 << 20;

/// The decompression contexts, made when the first frame comes, and the dictionaries that frames may name.
#[derive(Default)]
pub(super) struct ZstdDecompressor {
    context: Option<DCtx<'static>>,
    /// The context for entries of which the beginning may be enough: the other one decompresses in one go only.
    streaming: Option<DCtx<'static>>,
    dictionaries: Dictionaries,
}

impl ZstdDecompressor {
    /// Sets the dictionaries that frames may name.
    pub(super) fn set_dictionaries(&mut self, dictionaries: Dictionaries) {
        self.dictionaries = dictionaries;
    }

    /// Decompresses all frames; skippable ones give nothing, and no frames at all are an empty stream (COD-Z3).
    pub(super) fn decompress(&mut self, input: &[u8], out: &mut Output<'_>, findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
        let mut rest = input;
        while !rest.is_empty() {
            let (part, after) = match frame::split(rest) {
                Ok(split) => split,
                Err(error) if may_be_cut(input.len(), rest.len()) => {
                    self.read_cut_frame(rest, out, error)?;
                    if let Some(findings) = findings {
                        findings.push(CodecFinding::CutFrame { bytes: as_u64(rest.len()) });
                    }
                    break;
                }
                Err(error) => return Err(error),
            };
            match part {
                ZstdPart::Frame(frame) if out.is_watched() && is_streamed(&frame, out) => self.stream_frame(&frame, out)?,
                ZstdPart::Frame(frame) => self.decompress_frame(&frame, out)?,
                _ => {}
            }
            if out.is_enough() {
                break;
            }
            rest = after;
        }
        Ok(())
    }

    /// Decompresses one frame piece by piece, until the output is enough. The decoder is given block by block: it would go on with the next block
    /// as long as the piece is not full, and a block is decompressed as a whole.
    fn stream_frame(&mut self, frame: &ZstdFrame<'_>, out: &mut Output<'_>) -> Result<()> {
        match self.stream(frame.bytes, frame.block_end(frame.blocks_at), |end| frame.block_end(end), out)? {
            Streamed::Cut => Err(zstd_error("COD-Z6", "a frame is cut short")),
            Streamed::Whole | Streamed::Enough => Ok(()),
        }
    }

    /// Decompresses what is there of a last frame that is cut short (COD-Z3).
    ///
    /// # Errors
    /// `error`, what is wrong with the frame as a whole, where it is not cut; `Limit`.
    #[cold]
    fn read_cut_frame(&mut self, bytes: &[u8], out: &mut Output<'_>, error: Error) -> Result<()> {
        if frame::claimed_window(bytes).is_some_and(|window| window > MOST_WINDOW.min(as_u64(out.left()))) {
            return Err(error);
        }
        match self.stream(bytes, bytes.len(), |end| end, out) {
            Ok(Streamed::Cut | Streamed::Enough) => Ok(()),
            Err(limit) if !limit.is_about_codec() => Err(limit),
            Ok(Streamed::Whole) | Err(_) => Err(error),
        }
    }

    /// Decompresses a frame piece by piece: its bytes up to `end`, then up to what `next_end` makes of it.
    fn stream(&mut self, bytes: &[u8], mut end: usize, next_end: impl Fn(usize) -> usize, out: &mut Output<'_>) -> Result<Streamed> {
        let context = made(&mut self.streaming)?;
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        let mut at = 0;
        loop {
            let buffer = out.unfilled(PIECE)?;
            let given = buffer.len().min(PIECE);
            if given == 0 {
                // A caller that wants more than the budget is refused, whether there is more or not.
                return out.ensure(1).map(|()| Streamed::Enough);
            }
            let mut input = InBuffer { src: bytes.get(..end).unwrap_or_default(), pos: at };
            let mut piece = OutBuffer::around(buffer.get_mut(..given).unwrap_or_default());
            let more = context.decompress_stream(&mut piece, &mut input).map_err(failed)?;
            let written = piece.pos();
            at = input.pos;
            out.fill(written);
            if more == 0 {
                return Ok(Streamed::Whole);
            }
            if out.is_enough() {
                return Ok(Streamed::Enough);
            }
            if written < given && at == end {
                if end == bytes.len() {
                    return Ok(Streamed::Cut);
                }
                end = next_end(end);
            }
        }
    }

    /// Decompresses one frame. A frame with a large claim starts with a small buffer, and starts again with one of twice the size while it
    /// does not fit.
    fn decompress_frame(&mut self, frame: &ZstdFrame<'_>, out: &mut Output<'_>) -> Result<()> {
        let dictionaries = self.dictionaries.clone();
        let dictionary = match frame.dictionary {
            0 => None,
            id => Some(dictionaries.get(id).ok_or_else(|| missing_dictionary(id))?),
        };
        let context = self.context()?;
        let mut wanted = frame.bound.min(frame.bytes.len().saturating_mul(TRUSTED_RATIO).max(TRUSTED));
        loop {
            let buffer = out.unfilled(wanted)?;
            // Not the whole buffer: the result for a corrupt frame must not depend on the entries before it.
            let given = buffer.len().min(frame.bound);
            let buffer = buffer.get_mut(..given).unwrap_or_default();
            let decompressed = match dictionary {
                None => context.decompress(buffer, frame.bytes),
                Some(dictionary) => context.decompress_using_dict(buffer, frame.bytes, dictionary),
            };
            match decompressed {
                Ok(len) => {
                    out.fill(len);
                    return Ok(());
                }
                Err(code) if !is_too_small(code) => return Err(zstd_error("COD-Z6", zstd_safe::get_error_name(code))),
                Err(_) if given == frame.bound => {
                    return Err(zstd_error("COD-Z6", "a frame decompresses to more than its header and blocks allow"));
                }
                // The buffer cannot grow: this is the end of the budget.
                Err(_) if given == out.left() => out.ensure(given.saturating_add(1))?,
                Err(_) => wanted = given.saturating_mul(2),
            }
        }
    }

    fn context(&mut self) -> Result<&mut DCtx<'static>> {
        made(&mut self.context)
    }
}

/// How far a frame was decompressed piece by piece.
enum Streamed {
    /// To its end.
    Whole,
    /// As far as the caller wants it.
    Enough,
    /// To the end of the bytes, inside the frame.
    Cut,
}

/// True if Kafka accepts that the last `left` bytes of a stream are a frame that is cut short.
///
/// `ZstdInputStream` of zstd-jni forgets that a frame ended only when it reads more input, which it does `DCtx::in_size` bytes at a time: a
/// frame that starts and is cut in the same read as the end of the frame before it is no error.
fn may_be_cut(len: usize, left: usize) -> bool {
    let (start, read) = (len - left, DCtx::in_size());
    !start.is_multiple_of(read) && start / read == (len - 1) / read
}

/// True for a frame that can be decompressed piece by piece within the rest of the budget.
fn is_streamed(frame: &ZstdFrame<'_>, out: &Output<'_>) -> bool {
    frame.dictionary == 0 && frame.window <= MOST_WINDOW.min(as_u64(out.left()))
}

fn made<'a>(context: &'a mut Option<DCtx<'static>>) -> Result<&'a mut DCtx<'static>> {
    if context.is_none() {
        *context = DCtx::try_create();
    }
    let none = || Error::from(ErrorKind::Internal { what: "no memory for a zstd context".to_owned() });
    context.as_mut().ok_or_else(none)
}

#[cold]
fn failed(code: usize) -> Error {
    zstd_error("COD-Z6", zstd_safe::get_error_name(code))
}

/// True for the error code of an output that is too small; codes are negative numbers as unsigned ones.
#[expect(clippy::as_conversions, reason = "a C enum with the value 70")]
fn is_too_small(code: usize) -> bool {
    code == (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg()
}

#[cold]
fn missing_dictionary(id: u64) -> Error {
    zstd_error("COD-Z5", format!("the frame needs the dictionary {id}, which was not supplied"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec::Zstd;
    use crate::codec::testing::{DecompressionOutcome, decompress, decompress_within};
    use crate::limits::Limits;

    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";

    #[test]
    fn cod_z2_frames_with_and_without_content_size() {
        assert_eq!(decompress(Zstd, HELLO), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\0\x58\x29\0\0hello"), DecompressionOutcome::of(b"hello"));
    }

    #[test]
    fn cod_z2_content_checksums_are_verified() {
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\x24\x05\x29\0\0hello\xa3\x6d\x9f\x88"), DecompressionOutcome::of(b"hello"));
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\x24\x05\x29\0\0hello\xa3\x6d\x9f\x89"), DecompressionOutcome::Error("COD-Z6"));
    }

    #[test]
    fn cod_z3_frames_and_skippable_frames_are_one_stream() {
        let skippable = b"\x5f\x2a\x4d\x18\x02\0\0\0ab";
        assert_eq!(decompress(Zstd, &[skippable, HELLO, skippable, HELLO, skippable].concat()), DecompressionOutcome::of(b"hellohello"));
        assert_eq!(decompress(Zstd, skippable), DecompressionOutcome::of(b""));
        assert_eq!(decompress(Zstd, b""), DecompressionOutcome::of(b""));
    }

    #[test]
    fn cod_z3_anything_else_after_a_frame_is_an_error() {
        assert_eq!(decompress(Zstd, &[HELLO, b"\0"].concat()), DecompressionOutcome::Error("COD-Z3"));
        assert_eq!(decompress(Zstd, &[HELLO, b"garbage!"].concat()), DecompressionOutcome::Error("COD-Z3"));
    }

    #[test]
    fn cod_z6_every_cut_is_an_error() {
        for len in 1..HELLO.len() {
            let cut = HELLO.get(..len).unwrap_or_default();
            assert!(matches!(decompress(Zstd, cut), DecompressionOutcome::Error("COD-Z3" | "COD-Z6")), "{len}");
        }
    }

    #[test]
    fn cod_z6_a_wrong_content_size_is_an_error() {
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\x20\x09\x29\0\0hello"), DecompressionOutcome::Error("COD-Z6"));
        assert_eq!(decompress(Zstd, b"\x28\xb5\x2f\xfd\x20\x04\x29\0\0hello"), DecompressionOutcome::Error("COD-Z6"));
    }

    /// A frame of runs: `count` blocks of 128 KiB zeros, 4 bytes each.
    fn zeros(count: usize) -> Vec<u8> {
        let mut frame = b"\x28\xb5\x2f\xfd\0\x70".to_vec();
        for block in 1..=count {
            let last = u8::from(block == count);
            frame.extend_from_slice(&[0b10 | last, 0, 0x10, 0]);
        }
        frame
    }

    #[test]
    fn cod_6_the_buffer_grows_with_the_output_up_to_the_budget() {
        let limits = Limits { max_ratio: 1 << 20, ..Limits::default() };
        // 32 MiB from 1 KiB: two more attempts.
        assert_eq!(decompress_within(&limits, Zstd, &zeros(256)), DecompressionOutcome::of(&vec![0; 32 << 20]));
        let limits = Limits { max_decompressed_bytes: (32 << 20) - 1, ..limits };
        assert_eq!(decompress_within(&limits, Zstd, &zeros(256)), DecompressionOutcome::Error("COD-6"));
        let limits = Limits { max_ratio: 10_000, ..Limits::default() };
        assert_eq!(decompress_within(&limits, Zstd, &zeros(256)), DecompressionOutcome::Error("COD-6"));
    }

    #[test]
    fn the_error_code_of_a_small_output_is_known() {
        let code = DCtx::create().decompress(&mut [0_u8; 1][..], HELLO);
        assert!(code.is_err_and(is_too_small));
    }
}
