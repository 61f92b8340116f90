use super::read::read;
use super::schema::Message;
use super::visitor::{Scalar, Visitor};
use crate::error::Result;

/// The key or the value of a record.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// There is none.
    Null,
    /// Bytes that say nothing more.
    Raw(&'a [u8]),
    /// A message of a version that its table has; `bytes` are those of its fields, `all` those of the part.
    Message {
        /// What it is.
        message: &'static Message,
        /// In which version.
        version: i16,
        /// Where its fields are.
        bytes: &'a [u8],
        /// The part, whole.
        all: &'a [u8],
    },
}

impl Part<'_> {
    /// Hands the fields to a visitor. Bytes that are no message are handed over as they are: a struct of one field, `base64`.
    ///
    /// # Errors
    /// `Length`, `Varint` or `Invalid` when the bytes are not what the table says; they were handed over all the same.
    pub fn visit(&self, visitor: &mut impl Visitor) -> Result<()> {
        match self {
            Self::Null => visitor.scalar(Scalar::Null),
            Self::Raw(bytes) => raw(bytes, visitor),
            Self::Message { message, version, bytes, all } => {
                let mark = visitor.mark();
                if let Err(error) = read(message, *version, bytes, visitor) {
                    visitor.back_to(mark);
                    raw(all, visitor);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// True when there is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

fn raw(bytes: &[u8], visitor: &mut impl Visitor) {
    visitor.open_struct();
    visitor.name("base64");
    visitor.scalar(Scalar::Bytes(bytes));
    visitor.close_struct();
}
