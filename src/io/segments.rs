//! Staged files to segments: entries get the offsets that they have in the log, segments end at a size, indexes are next to them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::FileRange;
use crate::broker::Assigner;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Source, Step, step};
use crate::interrupt::Interrupt;
use crate::log::sidecar_rebuild::name;
use crate::model::BatchHeader;
use crate::sidecar::{IndexBuilder, offset_index, time_index};
use crate::wire::as_u64;

/// How segments are written.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOptions {
    /// Most bytes of a segment; a larger entry is alone.
    pub segment_bytes: u64,
    /// Kafka's `log.index.interval.bytes`.
    pub index_interval: u64,
}

/// A failure, and the file that it is about.
#[derive(Debug)]
pub struct FileError {
    /// What is wrong.
    pub error: Error,
    /// With which file.
    pub path: PathBuf,
}

/// A segment that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSegment {
    /// First offset, its name.
    pub base_offset: i64,
    /// Names of its files, that of the log last.
    pub names: Vec<String>,
}

/// Writes the entries of staged files, one file after the other, as segments into an empty directory. All bytes are on disk then.
///
/// A staged file is given with the bytes that it must have.
///
/// # Errors
/// When a file cannot be read or written or is not whole, and when the work is to stop.
pub fn write_segments(
    staged: &[(PathBuf, u64)],
    directory: &Path,
    assigner: &mut Assigner,
    options: SegmentOptions,
    interrupt: &Interrupt,
) -> std::result::Result<Vec<WrittenSegment>, FileError> {
    let mut writer = SegmentWriter { directory, options, is_07: assigner.formats().is_v07(), open: None, written: Vec::new() };
    for (path, len) in staged {
        let in_file = |error: Error| FileError { error, path: path.clone() };
        let file = FileRange::open(path, 0, None).map_err(|error| in_file(error.into()))?;
        let mut source = Source::reader(Box::new(file), 0);
        assigner.begin_file();
        while let Some(entry) = next_entry(&mut source, assigner).map_err(in_file)? {
            interrupt.ensure_wanted().map_err(in_file)?;
            writer.add(source.front().get(..entry.0).unwrap_or_default(), entry.1, assigner)?;
            source.discard(entry.0);
        }
        if source.position() != *len {
            return Err(in_file(ErrorKind::Truncated { rule: "L8-14", needed: *len, available: source.position() }.into()));
        }
    }
    writer.finish()
}

/// Length and magic of the entry at the front; none at the end, also when it is torn.
fn next_entry(source: &mut Source, assigner: &Assigner) -> Result<Option<(usize, i8)>> {
    loop {
        match step(source.front(), assigner.formats(), &assigner.limits()) {
            Step::Entry { len, magic } => return Ok(Some((len, magic))),
            Step::Incomplete { needed } if source.fill(needed)? => {}
            Step::Incomplete { .. } => return Ok(None),
            Step::Error(error) => return Err(error.at_byte(source.position())),
        }
    }
}

struct SegmentWriter<'a> {
    directory: &'a Path,
    options: SegmentOptions,
    is_07: bool,
    open: Option<OpenSegment>,
    written: Vec<WrittenSegment>,
}

struct OpenSegment {
    base_offset: i64,
    path: PathBuf,
    file: File,
    /// Bytes given so far.
    len: u64,
    /// The last of them, not written yet.
    pending: Vec<u8>,
    index: IndexBuilder,
}

/// Bytes are collected up to here.
const ENOUGH: usize = 1 << 20;

impl SegmentWriter<'_> {
    fn add(&mut self, bytes: &[u8], magic: i8, assigner: &mut Assigner) -> std::result::Result<(), FileError> {
        let first_offset = assigner.next_offset();
        if self.is_full(as_u64(bytes.len()), first_offset) {
            self.close()?;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => self.begin(first_offset)?,
        };
        let open = self.open.insert(open);
        let frame = Frame { position: open.len, magic, bytes };
        let start = open.pending.len();
        let header = assigner.assign(frame, &mut open.pending).map_err(|error| open.in_file(error))?;
        let len = as_u64(open.pending.len() - start);
        open.index.visit(&BatchHeader { position: open.len, size: len, ..header });
        open.len += len;
        if open.pending.len() < ENOUGH { Ok(()) } else { open.flush() }
    }

    /// Offsets in an index are distances of 31 bits; one entry has at most as many records.
    fn is_full(&self, len: u64, first_offset: i64) -> bool {
        const MOST_RECORDS: i64 = 1 << 30;
        self.open.as_ref().is_some_and(|open| {
            open.len.saturating_add(len) > self.options.segment_bytes || first_offset.saturating_sub(open.base_offset) >= MOST_RECORDS
        })
    }

    fn begin(&self, base_offset: i64) -> std::result::Result<OpenSegment, FileError> {
        let path = self.directory.join(name(base_offset, if self.is_07 { "kafka" } else { "log" }));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| FileError { error: error.into(), path: path.clone() })?;
        let index = IndexBuilder::new(base_offset, self.options.index_interval);
        Ok(OpenSegment { base_offset, path, file, len: 0, pending: Vec::new(), index })
    }

    fn close(&mut self) -> std::result::Result<(), FileError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.flush()?;
        open.file.sync_all().map_err(|error| open.in_file(error.into()))?;
        let base = open.base_offset;
        let mut names = Vec::new();
        if !self.is_07 {
            let (offsets, times) = open.index.finish();
            for (suffix, bytes) in [("index", offset_index::to_bytes(&offsets, base)), ("timeindex", time_index::to_bytes(&times, base))] {
                let name = name(base, suffix);
                write_new(&self.directory.join(&name), &bytes)?;
                names.push(name);
            }
        }
        names.extend(open.path.file_name().map(|name| name.to_string_lossy().into_owned()));
        self.written.push(WrittenSegment { base_offset: base, names });
        Ok(())
    }

    fn finish(mut self) -> std::result::Result<Vec<WrittenSegment>, FileError> {
        self.close()?;
        Ok(self.written)
    }
}

impl OpenSegment {
    fn flush(&mut self) -> std::result::Result<(), FileError> {
        self.file.write_all(&self.pending).map_err(|error| self.in_file(error.into()))?;
        self.pending.clear();
        Ok(())
    }

    fn in_file(&self, error: Error) -> FileError {
        FileError { error, path: self.path.clone() }
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> std::result::Result<(), FileError> {
    let written = OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| FileError { error: error.into(), path: path.to_owned() })
}
