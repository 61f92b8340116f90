use crate::decode::OffsetRange;

/// The offsets and times that a read wants, and how it treats damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedRange {
    /// First offset wanted (inclusive).
    pub start_offset: Option<i64>,
    /// First offset not wanted (exclusive).
    pub end_offset: Option<i64>,
    /// The offsets of a read that shares a log with others: a batch whose header lies inside is read whole.
    pub share: (Option<i64>, Option<i64>),
    /// The first timestamp (ms) that is wanted, and the first one that is too late.
    pub times: (Option<i64>, Option<i64>),
    /// The read goes on past damage.
    pub skips_damage: bool,
    /// Offsets may be positions after messages, as in Kafka 0.7: nothing is looked up by them.
    pub has_positions: bool,
}

impl WantedRange {
    /// The first offset of the batches that the read may need, and the first one after them; `None` for no bound.
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (most(self.start_offset, self.share.0), least(self.end_offset, self.share.1))
    }

    /// The same read with only some of its offsets.
    #[must_use]
    pub fn sharing(self, start: Option<i64>, end: Option<i64>) -> Self {
        Self { share: (most(start, self.share.0), least(end, self.share.1)), ..self }
    }

    /// The same read without the offsets before a log start offset.
    #[must_use]
    pub fn from_log_start(self, start: Option<i64>) -> Self {
        Self { start_offset: most(self.start_offset, start), ..self }
    }
}

/// The larger bound of two.
pub(super) fn most(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).max()
}

/// The smaller bound of two.
pub(super) fn least(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

/// True if two ranges of offsets overlap: first (inclusive) and end (exclusive).
pub(super) fn touch(wanted: (Option<i64>, Option<i64>), held: (Option<i64>, Option<i64>)) -> bool {
    let is_before = |begin: Option<i64>, end: Option<i64>| begin.zip(end).is_none_or(|(begin, end)| begin < end);
    is_before(wanted.0, held.1) && is_before(held.0, wanted.1)
}

/// The offsets that a name allows, as two bounds.
pub(super) fn bounds_of(range: OffsetRange) -> (Option<i64>, Option<i64>) {
    (Some(range.start), range.end)
}
