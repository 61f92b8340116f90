//! Segments and the files beside them on this machine, as the core wants them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pyo3::prelude::*;

use super::errors;
use crate::error::{ErrorKind, Result};
use crate::framing::Source;
use crate::io::{FileRange, RandomFile};
use crate::log::partition::{Directory, snapshot_before};
use crate::log::{ReadAt, committed};
use crate::sidecar::ProducerEntry;

/// A segment by its path.
pub struct Segment {
    path: PathBuf,
    base_offset: i64,
}

impl Segment {
    /// A segment, and the stem of its name.
    pub fn named((path, base_offset): (PathBuf, i64)) -> (String, Self) {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        (stem, Self { path, base_offset })
    }
}

impl committed::Segment for Segment {
    fn base_offset(&self) -> i64 {
        self.base_offset
    }

    fn open(&self) -> Result<(Box<dyn ReadAt>, u64)> {
        let file = RandomFile::open(&self.path).map_err(|error| at_path(&error, &self.path))?;
        let len = file.len();
        Ok((Box::new(file), len))
    }

    fn source(&self, start: u64) -> Result<Source> {
        let file = FileRange::open(&self.path, start, None).map_err(|error| at_path(&error, &self.path))?;
        Ok(Source::reader(Box::new(file), start))
    }

    fn snapshot(&self) -> Option<Vec<ProducerEntry>> {
        snapshot_before(&Folder(self.path.parent()?.to_owned()), self.base_offset)
    }
}

/// A directory by its path.
pub struct Folder(pub PathBuf);

/// Bytes of a file beside a log that are read; no broker writes larger ones, and a lookup holds all of it.
const MOST: u64 = 256 << 20;

impl Directory for Folder {
    fn names(&self) -> Result<Vec<String>> {
        let listed = fs::read_dir(&self.0).map_err(|error| at_path(&error, &self.0))?;
        let mut names = Vec::new();
        for entry in listed {
            names.push(entry.map_err(|error| at_path(&error, &self.0))?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        read(&path).map_err(|error| at_path(&error, &path))
    }

    fn path_of(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

/// The bytes of a file, up to 256 MiB of them; `None` when there is none.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::File::open(path) {
        // A directory can be opened, but is no file of Kafka's.
        Ok(file) if !file.metadata()?.is_file() => Ok(None),
        Ok(file) => {
            let mut bytes = Vec::new();
            file.take(MOST).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An OSError with its number and file name.
pub fn with_path(py: Python<'_>, error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(code) => errors::os_error(py, code, Some(path)),
        None => io::Error::new(error.kind(), error.to_string()).into(),
    }
}

/// The same as an error of the core: its text names the file, since a bare number could not.
fn at_path(error: &io::Error, path: &Path) -> crate::Error {
    let message = format!("{}: {error}", path.display());
    ErrorKind::Io { kind: error.kind(), os_code: None, message }.into()
}
