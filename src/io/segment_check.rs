//! What the name and the first bytes of a local file tell about it before it is read.

use std::fs;
use std::io::Read;
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

/// Return the position in its partition that the name of a segment of Kafka 0.7 tells, `<20 digits>.kafka` (SEG-1); 0 if it tells none.
pub fn position_07(path: &Path) -> Option<i64> {
    let is_07 = path.extension().is_some_and(|suffix| suffix == "kafka");
    is_07.then(|| path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok()).unwrap_or(0))
}
