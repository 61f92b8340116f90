//! One entry: header, filters, checksum, decompressing. The records are then walked by whoever holds the columns.

use std::sync::atomic::Ordering;

use super::header::{checksummed, ensure_count, parse_header, records_at, verify};
use super::record_filter::{RecordFilter, Wanted};
use super::transactions::Fate;
use super::walk::entry_len;
use super::{Bundle, DecodeOptions, Isolation, Stats, Walk};
use crate::codec::{Codec, CodecFinding, Decompressed, Decompressor, HeaderChecksum, Memory, Place, PluginOutput};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::{layout, parse};
use crate::format::v3::records::{Metadata, Prefix};
use crate::framing::Frame;
use crate::limits::Budget;
use crate::model::{BatchHeader, CompressionType, ControlType, Formats, RecordFormat, RecordRef, Section};
use crate::wire::as_u64;
use bytes::Bytes;

/// Opens entries. Keeps the codec contexts and the buffer that they decompress into.
#[derive(Default)]
pub struct Decoder {
    pub(super) options: DecodeOptions,
    /// Recovering framing has already compared the checksums of whole entries.
    trusts_framing: bool,
    decompressor: Decompressor,
    decompressed: Decompressed,
    /// Where entries lie, for plugins.
    memory: Memory,
    /// The bytes that a plugin returned last.
    given: Bytes,
    /// What was done so far.
    pub stats: Stats,
}

/// An entry whose records can be walked, or a bundle of uncompressed messages.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its header, resolved: base offset and count of a wrapper are those of its messages.
    pub header: BatchHeader,
    /// Where its uncompressed records are.
    pub records_source: RecordsSource,
    /// Its records.
    pub walk: Walk,
    /// Which records to give; `None` for all.
    pub filter: Option<RecordFilter>,
    /// The append time that replaces the timestamp of every record of a batch.
    pub append_time: Option<i64>,
    /// Where the uncompressed records start in the entry, when they are stored there.
    pub records_at: usize,
    /// Bytes of the entry, or of all entries of the bundle.
    pub bundled: usize,
}

/// Where the decompressed records of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsSource {
    /// In the entry itself.
    Input,
    /// In the decoder's storage.
    Decompressed,
    /// In memory that a plugin returned.
    Plugin,
}

impl Opened {
    /// An entry all of whose records are given, each with the timestamp that its walk says.
    #[inline]
    pub(super) fn new(header: BatchHeader, records_source: RecordsSource, walk: Walk) -> Self {
        let bundled = usize::try_from(header.size).unwrap_or(usize::MAX);
        Self { header, records_source, walk, filter: None, append_time: None, records_at: 0, bundled }
    }

    /// Returns the timestamp of a record as Kafka gives it to consumers.
    #[inline]
    pub fn timestamp(&self, record: &RecordRef) -> i64 {
        self.append_time.unwrap_or_else(|| self.header.base_timestamp.wrapping_add(record.timestamp_delta))
    }
}

/// Most bytes that are asked for before they are needed.
pub const MOST_AHEAD: usize = 64 << 10;

impl Decoder {
    /// A decoder with these options.
    pub fn new(options: DecodeOptions) -> Self {
        let decompressor = Decompressor::default()
            .with_dependent_lz4_blocks(options.codecs.allow_dependent_lz4_blocks)
            .with_zstd_dictionaries(options.codecs.zstd_dictionaries.clone());
        Self { options, decompressor, ..Self::default() }
    }

    /// Leaves the checksums of whole entries to recovering framing; those of inner messages are compared here all the same.
    #[must_use]
    pub fn trusting_framing(self) -> Self {
        Self { trusts_framing: true, ..self }
    }

    /// True when the checksum of a whole entry is to be compared.
    pub(super) fn verifies_entries(&self) -> bool {
        self.options.check_crc && !self.trusts_framing
    }

    /// Counts bytes of a whole entry that its checksum covers, when it is compared: here, or before by recovering framing.
    #[inline]
    pub fn count_compared(&mut self, bytes: u64) {
        self.stats.bytes_checksummed += if self.options.check_crc { bytes } else { 0 };
    }

    /// The options.
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// Says which memory the next entries lie in, so that plugins are shown it and no copy.
    #[inline]
    pub fn enter(&mut self, memory: &Bytes) {
        if !self.options.codecs.plugins.is_none() {
            self.memory = Memory::of(memory);
        }
    }

    /// Says what the next entries are.
    pub fn set_formats(&mut self, formats: Formats) {
        self.options.formats = formats;
    }

    /// Opens an entry; `None` when nothing of it is wanted.
    ///
    /// # Errors
    /// Whatever is wrong with the entry as a whole, with its position and base offset.
    #[inline]
    pub fn open(&mut self, frame: Frame<'_>) -> Result<Option<Opened>> {
        self.open_with_findings(frame, None)
    }

    /// The same; what the codec skipped goes to `findings`.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with_findings(&mut self, frame: Frame<'_>, findings: Option<&mut Vec<CodecFinding>>) -> Result<Option<Opened>> {
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
    pub fn open_bundled(&mut self, frame: Frame<'_>, entries: &[u8], bundle: Bundle) -> Result<(Option<Opened>, usize)> {
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

    /// Returns the uncompressed records of an opened entry, and the bytes after them that may be read.
    #[inline]
    pub fn section<'a>(&'a self, opened: &Opened, entry: &'a [u8], after: &'a [u8]) -> Section<'a> {
        match opened.records_source {
            RecordsSource::Decompressed => Section::new(self.decompressed.readable(), self.decompressed.bytes().len()).decompressed(),
            RecordsSource::Plugin => Section::new(&self.given, self.given.len()).decompressed(),
            RecordsSource::Input => {
                // `after` starts where the entry starts and ends where the run ends.
                let stored = entry.len().saturating_sub(opened.records_at);
                Section::new(after.get(opened.records_at..).unwrap_or_default(), stored)
            }
        }
    }

    /// Returns the storage with the decompressed records, so that views of it can outlive the entry, and takes other storage in its place.
    pub fn exchange_decompressed(&mut self, storage: Vec<u8>) -> (Vec<u8>, usize) {
        let len = self.decompressed.bytes().len();
        let full = std::mem::replace(&mut self.decompressed, Decompressed::from_vec(storage));
        (full.into_vec(), len)
    }

    /// What a plugin gave for the entry that was opened last.
    pub fn given(&self) -> &Bytes {
        &self.given
    }

    /// What is wrong with the records of an entry, which the plugin is to blame for that gave them.
    #[cold]
    pub fn blame_plugin(&self, header: &BatchHeader, error: Error) -> Error {
        match header.compression().plugin_id().filter(|_| error.is_about_records()) {
            Some(id) => self.options.codecs.plugins.blamed(id, &error),
            None => error,
        }
    }

    fn open_batch(&mut self, frame: Frame<'_>, header: &BatchHeader, findings: Option<&mut Vec<CodecFinding>>) -> Result<Option<Opened>> {
        let filter = match self.options.wanted(header) {
            Wanted::Everything => None,
            Wanted::Some(filter) => Some(filter),
            Wanted::Nothing => {
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
            .and_then(|count| Walk::of_batch(header, count, &section, &self.options.limits))
            .and_then(|walk| if self.options.check_crc { Ok(walk) } else { walk.ensure_placed(&section).map(|()| walk) });
        let walk = walk.map_err(|error| self.blame_plugin(header, error))?;
        let append_time = header.append_time();
        let opened = Opened { filter, append_time, records_at, ..Opened::new(*header, records_source, walk) };
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
            Fate::Committed => Ok(true),
            Fate::Aborted => Ok(false),
            Fate::Undecided { after } => {
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

    /// Reads the metadata of the records of a compressed batch whose metadata precedes all payloads; decompresses no more than it takes
    /// (S-H5).
    ///
    /// # Errors
    /// As `open`, as far as the bytes were looked at.
    pub fn read_metadata(&mut self, frame: Frame<'_>, header: &BatchHeader, mut each: impl FnMut(&Metadata)) -> Result<()> {
        self.stats.entries_read += 1;
        self.count_compared(checksummed(header));
        if self.verifies_entries() {
            parse::verify(frame.bytes, header.crc)?;
        }
        let records = frame.bytes.get(records_at(header, frame.bytes)..).unwrap_or_default();
        let limits = self.options.limits;
        let codec = codec_of(header)?;
        let count = ensure_count(header, usize::MAX, true)?;
        if limits.ensure_records(as_u64(count)).is_err() {
            self.decompress(codec, records, None)?;
            self.ensure_counted(header, self.decompressed.bytes().len(), true)?;
        }
        let mut prefix = Prefix::new(count, header.has_record_attributes(), &limits);
        let codec = self.accepting(codec);
        let budget = Budget::for_entry(&limits, records.len());
        let mut failed = None;
        let decompressed =
            self.decompressor.decompress_until(codec, records, &mut self.decompressed, &budget, &mut |decompressed| match prefix.read(
                decompressed.readable(),
                decompressed.len(),
                false,
                &mut each,
            ) {
                Ok(is_all) => is_all,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            });
        self.stats.entries_decompressed += 1;
        self.stats.bytes_inflated += as_u64(self.decompressed.len());
        decompressed?;
        failed.map_or(Ok(()), Err)?;
        prefix.read(self.decompressed.readable(), self.decompressed.len(), true, &mut each).map(|_| ())
    }

    /// Returns the count of the records of a batch, which take `section_len` bytes. A count that these bytes cannot hold is damage, and
    /// another one may be over the limit.
    fn ensure_counted(&self, header: &BatchHeader, section_len: usize, is_decompressed: bool) -> Result<usize> {
        let count = ensure_count(header, section_len, is_decompressed)?;
        self.options.limits.ensure_records(as_u64(count)).map_err(|error| error.in_field("recordsCount"))?;
        Ok(count)
    }

    /// Returns the codec with the header checksums that the options accept.
    fn accepting(&self, codec: Codec) -> Codec {
        match codec {
            Codec::Lz4(HeaderChecksum::Correct, entry_len) if self.options.codecs.ignore_lz4_header_checksum => {
                Codec::Lz4(HeaderChecksum::Ignored, entry_len)
            }
            other => other,
        }
    }

    /// Decompresses into the decoder's buffer.
    pub(super) fn decompress(&mut self, codec: Codec, compressed: &[u8], findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
        let budget = Budget::for_entry(&self.options.limits, compressed.len());
        let codec = self.accepting(codec);
        self.decompressor.decompress(codec, compressed, &mut self.decompressed, &budget, findings)?;
        self.stats.entries_decompressed += 1;
        self.stats.bytes_inflated += as_u64(self.decompressed.bytes().len());
        Ok(())
    }

    #[cold]
    fn decompress_plugin(&mut self, id: u8, compressed: &[u8]) -> Result<RecordsSource> {
        let budget = Budget::for_entry(&self.options.limits, compressed.len());
        let to = PluginOutput { buffer: &mut self.decompressed, given: &mut self.given };
        let (records_source, len) = match self.options.codecs.plugins.decompress(id, compressed, &self.memory, to, &budget)? {
            Place::Buffer => (RecordsSource::Decompressed, self.decompressed.len()),
            Place::Given => (RecordsSource::Plugin, self.given.len()),
        };
        self.stats.entries_decompressed += 1;
        self.stats.bytes_inflated += as_u64(len);
        Ok(records_source)
    }

    /// Decompresses into another buffer and within another budget.
    pub(super) fn decompress_into(&mut self, codec: Codec, compressed: &[u8], output: &mut Decompressed, budget: &Budget) -> Result<()> {
        self.decompressor.decompress(codec, compressed, output, budget, None)?;
        self.stats.bytes_inflated += as_u64(output.len());
        Ok(())
    }

    /// Replaces the bytes that were decompressed last.
    pub(super) fn replace_decompressed(&mut self, decompressed: Decompressed) {
        self.decompressed = decompressed;
    }

    /// Returns the bytes that were decompressed last.
    pub(super) fn decompressed(&self) -> &Decompressed {
        &self.decompressed
    }

    /// Parses every record of a control batch and the key of each (V2-47).
    fn ensure_control(&self, opened: &Opened, entry: &[u8]) -> Result<()> {
        let section = self.section(opened, entry, entry);
        opened.rewrite::<false>(&section, |_, record| ControlType::parse(record.key).map(drop))
    }
}

/// True for a batch that counts no records and names a codec.
pub(crate) fn is_empty_compressed(header: &BatchHeader) -> bool {
    header.count == Some(0) && header.compression() != CompressionType::None
}

/// The codec of a batch that no plugin compressed.
fn codec_of(header: &BatchHeader) -> Result<Codec> {
    Ok(match header.compression() {
        CompressionType::Gzip => Codec::Gzip,
        CompressionType::Snappy => Codec::Snappy,
        CompressionType::Lz4 => Codec::Lz4(HeaderChecksum::Correct, entry_len(header)),
        CompressionType::Zstd => Codec::Zstd,
        other => return Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id: other.id() }).in_field("attributes")),
    })
}
