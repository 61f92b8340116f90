//! Deflated data decompressed piece by piece by zlib-rs, into a buffer that grows with it.

use crate::codec::error::gzip_error;
use crate::codec::output::Output;
use crate::error::Result;
use flate2::{Decompress, FlushDecompress, Status};

/// The least bytes of buffer that are asked for, and the most on the length of the input alone; the storage doubles by itself.
const WANTED: (usize, usize) = (1 << 10, 64 << 10);

/// Bytes that are decompressed at a time where they may be enough.
const PIECE: usize = 4 << 10;

/// The streaming context, made at the first call, which is rare.
#[derive(Default)]
pub(super) struct StreamingInflater(Option<Decompress>);

impl StreamingInflater {
    /// Decompresses the deflated data that `input` begins with, and returns the bytes after it.
    pub(super) fn inflate<'a>(&mut self, input: &'a [u8], out: &mut Output<'_>) -> Result<&'a [u8]> {
        let all = self.inflate_pieces(input, out, usize::MAX)?;
        all.ok_or_else(|| gzip_error("COD-G3", "the deflated data is cut short"))
    }

    /// Decompresses like `inflate`, in small pieces; `None` once the output is enough.
    pub(super) fn inflate_watched<'a>(&mut self, input: &'a [u8], out: &mut Output<'_>) -> Result<Option<&'a [u8]>> {
        self.inflate_pieces(input, out, PIECE)
    }

    fn inflate_pieces<'a>(&mut self, mut input: &'a [u8], out: &mut Output<'_>, piece: usize) -> Result<Option<&'a [u8]>> {
        let context = self.0.get_or_insert_with(|| Decompress::new(false));
        context.reset(false);
        loop {
            let buffer = out.unfilled(input.len().clamp(WANTED.0, WANTED.1))?;
            let given = buffer.len().min(piece);
            let buffer = buffer.get_mut(..given).unwrap_or_default();
            // The data may end where the budget ends: a byte more would show that it does not.
            let status = if given == 0 { step(context, &mut input, &mut [0])? } else { step(context, &mut input, buffer)? };
            if given == 0 {
                out.ensure(status.written)?;
            }
            out.fill(status.written);
            if status.has_ended {
                return Ok(Some(input));
            }
            if out.is_enough() {
                return Ok(None);
            }
            if status.written < given.max(1) {
                return Err(gzip_error("COD-G3", "the deflated data is cut short"));
            }
        }
    }
}

struct InflateStep {
    written: usize,
    has_ended: bool,
}

/// Decompresses until `input` or `output` is used up or the data ends.
fn step(context: &mut Decompress, input: &mut &[u8], output: &mut [u8]) -> Result<InflateStep> {
    let (read, written) = (context.total_in(), context.total_out());
    let status =
        context.decompress(input, output, FlushDecompress::None).map_err(|_| gzip_error("COD-G3", "the deflated data is corrupt"))?;
    *input = input.get(since(context.total_in(), read)..).unwrap_or_default();
    Ok(InflateStep { written: since(context.total_out(), written), has_ended: status == Status::StreamEnd })
}

/// Returns the bytes between two totals of one step, the length of a slice at most.
fn since(now: u64, before: u64) -> usize {
    usize::try_from(now - before).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec::Gzip;
    use crate::codec::Decompressed;
    use crate::codec::testing::{DecompressionOutcome, decompress_within};
    use crate::limits::{Budget, Limits};
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::Write;

    fn zeros(len: usize) -> std::io::Result<Vec<u8>> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&vec![0; len])?;
        encoder.finish()
    }

    fn inflate(input: &[u8], allowed: u64) -> Result<usize> {
        let budget = Budget::for_entry(&Limits { max_decompressed_bytes: allowed, ..Limits::default() }, input.len());
        let (mut buffer, mut inflater) = (Decompressed::default(), StreamingInflater::default());
        let rest = inflater.inflate(input, &mut Output::new(&mut buffer, &budget)?)?.len();
        assert_eq!(rest, b"after it".len());
        Ok(buffer.len())
    }

    #[test]
    fn cod_6_ends_at_the_budget_and_not_before() -> std::io::Result<()> {
        for len in [0, 1, 1023, 1024, 100_000, 3_000_000] {
            let input = [zeros(len)?, b"after it".to_vec()].concat();
            let allowed = u64::try_from(len).unwrap_or_default();
            assert_eq!(inflate(&input, allowed), Ok(len));
            if let Some(less) = allowed.checked_sub(1) {
                assert_eq!(inflate(&input, less).map_err(|error| error.rule()), Err("COD-6"), "{len}");
            }
        }
        Ok(())
    }

    #[test]
    fn cod_g3_cut_and_corrupt_data_are_errors() -> std::io::Result<()> {
        let input = zeros(100_000)?;
        for len in 0..input.len() {
            assert_eq!(inflate(input.get(..len).unwrap_or_default(), 1 << 20).map_err(|error| error.rule()), Err("COD-G3"), "{len}");
        }
        assert_eq!(inflate(b"\xff\xff\xff", 1 << 20).map_err(|error| error.rule()), Err("COD-G3"));
        Ok(())
    }

    #[test]
    fn cod_6_a_size_that_cannot_be_trusted_is_not_allocated() -> std::io::Result<()> {
        // 4 GiB - 1 and 16 MiB from 5 bytes: both read as far as they go, and found wrong.
        for size in [b"\xff\xff\xff\xff", b"\0\0\0\x01"] {
            let member = [b"\x1f\x8b\x08\0\0\0\0\0\0\0\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36", size.as_slice()].concat();
            assert_eq!(decompress_within(&Limits::default(), Gzip, &member), DecompressionOutcome::Error("COD-G3"));
        }
        // A true one that is too large for a guess.
        let deflated = zeros(20 << 20)?;
        let crc = crc32fast::hash(&vec![0; 20 << 20]).to_le_bytes();
        let member = [b"\x1f\x8b\x08\0\0\0\0\0\0\0", deflated.as_slice(), &crc, b"\0\0\x40\x01"].concat();
        assert_eq!(decompress_within(&Limits::default(), Gzip, &member), DecompressionOutcome::of(&vec![0; 20 << 20]));
        Ok(())
    }
}
