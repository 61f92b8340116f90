//! Some bytes of a file, and how far a reader has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::validate::Finding;
use crate::wire::as_u64;

/// Some bytes of a file, and what fetching them took.
#[derive(Clone, Debug, Default)]
pub struct FetchedBytes {
    /// The bytes. Those of a damaged chunk are 0xff, which begin no entry, for a reader that skips damage.
    pub bytes: Bytes,
    /// The damage among them.
    pub findings: Vec<Finding>,
    /// Requests for objects.
    pub requests: u64,
    /// Bytes of objects that they returned.
    pub fetched: u64,
}

impl FetchedBytes {
    /// Counts bytes that were fetched.
    pub(super) fn count(&mut self, fetched: &Bytes) {
        self.requests += 1;
        self.fetched += as_u64(fetched.len());
    }
}

/// A shared count of how far a reader has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<AtomicU64>);

impl Progress {
    pub(super) fn set(&self, position: u64) {
        self.0.store(position, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An offset, or `?`.
pub(super) fn shown(offset: Option<i64>) -> String {
    offset.map_or_else(|| "?".to_owned(), |offset| offset.to_string())
}
