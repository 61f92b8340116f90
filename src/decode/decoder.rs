//! What entries are decompressed with, and into: options, codec contexts, buffers.

use super::header::{checksummed, records_at};
use super::opened::{DecodedBatch, RecordsSource};
use super::walk::entry_len;
use super::{DecodeOptions, Stats};
use crate::codec::{Codec, CodecFinding, Decompressed, Decompressor, HeaderChecksum, Memory, OutputPlacement, PluginOutput};
use crate::error::{Error, ErrorKind, Result};
use crate::format::record_batch::{Prefix, RecordHead, ensure_count};
use crate::format::v2::parse;
use crate::framing::Frame;
use crate::limits::Budget;
use crate::model::{BatchHeader, CompressionType, Formats, Section};
use crate::wire::as_u64;
use bytes::Bytes;

/// Opens entries. Keeps the codec contexts and the buffer that they decompress into.
#[derive(Default)]
pub struct Decoder {
    pub(super) options: DecodeOptions,
    /// Recovering framing has already compared the checksums of whole entries.
    trusts_framing: bool,
    decompressor: Decompressor,
    pub(super) decompressed: Decompressed,
    /// Where entries lie, for plugins.
    memory: Memory,
    /// The bytes that a plugin returned last.
    pub(super) given: Bytes,
    /// What was done so far.
    pub stats: Stats,
}

/// Most bytes that are asked for before they are needed.
pub const MOST_AHEAD: usize = 64 << 10;

impl Decoder {
    /// A decoder with these options.
    pub fn new(options: DecodeOptions) -> Self {
        let decompressor =
            Decompressor::default().with_quirks(options.codecs.quirks).with_zstd_dictionaries(options.codecs.zstd_dictionaries.clone());
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

    /// Returns the uncompressed records of an opened entry, and the bytes after them that may be read.
    #[inline]
    pub fn section<'a>(&'a self, opened: &DecodedBatch, entry: &'a [u8], after: &'a [u8]) -> Section<'a> {
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

    /// Reads the metadata of the records of a compressed batch whose metadata precedes all payloads; decompresses no more than it takes
    /// (S-H5).
    ///
    /// # Errors
    /// As `open`, as far as the bytes were looked at.
    pub fn read_metadata(&mut self, frame: Frame<'_>, header: &BatchHeader, mut each: impl FnMut(&RecordHead)) -> Result<()> {
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
    pub(super) fn ensure_counted(&self, header: &BatchHeader, section_len: usize, is_decompressed: bool) -> Result<usize> {
        let count = ensure_count(header, section_len, is_decompressed)?;
        self.options.limits.ensure_records(as_u64(count)).map_err(|error| error.in_field("recordsCount"))?;
        Ok(count)
    }

    /// Decompresses into the decoder's buffer.
    pub(super) fn decompress(&mut self, codec: Codec, compressed: &[u8], findings: Option<&mut Vec<CodecFinding>>) -> Result<()> {
        let budget = Budget::for_entry(&self.options.limits, compressed.len());
        self.decompressor.decompress(codec, compressed, &mut self.decompressed, &budget, findings)?;
        self.stats.entries_decompressed += 1;
        self.stats.bytes_inflated += as_u64(self.decompressed.bytes().len());
        Ok(())
    }

    #[cold]
    pub(super) fn decompress_plugin(&mut self, id: u8, compressed: &[u8]) -> Result<RecordsSource> {
        let budget = Budget::for_entry(&self.options.limits, compressed.len());
        let to = PluginOutput { buffer: &mut self.decompressed, given: &mut self.given };
        let (records_source, len) = match self.options.codecs.plugins.decompress(id, compressed, &self.memory, to, &budget)? {
            OutputPlacement::Buffer => (RecordsSource::Decompressed, self.decompressed.len()),
            OutputPlacement::Given => (RecordsSource::Plugin, self.given.len()),
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
}

/// The codec of a batch that no plugin compressed.
pub(super) fn codec_of(header: &BatchHeader) -> Result<Codec> {
    Ok(match header.compression() {
        CompressionType::Gzip => Codec::Gzip,
        CompressionType::Snappy => Codec::Snappy,
        CompressionType::Lz4 => Codec::Lz4(HeaderChecksum::Correct, entry_len(header)),
        CompressionType::Zstd => Codec::Zstd,
        other => return Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id: other.id() }).in_field("attributes")),
    })
}
