//! The records of batches without their headers.

use crate::format::v2;
use crate::framing::{Step, step};
use crate::limits::Limits;
use crate::model::{Formats, RecordFormat};

/// Return the records sections of batches of magic 2 that follow each other. Control batches and batches without records are left out.
pub fn record_sections(batches: &[u8]) -> Vec<&[u8]> {
    let limits = Limits { max_batch_bytes: u64::MAX, ..Limits::default() };
    let (mut rest, mut sections) = (batches, Vec::new());
    while let Step::Entry { len, .. } = step(rest, Formats::Only(RecordFormat::V2), &limits) {
        let Some((entry, after)) = rest.split_at_checked(len) else { break };
        let section = entry.get(v2::layout::HEADER_LEN..).unwrap_or_default();
        let is_data = v2::parse::header(entry, 0).is_ok_and(|header| !header.is_control());
        if is_data && !section.is_empty() {
            sections.push(section);
        }
        rest = after;
    }
    sections
}
