//! A file of a store or of tiered storage, read at any position through one window of bytes, or front to back.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::uris;
use crate::error::Result;
use crate::framing::{LostRanges, Source};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::log::ReadAt;
use crate::log::bounds::first_valid_entry;
use crate::model::UploadOffsets;
use crate::stores::{ReadWindow, StoredFile, StoredRange};
use crate::tiered::{self, FetchedBytes, Keys, TieredFile, TieredRange};
use crate::validate::lost_ranges;

/// A file that was opened. Clones share what was fetched.
#[derive(Clone)]
pub(super) struct StoreFile {
    opened: Arc<SharedObject>,
    interrupt: Interrupt,
    /// Other bytes are in the place of damaged ones.
    is_recovering: bool,
}

struct SharedObject {
    object: StoredObject,
    size: u64,
    losses: Arc<LostRanges>,
    /// The offsets that the batches of an upload must have.
    upload: Option<UploadOffsets>,
    window: ReadWindow,
}

enum StoredObject {
    Stored(StoredFile),
    Uploaded(TieredFile),
}

impl StoreFile {
    /// Open a file. `keys` makes keys of the text in a URI of tiered storage.
    ///
    /// # Errors
    /// Those of the store, of the upload and of the keys.
    pub(super) fn open(uri: &Path, keys: impl FnOnce(&str) -> Keys, interrupt: &Interrupt) -> tiered::TieredResult<Self> {
        let (object, size, upload) = match uris::located(uri) {
            Some(location) => {
                let file = StoredFile::open(&location?, interrupt)?;
                let size = file.size();
                (StoredObject::Stored(file), size, None)
            }
            None => {
                let file = tiered::open(&uris::upload_at(uri, keys)?, interrupt)?;
                // What a broker wrote is in order all the same.
                let offsets = file.offsets.unwrap_or(UploadOffsets { start: i64::MIN, end: None });
                let size = file.size();
                (StoredObject::Uploaded(file), size, Some(offsets))
            }
        };
        let opened = SharedObject { object, size, losses: Arc::default(), upload, window: ReadWindow::default() };
        Ok(Self { opened: Arc::new(opened), interrupt: interrupt.clone(), is_recovering: false })
    }

    /// The same with other bytes in the place of damaged ones.
    #[must_use]
    pub(super) fn with_recovery(self, is_recovering: bool) -> Self {
        Self { is_recovering, ..self }
    }

    /// Bytes of the file when it was opened.
    pub(super) fn len(&self) -> u64 {
        self.opened.size
    }

    /// The bytes from `start` to `end` (exclusive), or to the end of the file.
    pub(super) fn source(&self, start: u64, end: Option<u64>) -> Source {
        let reader: Box<dyn Read + Send> = match &self.opened.object {
            StoredObject::Stored(file) => Box::new(StoredRange::new(file.clone(), start, end, self.interrupt.clone())),
            StoredObject::Uploaded(file) => {
                let range = TieredRange::new(file.clone(), start, end, self.interrupt.clone());
                Box::new(UploadReader { range, log: self.clone() })
            }
        };
        Source::reader(reader, start).with_lost_ranges(Arc::clone(&self.opened.losses)).of_upload(self.opened.upload)
    }

    /// Some bytes, and whether damaged ones are among them.
    fn fetch(&self, position: u64, len: u64) -> io::Result<(Bytes, bool)> {
        match &self.opened.object {
            StoredObject::Stored(file) => Ok((file.read(position..position.saturating_add(len), &self.interrupt)?, false)),
            StoredObject::Uploaded(file) => {
                let part = file.read(position, len, self.is_recovering, &self.interrupt)?;
                self.note(&part);
                let is_damaged = !part.findings.is_empty();
                Ok((part.bytes, is_damaged))
            }
        }
    }

    fn note(&self, part: &FetchedBytes) {
        for finding in part.findings.iter().filter(|finding| finding.rule() == lost_ranges::RULE) {
            self.opened.losses.add(finding.position..finding.position.saturating_add(finding.length));
        }
    }
}

impl ReadAt for StoreFile {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        self.opened.window.read(to, position, self.opened.size, self.is_recovering, |position, len| self.fetch(position, len))
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> Result<Option<u64>> {
        first_valid_entry(self.clone().with_recovery(true).source(position, None), limits)
    }
}

/// Bytes of an upload, front to back.
struct UploadReader {
    range: TieredRange,
    log: StoreFile,
}

impl Read for UploadReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (len, part) = self.range.read_part(to, self.log.is_recovering)?;
        self.log.note(&part);
        Ok(len)
    }
}
