//! The state of the coordinators: groups, transactional ids and share groups, from the best directory of each partition of their topics.

use std::collections::BTreeMap;

use super::context::ReadContext;
use super::copies::PartitionCopy;
use super::metadata::unread_record;
use super::records::{LogItem, LogRecord, RecordRange, read};
use crate::error::Result;
use crate::internal_topics::replay::{Group, Groups, ShareOffset, ShareOffsets, SharePartition, TransactionalId, TransactionalIds};
use crate::internal_topics::{GroupPartition, OffsetCommit, Topic, Undecoded};
use crate::validate::Finding;

/// What the coordinators know.
#[derive(Debug, Default)]
pub struct Coordinators {
    /// Groups by id.
    pub groups: BTreeMap<String, Group>,
    /// Committed offsets, and whether an open transaction has another one.
    pub commits: BTreeMap<GroupPartition, (OffsetCommit, bool)>,
    /// How far share groups have read.
    pub shared: BTreeMap<SharePartition, ShareOffset>,
    /// Transactional ids, and the partition of their coordinator.
    pub transactional: BTreeMap<String, (TransactionalId, i32)>,
}

impl Coordinators {
    /// Reads the internal topics among the best directories of partitions.
    ///
    /// # Errors
    /// If a file cannot be read, and when the work is to stop.
    pub(super) fn read(copies: &[&PartitionCopy], reading: ReadContext<'_>, findings: &mut Vec<Finding>) -> Result<Self> {
        let mut found = Self::default();
        for copy in copies {
            match Topic::named(&copy.topic) {
                Some(Topic::ConsumerOffsets) => found.add_groups(copy, reading, findings)?,
                Some(Topic::TransactionState) => found.add_transactional(copy, reading, findings)?,
                Some(Topic::ShareGroupState) => found.add_shared(copy, reading, findings)?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn add_groups(&mut self, copy: &PartitionCopy, reading: ReadContext<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        let mut state = Groups::default();
        replay(copy, reading, findings, &mut |item| match item {
            LogStep::Record(record) => match record.marker() {
                Some((producer, commits)) => {
                    state.offsets.end(producer, commits);
                    None
                }
                None if record.batch.is_control() => None,
                None => state.add(record.offset, record.transaction(), record.key, record.value),
            },
            LogStep::Damage => {
                state.offsets.interrupt();
                None
            }
        })?;
        self.groups.append(&mut state.groups);
        self.commits.extend(state.offsets.into_sorted().map(|(place, commit, is_pending)| (place, (commit, is_pending))));
        Ok(())
    }

    fn add_transactional(&mut self, copy: &PartitionCopy, reading: ReadContext<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        let mut state = TransactionalIds::default();
        replay(copy, reading, findings, &mut |item| match item {
            LogStep::Record(record) if !record.batch.is_control() => state.add(record.key, record.value),
            _ => None,
        })?;
        self.transactional.extend(state.ids.into_iter().map(|(name, id)| (name, (id, copy.partition))));
        Ok(())
    }

    fn add_shared(&mut self, copy: &PartitionCopy, reading: ReadContext<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        let mut state = ShareOffsets::default();
        replay(copy, reading, findings, &mut |item| match item {
            LogStep::Record(record) if !record.batch.is_control() => state.add(record.offset, record.key, record.value),
            _ => None,
        })?;
        self.shared.append(&mut state.offsets);
        Ok(())
    }
}

/// What comes next in a log.
enum LogStep<'a> {
    Record(&'a LogRecord<'a>),
    /// Bytes are missing here.
    Damage,
}

/// Passes the records of a partition on, and collects the findings of damage and of records that cannot be decoded.
fn replay(
    copy: &PartitionCopy,
    reading: ReadContext<'_>,
    findings: &mut Vec<Finding>,
    add: &mut dyn FnMut(LogStep<'_>) -> Option<Undecoded>,
) -> Result<()> {
    for file in &copy.files {
        read(RecordRange::whole(&file.path), reading, &mut |item| match item {
            LogItem::Record(record) => {
                let unread = add(LogStep::Record(&record));
                findings.extend(unread.map(|undecoded| unread_record(&file.path, record.offset, undecoded, reading)));
            }
            LogItem::Damage(finding) => {
                add(LogStep::Damage);
                findings.push(finding);
            }
        })?;
    }
    Ok(())
}
