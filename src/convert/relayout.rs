//! Batches of magic 2 to magic 3 and back (S-C1 to S-C3): header and records in the other layout, everything else as it is.
//!
//! A record that stays in one run keeps its bytes but for its length and the attributes byte: integers that are longer than they need to
//! be stay. Only where the metadata comes before the payloads is a record written anew.

use crate::codec::{Compression, Compressor};
use crate::decode::{DecodedBatch, records_at};
use crate::encode::put_batch;
use crate::error::Result;
use crate::format::v2::encode::Deltas;
use crate::format::v3::encode as v3;
use crate::model::{Attributes, BatchHeader, CompressionType, NewRecord, RecordFormat, RecordRef, Section};
use crate::wire::Sink;

/// How the records of a batch are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordLayout {
    has_attributes: bool,
    is_metadata_first: bool,
}

/// What is kept between batches.
#[derive(Default)]
pub struct Relayout {
    records: Sink,
    payloads: Sink,
}

/// What becomes of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchTarget {
    /// Magic 2 or 3.
    pub format: RecordFormat,
    /// The metadata of the records before their payloads, in magic 3.
    pub is_metadata_first: bool,
    /// How to compress.
    pub compression: Option<Compression>,
    /// Compress again even unchanged records: another codec or level was asked for.
    pub is_recompressed: bool,
}

impl RecordLayout {
    fn of(header: &BatchHeader) -> Self {
        Self { has_attributes: header.has_record_attributes(), is_metadata_first: header.is_metadata_first() }
    }

    /// How the records of a batch are to be laid out. Magic 3 has attributes only where they say something.
    fn wanted(wanted: BatchTarget, opened: &DecodedBatch, section: &Section<'_>) -> Result<Self> {
        let uses_attributes = Self::of(&opened.header).has_attributes && uses_attributes(opened, section)?;
        Ok(Self {
            has_attributes: wanted.format == RecordFormat::V2 || uses_attributes,
            is_metadata_first: wanted.format == RecordFormat::V3 && wanted.is_metadata_first,
        })
    }
}

/// Whether the records stay as they are.
fn is_same(opened: &DecodedBatch, to: RecordLayout) -> bool {
    RecordLayout::of(&opened.header) == to || opened.header.count == Some(0)
}

impl Relayout {
    /// Writes the batch after what `out` holds.
    ///
    /// # Errors
    /// What is wrong with its records, `Limit` for a batch that is larger than its length can say.
    pub fn relayout(
        &mut self,
        (opened, entry): (&DecodedBatch, &[u8]),
        section: &Section<'_>,
        wanted: BatchTarget,
        (compressor, out): (&mut Compressor, &mut Sink),
    ) -> Result<()> {
        let (header, from) = (opened.header, RecordLayout::of(&opened.header));
        let to = RecordLayout::wanted(wanted, opened, section)?;
        let is_same = is_same(opened, to);
        let new = BatchHeader { format: wanted.format, attributes: attributes(&header, wanted.format, to), ..header };
        if is_same && !wanted.is_recompressed {
            return put_batch(&new, out, |out| {
                out.put(entry.get(records_at(&header, entry)..).unwrap_or_default());
                Ok(())
            });
        }
        let records = if is_same { (section.bytes(), opened.walk.metadata_len()) } else { self.write(opened, section, from, to)? };
        recompress(&new, records, wanted.compression, compressor, out)
    }

    /// Fails where `relayout` would because of the records, and writes no batch.
    ///
    /// # Errors
    /// What is wrong with the records.
    pub fn ensure(&mut self, opened: &DecodedBatch, section: &Section<'_>, wanted: BatchTarget) -> Result<()> {
        let to = RecordLayout::wanted(wanted, opened, section)?;
        if is_same(opened, to) { Ok(()) } else { self.write(opened, section, RecordLayout::of(&opened.header), to).map(drop) }
    }

    /// The records in the other layout, and how many of their bytes are metadata that comes before all payloads.
    fn write(&mut self, opened: &DecodedBatch, section: &Section<'_>, from: RecordLayout, to: RecordLayout) -> Result<(&[u8], usize)> {
        self.records.clear();
        self.payloads.clear();
        if from.is_metadata_first || to.is_metadata_first {
            opened.rewrite::<true>(section, |record, new| self.put_anew(record, new, to))?;
        } else {
            opened.rewrite::<false>(section, |record, _| self.put_run(section, record, from, to))?;
        }
        let metadata_len = if to.is_metadata_first { self.records.len() } else { 0 };
        self.records.put(self.payloads.bytes());
        Ok((self.records.bytes(), metadata_len))
    }

    /// Writes the same bytes with or without the attributes byte.
    fn put_run(&mut self, section: &Section<'_>, record: &RecordRef, from: RecordLayout, to: RecordLayout) -> Result<()> {
        let attributes = usize::from(from.has_attributes);
        let rest = section.run(record.body + attributes, (record.end - record.body).saturating_sub(attributes));
        v3::put_run(&mut self.records, to.has_attributes.then_some(record.attributes), rest)
    }

    fn put_anew(&mut self, record: &RecordRef, new: NewRecord<'_>, to: RecordLayout) -> Result<()> {
        let new = NewRecord { attributes: record.attributes, ..new };
        let deltas = Deltas { offset: i32::try_from(record.offset_delta).unwrap_or(0), timestamp: record.timestamp_delta };
        let body_len = v3::body_len(&new, deltas, to.has_attributes);
        match to.is_metadata_first {
            true => v3::put_parts((&mut self.records, &mut self.payloads), &new, deltas, body_len, to.has_attributes),
            false => v3::put_record(&mut self.records, &new, deltas, body_len, to.has_attributes),
        }
    }
}

/// Writes a batch with its records in another codec. The records stay byte for byte, and so does the batch header except for codec, length and
/// checksum, unknown attribute bits too (V2-2). The first `metadata_len` bytes of the records are their metadata, before all payloads.
///
/// # Errors
/// `Limit` for a batch that is larger than its length field can hold.
pub fn recompress(
    header: &BatchHeader,
    (records, metadata_len): (&[u8], usize),
    compression: Option<Compression>,
    compressor: &mut Compressor,
    out: &mut Sink,
) -> Result<()> {
    let compression_type = compression.map_or(CompressionType::None, Compression::compression_type);
    let header = BatchHeader { attributes: header.attributes.with_compression(compression_type), ..*header };
    put_batch(&header, out, |out| match compression {
        Some(compression) => compressor.compress_in_two(compression, (records, metadata_len), out),
        None => {
            out.put(records);
            Ok(())
        }
    })
}

/// The attribute bits in the other format. What means something there, or here and not there, is not kept as an unknown bit.
fn attributes(header: &BatchHeader, format: RecordFormat, to: RecordLayout) -> Attributes {
    let is_v3 = format == RecordFormat::V3;
    header.attributes.with_ignored_message_attributes(is_v3 && !to.has_attributes).with_metadata_first(to.is_metadata_first)
}

/// True when a record has an attributes byte other than 0, which must be kept (S-C1).
fn uses_attributes(opened: &DecodedBatch, section: &Section<'_>) -> Result<bool> {
    let mut is_used = false;
    opened.rewrite::<false>(section, |record, _| {
        is_used |= record.attributes != 0;
        Ok(())
    })?;
    Ok(is_used)
}
