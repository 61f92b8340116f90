//! Which task reports a damaged place. A place reaches from the offset after the last valid batch before it to the first offset of the next
//! valid batch. The task that has the first of these offsets reports it; `logsegment.spark.read.damage` has the same rules.

use crate::columns::batch_rows::{BatchRow, batch_rows};
use crate::columns::batches::BatchRows;
use crate::columns::{BatchSource, OnError, StreamOptions};
use crate::decode::Unreadable;
use crate::error::Result;
use crate::jvm::note::TaskNote;
use crate::jvm::opening;
use crate::jvm::part::{SegmentBytes, TaskPart};
use crate::jvm::query::Query;
use crate::jvm::stored::{Raised, StoreReports};

/// Leave out the findings that other tasks report.
///
/// # Errors
/// If the file cannot be read.
pub fn reported_by(notes: Vec<TaskNote>, part: &TaskPart, query: &Query, raised: &Raised) -> Result<Vec<TaskNote>> {
    if part.share.offsets.is_all() || notes.is_empty() {
        return Ok(notes);
    }
    let mut batches = valid_batches(&part.bytes, query, usize::MAX, raised)?;
    if let Some(end) = part.bytes.end {
        // The batch after bytes that are cut limits the damage before it.
        batches.extend(valid_batches(&part.bytes.after(end), query, 1, raised)?);
    }
    let is_reported = |note: &TaskNote| {
        let (begin, end) = offsets_of(&batches, note.position, part.share.first);
        note.is_of_file || part.share.reports(begin, end)
    };
    Ok(notes.into_iter().filter(is_reported).collect())
}

/// The offsets that the place at a position may have: the first, and the first one after them; `None` without a valid batch.
fn offsets_of(batches: &[BatchRow], position: u64, first: i64) -> (i64, Option<i64>) {
    let at = batches.partition_point(|batch| batch.header.position < position);
    let before = at.checked_sub(1).and_then(|at| batches.get(at));
    let least = before.map_or(first, |batch| batch.header.last_offset.saturating_add(1));
    match batches.get(at) {
        None => (least, None),
        Some(batch) if batch.header.position == position => {
            (batch.base_offset.unwrap_or(least), Some(batch.header.last_offset.saturating_add(1)))
        }
        Some(batch) => (least, Some(batch.base_offset.unwrap_or(batch.header.last_offset))),
    }
}

/// The headers of the first valid batches in some bytes, past damage.
fn valid_batches(bytes: &SegmentBytes, query: &Query, most: usize, raised: &Raised) -> Result<Vec<BatchRow>> {
    let mut decode = query.options.decode.clone();
    decode.unreadable = Unreadable::Skip;
    // A file that was cut is reported by the read of its records.
    let source = opening::source(bytes, &mut decode, &StoreReports::new(true, raised), &|_| Ok(()))?;
    let batch_size = query.options.batch_size.min(most);
    let mut rows = BatchRows::new(source, StreamOptions { decode, on_error: OnError::Skip, batch_size, ..query.options.clone() });
    let mut found = Vec::new();
    while found.len() < most
        && let Some(batch) = rows.next_batch()?
    {
        found.extend(batch_rows(&batch).unwrap_or_default().into_iter().filter(|row| row.is_valid != Some(false)));
    }
    found.truncate(most);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::decode::OffsetRange;
    use crate::jvm::part::Share;

    #[test]
    fn a_place_is_reported_by_the_task_of_its_first_offset() {
        let share = |start, end, resumes| Share { first: 0, offsets: OffsetRange { start, end }, resumes };
        assert!(share(5, Some(10), true).reports(5, Some(7)));
        assert!(!share(5, Some(10), true).reports(3, Some(7)));
        assert!(share(5, Some(10), false).reports(3, Some(7)));
        assert!(!share(5, Some(10), false).reports(3, Some(5)));
        assert!(!share(5, Some(10), false).reports(10, None));
        assert!(share(i64::MIN, None, false).reports(3, None));
    }
}
