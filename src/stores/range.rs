//! A range of a file, read front to back while the next pieces of it are fetched.

use std::collections::VecDeque;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use tokio::runtime::Handle;

use super::error::StoreError;
use super::file::StoredFile;
use super::location::Location;
use super::open::open;
use super::process::{Pending, handle};
use crate::interrupt::Interrupt;
use crate::wire::as_u64;

/// Bytes of the first request: a look at the front pays for no more.
const FIRST_LEN: u64 = 1 << 20;
/// How often the bytes of a request are doubled. Above 8 MiB the time of an answer no longer matters.
const MOST_DOUBLINGS: usize = 3;
/// Requests that are in flight, or answered and not read.
const MOST_PENDING: usize = 8;

/// Bytes of a stored file. Without a tag of its version, it asks at the end whether the file is still the same.
pub struct StoredRange {
    file: StoredFile,
    interrupt: Interrupt,
    /// Where the next request begins.
    next: u64,
    end: u64,
    current: Bytes,
    pending: VecDeque<Pending<Bytes>>,
    /// Pieces that were read.
    taken: usize,
    /// How often the bytes of a request were doubled; one more piece is fetched ahead for each piece that was read.
    warmth: usize,
    /// Bytes that were taken.
    fetched: u64,
    is_checked: bool,
}

impl StoredRange {
    /// The bytes from `start` to `end` (exclusive), or to the end of the file. The first request is made by the first read.
    pub fn new(file: StoredFile, start: u64, end: Option<u64>, interrupt: Interrupt) -> Self {
        let end = end.unwrap_or(u64::MAX).min(file.size());
        let (current, pending) = (Bytes::new(), VecDeque::new());
        Self { file, interrupt, next: start.min(end), end, current, pending, taken: 0, warmth: 0, fetched: 0, is_checked: false }
    }

    /// Begin to open a file and to fetch the first pieces of a range, all of which is wanted.
    ///
    /// # Errors
    /// `Invalid`, and those of opening the store.
    pub fn begin(location: &Location, start: u64, end: Option<u64>, interrupt: &Interrupt) -> Result<Pending<Self>, StoreError> {
        let (store, place) = (open(location, interrupt)?, location.clone());
        let runtime = handle(&location.to_string())?;
        let own = runtime.clone();
        Ok(Pending::begin(&runtime, async move {
            // The reader that takes the range has its own interrupt.
            let range = Self::new(StoredFile::asked(store, place).await?, start, end, Interrupt::default());
            Ok(range.begun(&own))
        }))
    }

    /// The same with its first pieces in flight: all of it is wanted.
    ///
    /// # Errors
    /// `Other`, if the system gives no threads.
    pub fn in_flight(self) -> Result<Self, StoreError> {
        let runtime = handle(&self.file.location().to_string())?;
        Ok(self.begun(&runtime))
    }

    fn begun(mut self, runtime: &Handle) -> Self {
        self.warmth = MOST_DOUBLINGS;
        self.request(runtime);
        self
    }

    /// The same, which ends when it is not wanted any more.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The open file.
    pub fn file(&self) -> &StoredFile {
        &self.file
    }

    /// Return the requests that were answered, and their bytes.
    pub fn fetched(&self) -> (u64, u64) {
        (as_u64(self.taken), self.fetched)
    }

    /// Takes the next piece, and begins to fetch those after it.
    fn advance(&mut self) -> Result<(), StoreError> {
        if self.next < self.end {
            self.request(&handle(&self.file.location().to_string())?);
        }
        if let Some(first) = self.pending.pop_front() {
            self.taken = self.taken.saturating_add(1);
            self.warmth = self.warmth.saturating_add(1);
            self.current = first.answer(&self.file.location().to_string(), &self.interrupt)?;
            self.fetched = self.fetched.saturating_add(as_u64(self.current.len()));
        }
        Ok(())
    }

    fn request(&mut self, runtime: &Handle) {
        while self.next < self.end && self.pending.len() <= self.warmth.min(MOST_PENDING - 1) {
            let stop = self.next.saturating_add(FIRST_LEN << self.warmth.min(MOST_DOUBLINGS)).min(self.end);
            self.pending.push_back(self.file.begin(self.next..stop, runtime));
            self.next = stop;
        }
    }
}

impl Read for StoredRange {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // Nothing was read before the end only if all pieces were.
        while self.current.is_empty() && !to.is_empty() && (self.next < self.end || !self.pending.is_empty()) {
            self.advance()?;
        }
        let len = self.current.len().min(to.len());
        if let Some(to) = to.get_mut(..len) {
            self.current.copy_to_slice(to);
        }
        if len == 0 && !to.is_empty() && !self.is_checked {
            self.is_checked = true;
            if !self.file.has_tag() {
                self.file.ensure_same(&self.interrupt)?;
            }
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, PutPayload};

    use super::super::open::Store;
    use super::super::process::wait;
    use super::super::uri::StorageOptions;
    use super::super::{StoreErrorKind, counts};
    use super::*;

    fn put(client: &Arc<InMemory>, bytes: Vec<u8>) {
        let client = Arc::clone(client);
        wait("memory", &Interrupt::default(), async move {
            client.put(&Path::from("logs/0.log"), PutPayload::from(bytes)).await.unwrap();
            Ok(())
        })
        .unwrap();
    }

    /// A file of a store in memory, with bytes that differ.
    fn stored(len: usize) -> (Arc<InMemory>, StoredFile, Vec<u8>) {
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
        let client = Arc::new(InMemory::new());
        put(&client, bytes.clone());
        let location = Location::parse("s3://bucket/logs/0.log", &StorageOptions::new()).unwrap();
        let store = Store::new(client.clone(), None, &location);
        let file = StoredFile::in_store(store, &location, &Interrupt::default()).unwrap();
        (client, file, bytes)
    }

    #[test]
    fn a_range_is_read_in_order_whatever_its_length() {
        for (len, start, end) in [(0, 0, None), (1, 0, None), (40 << 20, 0, None), (20 << 20, 123, Some(19 << 20)), (100, 40, Some(1000))] {
            let (_, file, bytes) = stored(len);
            let mut read = Vec::new();
            StoredRange::new(file, start, end, Interrupt::default()).read_to_end(&mut read).unwrap();
            let wanted = &bytes[usize::try_from(start).unwrap()..end.map_or(len, |end: u64| usize::try_from(end).unwrap().min(len))];
            assert!(read == wanted, "{len} {start} {end:?}: {}", read.len());
        }
    }

    #[test]
    fn a_file_of_many_pieces_is_read_to_its_end() {
        let (client, _, _) = stored(0);
        let len = 600 << 20;
        put(&client, vec![0; len]);
        let location = Location::parse("s3://bucket/logs/0.log", &StorageOptions::new()).unwrap();
        let file = StoredFile::in_store(Store::new(client, None, &location), &location, &Interrupt::default()).unwrap();
        let mut range = StoredRange::new(file, 0, None, Interrupt::default());
        assert_eq!(io::copy(&mut range, &mut io::sink()).unwrap(), as_u64(len));
        assert!(range.taken > 64, "{}", range.taken);
    }

    #[test]
    fn a_reader_that_stops_early_has_fetched_little() {
        let (_, file, bytes) = stored(32 << 20);
        let mut front = [0; 100];
        let mut range = StoredRange::new(file, 0, None, Interrupt::default());
        range.read_exact(&mut front).unwrap();
        assert_eq!(front, bytes[..100]);
        assert_eq!(range.fetched(), (1, FIRST_LEN));
        assert_eq!(range.next, FIRST_LEN);
        // Other tests count, too.
        assert!(counts().bytes_fetched >= FIRST_LEN);
    }

    #[test]
    fn another_version_is_an_error_and_not_other_bytes() {
        for len in [16 << 20, 100] {
            let (client, file, _) = stored(16 << 20);
            let mut range = StoredRange::new(file, 0, None, Interrupt::default());
            range.read_exact(&mut [0; 100]).unwrap();
            put(&client, vec![7; len]);
            let error = range.read_to_end(&mut Vec::new()).unwrap_err();
            let error = error.into_inner().unwrap().downcast::<StoreError>().unwrap();
            assert_eq!((error.kind, error.uri.as_str()), (StoreErrorKind::Changed, "s3://bucket/logs/0.log"));
        }
    }

    #[test]
    fn a_reader_that_is_not_wanted_any_more_ends() {
        let (_, file, _) = stored(1 << 20);
        let pending = Pending::<Bytes>::begin(&super::super::process::handle("memory").unwrap(), std::future::pending());
        let error = pending.answer(&file.location().to_string(), &Interrupt::new(|| true)).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Interrupted);
    }
}
