//! Requests of a reader that asks for a few bytes at a time: one window of bytes that grows while the reading goes on front to back.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::wire::as_u64;

/// Smallest request: a look-up goes by the header of a batch and a few that follow it.
const LEAST: u64 = 64 << 10;
/// Largest request: above this size, the latency of a request no longer matters.
const MOST: u64 = 8 << 20;

/// The bytes that were fetched last, and those that were fetched ahead. Any thread may read them.
#[derive(Debug)]
pub struct ReadWindow {
    inner: Mutex<WindowBytes>,
    /// Bytes with their positions.
    ahead: Vec<(u64, Bytes)>,
}

#[derive(Debug)]
struct WindowBytes {
    position: u64,
    bytes: Bytes,
    /// Size of the next request.
    size: u64,
    /// Some of the bytes are in the place of damaged ones.
    is_damaged: bool,
}

impl Default for ReadWindow {
    fn default() -> Self {
        Self::with(Vec::new())
    }
}

impl ReadWindow {
    /// A window of a file of which some bytes are there already, each piece with its position.
    pub fn with(ahead: Vec<(u64, Bytes)>) -> Self {
        Self { inner: Mutex::new(WindowBytes { position: 0, bytes: Bytes::new(), size: LEAST / 2, is_damaged: false }), ahead }
    }

    /// Makes the next request a large one: what is wanted is known.
    pub fn expect_all(&self) {
        self.inner().size = MOST;
    }

    /// Reads some bytes from `position` on; 0 only at `end`. `fetch` gets position and length, and returns bytes and whether some are in the
    /// place of damaged ones, which only a reader that skips damage gets.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub fn read(
        &self,
        to: &mut [u8],
        position: u64,
        end: u64,
        skips_damage: bool,
        fetch: impl FnOnce(u64, u64) -> io::Result<(Bytes, bool)>,
    ) -> io::Result<usize> {
        if position >= end || to.is_empty() {
            return Ok(0);
        }
        if let Some(bytes) = self.ahead.iter().map(|(start, bytes)| bytes_from(bytes, *start, position)).find(|bytes| !bytes.is_empty()) {
            return Ok(copied(bytes, to));
        }
        let mut window = self.inner();
        if window.from(position).is_empty() || (window.is_damaged && !skips_damage) {
            let size = window.next_size(position).max(as_u64(to.len()).min(MOST));
            let stop = aligned(position, size).min(end);
            let (bytes, is_damaged) = fetch(position, stop.saturating_sub(position))?;
            *window = WindowBytes { position, bytes, size, is_damaged };
        }
        Ok(copied(window.from(position), to))
    }

    fn inner(&self) -> MutexGuard<'_, WindowBytes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WindowBytes {
    /// Returns the fetched bytes from a position on.
    fn from(&self, position: u64) -> &[u8] {
        bytes_from(&self.bytes, self.position, position)
    }

    /// Returns the size of the next request: after the window twice the last size, elsewhere the smallest.
    fn next_size(&self, position: u64) -> u64 {
        let end = self.position.saturating_add(as_u64(self.bytes.len()));
        let is_near = self.bytes.is_empty() || (position >= end && position - end <= self.size);
        if is_near { self.size.saturating_mul(2).clamp(LEAST, MOST) } else { LEAST }
    }
}

/// Returns the bytes from `position` on of those that begin at `start`.
fn bytes_from(bytes: &[u8], start: u64, position: u64) -> &[u8] {
    let Some(at) = position.checked_sub(start).and_then(|at| usize::try_from(at).ok()) else { return &[] };
    bytes.get(at..).unwrap_or_default()
}

/// Copies as many bytes as fit, and returns their number.
fn copied(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
        to.copy_from_slice(from);
    }
    len
}

/// The end of a request of about `size` bytes, where requests of that size would meet.
fn aligned(position: u64, size: u64) -> u64 {
    let half = size / 2;
    position.saturating_add(half).div_euclid(size).saturating_add(1).saturating_mul(size).max(position.saturating_add(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_fetched_ahead_are_not_requested() {
        let data: Vec<u8> = (0..200).collect();
        let window = ReadWindow::with(vec![(0, Bytes::copy_from_slice(&data[..50])), (150, Bytes::copy_from_slice(&data[150..]))]);
        let mut requested = Vec::new();
        let mut read = |position: u64, len: usize| {
            let mut to = vec![0; len];
            let fetch = |start: u64, len: u64| {
                requested.push(start);
                let (start, len) = (usize::try_from(start).unwrap(), usize::try_from(len).unwrap());
                Ok((Bytes::copy_from_slice(&data[start..(start + len).min(data.len())]), false))
            };
            let len = window.read(&mut to, position, 200, false, fetch).unwrap();
            to.truncate(len);
            to
        };
        assert_eq!(read(10, 20), data[10..30]);
        assert_eq!(read(40, 20), data[40..50]);
        assert_eq!(read(190, 20), data[190..]);
        assert_eq!(read(60, 20), data[60..80]);
        assert_eq!(requested, [60]);
    }
}
