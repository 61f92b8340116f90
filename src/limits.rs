//! How much an entry may claim, and the budget that is spent while it is read.
//!
//! Without limits a few megabytes of compressed zeros take all memory, and a count of 2^31 loops for minutes.

use crate::error::{ErrorKind, Result};

/// Limits per entry. The defaults pass every batch that a broker with default settings accepts, and much larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one entry as stored. A broker's default maximum is 1 MiB; 256 MiB leaves room for tuned ones.
    pub max_batch_bytes: u64,
    /// Bytes of one entry when decompressed.
    pub max_decompressed_bytes: u64,
    /// Decompressed bytes per compressed byte, of which at least 512 are counted. The best block of zstd is 128 KiB from 4 bytes, 32,768 to 1,
    /// and a producer can send a batch of such blocks.
    pub max_ratio: u64,
    /// Records of one entry.
    pub max_records: u64,
    /// Headers of one record.
    pub max_headers: u64,
    /// Levels of compressed sets inside each other (Kafka 0.7 only).
    pub max_nesting: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_batch_bytes: 256 << 20,
            max_decompressed_bytes: 1 << 30,
            max_ratio: 40_000,
            max_records: 1 << 24,
            max_headers: 100_000,
            max_nesting: 8,
        }
    }
}

impl Limits {
    /// Fails when an entry of `bytes` bytes is over the limit.
    ///
    /// # Errors
    /// `Limit` naming `max_batch_bytes`.
    pub fn ensure_batch_bytes(&self, bytes: u64) -> Result<()> {
        ensure("max_batch_bytes", bytes, self.max_batch_bytes)
    }

    /// Fails when a batch says that it has more records than allowed.
    ///
    /// # Errors
    /// `Limit` naming `max_records`.
    pub fn ensure_records(&self, count: u64) -> Result<()> {
        ensure("max_records", count, self.max_records)
    }

    /// Fails when compressed sets lie deeper inside each other than allowed.
    ///
    /// # Errors
    /// `Limit` naming `max_nesting`.
    pub fn ensure_nesting(&self, levels: u32) -> Result<()> {
        ensure("max_nesting", u64::from(levels), u64::from(self.max_nesting))
    }

    /// Fails when a record says that it has more headers than allowed.
    ///
    /// # Errors
    /// `Limit` naming `max_headers`.
    #[inline]
    pub fn ensure_headers(&self, count: u64) -> Result<()> {
        ensure("max_headers", count, self.max_headers)
    }
}

/// What decompressing one entry may still give out.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    allowed: u64,
    limit: &'static str,
    /// The limit itself, from which `allowed` follows.
    value: u64,
}

impl Budget {
    /// The budget of an entry whose records take `compressed` bytes.
    pub fn for_entry(limits: &Limits, compressed: usize) -> Self {
        // A strict ratio leaves so much to tiny inputs all the same.
        const FREE: u64 = 64 << 10;
        // zstd compresses a mebibyte of one byte, which a producer with default settings may send, into 60.
        const LEAST: u64 = 512;
        let compressed = u64::try_from(compressed).unwrap_or(u64::MAX).max(LEAST);
        let by_ratio = limits.max_ratio.saturating_mul(compressed).max(FREE);
        if by_ratio < limits.max_decompressed_bytes {
            Self { allowed: by_ratio, limit: "max_ratio", value: limits.max_ratio }
        } else {
            let allowed = limits.max_decompressed_bytes;
            Self { allowed, limit: "max_decompressed_bytes", value: allowed }
        }
    }

    /// Returns the budget after `bytes` bytes were decompressed.
    #[must_use]
    pub fn after(self, bytes: usize) -> Self {
        Self { allowed: self.allowed.saturating_sub(u64::try_from(bytes).unwrap_or(u64::MAX)), ..self }
    }

    /// Returns the most bytes that may be decompressed.
    pub fn allowed(&self) -> usize {
        usize::try_from(self.allowed).unwrap_or(usize::MAX)
    }

    /// Fails when `bytes` decompressed bytes are more than allowed.
    ///
    /// # Errors
    /// `Limit` naming `max_decompressed_bytes` or `max_ratio`.
    pub fn ensure(&self, bytes: usize) -> Result<()> {
        let asked = u64::try_from(bytes).unwrap_or(u64::MAX);
        if asked <= self.allowed { Ok(()) } else { Err(ErrorKind::Limit { limit: self.limit, asked, allowed: self.value }.into()) }
    }
}

#[inline]
fn ensure(limit: &'static str, asked: u64, allowed: u64) -> Result<()> {
    if asked <= allowed { Ok(()) } else { Err(ErrorKind::Limit { limit, asked, allowed }.into()) }
}
