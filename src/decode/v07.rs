//! Kafka 0.7: uncompressed messages, and compressed ones, which may hold compressed ones again (L7-16, L7-17).

use super::decoder::Decoder;
use super::message_codec::codec_of_v07;
use super::opened::{DecodedBatch, RecordsSource};
use super::{RecordIter, header};
use crate::codec::{Codec, CodecFinding, Decompressed, FoundChecksum};
use crate::error::Result;
use crate::format::v07::parse::V07Message;
use crate::format::v07::records::{self, V07Entries};
use crate::framing::Frame;
use crate::limits::Budget;
use crate::model::BatchHeader;
use crate::wire::as_u64;

impl Decoder {
    /// Opens a message, whatever is in it.
    #[inline(never)]
    pub(super) fn open_v07(
        &mut self,
        frame: Frame<'_>,
        header: &BatchHeader,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<Option<DecodedBatch>> {
        // Positions are the only offsets to begin at: a message belongs to the range that its entry starts in.
        if !self.options.has_entry_at(header.base_offset) {
            self.stats.entries_skipped += 1;
            return Ok(None);
        }
        let message = V07Message::parse(frame.bytes)?;
        self.count_compared(header::checksummed(header));
        if self.verifies_entries() {
            message.verify(frame.bytes)?;
        }
        if !message.is_compressed() {
            let opened = opened(header, RecordsSource::Input, 1, records::V07RecordIter::of_uncompressed(1));
            return Ok(Some(DecodedBatch { filter: self.options.filter_of_times(), ..opened }));
        }
        let budget = Budget::for_entry(&self.options.limits, message.payload(frame.bytes).len());
        let mut findings = findings;
        let codec = codec_of_v07(&message, frame.bytes)?;
        let before = findings.as_ref().map_or(0, |findings| findings.len());
        self.decompress(codec, message.payload(frame.bytes), findings.as_deref_mut())?;
        let count = match self.look_through()? {
            Some(count) => count,
            None => self.flatten(budget, findings.as_deref_mut())?,
        };
        if let Some(findings) = findings.filter(|_| matches!(codec, Codec::Lz4(..))) {
            report_lz4(findings, before);
        }
        self.options.limits.ensure_records(as_u64(count))?;
        let opened = opened(header, RecordsSource::Decompressed, count, records::V07RecordIter::of_inner(count, header.size));
        Ok(Some(DecodedBatch { filter: self.options.filter_of_times(), ..opened }))
    }

    /// True for a valid, wanted message with the magic and attributes of `header`, an uncompressed message so many bytes before it.
    #[inline]
    pub(super) fn belongs_v07(&mut self, entry: &[u8], header: &BatchHeader, bytes: usize) -> bool {
        let Ok(message) = V07Message::parse(entry) else { return false };
        let offset = header.base_offset.wrapping_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        let is_same = message.magic == header.magic && i16::from(message.attributes) == header.attributes.0;
        if !is_same || !self.options.has_entry_at(offset) {
            return false;
        }
        self.count_compared(as_u64(message.payload(entry).len()));
        !self.verifies_entries() || message.verify(entry).is_ok()
    }

    /// Counts the decompressed messages; `None` when one of them is itself compressed.
    fn look_through(&self) -> Result<Option<usize>> {
        let mut entries = V07Entries::new(self.decompressed().bytes());
        let mut count = 0;
        while let Some((message, _)) = entries.next(self.options.check_crc)? {
            if message.is_compressed() {
                return Ok(None);
            }
            count += 1;
        }
        Ok(Some(count))
    }

    /// Replaces what was decompressed by its messages, those of inner sets in the place of their wrappers. Gives how many there are.
    /// All levels spend the one budget of the entry.
    #[cold]
    fn flatten(&mut self, budget: Budget, findings: Option<&mut Vec<CodecFinding>>) -> Result<usize> {
        let outer = self.decompressed().bytes().to_vec();
        let mut flat = Flat { messages: Vec::new(), count: 0, spent: outer.len(), findings: Vec::new() };
        self.flatten_level(&outer, 1, budget, &mut flat)?;
        self.replace_decompressed(Decompressed::holding(flat.messages));
        if let Some(findings) = findings {
            findings.append(&mut flat.findings);
        }
        Ok(flat.count)
    }

    fn flatten_level(&mut self, set: &[u8], depth: u32, budget: Budget, flat: &mut Flat) -> Result<()> {
        let mut entries = V07Entries::new(set);
        while let Some((message, entry)) = entries.next(self.options.check_crc)? {
            if !message.is_compressed() {
                flat.messages.extend_from_slice(entry);
                flat.count += 1;
                continue;
            }
            self.options.limits.ensure_nesting(depth + 1)?;
            let codec = codec_of_v07(&message, entry)?;
            let mut inner = Decompressed::default();
            self.decompress_into(codec, message.payload(entry), &mut inner, &budget.after(flat.spent))?;
            flat.spent += inner.len();
            self.flatten_level(inner.bytes(), depth + 1, budget, flat)?;
        }
        let bytes = as_u64(set.len().saturating_sub(entries.position()));
        if bytes > 0 && flat.findings.len() < MOST_FINDINGS {
            flat.findings.push(CodecFinding::CutSet { bytes });
        }
        Ok(())
    }
}

/// The messages of nested sets, one after the other.
struct Flat {
    messages: Vec<u8>,
    count: usize,
    spent: usize,
    findings: Vec<CodecFinding>,
}

/// An entry may hold any number of cut sets; a few tell enough.
const MOST_FINDINGS: usize = 8;

fn opened(header: &BatchHeader, records_source: RecordsSource, count: usize, walk: records::V07RecordIter) -> DecodedBatch {
    let header = BatchHeader { count: Some(i32::try_from(count).unwrap_or(i32::MAX)), ..*header };
    DecodedBatch::new(header, records_source, RecordIter::V07(walk))
}

/// The records of so many messages that follow each other.
pub(super) fn walk_of_uncompressed(count: usize) -> RecordIter {
    RecordIter::V07(records::V07RecordIter::of_uncompressed(count))
}

/// Adds that codec 3 was read as LZ4 to the findings of a message, which begin at `before`; both header checksums are good here.
fn report_lz4(findings: &mut Vec<CodecFinding>, before: usize) {
    let own = findings.split_off(before.min(findings.len()));
    let is_odd =
        |finding: &CodecFinding| !matches!(finding, CodecFinding::HeaderChecksum { found: FoundChecksum::Correct | FoundChecksum::Broken });
    findings.push(CodecFinding::Lz4In07);
    findings.extend(own.into_iter().filter(is_odd));
}
