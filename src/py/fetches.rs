//! Counters of requests to stores.

/// Requests to stores, and the bytes that they returned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fetches {
    pub requests: u64,
    pub bytes: u64,
}

impl Fetches {
    /// Names and numbers.
    pub fn to_pairs(self) -> [(&'static str, u64); 2] {
        [("range_requests", self.requests), ("bytes_fetched", self.bytes)]
    }
}
