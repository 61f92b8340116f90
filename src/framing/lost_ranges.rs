//! Bytes in the place of lost ones: a storage that goes on past its own damage says which they are, as it gives them.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ranges of an input that hold other bytes than were written there. Who reads adds them, who frames asks.
#[derive(Debug, Default)]
pub struct LostRanges(Mutex<Vec<Range<u64>>>);

impl LostRanges {
    /// The bytes of this range are lost.
    pub fn add(&self, bytes: Range<u64>) {
        let mut lost = self.lost();
        if !lost.contains(&bytes) {
            lost.push(bytes);
        }
    }

    /// The first known range of which some bytes are among these.
    pub fn among(&self, bytes: &Range<u64>) -> Option<Range<u64>> {
        self.lost().iter().find(|lost| lost.start < bytes.end && bytes.start < lost.end).cloned()
    }

    fn lost(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
