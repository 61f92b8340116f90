//! Asks for memory before it is needed.
//!
//! Parsing computes while memory idles, and the checksum of the next entry then waits for memory. Asking for the next
//! entry a few cache lines at a time, while the records of this one are parsed, hides that wait (figures in docs/project/decisions).

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Asks for the lines at `from` and on, up to `to`; they may lie after the end of `bytes`.
#[inline]
pub fn lines(bytes: &[u8], from: usize, to: usize) {
    for at in (from..to).step_by(LINE) {
        line(bytes.as_ptr().wrapping_add(at));
    }
}

/// Bytes that will be needed next, and how fast to ask for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead<'a> {
    bytes: &'a [u8],
    at: usize,
    step: usize,
}

impl<'a> Ahead<'a> {
    /// Asks for `bytes` evenly over `steps` steps.
    #[inline]
    pub fn new(bytes: &'a [u8], steps: usize) -> Self {
        let lines = bytes.len().div_ceil(LINE);
        Self { bytes, at: 0, step: lines.div_ceil(steps.max(1)) }
    }

    /// Asks for the next few lines.
    #[inline(always)]
    pub fn step(&mut self) {
        for _ in 0..self.step {
            if self.at >= self.bytes.len() {
                return;
            }
            line(self.bytes.as_ptr().wrapping_add(self.at));
            self.at += LINE;
        }
    }
}

#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the prefetch instruction takes a pointer")]
fn line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch is a hint. It reads nothing into the program, cannot fault whatever the address, and every x86-64 has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn line(_: *const u8) {}
