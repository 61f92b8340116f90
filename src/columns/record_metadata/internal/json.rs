use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::internal_topics::{Scalar, Visitor};
use crate::wire::json_text;

/// Writes one value as JSON without spaces, after what is there, as far as there is space for it.
///
/// A byte of an array of structs may become a hundred of names, so that nothing more is written as soon as it is too much.
pub struct Json<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    most: usize,
    is_full: bool,
}

/// Most bytes behind 32-bit offsets.
pub const MOST_BYTES: usize = 0x7fff_ffff;
/// The mark of a place that was not written.
const NOWHERE: usize = usize::MAX;

impl<'a> Json<'a> {
    /// Appends to `out`, at most `most` bytes, and not beyond what 32-bit offsets can end.
    pub fn new(out: &'a mut Vec<u8>, most: usize) -> Self {
        Self { start: out.len(), most: most.min(MOST_BYTES.saturating_sub(out.len())), out, is_full: false }
    }

    /// The bytes that were written; `None` when there was no room for all.
    pub fn written(&self) -> Option<usize> {
        (!self.is_full).then(|| self.out.len() - self.start)
    }

    /// A value, or a name, which has a comma before it, unless it is the first of its struct or array, or has a name before it.
    fn next(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let written = self.out.get(self.start..).unwrap_or_default();
        let is_first = matches!(written.last(), None | Some(b'{' | b'[' | b':'));
        self.put(|out| {
            if !is_first {
                out.push(b',');
            }
            write(out);
        });
    }

    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.is_full {
            return;
        }
        let before = self.out.len();
        write(self.out);
        if self.out.len() - self.start > self.most {
            self.out.truncate(before);
            self.is_full = true;
        }
    }
}

impl Visitor for Json<'_> {
    fn open_struct(&mut self) {
        self.next(|out| out.push(b'{'));
    }

    fn close_struct(&mut self) {
        self.put(|out| out.push(b'}'));
    }

    fn open_array(&mut self) {
        self.next(|out| out.push(b'['));
    }

    fn close_array(&mut self) {
        self.put(|out| out.push(b']'));
    }

    fn name(&mut self, name: &'static str) {
        self.next(|out| {
            json_text::string(out, name);
            out.push(b':');
        });
    }

    fn scalar(&mut self, scalar: Scalar<'_>) {
        self.next(|out| match scalar {
            Scalar::Null => out.extend_from_slice(b"null"),
            Scalar::Bool(is_true) => out.extend_from_slice(if is_true { b"true" } else { b"false" }),
            Scalar::Number(number) => json_text::integer(out, number),
            Scalar::Float(number) => float(out, number),
            Scalar::Uuid(bytes) => json_text::string(out, &URL_SAFE_NO_PAD.encode(bytes)),
            Scalar::Text(said) => json_text::string(out, said),
            Scalar::Bytes(bytes) => json_text::string(out, &STANDARD.encode(bytes)),
        });
    }

    fn mark(&self) -> usize {
        if self.is_full { NOWHERE } else { self.out.len() }
    }

    fn back_to(&mut self, mark: usize) {
        if mark != NOWHERE {
            self.out.truncate(mark);
            self.is_full = false;
        }
    }
}

/// JSON has no infinity and no NaN: they are strings, as in Kafka's JSON.
fn float(out: &mut Vec<u8>, float: f64) {
    match float {
        _ if float.is_finite() => out.extend_from_slice(format!("{float:?}").as_bytes()),
        _ if float.is_nan() => json_text::string(out, "NaN"),
        _ => json_text::string(out, if float > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of empty strings, and whether all of it was written.
    fn written(most: usize, count: usize) -> (Vec<u8>, Option<usize>) {
        let mut out = b"before".to_vec();
        let mut json = Json::new(&mut out, most);
        json.open_array();
        (0..count).for_each(|_| json.scalar(Scalar::Text("")));
        json.close_array();
        let len = json.written();
        (out, len)
    }

    #[test]
    fn nothing_is_written_beyond_the_most_bytes() {
        assert_eq!(written(10, 3), (b"before[\"\",\"\",\"\"]".to_vec(), Some(10)));
        let (out, len) = written(9, 1_000_000);
        assert!(out.len() <= 6 + 9 && out.capacity() < 64, "{} bytes of {}", out.len(), out.capacity());
        assert_eq!(len, None);
    }

    #[test]
    fn forgotten_bytes_can_be_written_again() {
        let mut out = Vec::new();
        let mut json = Json::new(&mut out, 12);
        let mark = json.mark();
        json.scalar(Scalar::Text("far too long for it"));
        assert_eq!((json.written(), json.mark()), (None, NOWHERE));
        json.back_to(NOWHERE);
        assert_eq!(json.written(), None);
        json.back_to(mark);
        json.scalar(Scalar::Bool(true));
        assert_eq!(json.written(), Some(4));
        assert_eq!(out, b"true");
    }
}
