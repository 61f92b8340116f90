//! The headers of a log that are kept while it is read front to back, so that a second question about them fetches nothing.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decode::parse_header;
use crate::decode::transactions::is_marker;
use crate::format::record_batch;
use crate::framing::{Frame, LOG_OVERHEAD};
use crate::model::Formats;
use crate::wire::as_u64;

/// The largest header.
const FRONT_LEN: usize = record_batch::MAX_HEADER_LEN;
/// In all formats since Kafka 0.8 (MAP-2).
const MAGIC_AT: usize = 16;
/// Bytes of an entry that is kept whole, as markers of transactions are.
const MOST_WHOLE: usize = 4 << 10;

/// Fronts of entries by position, and markers of transactions whole. Entries after one that cannot be framed are not kept.
#[derive(Debug)]
pub struct RecordedHeaders {
    len: u64,
    kept: Mutex<RecordedBytes>,
    /// Bytes that may still be kept, of all logs of a validation. They are given back with the last reference.
    left: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct RecordedBytes {
    /// Positions of entries, and where their bytes begin.
    starts: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    /// Bytes of `left` that are used.
    used: usize,
}

/// Its bytes may be kept of other logs.
impl Drop for RecordedHeaders {
    fn drop(&mut self) {
        let used = self.kept().used;
        self.left.fetch_add(used, Ordering::Relaxed);
    }
}

impl RecordedHeaders {
    /// Nothing yet of a log of `len` bytes; at most `left` bytes are kept.
    pub fn new(len: u64, left: &Arc<AtomicUsize>) -> Self {
        Self { len, kept: Mutex::default(), left: Arc::clone(left) }
    }

    /// Bytes of the log.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True for a log without a byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copy some of the bytes from `position` on, and return their number; `None` if they were not kept.
    pub fn read_at(&self, to: &mut [u8], position: u64) -> Option<usize> {
        let kept = self.kept();
        let index = kept.starts.partition_point(|(start, _)| *start <= position).checked_sub(1)?;
        let (start, begin) = *kept.starts.get(index)?;
        let end = kept.starts.get(index + 1).map_or(kept.bytes.len(), |(_, begin)| *begin);
        let at = usize::try_from(position - start).ok()?;
        let found = kept.bytes.get(begin..end)?.get(at..).filter(|found| !found.is_empty())?;
        let len = found.len().min(to.len());
        to.get_mut(..len)?.copy_from_slice(found.get(..len)?);
        Some(len)
    }

    fn kept(&self) -> MutexGuard<'_, RecordedBytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of a log from its first byte on, whose headers are kept.
pub struct Recording<R> {
    reader: R,
    headers: Arc<RecordedHeaders>,
    /// Bytes that were read.
    at: u64,
    /// The position of the entry that is recorded.
    next: u64,
    /// Its bytes that are kept so far, and all that are wanted of it.
    front: Vec<u8>,
    wanted: usize,
    is_done: bool,
}

impl<R> Recording<R> {
    /// The same reader; the headers are kept here.
    pub fn new(reader: R, headers: Arc<RecordedHeaders>) -> Self {
        Self { reader, headers, at: 0, next: 0, front: Vec::new(), wanted: LOG_OVERHEAD, is_done: false }
    }

    fn record(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_done {
            let wanted_from = self.next.saturating_add(as_u64(self.front.len()));
            if self.at < wanted_from {
                let skipped = usize::try_from(wanted_from - self.at).unwrap_or(usize::MAX).min(bytes.len());
                bytes = self.passed(bytes, skipped);
                continue;
            }
            let len = (self.wanted - self.front.len()).min(bytes.len());
            self.front.extend(bytes.iter().take(len));
            bytes = self.passed(bytes, len);
            if self.front.len() == self.wanted {
                self.complete();
            }
        }
        self.at = self.at.saturating_add(as_u64(bytes.len()));
    }

    fn passed<'a>(&mut self, bytes: &'a [u8], len: usize) -> &'a [u8] {
        self.at = self.at.saturating_add(as_u64(len));
        bytes.get(len..).unwrap_or_default()
    }

    /// Requests more bytes of the entry, or continues with the next entry.
    fn complete(&mut self) {
        let size = self.front.get(8..LOG_OVERHEAD).and_then(|field| field.first_chunk::<4>()).map_or(0, |field| i32::from_be_bytes(*field));
        let Some(len) = usize::try_from(size).ok().filter(|size| *size > 0).map(|size| size.saturating_add(LOG_OVERHEAD)) else {
            self.is_done = true;
            return;
        };
        let wanted = match self.front.len() {
            LOG_OVERHEAD => len.min(FRONT_LEN),
            FRONT_LEN if len <= MOST_WHOLE && self.is_marker() => len,
            have => have,
        };
        if wanted > self.wanted {
            self.wanted = wanted;
            return;
        }
        self.keep();
        self.next = self.next.saturating_add(as_u64(len));
        self.wanted = LOG_OVERHEAD;
        self.front.clear();
    }

    fn is_marker(&self) -> bool {
        let Some(magic) = self.front.get(MAGIC_AT) else { return false };
        let frame = Frame { position: self.next, magic: magic.cast_signed(), bytes: &self.front };
        parse_header(frame, Formats::Every, 0).is_ok_and(|header| is_marker(&header))
    }

    fn keep(&mut self) {
        let used = self.front.len().saturating_add(size_of::<(u64, usize)>());
        let is_room = self.headers.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(used)).is_ok();
        if !is_room {
            self.is_done = true;
            return;
        }
        let mut kept = self.headers.kept();
        let begin = kept.bytes.len();
        kept.used = kept.used.saturating_add(used);
        kept.starts.push((self.next, begin));
        kept.bytes.extend(&self.front);
    }
}

impl<R: Read> Read for Recording<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(to)?;
        self.record(to.get(..len).unwrap_or_default());
        if len == 0 && !to.is_empty() && !self.is_done && !self.front.is_empty() {
            // The log ends in an entry.
            self.keep();
            self.is_done = true;
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::limits::Limits;
    use crate::log::{BatchHeaders, ReadAt};
    use crate::model::{BatchHeader, Marker};

    /// Only what was kept: another question is an error.
    struct Only(Arc<RecordedHeaders>);

    impl ReadAt for Only {
        fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
            if position >= self.0.len() {
                return Ok(0);
            }
            self.0.read_at(to, position).ok_or_else(|| io::Error::other(format!("byte {position} was not kept")))
        }
    }

    fn walked(mut headers: BatchHeaders<&dyn ReadAt>) -> Vec<(BatchHeader, Option<Marker>)> {
        let mut found = Vec::new();
        while let Ok(Some(header)) = headers.next_header() {
            let marker = if is_marker(&header) { headers.marker(&header).unwrap() } else { None };
            found.push((header, marker));
        }
        found
    }

    fn recorded(bytes: &[u8], step: usize, most: usize) -> Arc<RecordedHeaders> {
        let headers = Arc::new(RecordedHeaders::new(as_u64(bytes.len()), &Arc::new(AtomicUsize::new(most))));
        let mut reader = Recording::new(bytes, Arc::clone(&headers));
        let mut buffer = vec![0; step];
        while reader.read(&mut buffer).unwrap() > 0 {}
        headers
    }

    #[test]
    fn kept_headers_and_markers_are_those_of_the_log() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
        let (mut headers, mut markers) = (0, 0);
        for directory in [
            "modern-4.1.0/data/transactions-multi-segment-0",
            "modern-4.1.0/data/codec-none-0",
            "legacy-0.10.2.2/data/codec-snappy-0",
            "legacy-0.10.2.2/data/codec-none-0",
        ] {
            for entry in std::fs::read_dir(corpus.join(directory)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|suffix| suffix != "log") {
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                for cut in [bytes.len(), bytes.len() - 7] {
                    let bytes = &bytes[..cut];
                    let len = as_u64(cut);
                    let expected = walked(BatchHeaders::new(&bytes as &dyn ReadAt, Limits::default(), 0, len));
                    headers += expected.len();
                    markers += expected.iter().filter(|(_, marker)| marker.is_some()).count();
                    for step in [1, 13, 100, 1 << 20] {
                        let only = Only(recorded(bytes, step, 1 << 20));
                        assert_eq!(
                            walked(BatchHeaders::new(&only as &dyn ReadAt, Limits::default(), 0, len).one_by_one()),
                            expected,
                            "{step}"
                        );
                    }
                }
            }
        }
        assert!(headers > 100 && markers > 10, "{headers} {markers}");
    }

    #[test]
    fn no_more_than_a_few_bytes_are_kept_and_nothing_after_damage() {
        let path = "tests/corpus/modern-4.1.0/data/codec-none-0/00000000000000000000.log";
        let mut bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let few = recorded(&bytes, 1000, 250);
        assert!(few.kept().bytes.len() <= 250 && few.read_at(&mut [0; 8], 0) == Some(8));
        let second = usize::try_from(i32::from_be_bytes(*bytes[8..].first_chunk().unwrap())).unwrap() + LOG_OVERHEAD;
        bytes[second + 8..second + 12].fill(0xff);
        let damaged = recorded(&bytes, 1000, 1 << 20);
        assert_eq!(damaged.read_at(&mut [0; 8], as_u64(second)), None);
        assert_eq!(damaged.read_at(&mut [0; 8], 0), Some(8));
    }
}
