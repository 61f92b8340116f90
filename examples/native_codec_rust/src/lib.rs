//! A worked example of a codec in Rust: one LZ4 block behind its size (uint32, little-endian), as the Python package lz4 writes it.
//!
//!     cargo build --release       # gives target/release/liblz4_sized.so, to stand beside lz4_sized.py
//!
//! `codec.rs` is the table of logsegment_codec.h and may be copied into any crate; this file is the codec, without `unsafe`.

mod codec;

use codec::{Answer, Codec, Functions};
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// Bytes of the size.
const SIZE: usize = 4;

struct Lz4Sized;

impl Functions for Lz4Sized {
    fn decompressed_len(compressed: &[u8]) -> Option<usize> {
        split(compressed).map(|(size, _)| size)
    }

    fn decompress(compressed: &[u8], output: &mut [u8]) -> Answer {
        let (size, block) = split(compressed).ok_or("the size is cut short")?;
        // What the stream says is a claim. Logsegment gives more room where its limits allow it, and asks again.
        let Some(output) = output.get_mut(..size) else { return Ok(None) };
        match decompress_into(block, output) {
            Ok(len) if len == size => Ok(Some(len)),
            Ok(len) => Err(format!("the block holds {len} bytes, not {size}")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn compressed_len(len: usize) -> usize {
        SIZE + get_maximum_output_size(len)
    }

    fn compress(input: &[u8], level: Option<i32>, compressed: &mut [u8]) -> Answer {
        if level.is_some() {
            return Err("there are no levels".to_owned());
        }
        let size = u32::try_from(input.len()).map_err(|_| "the size takes four bytes")?;
        let Some((head, block)) = compressed.split_first_chunk_mut::<SIZE>() else { return Ok(None) };
        *head = size.to_le_bytes();
        compress_into(input, block).map(|len| Some(SIZE + len)).map_err(|error| error.to_string())
    }
}

fn split(compressed: &[u8]) -> Option<(usize, &[u8])> {
    let (size, block) = compressed.split_first_chunk::<SIZE>()?;
    Some((usize::try_from(u32::from_le_bytes(*size)).ok()?, block))
}

/// What the capsule points to.
#[unsafe(no_mangle)]
pub static LZ4_SIZED_CODEC: Codec = Codec::of::<Lz4Sized>();
