use std::sync::atomic::{AtomicU64, Ordering};

/// Requests to stores that this process has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests for bytes.
    pub range_requests: u64,
    /// Bytes that they returned.
    pub bytes_fetched: u64,
    /// Questions for size and version of a file.
    pub files_opened: u64,
    /// Listings, and questions for an entry.
    pub listings: u64,
}

static RANGE_REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES_FETCHED: AtomicU64 = AtomicU64::new(0);
static FILES_OPENED: AtomicU64 = AtomicU64::new(0);
static LISTINGS: AtomicU64 = AtomicU64::new(0);

/// Return the requests so far.
pub fn counts() -> RequestCounts {
    let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    RequestCounts {
        range_requests: value(&RANGE_REQUESTS),
        bytes_fetched: value(&BYTES_FETCHED),
        files_opened: value(&FILES_OPENED),
        listings: value(&LISTINGS),
    }
}

pub(super) fn count_range(bytes: u64) {
    RANGE_REQUESTS.fetch_add(1, Ordering::Relaxed);
    BYTES_FETCHED.fetch_add(bytes, Ordering::Relaxed);
}

pub(super) fn count_open() {
    FILES_OPENED.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn count_listing() {
    LISTINGS.fetch_add(1, Ordering::Relaxed);
}
