//! Runs of bytes and times as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Datelike, SecondsFormat};

use crate::wire::java_text;
use crate::wire::json_text::{hex_pair, integer, string};

/// How runs of bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BytesForm {
    /// A string when they are UTF-8, else `{"base64": "..."}`.
    #[default]
    Auto,
    /// A string; what is not UTF-8 becomes U+FFFD, and is lost.
    Utf8,
    /// A string of base64 with padding, for all of them.
    Base64,
    /// A string of lower-case hexadecimal digits, for all of them.
    Hex,
}

/// Writes a run of bytes.
pub fn bytes(out: &mut Vec<u8>, bytes: &[u8], form: BytesForm) {
    match (form, std::str::from_utf8(bytes)) {
        (BytesForm::Auto | BytesForm::Utf8, Ok(text)) => string(out, text),
        (BytesForm::Utf8, Err(_)) => string(out, &java_text(bytes)),
        (BytesForm::Auto, Err(_)) => {
            out.extend_from_slice(b"{\"base64\":");
            base64(out, bytes);
            out.push(b'}');
        }
        (BytesForm::Base64, _) => base64(out, bytes),
        (BytesForm::Hex, _) => hex(out, bytes),
    }
}

/// Writes a time (ms) in ISO 8601, in UTC; as a number if its year has more than four digits.
pub fn iso_time(out: &mut Vec<u8>, millis: i64) {
    match DateTime::from_timestamp_millis(millis).filter(|time| (0..=9999).contains(&time.year())) {
        Some(time) => string(out, &time.to_rfc3339_opts(SecondsFormat::Millis, true)),
        None => integer(out, millis),
    }
}

fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = out.get_mut(start..).map_or(Ok(0), |slot| STANDARD.encode_slice(bytes, slot));
    out.truncate(start + written.unwrap_or(0));
    out.push(b'"');
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend(bytes.iter().flat_map(|byte| hex_pair(*byte)));
    out.push(b'"');
}
