//! Pieces of segments become tasks of about the right size: large pieces are cut, and small ones share a task. Spark needs about 0.1 s for a
//! task, however little it does.

use std::collections::HashMap;
use std::path::PathBuf;

use super::query::BatchQuery;
use crate::error::{ErrorKind, Result};
use crate::partition::{SegmentRange, Storage};

/// Files of a task, unless there are very many; to open a file takes as long as to read many headers.
const TASK_FILES: u64 = 64;
/// Most files of a task: a task that fails opens all of them again.
const MOST_FILES: u64 = 1024;
/// Up to this many tasks each partition has its own, as with Spark's Kafka source; thousands would take minutes to start.
const OWN_TASKS: u64 = 64;
/// Below this Spark needs longer for a task than the task itself.
const LEAST_TASK_BYTES: u64 = 16 << 20;

/// A piece of a segment with what grouping must know, and a number by which its owner finds it.
#[derive(Clone, Debug)]
pub(super) struct SizedPiece {
    pub(super) piece: SegmentRange,
    pub(super) size: u64,
    /// The log that it is of.
    pub(super) log: usize,
}

/// The sizes of tasks.
pub(super) struct TaskSizes<'a> {
    pub(super) query: &'a BatchQuery,
    /// Cores that run tasks.
    pub(super) cores: u64,
}

impl TaskSizes<'_> {
    /// The number of tasks for each file, so that all cores work, no task is too large, and there are `minPartitions`.
    pub(super) fn counts(&self, pieces: &[SizedPiece]) -> HashMap<PathBuf, u64> {
        let total: u64 = pieces.iter().map(|piece| piece.size).sum();
        let target = self.task_bytes(total);
        let mut counts: HashMap<PathBuf, u64> = HashMap::new();
        for piece in pieces {
            let own = rounded(piece.size, target).max(1);
            // No task may be larger than twice the limit.
            let least = piece.size.div_ceil(self.query.max_partition_bytes.saturating_mul(2).max(1));
            counts.insert(piece.piece.segment.file.path.clone(), own.max(least));
        }
        let least = self.query.min_partitions.unwrap_or(0);
        if counts.values().sum::<u64>() < least && total > 0 {
            for piece in pieces {
                let share = u128::from(piece.size) * u128::from(least);
                let share = u64::try_from((share + u128::from(total) / 2) / u128::from(total)).unwrap_or(u64::MAX);
                if let Some(count) = counts.get_mut(&piece.piece.segment.file.path) {
                    *count = (*count).max(share);
                }
            }
        }
        counts
    }

    /// Cut a piece into about `count` pieces, or into more if that is too many offsets for a task.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn cut(&self, sized: &SizedPiece, count: u64, storage: &dyn Storage) -> Result<Vec<SizedPiece>> {
        if count <= 1 && self.query.max_records.is_none() {
            return Ok(vec![sized.clone()]);
        }
        let cut = || -> Result<Vec<SegmentRange>> {
            let pieces = match self.query.max_records {
                Some(most) => sized.piece.cut_by_offsets(most, storage)?,
                None => vec![sized.piece.clone()],
            };
            let step = sized.size.div_ceil(count.max(1));
            let mut found = Vec::new();
            for piece in pieces {
                if count > 1 {
                    found.extend(piece.cut_by_bytes(step, storage)?);
                } else {
                    found.push(piece);
                }
            }
            Ok(found)
        };
        let pieces = match cut() {
            // The task reports a lost file. A look-up has the default limits, the task may have others.
            Err(error) if error.is_not_found() || matches!(error.kind(), ErrorKind::Limit { .. }) => vec![sized.piece.clone()],
            pieces => pieces?,
        };
        pieces.into_iter().map(|piece| Ok(SizedPiece { size: piece.size(storage)?, piece, log: sized.log })).collect()
    }

    /// Group small pieces of a log, and of several logs if there were very many tasks else; leave at least `minPartitions` tasks.
    pub(super) fn grouped(&self, logs: Vec<Vec<SizedPiece>>) -> Vec<Vec<SizedPiece>> {
        let pieces = as_count(logs.iter().map(Vec::len).sum());
        let least = self.query.min_partitions.unwrap_or(1).min(pieces).max(1);
        let alone = logs.into_iter().map(|own| own.into_iter().map(|piece| vec![piece]).collect()).collect();
        let tasks = self.shared(alone, least, least);
        if as_count(tasks.len()) <= OWN_TASKS { tasks } else { self.shared(vec![tasks], least.max(OWN_TASKS), least) }
    }

    /// Group neighbours of each run, into about `wanted` tasks if they are small, and at least `least`.
    fn shared(&self, runs: Vec<Vec<Vec<SizedPiece>>>, wanted: u64, least: u64) -> Vec<Vec<SizedPiece>> {
        let all = || runs.iter().flatten().flatten();
        let (total, files) = (all().map(|piece| piece.size).sum::<u64>(), as_count(all().count()));
        let most_files = files.div_ceil(OWN_TASKS).clamp(TASK_FILES, MOST_FILES);
        let most_offsets = u64::try_from(self.query.max_records.unwrap_or(0)).unwrap_or(0);
        let sizes: Vec<Vec<[u64; 3]>> = runs.iter().map(|run| run.iter().map(|group| sizes(group, most_offsets)).collect()).collect();
        let mut most = self.task_bytes(total).min(total / wanted.max(1));
        loop {
            let bounds: Vec<Vec<usize>> = sizes.iter().map(|run| ends(run, [most, most_files, most_offsets])).collect();
            if as_count(bounds.iter().map(Vec::len).sum()) >= least || most == 0 {
                return runs.into_iter().zip(bounds).flat_map(|(run, ends)| joined(run, &ends)).collect();
            }
            most /= 2;
        }
    }

    /// The wanted bytes of a task.
    fn task_bytes(&self, total: u64) -> u64 {
        (total / self.cores.max(1)).max(LEAST_TASK_BYTES).min(self.query.max_partition_bytes)
    }
}

/// Bytes, files and offsets of a group.
fn sizes(group: &[SizedPiece], most_offsets: u64) -> [u64; 3] {
    let offsets = |sized: &SizedPiece| sized.piece.most_offsets().map_or(most_offsets, |offsets| u64::try_from(offsets).unwrap_or(0));
    let offsets = if most_offsets > 0 { group.iter().map(offsets).fold(0, u64::saturating_add) } else { 0 };
    [group.iter().map(|piece| piece.size).sum(), as_count(group.len()), offsets]
}

/// The ends of groups of neighbours, none of whose sums is above its limit; a larger item is alone.
fn ends(items: &[[u64; 3]], most: [u64; 3]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut filled = [0_u64; 3];
    for (number, item) in items.iter().enumerate() {
        let mut together = [0_u64; 3];
        for (sum, (own, added)) in together.iter_mut().zip(filled.iter().zip(item)) {
            *sum = own.saturating_add(*added);
        }
        let is_new = number == 0 || found.last() == Some(&number);
        if !is_new && together.iter().zip(&most).any(|(sum, most)| sum > most) {
            found.push(number);
            together = *item;
        }
        filled = together;
    }
    if !items.is_empty() {
        found.push(items.len());
    }
    found
}

fn joined(run: Vec<Vec<SizedPiece>>, ends: &[usize]) -> Vec<Vec<SizedPiece>> {
    let mut groups = run.into_iter();
    let mut start = 0;
    let mut found = Vec::with_capacity(ends.len());
    for end in ends {
        found.push(groups.by_ref().take(end.saturating_sub(start)).flatten().collect());
        start = *end;
    }
    found
}

/// A quotient, rounded; half of the divisor is rounded to an even number, as Python rounds.
fn rounded(number: u64, by: u64) -> u64 {
    let (whole, rest) = (number / by.max(1), number % by.max(1));
    let is_up = match rest.saturating_mul(2).cmp(&by) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => whole % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    whole + u64::from(is_up)
}

fn as_count(number: usize) -> u64 {
    crate::wire::as_u64(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_task_up_to_its_size() {
        let items: Vec<[u64; 3]> = [10, 10, 100, 10, 0].map(|size| [size, 1, 0]).to_vec();
        assert_eq!(ends(&items, [20, 64, 0]), [2, 3, 5]);
        assert_eq!(ends(&items, [1000, 2, 0]), [2, 4, 5]);
        assert_eq!(ends(&[], [1, 1, 1]), Vec::<usize>::new());
    }

    #[test]
    fn quotients_are_rounded_as_in_python() {
        assert_eq!([5, 15, 14, 16].map(|number| rounded(number, 10)), [0, 2, 1, 2]);
    }
}
