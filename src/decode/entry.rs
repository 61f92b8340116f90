//! One entry: header, filters, checksum, unpacking. The records are then walked by whoever holds the columns.

use super::{DecodeOptions, Isolation, OffsetRange, Stats};
use crate::codec::{Codec, HeaderChecksum, Plain, Remark, Unpacker};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::records::Walk;
use crate::format::v2::{layout, parse};
use crate::framing::Frame;
use crate::limits::Budget;
use crate::model::{BatchHeader, CompressionType, ControlType, HeaderRef, RecordRef, RecordSink, Section};
use crate::wire::as_u64;

/// Opens entries. Holds what is kept between them: codec contexts and the storage that they unpack into.
#[derive(Default)]
pub struct Decoder {
    options: DecodeOptions,
    unpacker: Unpacker,
    plain: Plain,
    /// What was done so far.
    pub stats: Stats,
}

/// An entry whose records can be walked.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its header.
    pub header: BatchHeader,
    /// Where its plain records are.
    pub plainness: Plainness,
    /// Its records.
    pub walk: Walk,
    /// Which records to give; `None` for all.
    pub filter: Option<OffsetRange>,
}

/// Where the plain records of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plainness {
    /// In the entry itself, from its 61st byte on.
    Stored,
    /// In the decoder's storage.
    Unpacked,
}

impl Decoder {
    /// A decoder with these options.
    pub fn new(options: DecodeOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The options.
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// Opens an entry; `None` when nothing of it is wanted.
    ///
    /// # Errors
    /// Whatever is wrong with the entry as a whole, with its position and base offset.
    #[inline]
    pub fn open(&mut self, frame: Frame<'_>) -> Result<Option<Opened>> {
        self.open_remarked(frame, None)
    }

    /// The same; what the codec passed over goes to `remarks`.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_remarked(&mut self, frame: Frame<'_>, remarks: Option<&mut Vec<Remark>>) -> Result<Option<Opened>> {
        self.stats.entries_read += 1;
        let header = parse_header(frame).map_err(|error| error.at_byte(frame.position))?;
        let opened = self.open_batch(frame, &header, remarks);
        opened.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    /// The plain records of an opened entry, and what may be read behind them.
    #[inline]
    pub fn section<'a>(&'a self, opened: &Opened, entry: &'a [u8], behind: &'a [u8]) -> Section<'a> {
        match opened.plainness {
            Plainness::Unpacked => Section::new(self.plain.readable(), self.plain.bytes().len()).unpacked(),
            Plainness::Stored => {
                let stored = parse::records_section(entry).len();
                // `behind` starts where the entry starts and ends where the run ends.
                Section::new(parse::records_section(behind), stored)
            }
        }
    }

    /// Takes the storage that holds the plain records, so that views of it can outlive the entry. Gives other storage in its place.
    pub fn exchange_plain(&mut self, storage: Vec<u8>) -> (Vec<u8>, usize) {
        let len = self.plain.bytes().len();
        let full = std::mem::replace(&mut self.plain, Plain::from_vec(storage));
        (full.into_vec(), len)
    }

    fn open_batch(&mut self, frame: Frame<'_>, header: &BatchHeader, remarks: Option<&mut Vec<Remark>>) -> Result<Option<Opened>> {
        let Some(filter) = self.wanted(header) else {
            self.stats.entries_skipped += 1;
            return Ok(None);
        };
        if self.options.check_crc {
            self.stats.bytes_checksummed += as_u64(frame.bytes.len().saturating_sub(layout::CHECKSUMMED));
            parse::verify(frame.bytes, header.crc)?;
        }
        let count = header.count.unwrap_or(0);
        self.options.limits.ensure_records(u64::try_from(count).unwrap_or(0)).map_err(|error| error.in_field("recordsCount"))?;
        let plainness = self.unpack(header, frame.bytes, remarks)?;
        let len = match plainness {
            Plainness::Unpacked => self.plain.bytes().len(),
            Plainness::Stored => parse::records_section(frame.bytes).len(),
        };
        let count = parse::ensure_count(count, len, plainness == Plainness::Unpacked)?;
        let walk = Walk::new(count, &self.options.limits);
        let opened = Opened { header: *header, plainness, walk, filter };
        if header.attributes.is_control() {
            self.ensure_control(&opened, frame.bytes)?;
            if !self.options.is_control_wanted {
                return Ok(None);
            }
        }
        Ok(Some(opened))
    }

    /// Which records of the batch are wanted; `None` for none of them, `Some(None)` for all.
    #[expect(clippy::option_option, reason = "the outer option is the answer, the inner one a filter")]
    fn wanted(&self, header: &BatchHeader) -> Option<Option<OffsetRange>> {
        let mut offsets = self.options.offsets;
        if let Isolation::ReadCommitted(transactions) = &self.options.isolation {
            if transactions.is_aborted(header) {
                return None;
            }
            if let Some(end) = transactions.last_stable_offset() {
                offsets = offsets.until(end);
            }
        }
        if offsets.is_all() {
            return Some(None);
        }
        let (first, last) = (header.base_offset, header.last_offset);
        if offsets.misses(first, last) {
            return None;
        }
        Some((!offsets.covers(first, last)).then_some(offsets))
    }

    fn unpack(&mut self, header: &BatchHeader, entry: &[u8], remarks: Option<&mut Vec<Remark>>) -> Result<Plainness> {
        let codec = match header.compression() {
            CompressionType::None => return Ok(Plainness::Stored),
            CompressionType::Gzip => Codec::Gzip,
            CompressionType::Snappy => Codec::Snappy,
            CompressionType::Lz4 => Codec::Lz4(HeaderChecksum::Correct),
            CompressionType::Zstd => Codec::Zstd,
            CompressionType::Unknown(id) => {
                return Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id }).in_field("attributes"));
            }
        };
        let packed = parse::records_section(entry);
        let budget = Budget::for_entry(&self.options.limits, packed.len());
        self.unpacker.unpack(codec, packed, &mut self.plain, &budget, remarks)?;
        self.stats.entries_unpacked += 1;
        self.stats.bytes_inflated += as_u64(self.plain.bytes().len());
        Ok(Plainness::Unpacked)
    }

    /// Parses every record of a control batch and the key of each (V2-47).
    fn ensure_control(&self, opened: &Opened, entry: &[u8]) -> Result<()> {
        let section = self.section(opened, entry, entry);
        let mut keys = ControlKeys { section, fault: None };
        let mut walk = opened.walk;
        walk.advance(&section, walk.left(), &mut keys)?;
        walk.finish(&section)?;
        keys.fault.map_or(Ok(()), Err)
    }
}

/// Parses the header of an entry of any format that this build reads.
///
/// # Errors
/// `UnsupportedFormat` for the magics of other formats, and what the format's parser says.
pub fn parse_header(frame: Frame<'_>) -> Result<BatchHeader> {
    let magic = frame.magic;
    match magic {
        layout::MAGIC => parse::header(frame.bytes, frame.position),
        3 => Err(unsupported(magic, "the proposed format v3 is experimental and must be asked for by name")),
        _ => Err(unsupported(magic, "message sets before Kafka 0.11 are not supported by this version")),
    }
}

#[cold]
fn unsupported(magic: i8, advice: &'static str) -> Error {
    Error::from(ErrorKind::UnsupportedFormat { rule: "MAP-3", magic, advice }).in_field("magic")
}

struct ControlKeys<'a> {
    section: Section<'a>,
    fault: Option<Error>,
}

impl RecordSink for ControlKeys<'_> {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, record: RecordRef) {
        let key = record.key().map(|(start, len)| self.section.run(start, len));
        if let Err(error) = ControlType::parse(key) {
            self.fault.get_or_insert(error.in_record(as_u64(record.index)));
        }
    }
}
