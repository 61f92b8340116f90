use crate::codec::{EntryLen, NO_ENTRIES};
use crate::error::Result;
use crate::format::record_batch::{MetadataFirstIter, Prefix};
use crate::format::{v0_v1, v2, v07};
use crate::limits::Limits;
use crate::model::{BatchHeader, RecordFormat, RecordSink, Section};
use crate::wire::prefetch::Ahead;

/// A walk over the records of an opened entry; it can stop after any record and go on later. Chosen once per entry, never per record.
#[derive(Clone, Copy, Debug)]
pub enum RecordIter {
    /// Records of a batch, magic 2 and 3.
    Batch(v2::records::V2RecordIter),
    /// Records of a batch, magic 3, metadata first.
    MetadataFirst(MetadataFirstIter),
    /// Messages, magic 0 and 1.
    Messages(v0_v1::records::V0V1RecordIter),
    /// Messages of Kafka 0.7.
    V07(v07::records::V07RecordIter),
}

impl RecordIter {
    /// A walk over the uncompressed records of a batch.
    ///
    /// # Errors
    /// What is wrong with metadata that comes before all payloads.
    #[inline]
    pub fn of_batch(header: &BatchHeader, count: usize, section: &Section<'_>, limits: &Limits) -> Result<Self> {
        if header.is_metadata_first() {
            let prefix = Prefix::new(count, header.has_record_attributes(), limits);
            return MetadataFirstIter::new(prefix, section).map(Self::MetadataFirst);
        }
        Ok(Self::Batch(v2::records::V2RecordIter::new(count, header.has_record_attributes(), limits)))
    }

    /// Records that have not been given yet.
    #[inline]
    pub fn left(&self) -> usize {
        match self {
            Self::Batch(walk) => walk.left(),
            Self::MetadataFirst(walk) => walk.left(),
            Self::Messages(walk) => walk.left(),
            Self::V07(walk) => walk.left(),
        }
    }

    /// Where the next record starts in the section.
    #[inline]
    pub fn position(&self) -> usize {
        match self {
            Self::Batch(walk) => walk.position(),
            Self::MetadataFirst(walk) => walk.position(),
            Self::Messages(walk) => walk.position(),
            Self::V07(walk) => walk.position(),
        }
    }

    /// Before the first record: bytes of metadata that come before all payloads.
    pub fn metadata_len(&self) -> usize {
        if let Self::MetadataFirst(walk) = self { walk.position() } else { 0 }
    }

    /// Bytes of the next record, as it claims; 0 when it is not known.
    pub fn next_len(&self, section: &Section<'_>) -> usize {
        match self {
            Self::Batch(walk) => walk.next_len(section),
            Self::MetadataFirst(walk) => walk.next_len(section),
            Self::Messages(walk) => walk.next_len(section),
            Self::V07(walk) => walk.next_len(section),
        }
    }

    /// Gives the next `records` records to the sink, fewer when fewer are left.
    ///
    /// # Errors
    /// What is wrong with a record, with its index and the field.
    #[inline]
    pub fn advance<S: RecordSink>(&mut self, section: &Section<'_>, records: usize, sink: &mut S) -> Result<()> {
        self.advance_asking(section, records, Ahead::default(), sink)
    }

    /// The same; `ahead` is asked for meanwhile.
    ///
    /// # Errors
    /// As `advance`.
    #[inline]
    pub fn advance_asking<S: RecordSink>(&mut self, section: &Section<'_>, records: usize, ahead: Ahead<'_>, sink: &mut S) -> Result<()> {
        match self {
            Self::Batch(walk) => walk.advance_asking(section, records, ahead, sink),
            Self::MetadataFirst(walk) => advance_metadata_first(walk, section, records, ahead, sink),
            Self::Messages(walk) => advance_messages(walk, section, records, sink),
            Self::V07(walk) => advance_v07(walk, section, records, sink),
        }
    }

    /// Gives all records that are left to the sink, and checks that the last one ends where the section ends.
    ///
    /// # Errors
    /// As `advance` and `finish`.
    #[inline]
    pub fn read_all<S: RecordSink>(mut self, section: &Section<'_>, sink: &mut S) -> Result<()> {
        self.advance(section, self.left(), sink)?;
        self.finish(section)
    }

    /// Checks that no record would be given the payload of others, as may be where metadata comes before all payloads.
    ///
    /// # Errors
    /// What is wrong with the metadata, or with the payloads as a whole.
    pub fn ensure_placed(&self, section: &Section<'_>) -> Result<()> {
        if let Self::MetadataFirst(walk) = self { walk.ensure_placed(section) } else { Ok(()) }
    }

    /// Checks that the last record ends where the section ends, where the format asks for it.
    ///
    /// # Errors
    /// `TrailingBytes` (V2-43).
    pub fn finish(&self, section: &Section<'_>) -> Result<()> {
        match self {
            Self::Batch(walk) => walk.finish(section),
            Self::MetadataFirst(walk) => walk.finish(section),
            // Java skips what is left (L8-23, L7-21); it is a finding.
            Self::Messages(_) | Self::V07(_) => Ok(()),
        }
    }
}

/// Returns how the records of an entry say their length, for codecs whose stream may end between two of them.
pub fn entry_len(header: &BatchHeader) -> EntryLen {
    match header.format {
        RecordFormat::V0 | RecordFormat::V1 => v0_v1::parse::claimed_len,
        RecordFormat::V2 | RecordFormat::V3 if !header.is_metadata_first() => v2::records::claimed_len,
        _ => NO_ENTRIES,
    }
}

/// Not inlined, so that the loop over records of magic 2 stays as tight as if it were alone.
#[inline(never)]
fn advance_messages<S: RecordSink>(
    walk: &mut v0_v1::records::V0V1RecordIter,
    section: &Section<'_>,
    records: usize,
    sink: &mut S,
) -> Result<()> {
    walk.advance(section, records, sink)
}

#[inline(never)]
fn advance_metadata_first<S: RecordSink>(
    walk: &mut MetadataFirstIter,
    section: &Section<'_>,
    records: usize,
    ahead: Ahead<'_>,
    sink: &mut S,
) -> Result<()> {
    walk.advance_asking(section, records, ahead, sink)
}

#[inline(never)]
fn advance_v07<S: RecordSink>(walk: &mut v07::records::V07RecordIter, section: &Section<'_>, records: usize, sink: &mut S) -> Result<()> {
    walk.advance(section, records, sink)
}
