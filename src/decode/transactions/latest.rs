//! What the last batch did: no checksum covers its base offset, and the next one may show that it is wrong.

use crate::model::BatchHeader;

/// What the last batch did, and what was known before it: the last offset, and the gaps.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatestBatch {
    pub base_offset: i64,
    pub before: Option<i64>,
    pub gaps: u64,
    pub change: Change,
    /// The last offset of one after it that claims to come before it.
    pub lower: Option<i64>,
}

impl LatestBatch {
    /// Whether it is where it says, and a batch after it that goes back does not. Two that go back and agree are right.
    pub fn is_right_next_to(&self, header: &BatchHeader) -> bool {
        let Some(before) = self.before else { return false };
        let goes_on = before.checked_add(1) == Some(self.base_offset);
        self.lower.is_none_or(|lower| header.base_offset <= lower) && (goes_on || header.base_offset <= before)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub enum Change {
    #[default]
    Nothing,
    /// Data of a producer, which began its transaction or went on from this last offset.
    Data { producer_id: i64, base_offset: i64, went_on_from: Option<i64> },
    /// A marker that aborted.
    Aborted { producer_id: i64, first_offset: i64 },
}
