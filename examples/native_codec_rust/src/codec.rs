//! The table of C functions, version 1, and safe functions behind it: slices for pointers, a `Result` for numbers, and no panic gets out.

use std::ffi::{c_char, c_void};
use std::panic::catch_unwind;
use std::{ptr, slice};

/// How many bytes were written; `None` when there was too little room for them; a text that tells what is wrong.
pub type Answer = Result<Option<usize>, String>;

/// A codec without state of its own. Its functions are called from any thread, and from several at a time.
pub trait Functions {
    /// Returns the most bytes that a stream decompresses to, if the stream says so.
    fn decompressed_len(compressed: &[u8]) -> Option<usize>;
    /// Decompresses all of `compressed` to the front of `output`.
    fn decompress(compressed: &[u8], output: &mut [u8]) -> Answer;
    /// Returns the most bytes that `len` bytes compress to: no more than twice as many and 64 KiB.
    fn compressed_len(len: usize) -> usize;
    /// Compresses all of `input` to the front of `compressed`.
    fn compress(input: &[u8], level: Option<i32>, compressed: &mut [u8]) -> Answer;
}

/// `logsegment_codec` of logsegment_codec.h.
#[repr(C)]
pub struct Codec {
    version: u32,
    context: *mut c_void,
    decompressed_len: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64,
    decompress: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64,
    compressed_len: unsafe extern "C" fn(*mut c_void, usize) -> i64,
    compress: unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64,
}

// SAFETY: nothing in the table changes, and its functions keep no state.
unsafe impl Sync for Codec {}

const VERSION: u32 = 1;
const TOO_SMALL: i64 = -1;
const FAILED: i64 = -2;
const NO_LEVEL: i32 = i32::MIN;

impl Codec {
    /// The table of these functions.
    pub const fn of<F: Functions>() -> Self {
        Self {
            version: VERSION,
            context: ptr::null_mut(),
            decompressed_len: decompressed_len::<F>,
            decompress: decompress::<F>,
            compressed_len: compressed_len::<F>,
            compress: compress::<F>,
        }
    }
}

unsafe extern "C" fn decompressed_len<F: Functions>(_: *mut c_void, from: *const u8, from_len: usize) -> i64 {
    // SAFETY: logsegment gives a slice.
    let from = unsafe { slice::from_raw_parts(from, from_len) };
    catch_unwind(|| F::decompressed_len(from)).ok().flatten().map_or(TOO_SMALL, number)
}

unsafe extern "C" fn decompress<F: Functions>(
    _: *mut c_void,
    from: *const u8,
    from_len: usize,
    to: *mut u8,
    to_len: usize,
    fault: *mut c_char,
    fault_len: usize,
) -> i64 {
    // SAFETY: logsegment gives three slices that do not overlap, all of whose bytes are initialised.
    unsafe {
        let from = slice::from_raw_parts(from, from_len);
        let answer = catch_unwind(|| F::decompress(from, slice::from_raw_parts_mut(to, to_len)));
        told(answer, slice::from_raw_parts_mut(fault.cast(), fault_len))
    }
}

unsafe extern "C" fn compressed_len<F: Functions>(_: *mut c_void, len: usize) -> i64 {
    catch_unwind(|| F::compressed_len(len)).map_or(FAILED, number)
}

unsafe extern "C" fn compress<F: Functions>(
    _: *mut c_void,
    from: *const u8,
    from_len: usize,
    level: i32,
    to: *mut u8,
    to_len: usize,
    fault: *mut c_char,
    fault_len: usize,
) -> i64 {
    let level = (level != NO_LEVEL).then_some(level);
    // SAFETY: as in `decompress`.
    unsafe {
        let from = slice::from_raw_parts(from, from_len);
        let answer = catch_unwind(|| F::compress(from, level, slice::from_raw_parts_mut(to, to_len)));
        told(answer, slice::from_raw_parts_mut(fault.cast(), fault_len))
    }
}

/// The number that stands for an answer; a text goes to `fault`, with a 0 behind it.
fn told(answer: std::thread::Result<Answer>, fault: &mut [u8]) -> i64 {
    let text = match answer {
        Ok(Ok(Some(len))) => return number(len),
        Ok(Ok(None)) => return TOO_SMALL,
        Ok(Err(text)) => text,
        Err(_) => "it panicked".to_owned(),
    };
    let len = text.len().min(fault.len().saturating_sub(1));
    if let Some((to, end)) = fault.split_at_mut_checked(len) {
        to.copy_from_slice(&text.as_bytes()[..len]);
        end.iter_mut().take(1).for_each(|byte| *byte = 0);
    }
    FAILED
}

fn number(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(FAILED)
}
