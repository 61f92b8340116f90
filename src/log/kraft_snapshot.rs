//! Snapshots of the metadata log of KRaft: a file of record batches between a header and a footer record (KIP-630).
//!
//! A controller that starts loads the newest snapshot, and ends if it cannot. Sources: `RecordsSnapshotReader`, `RecordsSnapshotWriter` and
//! `KafkaMetadataLog` in Kafka.

use super::{BatchHeaders, ReadAt};
use crate::error::Result;
use crate::limits::Limits;
use crate::model::ControlType;
use crate::sidecar::{SidecarFinding, SidecarProblem};

/// The end offset in the name of a snapshot; `None` for any other name. A name is twenty digits, a dash, the leader epoch in ten digits and
/// `.checkpoint`.
pub fn end_offset(name: &str) -> Option<i64> {
    let (offset, epoch) = name.strip_suffix(".checkpoint")?.split_once('-')?;
    let is_number = |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(offset, 20) && is_number(epoch, 10) { offset.parse().ok() } else { None }
}

/// Checks that a snapshot begins with its header record and ends with its footer record. The checksums of its batches are not compared.
///
/// # Errors
/// `Io`.
pub fn check_ends(log: &dyn ReadAt, len: u64) -> Result<Vec<SidecarFinding>> {
    let mut headers = BatchHeaders::new(log, Limits::default(), 0, len);
    let (mut first, mut last) = (None, None);
    loop {
        match headers.next_header() {
            Ok(Some(header)) => {
                first = first.or(Some(header));
                last = Some(header);
            }
            Ok(None) => break,
            Err(error) if error.is_about_data() => break,
            Err(error) => return Err(error),
        }
    }
    let control_type = |header| -> Result<Option<ControlType>> {
        let Some(header) = header else { return Ok(None) };
        Ok(headers.marker(&header)?.map(|marker| marker.control_type))
    };
    let end = last.map_or(0, |header| header.position.saturating_add(header.size));
    let mut findings = Vec::new();
    let mut report = |what, position: u64| {
        let problem = SidecarProblem::Snapshot { what };
        findings.push(SidecarFinding { problem, position, length: len.saturating_sub(position) });
    };
    if control_type(first)? != Some(ControlType::SnapshotHeader) {
        report("the snapshot does not begin with a valid header record", 0);
    }
    if control_type(last)? != Some(ControlType::SnapshotFooter) || end != len {
        report("the snapshot does not end with a valid footer record", end);
    }
    Ok(findings)
}

/// Checks that a metadata log continues its newest snapshot: what is below its first offset is only in a snapshot.
pub fn check_start(first_offset: i64, names: &[String]) -> Option<SidecarFinding> {
    let newest = names.iter().filter_map(|name| end_offset(name)).max();
    let has_gap = first_offset > newest.unwrap_or(0);
    has_gap.then_some(SidecarFinding { problem: SidecarProblem::SnapshotGap { start: first_offset, newest }, position: 0, length: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_have_an_offset_and_an_epoch() {
        assert_eq!(end_offset("00000000000000000027-0000000001.checkpoint"), Some(27));
        for name in
            ["bootstrap.checkpoint", "00000000000000000027-0000000001.checkpoint.part", "00000000000000000027.snapshot", "27-1.checkpoint"]
        {
            assert_eq!(end_offset(name), None, "{name}");
        }
    }

    #[test]
    fn a_log_begins_at_or_before_the_end_of_its_newest_snapshot() {
        let names = ["00000000000000000027-0000000001.checkpoint", "00000000000000000005-0000000001.checkpoint"].map(str::to_owned);
        assert!(check_start(0, &[]).is_none() && check_start(27, &names).is_none());
        assert!(check_start(28, &names).is_some() && check_start(1, &[]).is_some());
    }

    #[test]
    fn an_empty_file_has_neither_record() {
        let none: &[u8] = &[];
        assert_eq!(check_ends(&none, 0).unwrap().len(), 2);
    }
}
