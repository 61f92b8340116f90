use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::columns::jsonl::text;
use crate::internal::{Scalar, Visitor};

/// Writes one value as JSON without spaces, behind what is there.
pub struct Json<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Json<'a> {
    /// Writes behind `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { start: out.len(), out }
    }

    /// A comma, unless the value is the first of its struct or array, or has a name before it.
    fn separate(&mut self) {
        let written = self.out.get(self.start..).unwrap_or_default();
        if !matches!(written.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }

    fn encoded(&mut self, encoded: &str) {
        text::string(self.out, encoded);
    }
}

impl Visitor for Json<'_> {
    fn open_struct(&mut self) {
        self.separate();
        self.out.push(b'{');
    }

    fn close_struct(&mut self) {
        self.out.push(b'}');
    }

    fn open_array(&mut self) {
        self.separate();
        self.out.push(b'[');
    }

    fn close_array(&mut self) {
        self.out.push(b']');
    }

    fn name(&mut self, name: &str) {
        self.separate();
        text::string(self.out, name);
        self.out.push(b':');
    }

    fn scalar(&mut self, scalar: Scalar<'_>) {
        self.separate();
        match scalar {
            Scalar::Null => self.out.extend_from_slice(b"null"),
            Scalar::Bool(is_true) => self.out.extend_from_slice(if is_true { b"true" } else { b"false" }),
            Scalar::Number(number) => text::integer(self.out, number),
            Scalar::Float(float) => self.float(float),
            Scalar::Uuid(bytes) => self.encoded(&URL_SAFE_NO_PAD.encode(bytes)),
            Scalar::Text(said) => text::string(self.out, said),
            Scalar::Bytes(bytes) => self.encoded(&STANDARD.encode(bytes)),
        }
    }

    fn mark(&self) -> usize {
        self.out.len()
    }

    fn back_to(&mut self, mark: usize) {
        self.out.truncate(mark);
    }
}

impl Json<'_> {
    /// JSON has no infinity and no NaN: they are strings, as in Kafka's JSON.
    fn float(&mut self, float: f64) {
        if float.is_finite() {
            self.out.extend_from_slice(format!("{float:?}").as_bytes());
        } else {
            let name = if float.is_nan() {
                "NaN"
            } else if float > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            };
            self.encoded(name);
        }
    }
}
