//! The schema of JSON texts that have none, from the texts.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::json;

/// Most names of the objects of one inferred schema; what has more becomes text.
const MOST_NAMES: usize = 2_000;

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
    pub fn add(&mut self, text: &[u8], allows_twice: bool) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let mut names = self.names;
        let found = Seen { names: &mut names, allows_twice }.deserialize(&mut deserializer);
        let Ok(found) = found.and_then(|found| deserializer.end().map(|()| found)) else { return false };
        let kind = std::mem::take(&mut self.kind);
        self.kind = if names > MOST_NAMES { InferredKind::Any } else { kind.merged(found) };
        self.names = self.kind.names();
        true
    }

    /// The text of the schema.
    pub fn schema(&self) -> String {
        self.kind.schema().to_string()
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

/// Sees what a value is. Names are counted, so that objects cannot fill the memory.
struct Seen<'n> {
    names: &'n mut usize,
    allows_twice: bool,
}

impl<'de> DeserializeSeed<'de> for Seen<'_> {
    type Value = InferredKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<InferredKind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seen<'_> {
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<InferredKind, A::Error> {
        let Self { names, allows_twice } = self;
        let mut kind = InferredKind::Null;
        while let Some(item) = items.next_element_seed(Seen { names, allows_twice })? {
            kind = kind.merged(item);
        }
        Ok(InferredKind::List(Box::new(kind)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<InferredKind, A::Error> {
        let Self { names, allows_twice } = self;
        let mut found = BTreeMap::new();
        while let Some(name) = pairs.next_key::<String>()? {
            *names += 1;
            let kind = pairs.next_value_seed(Seen { names, allows_twice })?;
            if found.insert(name.into_boxed_str(), kind).is_some() && !allows_twice {
                return Err(A::Error::custom("a name is there twice"));
            }
        }
        Ok(InferredKind::Object(found))
    }
}

/// True for bytes that are JSON in all of their parts, without a name that is there twice.
pub fn is_text(bytes: &[u8]) -> bool {
    Inferred::default().add(bytes, false)
}

/// Fails for a text that is not JSON in all of its parts: RFC 8259, with escapes that are characters.
pub fn ensure_text(text: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Whole.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Visits every part of a value.
struct Whole;

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole {
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
