use crate::model::{HeaderRef, RecordRef};

/// Takes records one at a time, as ranges of their section. Generic, so that each sink gets its own loop.
pub trait RecordSink {
    /// A header of the record that comes next.
    fn header(&mut self, header: HeaderRef);
    /// A record, after its headers.
    fn record(&mut self, record: RecordRef);
}

/// A sink for those who only want to know whether the records parse.
pub struct Discard;

impl RecordSink for Discard {
    #[inline(always)]
    fn header(&mut self, _: HeaderRef) {}
    #[inline(always)]
    fn record(&mut self, _: RecordRef) {}
}
