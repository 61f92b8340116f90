//! Batches of magic 2 to magic 3 and back (S-C1 to S-C3): header and records in the other layout, everything else as it is.
//!
//! A record that stays in one run keeps its bytes but for its length and the attributes byte: integers that are longer than they need to
//! be stay. Only where the metadata stands before the payloads is a record written anew.

use crate::codec::{Compression, Compressor};
use crate::decode::{Opened, records_at};
use crate::error::{Error, Result};
use crate::format::v2::encode::{self as v2, Deltas};
use crate::format::v3::encode as v3;
use crate::model::{
    Attributes, BatchHeader, CompressionType, HeaderRef, NewHeader, NewRecord, RecordFormat, RecordRef, RecordSink, Section,
};
use crate::wire::Sink;

/// How the records of a batch are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
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
pub struct Wanted {
    /// Magic 2 or 3.
    pub format: RecordFormat,
    /// The metadata of the records before their payloads, in magic 3.
    pub is_metadata_first: bool,
    /// How to compress.
    pub compression: Option<Compression>,
    /// Compress again even unchanged records: another codec or level was asked for.
    pub is_recompressed: bool,
}

impl Layout {
    fn of(header: &BatchHeader) -> Self {
        Self { has_attributes: header.has_record_attributes(), is_metadata_first: header.is_metadata_first() }
    }

    /// How the records of a batch are to be laid out. Magic 3 has attributes only where they say something.
    fn wanted(wanted: Wanted, opened: &Opened, section: &Section<'_>) -> Result<Self> {
        let uses_attributes = Self::of(&opened.header).has_attributes && uses_attributes(opened, section)?;
        Ok(Self {
            has_attributes: wanted.format == RecordFormat::V2 || uses_attributes,
            is_metadata_first: wanted.format == RecordFormat::V3 && wanted.is_metadata_first,
        })
    }
}

/// Whether the records stay as they stand.
fn is_same(opened: &Opened, to: Layout) -> bool {
    Layout::of(&opened.header) == to || opened.header.count == Some(0)
}

impl Relayout {
    /// Writes the batch behind what `out` holds.
    ///
    /// # Errors
    /// What is wrong with its records, `Limit` for a batch that is larger than its length can say.
    pub fn relayout(
        &mut self,
        (opened, entry): (&Opened, &[u8]),
        section: &Section<'_>,
        wanted: Wanted,
        (compressor, out): (&mut Compressor, &mut Sink),
    ) -> Result<()> {
        let (header, from) = (opened.header, Layout::of(&opened.header));
        let to = Layout::wanted(wanted, opened, section)?;
        let is_same = is_same(opened, to);
        let compression_type = wanted.compression.map_or(CompressionType::None, Compression::compression_type);
        let start = out.len();
        let new = BatchHeader { attributes: attributes(&header, wanted.format, to).with_compression(compression_type), ..header };
        match wanted.format {
            RecordFormat::V3 => v3::open(out, &new),
            _ => v2::open(out),
        }
        if is_same && !wanted.is_recompressed {
            out.put(entry.get(records_at(&header, entry)..).unwrap_or_default());
        } else {
            let (records, front) =
                if is_same { (section.bytes(), opened.walk.metadata_len()) } else { self.write(opened, section, from, to)? };
            match wanted.compression {
                Some(compression) => compressor.compress_in_two(compression, (records, front), out)?,
                None => out.put(records),
            }
        }
        match wanted.format {
            RecordFormat::V3 => v3::seal(out, start),
            _ => v2::seal(out, start, &new),
        }
    }

    /// Fails where `relayout` would because of the records, and writes no batch.
    ///
    /// # Errors
    /// What is wrong with the records.
    pub fn ensure(&mut self, opened: &Opened, section: &Section<'_>, wanted: Wanted) -> Result<()> {
        let to = Layout::wanted(wanted, opened, section)?;
        if is_same(opened, to) { Ok(()) } else { self.write(opened, section, Layout::of(&opened.header), to).map(drop) }
    }

    /// The records in the other layout, and how many of their bytes are metadata that stands before all payloads.
    fn write(&mut self, opened: &Opened, section: &Section<'_>, from: Layout, to: Layout) -> Result<(&[u8], usize)> {
        self.records.clear();
        self.payloads.clear();
        let mut sink = RelayoutSink { owner: self, section: *section, from, to, headers: Vec::new(), failed: None };
        let mut walk = opened.walk;
        walk.advance(section, walk.left(), &mut sink)?;
        walk.finish(section)?;
        sink.failed.map_or(Ok(()), Err)?;
        let metadata_len = if to.is_metadata_first { self.records.len() } else { 0 };
        self.records.put(self.payloads.bytes());
        Ok((self.records.bytes(), metadata_len))
    }
}

/// The attribute bits in the other format. What means something there, or here and not there, is not kept as an unknown bit.
fn attributes(header: &BatchHeader, format: RecordFormat, to: Layout) -> Attributes {
    let is_v3 = format == RecordFormat::V3;
    header.attributes.with_ignored_message_attributes(is_v3 && !to.has_attributes).with_metadata_first(to.is_metadata_first)
}

/// Takes the records of one batch.
struct RelayoutSink<'a, 'b> {
    owner: &'b mut Relayout,
    section: Section<'a>,
    from: Layout,
    to: Layout,
    headers: Vec<NewHeader<'a>>,
    failed: Option<Error>,
}

impl<'a> RecordSink for RelayoutSink<'a, '_> {
    fn header(&mut self, header: HeaderRef) {
        if !self.is_run() {
            let section: Section<'a> = self.section;
            let (start, len) = header.key();
            self.headers
                .push(NewHeader { key: section.run(start, len), value: header.value().map(|(start, len)| section.run(start, len)) });
        }
    }

    fn record(&mut self, record: RecordRef) {
        if self.failed.is_none() {
            self.failed = self.put(&record).err();
        }
        self.headers.clear();
    }
}

impl RelayoutSink<'_, '_> {
    fn put(&mut self, record: &RecordRef) -> Result<()> {
        if self.is_run() { self.put_run(record) } else { self.put_anew(record) }
    }

    fn is_run(&self) -> bool {
        !self.from.is_metadata_first && !self.to.is_metadata_first
    }

    /// The same bytes with or without the attributes byte.
    fn put_run(&mut self, record: &RecordRef) -> Result<()> {
        let attributes = usize::from(self.from.has_attributes);
        let rest = self.section.run(record.body + attributes, (record.end - record.body).saturating_sub(attributes));
        let added = self.to.has_attributes.then_some(record.attributes);
        v3::put_run(&mut self.owner.records, added, rest)
    }

    fn put_anew(&mut self, record: &RecordRef) -> Result<()> {
        let run = |(start, len)| self.section.run(start, len);
        let new = NewRecord {
            key: record.key().map(run),
            value: record.value().map(run),
            headers: &self.headers,
            attributes: record.attributes,
            ..NewRecord::default()
        };
        let deltas = Deltas { offset: i32::try_from(record.offset_delta).unwrap_or(0), timestamp: record.timestamp_delta };
        let body_len = v3::body_len(&new, deltas, self.to.has_attributes);
        let Relayout { records, payloads } = &mut *self.owner;
        match self.to.is_metadata_first {
            true => v3::put_parts((records, payloads), &new, deltas, body_len, self.to.has_attributes),
            false => v3::put_record(records, &new, deltas, body_len, self.to.has_attributes),
        }
    }
}

/// True when a record has an attributes byte other than 0, which must be kept (S-C1).
fn uses_attributes(opened: &Opened, section: &Section<'_>) -> Result<bool> {
    struct Found(bool);
    impl RecordSink for Found {
        fn header(&mut self, _: HeaderRef) {}
        fn record(&mut self, record: RecordRef) {
            self.0 |= record.attributes != 0;
        }
    }
    let (mut found, mut walk) = (Found(false), opened.walk);
    walk.advance(section, walk.left(), &mut found)?;
    walk.finish(section)?;
    Ok(found.0)
}
