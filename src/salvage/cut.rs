//! Ranges out of a source, in the order of the input.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::wire::as_u64;

/// Gives ranges of a source, each after the one before.
pub struct RangeCopier {
    source: Source,
    interrupt: Interrupt,
}

/// Bytes that are given at a time.
const PIECE: usize = 1 << 20;

impl RangeCopier {
    /// A cutter of a source that was not read from yet.
    pub fn new(source: Source, interrupt: Interrupt) -> Self {
        Self { source, interrupt }
    }

    /// Gives the bytes of a range piece by piece.
    ///
    /// # Errors
    /// `Io`, also when the source has become shorter, `Interrupted`, and what `take` fails with.
    pub fn cut(&mut self, range: &Range<u64>, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while self.source.position() < range.end {
            self.interrupt.ensure_wanted()?;
            self.source.discard_to(range.start);
            let left = range.end.saturating_sub(self.source.position());
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
            if self.source.front().is_empty() && !self.source.fill(wanted)? {
                return Err(changed());
            }
            if self.source.position() < range.start {
                continue;
            }
            let bytes = self.source.front();
            let bytes = bytes.get(..wanted).unwrap_or(bytes);
            take(bytes)?;
            let end = self.source.position().saturating_add(as_u64(bytes.len()));
            self.source.discard_to(end);
        }
        Ok(())
    }
}

/// The source is not what it was when it was read first.
#[cold]
pub fn changed() -> Error {
    let message = "the source has changed since it was read first".to_owned();
    ErrorKind::Io { kind: std::io::ErrorKind::Other, os_code: None, message }.into()
}
