//! The records of an opened entry as records to be written.

use super::DecodedBatch;
use crate::error::{Error, Result};
use crate::model::{HeaderRef, NewHeader, NewRecord, RecordRef, RecordSink, Section};
use crate::wire::as_u64;

impl DecodedBatch {
    /// Gives every record to `write` as a record to be written, with the offset and the timestamp that consumers get and without the attributes
    /// byte; without `HAS_HEADERS` also without headers.
    ///
    /// # Errors
    /// What is wrong with a record, and the first error of `write` with the index of its record; no record is given after it.
    #[inline]
    pub fn rewrite<const HAS_HEADERS: bool>(
        &self,
        section: &Section<'_>,
        write: impl FnMut(&RecordRef, NewRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        let (headers, failed) = (Vec::new(), None);
        let mut rewriter = RecordRewriter::<_, HAS_HEADERS> { opened: self, section: *section, headers, write, failed };
        self.walk.read_all(section, &mut rewriter)?;
        rewriter.failed.map_or(Ok(()), Err)
    }
}

struct RecordRewriter<'a, F, const HAS_HEADERS: bool> {
    opened: &'a DecodedBatch,
    section: Section<'a>,
    headers: Vec<NewHeader<'a>>,
    write: F,
    failed: Option<Error>,
}

impl<F: FnMut(&RecordRef, NewRecord<'_>) -> Result<()>, const HAS_HEADERS: bool> RecordSink for RecordRewriter<'_, F, HAS_HEADERS> {
    #[inline]
    fn header(&mut self, header: HeaderRef) {
        if HAS_HEADERS {
            let section = self.section;
            let run = |(start, len)| section.run(start, len);
            self.headers.push(NewHeader { key: run(header.key()), value: header.value().map(run) });
        }
    }

    #[inline]
    fn record(&mut self, record: RecordRef) {
        let section = self.section;
        let run = |(start, len)| section.run(start, len);
        if self.failed.is_none() {
            let new = NewRecord {
                offset: self.opened.header.base_offset.wrapping_add(record.offset_delta),
                timestamp: self.opened.timestamp(&record),
                key: record.key().map(run),
                value: record.value().map(run),
                headers: &self.headers,
                ..NewRecord::default()
            };
            self.failed = (self.write)(&record, new).map_err(|error| error.in_record(as_u64(record.index))).err();
        }
        self.headers.clear();
    }
}
