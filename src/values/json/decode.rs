//! JSON texts into columns, without a tree of values between.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use arrow_schema::{DataType, TimeUnit};

use super::infer::{documents, ensure_inferable, ensure_text, may_be_refused, text_in};
use super::number::{has_long_number, is_number, is_whole};
use crate::values::column::{Slots, ValueColumn, ValueRuns, end_row};
use crate::values::payload::{Payload, Problem, Read};
use crate::values::shape::{Shape, ShapeKind};

/// How a text becomes a value of a column.
#[derive(Clone, Debug)]
pub enum JsonStep {
    /// A value without children.
    Leaf(DataType),
    /// JSON text.
    Text,
    /// Items.
    List(Box<JsonStep>),
    /// Names with values.
    Map(Box<JsonStep>),
    /// Children by their names.
    Struct(HashMap<Box<str>, usize>, Vec<JsonStep>),
}

impl JsonStep {
    /// The step for a column of this shape.
    pub fn of(shape: &Shape) -> Self {
        match &shape.kind {
            ShapeKind::Leaf(data_type) => Self::Leaf(data_type.clone()),
            ShapeKind::Json => Self::Text,
            ShapeKind::List(items) => Self::List(Box::new(Self::of(items))),
            ShapeKind::Map(_, values) => Self::Map(Box::new(Self::of(values))),
            ShapeKind::Struct(members) | ShapeKind::Union(members) => {
                let names = members.iter().enumerate().map(|(place, member)| (member.name.clone(), place));
                Self::Struct(names.collect(), members.iter().map(|member| Self::of(&member.shape)).collect())
            }
        }
    }
}

/// Reads the text that is left into a column. A number that its column cannot hold is null, and a misfit of the payload.
///
/// # Errors
/// What is wrong with it; the column may have a part of it then.
pub fn read(step: &JsonStep, is_inferred: bool, column: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
    let text = text_in(payload.take(payload.left())?)?;
    if is_inferred
        && may_be_refused(text)
        && let Err(Some(problem)) = ensure_inferable(text.as_bytes(), true)
    {
        return Err(problem);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut notes = Notes { failed: None, is_exact: has_long_number(text) };
    let value = JsonValue { step, column, payload, notes: &mut notes };
    let read = value.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    read.map_err(|error| {
        notes.failed.or_else(|| documents(text)).unwrap_or_else(|| {
            // A number that JSON does not have says more than that the value before it is not of the column.
            let named = ensure_text(text).err().and_then(|error| number_at(text, &error));
            Box::new(Problem::Text(named.unwrap_or_else(|| format!("not JSON of its schema: {error}"))))
        })
    })
}

/// The number that JSON does not have and that is where an error is, with its place.
fn number_at(text: &str, error: &serde_json::Error) -> Option<String> {
    let column = error.column().saturating_sub(1);
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    // The error is at the word, or after its sign.
    let begins = |word: &&&str| (0..=column.min(2)).any(|back| line.get(column - back..).is_some_and(|at| at.starts_with(**word)));
    let word = NOT_JSON.iter().find(begins)?;
    Some(format!("{word} is not a number of JSON: line {} column {}", error.line(), error.column()))
}

/// Numbers that some writers write and JSON does not have.
const NOT_JSON: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// The value of a place in the text, for a column.
struct JsonValue<'p, 'b> {
    step: &'p JsonStep,
    column: &'p mut ValueColumn,
    payload: &'p mut Payload<'b>,
    notes: &'p mut Notes,
}

/// What is known of a text.
struct Notes {
    /// What is wrong beyond the text.
    failed: Option<Box<Problem>>,
    /// Numbers are read as texts.
    is_exact: bool,
}

impl JsonValue<'_, '_> {
    /// Appends what `push` appends to the slots; a problem becomes an error of the text.
    fn push<E: serde::de::Error>(self, push: impl FnOnce(&JsonStep, &mut Slots) -> Read<bool>) -> Result<(), E> {
        match push(self.step, &mut self.column.slots) {
            Ok(true) => {
                self.column.note_valid();
                Ok(())
            }
            Ok(false) => Err(E::custom("the value is not of the type of the column")),
            Err(problem) if problem.is_partial() => {
                self.payload.note_misfit(problem);
                self.null()
            }
            Err(problem) => Err(noted(self.notes, problem)),
        }
    }

    fn null<E: serde::de::Error>(self) -> Result<(), E> {
        self.payload.spend(self.column.width()).map_err(|problem| noted(self.notes, problem))?;
        self.column.push_null();
        Ok(())
    }
}

fn noted<E: serde::de::Error>(notes: &mut Notes, problem: Box<Problem>) -> E {
    let error = E::custom(&problem);
    notes.failed = Some(problem);
    error
}

impl<'de> DeserializeSeed<'de> for JsonValue<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let is_raw = match self.step {
            JsonStep::Text | JsonStep::Leaf(DataType::Decimal128(..)) => true,
            JsonStep::Leaf(data_type) => self.notes.is_exact && data_type.is_numeric(),
            _ => false,
        };
        if !is_raw {
            return deserializer.deserialize_any(self);
        }
        let raw: &RawValue = serde::Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        if text == "null" {
            return self.null();
        }
        if matches!(self.step, JsonStep::Text) {
            ensure_text(text).map_err(D::Error::custom)?;
        }
        self.push(|step, slots| match (step, slots) {
            (JsonStep::Text, Slots::Runs(runs)) => runs.push(text.as_bytes()).map(|()| true),
            (JsonStep::Leaf(DataType::Decimal128(precision, scale)), Slots::I128(values)) => {
                values.push(digits(text, *precision, *scale)?);
                Ok(true)
            }
            (step, slots) => number(step, slots, text),
        })
    }
}

impl<'de> Visitor<'de> for JsonValue<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the type of the column")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.null()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.push(|_, slots| {
            let Slots::Boolean(bits) = slots else { return Ok(false) };
            bits.append(value);
            Ok(true)
        })
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.push(|step, slots| whole(step, slots, value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.push(|step, slots| whole(step, slots, value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.push(|step, slots| double(step, slots, value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.push(|step, slots| text_of(step, slots, value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { step, column, payload, notes } = self;
        let (JsonStep::List(step), Slots::List(offsets, children)) = (step, &mut column.slots) else {
            return Err(A::Error::custom("an array is not of the type of the column"));
        };
        while items.next_element_seed(JsonValue { step, column: children, payload, notes })?.is_some() {}
        end_row(offsets, children).map_err(|problem| noted(notes, problem))?;
        column.note_valid();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, pairs: A) -> Result<(), A::Error> {
        match (self.step, &self.column.slots) {
            (JsonStep::Struct(..), Slots::Struct(..)) => object(self, pairs),
            (JsonStep::Map(_), Slots::Map(..)) => map(self, pairs),
            _ => Err(A::Error::custom("an object is not of the type of the column")),
        }
    }
}

fn object<'de, A: MapAccess<'de>>(value: JsonValue<'_, '_>, mut pairs: A) -> Result<(), A::Error> {
    let JsonValue { step, column, payload, notes } = value;
    let (JsonStep::Struct(places, steps), Slots::Struct(children, len)) = (step, &mut column.slots) else {
        return Err(A::Error::custom("an object is not of the type of the column"));
    };
    while let Some(name) = pairs.next_key_seed(NameSeed)? {
        let found = places.get(&*name).copied();
        match found.and_then(|place| Some((steps.get(place)?, children.get_mut(place)?))) {
            Some((_, column)) if column.len() > *len => return Err(noted(notes, Problem::Twice(name.into_owned()).into())),
            Some((step, column)) => {
                let is_fit = payload.misfit.is_none();
                pairs.next_value_seed(JsonValue { step, column, payload, notes })?;
                if is_fit {
                    payload.note_field(&name);
                }
            }
            None => {
                pairs.next_value::<IgnoredAny>()?;
            }
        }
    }
    *len += 1;
    for child in children.iter_mut().filter(|child| child.len() < *len) {
        payload.spend(child.width()).map_err(|problem| noted(notes, problem))?;
        child.push_null();
    }
    column.note_valid();
    Ok(())
}

fn map<'de, A: MapAccess<'de>>(value: JsonValue<'_, '_>, mut pairs: A) -> Result<(), A::Error> {
    let JsonValue { step, column, payload, notes } = value;
    let (JsonStep::Map(step), Slots::Map(offsets, keys, values)) = (step, &mut column.slots) else {
        return Err(A::Error::custom("an object is not of the type of the column"));
    };
    let mut seen: HashSet<Cow<'de, str>> = HashSet::new();
    while let Some(name) = pairs.next_key_seed(NameSeed)? {
        if let Slots::Runs(runs) = &mut keys.slots {
            runs.push(name.as_bytes()).map_err(|problem| noted(notes, problem))?;
        }
        if seen.contains(&name) {
            return Err(noted(notes, Problem::Twice(name.into_owned()).into()));
        }
        let is_fit = payload.misfit.is_none();
        pairs.next_value_seed(JsonValue { step, column: &mut *values, payload, notes })?;
        if is_fit {
            payload.note_field(&name);
        }
        seen.insert(name);
    }
    end_row(offsets, values).map_err(|problem| noted(notes, problem))?;
    column.note_valid();
    Ok(())
}

/// Reads a name, borrowed where it has no escapes.
struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// Doubles below it are exact integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "an exact integer below 2^53")]
fn truncated(value: f64) -> i128 {
    value as i128
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to the nearest double, as every reader of JSON does")]
fn rounded(value: i128) -> f64 {
    value as f64
}

/// False for a column of another type.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounds to the nearest float")]
fn real(slots: &mut Slots, value: f64) -> bool {
    match slots {
        Slots::F64(values) => values.push(value),
        Slots::F32(values) => values.push(value as f32),
        _ => return false,
    }
    true
}

/// A value of a column of numbers, as text; false for a column of another type.
fn number(step: &JsonStep, slots: &mut Slots, text: &str) -> Read<bool> {
    if !is_number(text) {
        return Ok(false);
    }
    match (text.parse::<i128>(), text.parse::<f64>()) {
        (Ok(value), _) => whole(step, slots, value),
        (Err(_), Ok(value)) if value.is_finite() && (!is_whole(text) || matches!(slots, Slots::F32(_) | Slots::F64(_))) => {
            double(step, slots, value)
        }
        _ => Err(beyond(slots, &short(text))),
    }
}

/// A number that is not written as an integer, or has more than 64 bits; false for a column of another type.
fn double(step: &JsonStep, slots: &mut Slots, value: f64) -> Read<bool> {
    match slots {
        Slots::F32(_) | Slots::F64(_) => Ok(real(slots, value)),
        // 2.0 is an integer of JSON Schema.
        _ if value.fract() == 0.0 && value.abs() < EXACT => whole(step, slots, truncated(value)),
        Slots::I64(_) | Slots::I32(_) | Slots::U64(_) | Slots::U32(_) if value.fract() == 0.0 => Err(beyond(slots, &format!("{value:e}"))),
        _ => Ok(false),
    }
}

/// The problem of a number that a column cannot hold.
#[cold]
fn beyond(slots: &Slots, number: &str) -> Box<Problem> {
    let hint = if matches!(slots, Slots::I64(_)) { " of 64 bits; pass integers=\"decimal\" (--integers decimal)" } else { "" };
    let problem = format!("{number} does not fit the column{hint}");
    Box::new(Problem::Number { field: String::new(), problem, others: 0 })
}

/// An integer; false for a column of another type.
fn whole(step: &JsonStep, slots: &mut Slots, value: i128) -> Read<bool> {
    if let JsonStep::Leaf(DataType::Date32 | DataType::Timestamp(..)) = step {
        return Ok(false);
    }
    let pushed = match slots {
        Slots::F32(_) | Slots::F64(_) => return Ok(real(slots, rounded(value))),
        Slots::I64(values) => push_integer(values, value),
        Slots::I32(values) => push_integer(values, value),
        Slots::U64(values) => push_integer(values, value),
        Slots::U32(values) => push_integer(values, value),
        _ => return Ok(false),
    };
    if pushed.is_some() { Ok(true) } else { Err(beyond(slots, &value.to_string())) }
}

fn push_integer<T: TryFrom<i128>>(values: &mut Vec<T>, value: i128) -> Option<()> {
    values.push(value.try_into().ok()?);
    Some(())
}

/// Text, and what is written as text: bytes in base64, dates and times.
fn text_of(step: &JsonStep, slots: &mut Slots, value: &str) -> Read<bool> {
    let bad = |what: &str| Box::new(Problem::Text(format!("{value:?} is not {what}")));
    match (step, slots) {
        (_, Slots::Runs(ValueRuns { is_text: false, offsets, data })) => {
            data.extend_from_slice(&STANDARD.decode(value).map_err(|_| bad("base64"))?);
            offsets.push(i32::try_from(data.len()).map_err(|_| bad("short enough"))?);
        }
        (_, Slots::Runs(runs)) => runs.push(value.as_bytes())?,
        (JsonStep::Leaf(DataType::Date32), Slots::I32(values)) => {
            let date = NaiveDate::parse_from_str(value, "%Y-%m-%d").map_err(|_| bad("a date"))?;
            let days = date.signed_duration_since(NaiveDate::default()).num_days();
            values.push(days.try_into().map_err(|_| bad("a date"))?);
        }
        (JsonStep::Leaf(DataType::Timestamp(unit, zone)), Slots::I64(values)) => {
            let time = if zone.is_some() {
                DateTime::parse_from_rfc3339(value).map_err(|_| bad("a time with an offset (RFC 3339)"))?.to_utc()
            } else {
                NaiveDateTime::parse_from_str(value, "%Y-%m-%dT%H:%M:%S%.f").map_err(|_| bad("a time without an offset"))?.and_utc()
            };
            values.push(match unit {
                TimeUnit::Millisecond => time.timestamp_millis(),
                TimeUnit::Microsecond => time.timestamp_micros(),
                _ => time.timestamp_nanos_opt().ok_or_else(|| bad("within the range of nanoseconds"))?,
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The digits of a number, or of a number in quotes, as a decimal.
fn digits(text: &str, precision: u8, scale: i8) -> Read<i128> {
    let problem = || format!("{} is not a decimal of {precision} digits, {scale} after the point", short(text));
    let bad = || Box::new(Problem::Text(problem()));
    let beyond = || Box::new(Problem::Number { field: String::new(), problem: problem(), others: 0 });
    let number = text.trim_matches('"');
    let (number, exponent) = number.split_once(['e', 'E']).map_or((number, "0"), |(number, exponent)| (number, exponent));
    let exponent: i32 = exponent.trim_start_matches('+').parse().map_err(|_| bad())?;
    let (head, tail) = number.split_once('.').unwrap_or((number, ""));
    let tail = tail.trim_end_matches('0');
    let found = format!("{head}{tail}");
    let found: i128 = found.parse().map_err(|_| if is_whole(&found) { beyond() } else { bad() })?;
    let after = i32::from(scale).saturating_add(exponent).saturating_sub(i32::try_from(tail.len()).map_err(|_| bad())?);
    let found = match 10_i128.checked_pow(after.unsigned_abs()) {
        _ if found == 0 => 0,
        Some(power) if after >= 0 => found.checked_mul(power).ok_or_else(beyond)?,
        None if after >= 0 => return Err(beyond()),
        Some(power) if found.checked_rem(power) == Some(0) => found.checked_div(power).ok_or_else(bad)?,
        _ => return Err(bad()),
    };
    let bound = 10_i128.checked_pow(precision.into()).ok_or_else(bad)?;
    if found >= bound || found <= -bound { Err(beyond()) } else { Ok(found) }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
