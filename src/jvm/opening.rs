//! Opens the bytes of a part, on this machine or in a store.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::decode::DecodeOptions;
use crate::error::{Result, grouped};
use crate::framing::{Ending, Source};
use crate::io::{FileRange, ensure_segment, has_next, named_offset, position_07};
use crate::jvm::stored::{self, StoreReports};
use crate::jvm::task::SegmentBytes;
use crate::model::{Formats, RecordFormat};

/// Open bytes, and complete the options by the name of the file. `on_cut` gets a sentence about a file that was cut after the query was
/// planned: a read of it would give fewer records without an error.
///
/// # Errors
/// `NotASegment` unless damage is skipped; `Io` for a file that cannot be opened; the error of `on_cut`.
pub fn source(
    bytes: &SegmentBytes,
    decode: &mut DecodeOptions,
    reports: &Arc<StoreReports>,
    on_cut: &dyn Fn(String) -> Result<()>,
) -> Result<Source> {
    if let Some(position) = position_07(&bytes.path) {
        decode.formats = Formats::Only(RecordFormat::V07);
        decode.base_position = position;
    }
    decode.segment = bytes.offsets;
    let is_stored = stored::is_stored(&bytes.path);
    let source = if is_stored { stored::open(bytes, reports, on_cut)? } else { local(bytes, reports, on_cut)? };
    decode.upload = source.upload();
    Ok(source)
}

fn local(bytes: &SegmentBytes, reports: &StoreReports, on_cut: &dyn Fn(String) -> Result<()>) -> Result<Source> {
    ensure_uncut(bytes, fs::metadata(&bytes.path)?.len(), on_cut)?;
    if bytes.start == 0 && !reports.skips_damage() {
        ensure_segment(&bytes.path)?;
    }
    let file = FileRange::open(&bytes.path, bytes.start, bytes.end)?;
    Ok(Source::positioned(Box::new(file), bytes.start).before(ending(bytes)))
}

/// Return what follows the last byte. Ask after the file was opened: a broker cuts a log by deleting the next segment first.
fn ending(bytes: &SegmentBytes) -> Ending {
    match (bytes.end, bytes.next_offset) {
        (Some(at), _) if bytes.is_inner => Ending::Entry { at },
        (_, Some(next)) if has_next(&bytes.path, next) => Ending::Segment { first: named_offset(&bytes.path), next },
        _ => Ending::Open,
    }
}

/// Report a file that has fewer bytes than the plan of the query.
///
/// # Errors
/// The error of `on_cut`.
pub fn ensure_uncut(bytes: &SegmentBytes, size: u64, on_cut: &dyn Fn(String) -> Result<()>) -> Result<()> {
    // The rest of a segment begins where a batch ends.
    let planned = bytes.end.unwrap_or(bytes.start);
    if size >= planned {
        return Ok(());
    }
    let (path, size) = (stored::shown(&bytes.path), count(size, "byte"));
    on_cut(format!("{path} was truncated to {size} after the query was planned with {}", grouped(planned)))
}

/// Return a sentence about a file that was listed and is not there.
pub fn gone(path: &Path) -> String {
    match fs::read_link(path) {
        Ok(to) => format!("{} is a dangling link to {}", path.display(), to.display()),
        Err(_) => format!("{} was deleted after the query was planned", stored::shown(path)),
    }
}

/// `1 byte`, `2,048 bytes`.
fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        assert_eq!([count(1, "byte"), count(2048, "byte")], ["1 byte", "2,048 bytes"]);
    }
}
