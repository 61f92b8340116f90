//! Rewrites the LZ4 frames of message sets and record batches with the other header checksum, and the checksums around them.
//!
//! Nothing is decompressed. Entries without LZ4, a torn tail and zeros at the end are copied as they are. An entry whose own checksum is wrong
//! is refused: a new one would hide its damage. Sources: KIP-57, CNV-20 to CNV-22.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::codec::lz4::descriptor::{Descriptor, strip};
use crate::codec::{ChecksumForm, FoundChecksum};
use crate::decode::{self, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v0_v1::layout as legacy;
use crate::format::v2::layout as batch;
use crate::framing::{Frame, Step, step};
use crate::limits::Limits;
use crate::model::{Attributes, CompressionType, Formats};
use crate::wire::{Cursor, Sink, checksum};

/// The form of the header checksums that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenForm {
    /// The same in every magic.
    Of(ChecksumForm),
    /// As brokers of each magic expect: broken in magic 0, correct in magic 1 and 2.
    OfMagic,
}

impl WrittenForm {
    fn of(self, magic: i8) -> ChecksumForm {
        match self {
            Self::Of(form) => form,
            Self::OfMagic if magic == 0 => ChecksumForm::Broken,
            Self::OfMagic => ChecksumForm::Correct,
        }
    }
}

/// Rewrites entries from the front of `input` after what `to` holds, until that has `enough` bytes; gives the bytes read. Fewer bytes are
/// written only when something was stripped.
///
/// `Correct` writes the checksum of the LZ4 format. `Broken` writes that of Kafka 0.8.2 and 0.9, and takes out what they refuse: content
/// size and content checksum.
///
/// # Errors
/// What framing met, `Checksum` for an entry that is damaged already, `Codec` for a frame that is none; with their positions.
pub fn rewrite(input: &[u8], form: WrittenForm, limits: &Limits, to: &mut Sink, enough: usize) -> Result<usize> {
    let mut read = 0;
    while let Some(tail) = input.get(read..).filter(|tail| !tail.is_empty() && to.len() < enough) {
        let Some(frame) = next(tail, read, limits)? else {
            to.put(tail);
            return Ok(input.len());
        };
        rewrite_entry(&frame, form.of(frame.magic), to).map_err(|error| error.at_byte(frame.position))?;
        read += frame.bytes.len();
    }
    Ok(read)
}

/// LZ4 frames by magic, form and whether readers of 0.8 and 0.9 refuse them anyway.
#[derive(Clone, Debug, Default)]
pub struct ChecksumSurvey {
    /// How many there are, and the position of the first entry with one.
    pub frames: BTreeMap<(i8, FoundChecksum, bool), (u64, u64)>,
}

impl ChecksumSurvey {
    /// Looks at the entries of `input`, the first of which is at `position`.
    ///
    /// # Errors
    /// As `rewrite`.
    pub fn add(&mut self, input: &[u8], position: u64, limits: &Limits) -> Result<()> {
        let mut read = 0;
        while let Some(frame) = next(input.get(read..).unwrap_or_default(), read, limits).map_err(|error| error.from_position(position))? {
            read += frame.bytes.len();
            let position = position.saturating_add(frame.position);
            self.add_entry(&frame, position).map_err(|error| error.at_byte(position))?;
        }
        Ok(())
    }

    fn add_entry(&mut self, frame: &Frame<'_>, position: u64) -> Result<()> {
        let Some(range) = lz4_range(frame)? else { return Ok(()) };
        verify(frame)?;
        let descriptor = Descriptor::parse(frame.bytes.get(range).unwrap_or_default())?;
        let kind = (frame.magic, descriptor.found(), descriptor.is_too_new());
        self.frames.entry(kind).or_insert((0, position)).0 += 1;
        Ok(())
    }
}

/// The entry that `tail` begins with; `None` when only a part of one, or zeros, are left.
fn next<'a>(tail: &'a [u8], at: usize, limits: &Limits) -> Result<Option<Frame<'a>>> {
    let position = u64::try_from(at).unwrap_or(u64::MAX);
    match step(tail, Formats::Auto, limits) {
        Step::Entry { len, magic } => Ok(Some(Frame { position, magic, bytes: tail.get(..len).unwrap_or_default() })),
        Step::Incomplete { .. } => Ok(None),
        Step::Error(_) if tail.iter().all(|byte| *byte == 0) => Ok(None),
        Step::Error(error) => Err(error.at_byte(position)),
    }
}

fn rewrite_entry(frame: &Frame<'_>, form: ChecksumForm, to: &mut Sink) -> Result<()> {
    let (entry, start) = (frame.bytes, to.len());
    let Some(range) = lz4_range(frame)? else {
        to.put(entry);
        return Ok(());
    };
    verify(frame)?;
    let lz4 = entry.get(range.clone()).unwrap_or_default();
    if form == ChecksumForm::Broken && Descriptor::parse(lz4)?.is_too_new() {
        let output = to.unfilled(entry.len());
        let len = strip_entry(frame, &range, output)?;
        to.fill(len);
    } else {
        to.put(entry);
    }
    set_header_checksum(to, start + range.start, form)?;
    seal(to, start, frame.magic);
    Ok(())
}

/// Copies the entry with its frame stripped, and makes its lengths fit.
fn strip_entry(frame: &Frame<'_>, range: &Range<usize>, to: &mut [u8]) -> Result<usize> {
    let entry = frame.bytes;
    let before = copy(entry.get(..range.start).unwrap_or_default(), to);
    let stripped = strip(entry.get(range.clone()).unwrap_or_default(), to.get_mut(before..).unwrap_or_default())?;
    let end = before + stripped;
    let after = entry.get(range.end..).unwrap_or_default();
    let len = end + copy(after, to.get_mut(end..).unwrap_or_default());
    let removed = entry.len() - len;
    shorten(to, legacy::SIZE, removed);
    if frame.magic < batch::MAGIC {
        shorten(to, range.start - 4, removed);
    }
    Ok(len)
}

/// Lowers a length field.
fn shorten(entry: &mut [u8], at: usize, removed: usize) {
    if let Some(field) = entry.get_mut(at..).and_then(|tail| tail.first_chunk_mut::<4>()) {
        let removed = u32::try_from(removed).unwrap_or(0);
        *field = u32::from_be_bytes(*field).saturating_sub(removed).to_be_bytes();
    }
}

/// Writes the header checksum of the frame that starts at `start`.
fn set_header_checksum(to: &mut Sink, start: usize, form: ChecksumForm) -> Result<()> {
    let descriptor = Descriptor::parse(to.from(start))?;
    let (at, checksum) = (start + descriptor.checksum_at(), descriptor.checksum(form));
    to.patch(at, &[checksum]);
    Ok(())
}

/// Where the LZ4 frame of an entry is; `None` when it has none, or an empty one.
fn lz4_range(frame: &Frame<'_>) -> Result<Option<Range<usize>>> {
    let entry = frame.bytes;
    let range = match frame.magic {
        0 => value_range(entry, legacy::ATTRIBUTES, legacy::KEY_V0)?,
        1 => value_range(entry, legacy::ATTRIBUTES, legacy::KEY_V1)?,
        batch::MAGIC => batch_range(entry),
        magic => {
            let advice = "LZ4 frames are rewritten in magic 0, 1 and 2";
            return Err(Error::from(ErrorKind::UnsupportedFormat { rule: "MAP-3", magic, advice }).in_field("magic"));
        }
    };
    Ok(range.filter(|range| !range.is_empty()))
}

fn batch_range(entry: &[u8]) -> Option<Range<usize>> {
    let attributes = entry.get(batch::CHECKSUMMED..)?.first_chunk::<2>()?;
    is_lz4(i16::from_be_bytes(*attributes)).then_some(batch::HEADER_LEN..entry.len().max(batch::HEADER_LEN))
}

fn value_range(entry: &[u8], attributes: usize, key: usize) -> Result<Option<Range<usize>>> {
    if !entry.get(attributes).is_some_and(|attributes| is_lz4(i16::from(*attributes))) {
        return Ok(None);
    }
    let mut cursor = Cursor::new(entry.get(key..).unwrap_or_default(), "L8-8");
    skip(&mut cursor, "keyLength", "key")?;
    let start = entry.len() - cursor.left().len() + 4;
    let len = skip(&mut cursor, "valueLength", "value")?;
    Ok(Some(start..start + len))
}

/// Passes a length and as many bytes; below zero is null.
fn skip(cursor: &mut Cursor<'_>, length: &'static str, bytes: &'static str) -> Result<usize> {
    let len = usize::try_from(cursor.take_i32(length)?).unwrap_or(0);
    cursor.take(len, bytes).map(<[u8]>::len)
}

fn is_lz4(attributes: i16) -> bool {
    Attributes(attributes).compression() == CompressionType::Lz4
}

fn verify(frame: &Frame<'_>) -> Result<()> {
    let header = parse_header(*frame, Formats::Auto, 0)?;
    decode::verify(frame.bytes, &header)
}

/// Writes the checksum of the entry that starts at `start` and ends where `to` ends.
fn seal(to: &mut Sink, start: usize, magic: i8) {
    let (at, computed) = if magic < batch::MAGIC {
        (legacy::CRC, checksum::crc32(to.from(start + legacy::CHECKSUMMED)))
    } else {
        (batch::CRC, checksum::crc32c(to.from(start + batch::CHECKSUMMED)))
    };
    to.patch(start + at, &computed.to_be_bytes());
}

/// Copies as much as there is space for, which is all of it: there is space for the whole entry.
fn copy(from: &[u8], to: &mut [u8]) -> usize {
    if let Some(slot) = to.get_mut(..from.len()) {
        slot.copy_from_slice(from);
    }
    from.len()
}
