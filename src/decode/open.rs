//! Opens entries: header, checksum, decompression. What is not wanted of an entry is skipped.

use std::sync::atomic::Ordering;

use super::decoder::{Decoder, codec_of};
use super::header::{checksummed, parse_header, records_at, verify};
use super::message_bundle::Bundle;
use super::opened::{DecodedBatch, RecordsSource};
use super::record_filter::WantedRecords;
use super::transactions::TransactionOutcome;
use super::{DecodeOptions, Isolation, RecordIter};
use crate::codec::CodecFinding;
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::{layout, parse};
use crate::framing::Frame;
use crate::model::{BatchHeader, CompressionType, ControlType, RecordFormat, Section};

impl Decoder {
    /// Opens an entry; `None` when nothing of it is wanted.
    ///
    /// # Errors
    /// Whatever is wrong with the entry as a whole, with its position and base offset.
    #[inline]
    pub fn open(&mut self, frame: Frame<'_>) -> Result<Option<DecodedBatch>> {
        self.open_with_findings(frame, None)
    }

    /// The same; what the codec skipped goes to `findings`.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with_findings(&mut self, frame: Frame<'_>, findings: Option<&mut Vec<CodecFinding>>) -> Result<Option<DecodedBatch>> {
        let header = self.parse_header(frame)?;
        let opened = match header.format {
            RecordFormat::V2 | RecordFormat::V3 => self.open_batch(frame, &header, findings),
            RecordFormat::V0 | RecordFormat::V1 => self.open_message(frame, &header, findings),
            RecordFormat::V07 => self.open_v07(frame, &header, findings),
        };
        opened.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    /// Opens an entry, and with an uncompressed message those after it, as far as the bundle allows. `entries` goes on after the entry.
    /// Gives how many bytes were opened as well.
    ///
    /// # Errors
    /// As `open`; always about the first entry.
    #[inline]
    pub fn open_bundled(&mut self, frame: Frame<'_>, entries: &[u8], bundle: Bundle) -> Result<(Option<DecodedBatch>, usize)> {
        if frame.magic >= layout::MAGIC {
            return self.open(frame).map(|opened| (opened, frame.bytes.len()));
        }
        let header = self.parse_header(frame)?;
        let opened = self.open_bundle(frame, &header, entries, bundle);
        opened.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    /// Parses the header of an entry, which must not contradict the name of its segment. A wrong checksum goes first, as in validation and where
    /// damage is skipped.
    #[inline]
    fn parse_header(&mut self, frame: Frame<'_>) -> Result<BatchHeader> {
        let header =
            parse_header(frame, self.options.formats, self.options.base_position).map_err(|error| error.at_byte(frame.position))?;
        self.stats.entries_read += 1;
        let held = match self.options.segment.ensure_holds(&header) {
            Err(outside) if self.verifies_entries() => verify(frame.bytes, &header).and(Err(outside)),
            held => held,
        };
        held.map(|()| header).map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    fn open_batch(
        &mut self,
        frame: Frame<'_>,
        header: &BatchHeader,
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<Option<DecodedBatch>> {
        let filter = match self.options.wanted(header) {
            WantedRecords::Everything => None,
            WantedRecords::Some(filter) => Some(filter),
            WantedRecords::Nothing => {
                if self.ends_at(header) {
                    // Not in silence, when the marker may be lost.
                    self.options.undecided_reported.store(true, Ordering::Relaxed);
                    self.is_committed(header)?;
                }
                self.stats.entries_skipped += 1;
                return Ok(None);
            }
        };
        self.count_compared(checksummed(header));
        if self.verifies_entries() {
            parse::verify(frame.bytes, header.crc)?;
        }
        // Behind the checksum: a flipped bit may name another producer, whose transaction was aborted.
        if !self.is_committed(header)? {
            self.stats.entries_skipped += 1;
            return Ok(None);
        }
        // Kafka's readers decompress nothing of a batch without records (V2-10).
        let records_at = if is_empty_compressed(header) { frame.bytes.len() } else { records_at(header, frame.bytes) };
        let records = frame.bytes.get(records_at..).unwrap_or_default();
        let records_source =
            if is_empty_compressed(header) { RecordsSource::Input } else { self.decompress_batch(header, records, findings)? };
        let section = match records_source {
            RecordsSource::Decompressed => Section::new(self.decompressed.readable(), self.decompressed.bytes().len()),
            RecordsSource::Input => Section::new(records, records.len()),
            RecordsSource::Plugin => Section::new(&self.given, self.given.len()),
        };
        let walk = self
            .ensure_counted(header, section.len(), records_source != RecordsSource::Input)
            .and_then(|count| RecordIter::of_batch(header, count, &section, &self.options.limits))
            .and_then(|walk| if self.options.check_crc { Ok(walk) } else { walk.ensure_placed(&section).map(|()| walk) });
        let walk = walk.map_err(|error| self.blame_plugin(header, error))?;
        let append_time = header.append_time();
        let opened = DecodedBatch { filter, append_time, records_at, ..DecodedBatch::new(*header, records_source, walk) };
        if header.is_control() {
            self.ensure_control(&opened, frame.bytes).map_err(|error| self.blame_plugin(header, error))?;
            if !self.options.is_control_wanted {
                return Ok(None);
            }
        }
        Ok(Some(opened))
    }

    /// True for the first batch of the oldest open transaction, when records from there on are wanted.
    fn ends_at(&self, header: &BatchHeader) -> bool {
        let Isolation::ReadCommitted(transactions) = &self.options.isolation else { return false };
        let end = self.options.end_offset();
        transactions.last_stable_offset().is_some_and(|stable| stable == header.base_offset && end.is_none_or(|end| stable < end))
    }

    /// Check the first entry of a stream of committed records. If it is after the first offset of an open transaction whose marker may be
    /// damaged or missing, the read has no records, and its first such stream reports it (TRX-5).
    ///
    /// # Errors
    /// `Undecided`.
    pub fn ensure_decided_before(options: &DecodeOptions, frame: Frame<'_>) -> Result<()> {
        let Isolation::ReadCommitted(transactions) = &options.isolation else { return Ok(()) };
        let Some((producer_id, stable, after)) = transactions.undecided_end() else { return Ok(()) };
        let Ok(header) = parse_header(frame, options.formats, options.base_position) else { return Ok(()) };
        let is_wanted = options.end_offset().is_none_or(|end| header.base_offset < end);
        if header.base_offset <= stable || !is_wanted || options.undecided_reported.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let error = Error::from(ErrorKind::Undecided { producer_id, last_offset: header.last_offset, after });
        Err(error.in_batch(header.base_offset).at_byte(frame.position))
    }

    /// False for a batch that was aborted.
    fn is_committed(&self, header: &BatchHeader) -> Result<bool> {
        let Isolation::ReadCommitted(transactions) = &self.options.isolation else { return Ok(true) };
        match transactions.fate(header) {
            TransactionOutcome::Committed => Ok(true),
            TransactionOutcome::Aborted => Ok(false),
            TransactionOutcome::Undecided { after } => {
                Err(ErrorKind::Undecided { producer_id: header.producer.id, last_offset: header.last_offset, after }.into())
            }
        }
    }

    fn decompress_batch(
        &mut self,
        header: &BatchHeader,
        records: &[u8],
        findings: Option<&mut Vec<CodecFinding>>,
    ) -> Result<RecordsSource> {
        let codec = match header.compression() {
            CompressionType::None => return Ok(RecordsSource::Input),
            CompressionType::Plugin(id) => return self.decompress_plugin(id, records),
            _ => codec_of(header)?,
        };
        self.decompress(codec, records, findings)?;
        Ok(RecordsSource::Decompressed)
    }

    /// Parses every record of a control batch and the key of each (V2-47).
    fn ensure_control(&self, opened: &DecodedBatch, entry: &[u8]) -> Result<()> {
        let section = self.section(opened, entry, entry);
        opened.rewrite::<false>(&section, |_, record| ControlType::parse(record.key).map(drop))
    }
}

/// True for a batch that counts no records and names a codec.
pub(crate) fn is_empty_compressed(header: &BatchHeader) -> bool {
    header.count == Some(0) && header.compression() != CompressionType::None
}
