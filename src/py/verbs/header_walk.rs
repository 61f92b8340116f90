//! Batch rows of a file: from header to header where nothing else is asked for.

use std::sync::Arc;

use crate::columns::header_rows::{HeaderRows, HeaderWalk};
use crate::columns::{BatchSource, StreamOptions};
use crate::decode::DecodeOptions;
use crate::error::Result;
use crate::framing::Tail;
use crate::log::{BatchHeaders, ReadAt};
use crate::model::BatchHeader;
use crate::py::interrupt::Signals;
use crate::py::options::ReadOptions;
use crate::py::source::FileSource;
use crate::py::source::paths;

/// The rows of a file without the bytes between its headers; `None` when the options need those bytes, or the format has no such walk.
///
/// # Errors
/// When the file cannot be opened.
pub fn rows(
    file: &FileSource,
    options: &ReadOptions,
    stream: &StreamOptions,
    signals: &Arc<Signals>,
) -> std::io::Result<Option<Box<dyn BatchSource>>> {
    if !options.wants_headers_only() || file.is_kafka_07() {
        return Ok(None);
    }
    let (log, len) = paths::open(&file.path, signals)?;
    let end = file.end().map_or(len, |end| end.min(len));
    let decode = DecodeOptions { segment: file.segment(), ..stream.decode.clone() };
    let stream = StreamOptions { decode, ..stream.clone() };
    let headers = BatchHeaders::new(log, stream.decode.limits, file.start(), end).of(stream.decode.formats).before(file.ending()).sparing();
    file.report(signals);
    let (whole, signals) = (file.clone(), Arc::clone(signals));
    let reopen = Box::new(move |position| Ok(whole.from(position).open(&signals)?.source));
    Ok(Some(Box::new(HeaderRows::new(Box::new(headers), reopen, stream))))
}

impl HeaderWalk for BatchHeaders<Box<dyn ReadAt>> {
    fn next_header(&mut self) -> Result<Option<BatchHeader>> {
        self.next_header()
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn last_offset(&self) -> Option<i64> {
        self.last_offset()
    }

    fn tail(&self) -> Option<Tail> {
        self.tail()
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read()
    }
}
