//! The schema of JSON texts that have none, from the texts.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;

use super::number::{has_long_number, is_number, is_whole};
use super::schema::INFERRED;
use crate::values::payload::{Problem, Read};

/// Most names of the objects of one inferred schema; what has more becomes text.
const MOST_NAMES: usize = 2_000;
/// Most levels of objects and arrays of a text whose schema is inferred. Libraries of Arrow import 64 levels of columns.
const MOST_LEVELS: usize = 60;

/// What values of one place were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inferred {
    kind: InferredKind,
    names: usize,
}

/// The type of values of one place.
#[derive(Clone, Debug, Default, PartialEq)]
enum InferredKind {
    /// Nothing but null so far.
    #[default]
    Null,
    Boolean,
    /// Fits 64 bits.
    Integer,
    /// Does not.
    BigInteger,
    Number,
    Text,
    List(Box<InferredKind>),
    Object(BTreeMap<Box<str>, InferredKind>),
    /// Values of several types.
    Any,
}

impl Inferred {
    /// Adds a text; false for one that is not JSON, which changes nothing. `allows_twice` takes a text that has a name twice.
    /// One that `ensure_inferable` refuses changes nothing either.
    pub fn add(&mut self, text: &[u8], allows_twice: bool) -> bool {
        let mut names = self.names;
        let Ok(found) = seen(text, &mut names, allows_twice) else { return false };
        let kind = std::mem::take(&mut self.kind);
        self.kind = if names > MOST_NAMES { InferredKind::Any } else { kind.merged(found) };
        self.names = self.kind.names();
        true
    }

    /// The text of the schema.
    pub fn schema(&self) -> String {
        let mut schema = self.kind.schema();
        if let serde_json::Value::Object(keywords) = &mut schema {
            keywords.insert(INFERRED.to_owned(), true.into());
        }
        schema.to_string()
    }
}

impl InferredKind {
    fn merged(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, kind) | (kind, Self::Null) => kind,
            (Self::Integer | Self::BigInteger, Self::BigInteger) | (Self::BigInteger, Self::Integer) => Self::BigInteger,
            (Self::Integer | Self::BigInteger, Self::Number) | (Self::Number, Self::Integer | Self::BigInteger) => Self::Number,
            (Self::List(one), Self::List(other)) => Self::List(Box::new(one.merged(*other))),
            (Self::Object(mut names), Self::Object(others)) => {
                for (name, kind) in others {
                    let place = names.entry(name).or_default();
                    *place = std::mem::take(place).merged(kind);
                }
                Self::Object(names)
            }
            (one, other) => {
                if one == other {
                    one
                } else {
                    Self::Any
                }
            }
        }
    }

    fn names(&self) -> usize {
        match self {
            Self::Object(names) => names.values().map(|kind| kind.names() + 1).sum(),
            Self::List(items) => items.names(),
            _ => 0,
        }
    }

    fn schema(&self) -> serde_json::Value {
        match self {
            Self::Null => json!({"type": "null"}),
            Self::Boolean => json!({"type": "boolean"}),
            Self::Integer => json!({"type": "integer"}),
            Self::BigInteger => json!({"type": "arrow:Decimal128(38, 0)"}),
            Self::Number => json!({"type": "number"}),
            Self::Text => json!({"type": "string"}),
            Self::List(items) => json!({"type": "array", "items": items.schema()}),
            Self::Object(names) => {
                let properties: serde_json::Map<_, _> = names.iter().map(|(name, kind)| (name.to_string(), kind.schema())).collect();
                json!({"type": "object", "properties": properties})
            }
            Self::Any => json!({}),
        }
    }
}

/// What a text has.
///
/// # Errors
/// Why it has no part in an inferred schema; `None` if it is not JSON.
fn seen(bytes: &[u8], names: &mut usize, allows_twice: bool) -> Result<InferredKind, Option<Box<Problem>>> {
    let text = text_in(bytes).map_err(|_| None)?;
    let mut refused = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seen = ShapeSeed { names, refused: &mut refused, allows_twice, is_exact: has_long_number(text), level: 0 };
    let found = seen.deserialize(&mut deserializer).and_then(|found| deserializer.end().map(|()| found));
    found.map_err(|_| match refused {
        // What is wrong was found before the rest was read, which may not be JSON.
        Some(problem) => serde_json::from_str::<IgnoredAny>(text).is_ok().then_some(problem),
        // Numbers one after the other are rather another format.
        None => documents(text).filter(|_| text.trim_start().starts_with(['{', '['])),
    })
}

/// Fails for a text that has no part in an inferred schema, since its columns would be of no use: with the reason, or `None` if the bytes
/// are not JSON.
pub fn ensure_inferable(bytes: &[u8], allows_twice: bool) -> Result<(), Option<Box<Problem>>> {
    seen(bytes, &mut 0, allows_twice).map(|_| ())
}

/// True for a text that `ensure_inferable` may refuse, at a glance.
pub fn may_be_refused(text: &str) -> bool {
    text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() > MOST_LEVELS || text.contains("\\u0000")
}

/// The text of a value, without a byte order mark before it.
///
/// # Errors
/// `Utf8`.
pub fn text_in(bytes: &[u8]) -> Read<&str> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::Utf8)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The problem of several JSON texts one after the other; `None` for anything else.
pub fn documents(text: &str) -> Option<Box<Problem>> {
    let mut count = 0_usize;
    for document in serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>() {
        document.ok()?;
        count += 1;
    }
    (count > 1).then(|| Box::new(Problem::Text(format!("{count} JSON documents in one value"))))
}

/// Sees what a value is. Names are counted, so that objects cannot fill the memory.
struct ShapeSeed<'n> {
    names: &'n mut usize,
    /// Why the text has no part in the schema.
    refused: &'n mut Option<Box<Problem>>,
    allows_twice: bool,
    /// Numbers are looked at as texts.
    is_exact: bool,
    /// Objects and arrays around the value.
    level: usize,
}

impl ShapeSeed<'_> {
    /// The same for a value inside of this one.
    fn inside(&mut self) -> ShapeSeed<'_> {
        let Self { names, refused, allows_twice, is_exact, level } = self;
        ShapeSeed { names, refused, allows_twice: *allows_twice, is_exact: *is_exact, level: *level + 1 }
    }

    fn ensure_level<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.level < MOST_LEVELS {
            return Ok(());
        }
        let (limit, allowed) = ("levels of JSON without a schema", u64::try_from(MOST_LEVELS).unwrap_or(u64::MAX));
        Err(self.refuse(Problem::Limit { limit, allowed }))
    }

    fn refuse<E: serde::de::Error>(&mut self, problem: Problem) -> E {
        let error = E::custom(&problem);
        *self.refused = Some(Box::new(Problem::Unheld(Box::new(problem))));
        error
    }
}

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = InferredKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<InferredKind, D::Error> {
        if !self.is_exact {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        if !is_number(raw) {
            let mut deserializer = serde_json::Deserializer::from_str(raw);
            return deserializer.deserialize_any(self).map_err(D::Error::custom);
        }
        Ok(match raw.parse::<i64>() {
            Ok(_) => InferredKind::Integer,
            Err(_) if is_whole(raw) => InferredKind::BigInteger,
            Err(_) => InferredKind::Number,
        })
    }
}

impl<'de> Visitor<'de> for ShapeSeed<'_> {
    type Value = InferredKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<InferredKind, E> {
        Ok(InferredKind::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<InferredKind, E> {
        Ok(InferredKind::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<InferredKind, E> {
        Ok(InferredKind::Integer)
    }

    fn visit_u64<E>(self, value: u64) -> Result<InferredKind, E> {
        Ok(if i64::try_from(value).is_ok() { InferredKind::Integer } else { InferredKind::BigInteger })
    }

    fn visit_f64<E>(self, _: f64) -> Result<InferredKind, E> {
        Ok(InferredKind::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<InferredKind, E> {
        Ok(InferredKind::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<InferredKind, A::Error> {
        self.ensure_level()?;
        let mut kind = InferredKind::Null;
        while let Some(item) = items.next_element_seed(self.inside())? {
            kind = kind.merged(item);
        }
        Ok(InferredKind::List(Box::new(kind)))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<InferredKind, A::Error> {
        self.ensure_level()?;
        let mut found = BTreeMap::new();
        while let Some(name) = pairs.next_key::<String>()? {
            if name.contains('\0') {
                return Err(self.refuse(Problem::Text(format!("the name {name:?} has the character U+0000, which no column may have"))));
            }
            *self.names += 1;
            let kind = pairs.next_value_seed(self.inside())?;
            if found.insert(name.into_boxed_str(), kind).is_some() && !self.allows_twice {
                return Err(A::Error::custom("a name is there twice"));
            }
        }
        Ok(InferredKind::Object(found))
    }
}

/// Fails for a text that is not JSON in all of its parts: RFC 8259, with escapes that are characters.
pub fn ensure_text(text: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    AnyPart.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Visits every part of a value.
struct AnyPart;

impl<'de> DeserializeSeed<'de> for AnyPart {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyPart {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        while pairs.next_key_seed(Self)?.is_some() {
            pairs.next_value_seed(Self)?;
        }
        Ok(())
    }
}
