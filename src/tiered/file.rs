//! A file of a log directory that an upload is read as.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::chunks::ChunkedFile;
use super::error::{LostSegment, ManifestError, TieredError, TieredResult};
use super::part::{FetchedBytes, shown};
use crate::error::{Error, ErrorKind};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::log::ReadAt;
use crate::log::bounds::first_valid_entry;
use crate::model::UploadOffsets;
use crate::stores::{PlacedFile, ReadWindow};
use crate::validate::{Finding, Severity};
use crate::wire::as_u64;

/// An open file. Any thread may read it.
#[derive(Clone, Debug)]
pub struct TieredFile {
    content: Content,
    size: u64,
    /// The offsets that the batches of a segment must have: no checksum covers a base offset.
    pub offsets: Option<UploadOffsets>,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A segment with a manifest.
    Chunks(Arc<ChunkedFile>),
    /// An object that is read as it is.
    Plain(PlacedFile),
    /// A file that no object is.
    Memory(Bytes),
    /// A segment with a damaged manifest, of which no byte can be read.
    Lost(Arc<LostFile>),
}

impl TieredFile {
    pub(super) fn new(content: Content) -> Self {
        let size = match &content {
            Content::Chunks(file) => file.size(),
            Content::Plain(file) => file.size(),
            Content::Memory(bytes) => as_u64(bytes.len()),
            Content::Lost(file) => file.size(),
        };
        Self { content, size, offsets: None }
    }

    /// The first bytes of the file.
    pub(super) fn up_to(self, size: u64) -> Self {
        Self { size: self.size.min(size), ..self }
    }

    pub(super) fn with_offsets(self, offsets: UploadOffsets) -> Self {
        Self { offsets: Some(offsets), ..self }
    }

    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The size, and a text that differs between versions of the same size.
    pub fn version(&self) -> (u64, String) {
        let version = match &self.content {
            Content::Chunks(file) => file.version().to_owned(),
            Content::Plain(file) => file.version().1,
            Content::Memory(bytes) => bytes.len().to_string(),
            Content::Lost(file) => file.error.text.clone(),
        };
        (self.size, version)
    }

    /// Return bytes from `position` on: `len` of them, or fewer before a damaged chunk and at the end. A reader that skips damage gets other
    /// bytes for those of a damaged chunk, and a finding.
    ///
    /// # Errors
    /// `Chunk` if the first byte is in a damaged chunk, `Manifest` if that of the segment is damaged; those of the store.
    pub fn read(&self, position: u64, len: u64, skips_damage: bool, interrupt: &Interrupt) -> TieredResult<FetchedBytes> {
        let wanted = position..position.saturating_add(len).min(self.size);
        if wanted.is_empty() && !matches!(self.content, Content::Lost(_)) {
            return Ok(FetchedBytes::default());
        }
        match &self.content {
            Content::Chunks(file) => file.read(wanted, skips_damage, interrupt),
            Content::Plain(file) => {
                let (mut part, bytes) = (FetchedBytes::default(), file.read(wanted, interrupt)?);
                part.count(&bytes);
                Ok(FetchedBytes { bytes, ..part })
            }
            Content::Memory(bytes) => {
                let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
                Ok(FetchedBytes { bytes: bytes.slice(at(wanted.start)..at(wanted.end)), ..FetchedBytes::default() })
            }
            Content::Lost(file) if skips_damage => Ok(FetchedBytes { findings: vec![file.finding()], ..FetchedBytes::default() }),
            Content::Lost(file) => Err(TieredError::Manifest(Box::new(file.error.clone()))),
        }
    }

    /// True if each request names the version of the object, so that no later question is needed.
    pub(super) fn is_checked_by_requests(&self) -> bool {
        match &self.content {
            Content::Chunks(file) => file.stored.is_checked_by_requests(),
            Content::Plain(file) => file.is_checked_by_requests(),
            Content::Memory(_) | Content::Lost(_) => true,
        }
    }

    /// Check that the object is still the one that was opened.
    ///
    /// # Errors
    /// `Store` of the kind `Changed`, and those of the store.
    pub fn ensure_same(&self, interrupt: &Interrupt) -> TieredResult<()> {
        match &self.content {
            Content::Chunks(file) => file.ensure_same(interrupt),
            Content::Plain(file) => Ok(file.ensure_same(interrupt)?),
            Content::Memory(_) | Content::Lost(_) => Ok(()),
        }
    }
}

/// A segment with a damaged manifest.
#[derive(Debug)]
pub(super) struct LostFile {
    error: ManifestError,
    /// Of the manifest, as people may see it.
    path: String,
    lost: LostSegment,
}

/// A reader reads the header of a first batch, whatever the size of the object.
const LEAST_LOST: u64 = 61;

impl LostFile {
    /// `size` are the bytes of the object.
    pub(super) fn new(error: ManifestError, path: String, size: u64, first_offset: i64, last_offset: Option<i64>) -> Self {
        let lost = LostSegment { size: size.max(LEAST_LOST), first_offset, last_offset };
        Self { error: ManifestError { lost: Some(lost), ..error }, path, lost }
    }

    fn size(&self) -> u64 {
        self.lost.size
    }

    fn finding(&self) -> Finding {
        let LostSegment { size, first_offset, last_offset } = self.lost;
        let reason = self.error.text.strip_prefix(&format!("{}: ", self.path)).unwrap_or(&self.error.text);
        let text = format!("offsets {first_offset} to {} are lost: {reason}", shown(last_offset));
        let finding = Finding::of_files(self.error.rule, Severity::Error, text, 0, size).in_file(&self.path.as_str().into());
        Finding { base_offset: Some(first_offset), last_offset, ..finding }
    }
}

/// A log for look-ups, which fail at damage.
pub(super) struct LogReader<'a> {
    file: &'a TieredFile,
    window: ReadWindow,
    interrupt: &'a Interrupt,
    failed: LastError,
}

/// The last error of a file.
type LastError = Arc<Mutex<Option<TieredError>>>;

impl<'a> LogReader<'a> {
    pub(super) fn new(file: &'a TieredFile, interrupt: &'a Interrupt) -> Self {
        Self { file, window: ReadWindow::default(), interrupt, failed: LastError::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.file.size()
    }

    /// The bytes from a position on, with other bytes in the place of damaged ones.
    pub(super) fn source(&self, start: u64) -> Source {
        let reader = LogBytes { file: self.file.clone(), at: start, interrupt: self.interrupt.clone(), failed: Arc::clone(&self.failed) };
        Source::reader(Box::new(reader), start)
    }

    /// Passes an error by, after which the look-up goes on.
    pub(super) fn forget(&self) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The error of the file for one of a look-up.
    pub(super) fn raised(&self, error: Error) -> TieredError {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match error.kind() {
            ErrorKind::Io { .. } | ErrorKind::LostBytes { .. } => failed.unwrap_or(TieredError::Log(error)),
            _ => TieredError::Log(error),
        }
    }
}

impl ReadAt for LogReader<'_> {
    fn read_at(&self, to: &mut [u8], position: u64) -> io::Result<usize> {
        self.window.read(to, position, self.file.size(), false, |position, len| {
            let read = self.file.read(position, len, false, self.interrupt);
            read.map(|part| (part.bytes, false)).map_err(|error| {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                error.into()
            })
        })
    }

    fn valid_from(&self, position: u64, limits: &Limits) -> crate::error::Result<Option<u64>> {
        first_valid_entry(self.source(position), limits)
    }
}

/// The bytes of a file, read front to back past damage.
struct LogBytes {
    file: TieredFile,
    at: u64,
    interrupt: Interrupt,
    failed: LastError,
}

impl Read for LogBytes {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let part = self.file.read(self.at, as_u64(to.len()), true, &self.interrupt).inspect_err(|error| {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        })?;
        let len = part.bytes.len().min(to.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), part.bytes.get(..len)) {
            to.copy_from_slice(from);
        }
        self.at = self.at.saturating_add(as_u64(len));
        Ok(len)
    }
}
