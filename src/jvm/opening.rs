//! Opens the bytes of a part, on this machine or in a store.

use std::fs;
use std::sync::Arc;

use crate::decode::DecodeOptions;
use crate::error::Result;
use crate::framing::{Ending, Source};
use crate::io::{FileRange, ensure_segment, has_next, named_offset, position_07};
use crate::jvm::names::is_stored;
use crate::jvm::part::SegmentBytes;
use crate::jvm::stored::{self, StoreReports};
use crate::jvm::uncut::ensure_uncut;
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
    let source = if is_stored(&bytes.path) { stored::open(bytes, reports, on_cut)? } else { local(bytes, reports, on_cut)? };
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
