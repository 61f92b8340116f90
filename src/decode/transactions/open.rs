//! A transaction without a marker so far, and where it began.

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPosition {
    /// Which of the segments.
    pub segment: usize,
    /// Where in it.
    pub position: u64,
}

/// A transaction without a marker so far.
#[derive(Debug)]
pub struct OpenTransaction {
    pub first_offset: i64,
    /// Of its last batch that was seen.
    pub last_offset: i64,
    /// Of its batches, once one was seen.
    pub epoch: Option<i16>,
    /// The last offset before the place where its marker may be lost; up to there no marker decides.
    pub undecided_until: Option<i64>,
    /// Its first offset that the next marker decides about.
    pub certain: Option<i64>,
    /// Where its first batch was seen.
    pub begun: Option<BatchPosition>,
    /// Places before it where offsets are missing.
    pub gaps: u64,
}

impl OpenTransaction {
    pub fn new(first_offset: i64, gaps: u64, begun: Option<BatchPosition>) -> Self {
        Self { first_offset, last_offset: first_offset, epoch: None, undecided_until: None, certain: Some(first_offset), begun, gaps }
    }

    /// The next marker does not decide about what is up to `last`.
    pub fn mark_undecided(&mut self, last: Option<i64>) {
        let known = self.undecided_until.unwrap_or(self.first_offset);
        (self.undecided_until, self.certain) = (Some(last.map_or(known, |last| last.max(known))), None);
    }
}
