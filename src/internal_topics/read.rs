//! The one reader of all messages: a table says what comes next (KIP-482 for flexible versions).
//!
//! Nothing is trusted before it is held against the bytes that are there: an array of n elements needs n bytes at least, as in
//! `Readable` of Kafka's clients, and depth is that of the tables.

use super::schema::{Absent, Field, Kind, Message};
use super::visitor::{Scalar, Visitor};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Cursor, java_text};

/// The rule that bytes break which are not what a table says.
const RULE: &str = "INT-2";

/// Reads all of `bytes` as a message of this version.
///
/// # Errors
/// `Length`, `Varint` or `Invalid`, in the field where the bytes are not what the table says; what was visited until then is no message.
pub(super) fn read(message: &'static Message, version: i16, bytes: &[u8], visitor: &mut impl Visitor) -> Result<()> {
    let mut cursor = Cursor::new(bytes, RULE);
    let is_flexible = version >= message.flexible;
    Reader { version, is_flexible, cursor: &mut cursor, visitor }.fields(message.fields).map(drop)?;
    ensure_used_up(&cursor, message.name)
}

struct Reader<'r, 'a, V> {
    version: i16,
    is_flexible: bool,
    cursor: &'r mut Cursor<'a>,
    visitor: &'r mut V,
}

/// The part of a value that decides whether it is the default of an absent field.
type Seen = Option<Absent>;

const ZERO: Seen = Some(Absent::Number(0));
const NULL: Result<Seen> = Ok(Some(Absent::Null));

impl<V: Visitor> Reader<'_, '_, V> {
    /// True when all fields are 0, false or empty.
    fn fields(&mut self, fields: &'static [Field]) -> Result<bool> {
        self.visitor.open_struct();
        let version = self.version;
        let mut is_zero = true;
        for field in fields.iter().filter(|field| field.versions.has(version) && field.tag_in(version).is_none()) {
            self.visitor.name(field.name);
            is_zero &= self.value(field.kind, field.name, field.nullable.has(version))? == ZERO;
        }
        if self.is_flexible {
            is_zero &= self.tagged(fields)?;
        }
        self.visitor.close_struct();
        Ok(is_zero)
    }

    /// Tagged fields come in the order of their tags; those that no table knows are skipped, as Kafka skips them.
    /// True when none says anything.
    fn tagged(&mut self, fields: &'static [Field]) -> Result<bool> {
        let count = self.cursor.take_uvarint("tagBuffer")?;
        let (mut least, mut is_silent) = (0_u64, true);
        for _ in 0..count {
            let tag = self.cursor.take_uvarint("tag")?;
            if u64::from(tag) < least {
                return Err(invalid("tags that do not increase", "tag"));
            }
            least = u64::from(tag) + 1;
            let len = self.cursor.take_uvarint("size")?;
            let bytes = self.cursor.take(usize::try_from(len).unwrap_or(usize::MAX), "tagBuffer")?;
            is_silent &= match fields.iter().find(|field| field.tag_in(self.version) == Some(tag)) {
                Some(field) => self.tagged_field(field, bytes)?,
                None => false,
            };
        }
        Ok(is_silent)
    }

    /// True if the field has its default value; then it is omitted.
    fn tagged_field(&mut self, field: &'static Field, bytes: &[u8]) -> Result<bool> {
        let mark = self.visitor.mark();
        self.visitor.name(field.name);
        let mut cursor = Cursor::new(bytes, RULE);
        let mut inner = Reader { version: self.version, is_flexible: self.is_flexible, cursor: &mut cursor, visitor: &mut *self.visitor };
        let seen = inner.tagged_value(field)?;
        ensure_used_up(&cursor, field.name)?;
        let is_silent = seen == Some(field.default);
        if is_silent {
            self.visitor.back_to(mark);
        }
        Ok(is_silent)
    }

    /// A struct that may be null has an unsigned varint before it here, 0 for null, where elsewhere it has a byte.
    fn tagged_value(&mut self, field: &'static Field) -> Result<Seen> {
        let may_be_null = field.nullable.has(self.version);
        let Kind::Struct(fields) = field.kind else { return self.value(field.kind, field.name, may_be_null) };
        if may_be_null && self.cursor.take_uvarint(field.name)? == 0 {
            self.visitor.scalar(Scalar::Null);
            return NULL;
        }
        self.group(fields, field.name, false)
    }

    /// Reads a value of this kind: that of a field, or an element of its array.
    fn value(&mut self, kind: Kind, name: &'static str, may_be_null: bool) -> Result<Seen> {
        match kind {
            Kind::Bool => self.bool(name),
            Kind::Int8 => self.number::<1>(name, |bytes| i8::from_be_bytes(bytes).into()),
            Kind::Int16 => self.number::<2>(name, |bytes| i16::from_be_bytes(bytes).into()),
            Kind::Uint16 => self.number::<2>(name, |bytes| u16::from_be_bytes(bytes).into()),
            Kind::Int32 => self.number::<4>(name, |bytes| i32::from_be_bytes(bytes).into()),
            Kind::Uint32 => self.number::<4>(name, |bytes| u32::from_be_bytes(bytes).into()),
            Kind::Int64 => self.number::<8>(name, i64::from_be_bytes),
            Kind::Float64 => {
                let float = self.cursor.take_array(name).map(f64::from_be_bytes)?;
                self.visitor.scalar(Scalar::Float(float));
                Ok(None)
            }
            Kind::Uuid => {
                let bytes = self.cursor.take_array(name)?;
                self.visitor.scalar(Scalar::Uuid(bytes));
                Ok(if bytes == [0; 16] { ZERO } else { None })
            }
            Kind::Text => self.text(name, may_be_null),
            Kind::Bytes => self.bytes(name, may_be_null),
            Kind::Array(element) => self.array(*element, name, may_be_null),
            Kind::Struct(fields) => self.group(fields, name, may_be_null),
        }
    }

    fn bool(&mut self, name: &'static str) -> Result<Seen> {
        let [byte] = self.cursor.take_array(name)?;
        self.visitor.scalar(Scalar::Bool(byte != 0));
        Ok(Some(Absent::Number((byte != 0).into())))
    }

    fn number<const N: usize>(&mut self, name: &'static str, of: impl FnOnce([u8; N]) -> i64) -> Result<Seen> {
        let number = of(self.cursor.take_array(name)?);
        self.visitor.scalar(Scalar::Number(number));
        Ok(Some(Absent::Number(number)))
    }

    /// Reads text as Java decodes it, malformed UTF-8 included.
    fn text(&mut self, name: &'static str, may_be_null: bool) -> Result<Seen> {
        let len = if self.is_flexible { self.compact_len(name)? } else { self.cursor.take_i16(name)?.into() };
        let Some(len) = self.present(len, name, may_be_null)? else { return NULL };
        let text = java_text(self.cursor.take(len, name)?);
        self.visitor.scalar(Scalar::Text(&text));
        Ok(if text.is_empty() { ZERO } else { None })
    }

    fn bytes(&mut self, name: &'static str, may_be_null: bool) -> Result<Seen> {
        let len = self.long_len(name)?;
        let Some(len) = self.present(len, name, may_be_null)? else { return NULL };
        let bytes = self.cursor.take(len, name)?;
        self.visitor.scalar(Scalar::Bytes(bytes));
        Ok(if bytes.is_empty() { ZERO } else { None })
    }

    fn array(&mut self, element: Kind, name: &'static str, may_be_null: bool) -> Result<Seen> {
        let count = self.long_len(name)?;
        let Some(count) = self.present(count, name, may_be_null)? else { return NULL };
        if count > self.cursor.left().len() {
            return Err(invalid("an array of more elements than there are bytes", name));
        }
        self.visitor.open_array();
        for _ in 0..count {
            self.value(element, name, false)?;
        }
        self.visitor.close_array();
        Ok(if count == 0 { ZERO } else { None })
    }

    /// A struct that may be null has a byte before it, below 0 for null.
    fn group(&mut self, fields: &'static [Field], name: &'static str, may_be_null: bool) -> Result<Seen> {
        if may_be_null {
            let [byte] = self.cursor.take_array(name)?;
            if byte >= 0x80 {
                self.visitor.scalar(Scalar::Null);
                return NULL;
            }
        }
        self.fields(fields).map(|is_zero| if is_zero { ZERO } else { None })
    }

    fn long_len(&mut self, name: &'static str) -> Result<i64> {
        if self.is_flexible { self.compact_len(name) } else { self.cursor.take_i32(name).map(i64::from) }
    }

    /// One less than an unsigned varint; -1 is null.
    fn compact_len(&mut self, name: &'static str) -> Result<i64> {
        self.cursor.take_uvarint(name).map(|len| i64::from(len) - 1)
    }

    /// The length, or `None` after null was visited.
    fn present(&mut self, len: i64, name: &'static str, may_be_null: bool) -> Result<Option<usize>> {
        if let Ok(len) = usize::try_from(len) {
            return Ok(Some(len));
        }
        if !may_be_null {
            return Err(invalid("null where there is never null", name));
        }
        self.visitor.scalar(Scalar::Null);
        Ok(None)
    }
}

fn ensure_used_up(cursor: &Cursor<'_>, field: &'static str) -> Result<()> {
    if cursor.left().is_empty() { Ok(()) } else { Err(invalid("bytes after the last field", field)) }
}

fn invalid(what: &'static str, field: &'static str) -> Error {
    Error::from(ErrorKind::Invalid { rule: RULE, what }).in_field(field)
}
