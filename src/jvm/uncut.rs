//! Files that were cut or removed after a query was planned.

use std::fs;
use std::path::Path;

use crate::error::{Result, grouped};
use crate::jvm::names::redacted_uri;
use crate::jvm::part::SegmentBytes;

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
    let (path, size) = (redacted_uri(&bytes.path), count(size, "byte"));
    on_cut(format!("{path} was truncated to {size} after the query was planned with {}", grouped(planned)))
}

/// Return a sentence about a file that was listed and is not there.
pub fn gone(path: &Path) -> String {
    match fs::read_link(path) {
        Ok(to) => format!("{} is a dangling link to {}", path.display(), to.display()),
        Err(_) => format!("{} was deleted after the query was planned", redacted_uri(path)),
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
