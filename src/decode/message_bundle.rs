//! Uncompressed messages that are opened together: a message alone is small, and opening it costs more than its record.

use super::decoder::Decoder;
use super::opened::{DecodedBatch, RecordsSource};
use super::{messages, v07};
use crate::error::Result;
use crate::framing::{Frame, Step, step};
use crate::model::{BatchHeader, RecordFormat};
use crate::wire::as_u64;

/// How many uncompressed messages may be opened together.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Most messages; 1 when something is wanted that each entry tells for itself.
    pub records: usize,
    /// About how many bytes.
    pub bytes: usize,
}

impl Decoder {
    /// Opens a message. With an uncompressed message opens those after it too, up to the bundle's size, if nothing that is kept per entry
    /// differs.
    /// Gives how many bytes were opened.
    #[inline(never)]
    pub(super) fn open_bundle(
        &mut self,
        frame: Frame<'_>,
        header: &BatchHeader,
        entries: &[u8],
        bundle: Bundle,
    ) -> Result<(Option<DecodedBatch>, usize)> {
        let is_v07 = header.format == RecordFormat::V07;
        let first = if is_v07 { self.open_v07(frame, header, None) } else { self.open_message(frame, header, None) };
        let mut len = frame.bytes.len();
        let Some(mut opened) = first? else { return Ok((None, len)) };
        if opened.records_source != RecordsSource::Input {
            return Ok((Some(opened), len));
        }
        let mut count = 1;
        while count < bundle.records && len < bundle.bytes {
            let rest = entries.get(len..).unwrap_or_default();
            let Step::Entry { len: next, .. } = step(rest, self.options.formats, &self.options.limits) else { break };
            let entry = rest.get(..next).unwrap_or_default();
            let belongs = if is_v07 { self.belongs_v07(entry, header, len) } else { self.belongs(entry, header) };
            if !belongs {
                break;
            }
            len += next;
            count += 1;
        }
        self.stats.entries_read += as_u64(count - 1);
        opened.walk = if is_v07 { v07::walk_of_uncompressed(count) } else { messages::walk_of_uncompressed(header, count) };
        opened.bundled = len;
        Ok((Some(opened), len))
    }
}
