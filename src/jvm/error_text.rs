//! Errors as the Python reader raises them: the class, the file, what is wrong, and the option that helps.

use std::io;

use crate::error::{Error, ErrorKind};
use crate::tiered::TieredError;

/// What to do about an undamaged batch that cannot be read here. `logsegment.spark.read.damage` has the same texts.
const LEAVING_OUT: &str = "set the option unreadable to skip to leave out such batches";
/// What to do about a value that cannot be decoded.
const AS_NULL: &str = "set the option mode to PERMISSIVE to read such values as null";

/// The text of an error. `hint` is the option that skips damage, or empty if the query skips it; `raised` is the last error of a store.
pub fn text(error: &Error, hint: &str, raised: Option<TieredError>) -> String {
    let class = error.kind().class();
    let hinted = |text: String, hint: &str| if hint.is_empty() { text } else { format!("{text}; {hint}") };
    let of_store = raised.filter(|_| matches!(error.kind(), ErrorKind::Io { .. } | ErrorKind::LostBytes { .. }));
    match of_store {
        Some(TieredError::Chunk(error)) => return hinted(format!("logsegment.tiered.ChunkError: {}", error.text), hint),
        Some(TieredError::Manifest(error)) => return hinted(format!("logsegment.tiered.ManifestError: {}", error.text), hint),
        Some(TieredError::Key(text)) => return format!("logsegment.tiered.SegmentKeyError: {text}"),
        _ => {}
    }
    let named = format!("logsegment.{class}: {error}");
    match error.kind() {
        ErrorKind::Io { kind, os_code: Some(code), .. } => {
            let told = io::Error::from_raw_os_error(*code).to_string();
            let told = told.split(" (os error").next().unwrap_or_default();
            format!("{}: [Errno {code}] {told}: '{}'", io_class(*kind), error.file().unwrap_or_default())
        }
        ErrorKind::Io { kind, message, .. } => format!("{}: {message}", io_class(*kind)),
        ErrorKind::NotASegment { .. } | ErrorKind::Internal { .. } => named,
        ErrorKind::Usage { .. } => format!("{class}: {error}"),
        ErrorKind::Limit { limit, .. } if error.is_unreadable() => {
            let leaving_out = LEAVING_OUT.trim_start_matches("set ");
            format!("{named}; set the option limits.{limit} to raise the limit, or {leaving_out}")
        }
        _ if error.is_unreadable() => format!("{named}; {LEAVING_OUT}"),
        ErrorKind::OutsideSegment { .. } => hinted(named, &hint.replace("skip damage", "read the segment all the same")),
        _ if class == "UnsupportedError" || class == "UnknownCompressionError" => named,
        ErrorKind::Value { .. } if !hint.is_empty() => format!("{named}; {AS_NULL}"),
        _ => hinted(named, hint),
    }
}

/// Python's class of errors of the operating system.
fn io_class(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound => "FileNotFoundError",
        io::ErrorKind::PermissionDenied => "PermissionError",
        io::ErrorKind::IsADirectory => "IsADirectoryError",
        _ => "OSError",
    }
}
