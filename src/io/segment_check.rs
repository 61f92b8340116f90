//! What the name and the first bytes of a local file tell about it before it is read.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::error::Result;
use crate::log::not_a_segment;

/// Check that a file may be a log segment, by its name and its first bytes.
///
/// # Errors
/// `NotASegment`, with the name of the file. What cannot be opened is for the read to report.
pub fn ensure_segment(path: &Path) -> Result<()> {
    let in_file = |error: crate::Error| error.in_file(&path.to_string_lossy().into());
    let metadata = fs::metadata(path).ok();
    if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(in_file(not_a_segment::directory_error()));
    }
    let mut head = Vec::new();
    // A read from a FIFO would take the bytes away.
    if metadata.is_some_and(|metadata| metadata.is_file()) {
        let file = fs::File::open(path).map(|file| file.take(not_a_segment::HEAD));
        let _ = file.and_then(|mut file| file.read_to_end(&mut head));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    not_a_segment::error(&name, &head).map_or(Ok(()), |error| Err(in_file(error)))
}

/// The offset in the name of a segment, twenty digits; a position in Kafka 0.7. `None` for other names.
pub fn named_offset(path: &Path) -> Option<i64> {
    path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.len() == 20).and_then(|stem| stem.parse().ok())
}

/// False if the segment of the same directory that starts at an offset, by its name, is gone.
pub fn has_next(path: &Path, next_offset: i64) -> bool {
    let suffix = path.extension().unwrap_or_default().to_string_lossy();
    let next = path.with_file_name(format!("{next_offset:020}.{suffix}"));
    fs::symlink_metadata(next).err().is_none_or(|error| error.kind() != io::ErrorKind::NotFound)
}

/// Return the position in its partition that the name of a segment of Kafka 0.7 tells, `<20 digits>.kafka` (SEG-1); 0 if it tells none.
pub fn position_07(path: &Path) -> Option<i64> {
    let is_07 = path.extension().is_some_and(|suffix| suffix == "kafka");
    is_07.then(|| path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok()).unwrap_or(0))
}
