//! Items of Arrow columns into Avro values: the way back of `decode`.

use std::ops::Range;

use arrow_buffer::i256;
use arrow_schema::TimeUnit;

use super::default::{encode_text, encoded, to_float};
use super::put;
use super::schema::{AvroField, AvroKind, AvroNode, AvroSchema, AvroTimeUnit, Logical, NodeId, Symbols};
use crate::values::cells::{Cells, Item, Members};
use crate::values::misfit::{Misfit, WriteResult, misfit};
use crate::values::shape::{Member, Shape, ShapeKind};

/// Writes an item as a value of a schema, whose column has a shape.
///
/// # Errors
/// What does not fit the schema; a part of the value may be written then.
pub fn write(schema: &AvroSchema, shape: &Shape, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    AvroEncoder { schema }.value(schema.root(), shape, item, out)
}

/// Writes an item of a schema that is nothing but bytes, without their length, as Confluent's serializers do; false for another schema.
///
/// # Errors
/// As `write`.
pub fn write_bare_bytes(schema: &AvroSchema, shape: &Shape, item: &Item<'_>, out: &mut Vec<u8>) -> Result<bool, Box<Misfit>> {
    if !matches!(schema.node(schema.root()).kind, AvroKind::Bytes) {
        return Ok(false);
    }
    let mut framed = Vec::new();
    write(schema, shape, item, &mut framed)?;
    let length = framed.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    out.extend_from_slice(framed.get(length..).unwrap_or_default());
    Ok(true)
}

struct AvroEncoder<'s> {
    schema: &'s AvroSchema,
}

impl AvroEncoder<'_> {
    fn value(&self, id: NodeId, shape: &Shape, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
        let node = self.schema.node(id);
        match (&node.kind, item) {
            (AvroKind::Null, Item::Null) => {}
            (AvroKind::Union(branches), _) => self.union(branches, shape, item, out)?,
            (AvroKind::Record(fields), Item::Struct(members)) => match &shape.kind {
                ShapeKind::Struct(shapes) => self.record(fields, shapes, members, out)?,
                _ => return Err(misfit(format!("record {} is inside of itself, so that it is JSON text, not a struct", node.type_name()))),
            },
            (AvroKind::Record(_), Item::Text(text)) if matches!(shape.kind, ShapeKind::Json) => encode_text(self.schema, id, text, out)?,
            (AvroKind::Array(items), Item::List(cells, range)) => {
                let ShapeKind::List(shape) = &shape.kind else { return Err(unfit(node, item)) };
                put::block(out, range.len(), |out| range.clone().try_for_each(|row| self.value(*items, shape, &cells.item(row), out)))?;
            }
            (AvroKind::Map(values), Item::Map(pair, range)) => {
                let ([keys, cells], ShapeKind::Map(_, shape)) = (*pair, &shape.kind) else { return Err(unfit(node, item)) };
                put::block(out, range.len(), |out| {
                    range.clone().try_for_each(|row| self.entry(*values, shape, (&keys.item(row), &cells.item(row)), out))
                })?;
            }
            (AvroKind::Map(values), Item::List(pairs, range)) => self.listed(*values, shape, (pairs, range), out)?,
            _ => leaf(node, item, out)?,
        }
        Ok(())
    }

    fn record(&self, fields: &[AvroField], shapes: &[Member], members: &Members<'_>, out: &mut Vec<u8>) -> WriteResult {
        let mut found = 0;
        for (place, (field, shape)) in fields.iter().zip(shapes).enumerate() {
            let written = match members.get(&field.name, place) {
                Some(item) => {
                    found += 1;
                    self.value(field.node, &shape.shape, &item, out)
                }
                None => self.default(field, out),
            };
            written.map_err(|misfit| misfit.inside(&field.name))?;
        }
        if found < members.len() {
            let is_known = |name: &str| fields.iter().any(|field| *field.name == *name);
            let unknown = members.iter().map(|(name, _)| name).find(|name| !is_known(name));
            return unknown.map_or(Ok(()), |name| Err(misfit(format!("the schema has no field {name:?}"))));
        }
        Ok(())
    }

    /// Writes a field that the column does not have.
    fn default(&self, field: &AvroField, out: &mut Vec<u8>) -> WriteResult {
        if let Some(default) = &field.default {
            out.extend_from_slice(&encoded(self.schema, field.node, default).map_err(misfit)?);
            return Ok(());
        }
        let AvroKind::Union(branches) = &self.schema.node(field.node).kind else {
            return Err(misfit("the column has no such field, and the schema has no default for it"));
        };
        self.null(branches, out)
    }

    fn null(&self, branches: &[NodeId], out: &mut Vec<u8>) -> WriteResult {
        let null = branches.iter().position(|branch| self.is_null(*branch));
        put::count(out, null.ok_or_else(|| misfit("null is not among the branches of the union"))?)
    }

    fn is_null(&self, id: NodeId) -> bool {
        matches!(self.schema.node(id).kind, AvroKind::Null)
    }

    fn union(&self, branches: &[NodeId], shape: &Shape, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
        if matches!(item, Item::Null) {
            return self.null(branches, out);
        }
        let others = branches.iter().copied().enumerate().filter(|(_, branch)| !self.is_null(*branch));
        match (&shape.kind, item) {
            (ShapeKind::Union(shapes), Item::Struct(members)) => {
                let Some(place) = chosen(shapes, members)? else { return self.null(branches, out) };
                let (Some((number, branch)), Some(shape)) = (others.clone().nth(place), shapes.get(place)) else {
                    return Err(misfit("the union has no such branch"));
                };
                let item = members.get(&shape.name, place).unwrap_or(Item::Null);
                put::count(out, number)?;
                self.value(branch, &shape.shape, &item, out).map_err(|misfit| misfit.inside(&shape.name))
            }
            (ShapeKind::Union(shapes), _) => {
                self.first_fit(others.zip(shapes).map(|((number, branch), member)| (number, branch, &member.shape)), item, out)
            }
            _ => self.first_fit(others.map(|(number, branch)| (number, branch, shape)), item, out),
        }
    }

    /// Writes the item as the first branch that it fits; a floating-point number as a double, if there is one.
    fn first_fit<'h>(
        &self,
        branches: impl Iterator<Item = (usize, NodeId, &'h Shape)> + Clone,
        item: &Item<'_>,
        out: &mut Vec<u8>,
    ) -> WriteResult {
        let start = out.len();
        let is_double = |id: NodeId| matches!(self.schema.node(id).kind, AvroKind::Double);
        let prefers_double = matches!(item, Item::Real(_)) && branches.clone().any(|(_, branch, _)| is_double(branch));
        let mut failed = None;
        for (number, branch, shape) in branches.filter(|(_, branch, _)| !prefers_double || is_double(*branch)) {
            put::count(out, number)?;
            match self.value(branch, shape, item, out) {
                Ok(()) => return Ok(()),
                Err(misfit) => failed = failed.or(Some(misfit)),
            }
            out.truncate(start);
        }
        Err(failed.unwrap_or_else(|| misfit(format!("{} does not fit a union of null alone", item.name()))))
    }

    fn entry(&self, values: NodeId, shape: &Shape, (key, value): (&Item<'_>, &Item<'_>), out: &mut Vec<u8>) -> WriteResult {
        put::run(out, text(key).ok_or_else(|| misfit(format!("the key of a map is {}, not text", key.name())))?)?;
        self.value(values, shape, value, out)
    }

    /// Writes a map that is a list of structs with a key and a value, as in libraries without a type for maps.
    fn listed(&self, values: NodeId, shape: &Shape, (pairs, range): (&Cells<'_>, &Range<usize>), out: &mut Vec<u8>) -> WriteResult {
        let ShapeKind::Map(_, shape) = &shape.kind else { return Err(misfit("a map is needed, not a list")) };
        put::block(out, range.len(), |out| {
            range.clone().try_for_each(|row| {
                let pair = match pairs.item(row) {
                    Item::Struct(pair) => pair.get("key", 0).zip(pair.get("value", 1)),
                    _ => None,
                };
                let (key, value) = pair.ok_or_else(|| misfit("a map is needed, or a list of structs with the fields key and value"))?;
                self.entry(values, shape, (&key, &value), out)
            })
        })
    }
}

/// The number of the branch that has the value; `None` if none has.
fn chosen(branches: &[Member], members: &Members<'_>) -> Result<Option<usize>, Box<Misfit>> {
    let mut found = None;
    for (name, item) in members.iter() {
        let place = branches.iter().position(|branch| *branch.name == *name);
        let place = place.ok_or_else(|| misfit(format!("the union has no branch {name:?}")))?;
        match item {
            Item::Null => {}
            _ if found.is_some() => return Err(misfit("two branches of the union have a value")),
            _ => found = Some(place),
        }
    }
    Ok(found)
}

fn unfit(node: &AvroNode, item: &Item<'_>) -> Box<Misfit> {
    misfit(format!("{} does not fit the type {}", item.name(), node.type_name()))
}

fn leaf(node: &AvroNode, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
    let size = if let AvroKind::Fixed(size) = node.kind { Some(size) } else { None };
    match (&node.kind, node.logical, item) {
        (_, Some(Logical::Decimal { precision, scale }), _) => {
            let number = decimal(item, precision, scale)
                .ok_or_else(|| misfit(format!("{} does not fit a decimal of {precision} digits, {scale} after the point", item.name())))?;
            return put::decimal(out, &number, size);
        }
        (AvroKind::Fixed(_), Some(Logical::Duration), Item::Struct(members)) => return duration(members, out),
        (AvroKind::Fixed(_), Some(Logical::Uuid), Item::Text(text)) => {
            let uuid = std::str::from_utf8(text).ok().and_then(put::uuid);
            out.extend_from_slice(&uuid.ok_or_else(|| misfit("the text is not a UUID"))?);
        }
        (AvroKind::Boolean, _, Item::Boolean(is_true)) => out.push(u8::from(*is_true)),
        (AvroKind::Int, logical, _) => {
            let number = whole(logical, item).ok_or_else(|| unfit(node, item))?;
            let number = i32::try_from(number).map_err(|_| misfit(format!("{number} does not fit the type int")))?;
            put::long(out, number.into());
        }
        (AvroKind::Long, logical, _) => put::long(out, whole(logical, item).ok_or_else(|| unfit(node, item))?),
        (AvroKind::Float, ..) => out.extend_from_slice(&to_float(real(item).ok_or_else(|| unfit(node, item))?).to_le_bytes()),
        (AvroKind::Double, ..) => out.extend_from_slice(&real(item).ok_or_else(|| unfit(node, item))?.to_le_bytes()),
        (AvroKind::String, ..) => put::run(out, text(item).ok_or_else(|| unfit(node, item))?)?,
        (AvroKind::Enum(symbols), _, Item::Text(text)) => put::count(out, symbol(symbols, text)?)?,
        (AvroKind::Bytes, _, Item::Bytes(run) | Item::Text(run)) => put::run(out, run)?,
        (AvroKind::Fixed(size), _, Item::Bytes(run)) if run.len() == *size => out.extend_from_slice(run),
        (AvroKind::Fixed(size), _, Item::Bytes(run)) => {
            return Err(misfit(format!("{} bytes do not fit the type {} of {size} bytes", run.len(), node.type_name())));
        }
        _ => return Err(unfit(node, item)),
    }
    Ok(())
}

fn symbol(symbols: &Symbols, text: &[u8]) -> Result<usize, Box<Misfit>> {
    let found = symbols.names.iter().position(|name| name.as_bytes() == text);
    found.ok_or_else(|| misfit(format!("{:?} is not a symbol of the enum", String::from_utf8_lossy(text))))
}

fn text<'a>(item: &Item<'a>) -> Option<&'a [u8]> {
    match item {
        Item::Text(run) | Item::Bytes(run) => std::str::from_utf8(run).ok().map(str::as_bytes),
        _ => None,
    }
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to the nearest double, as the promotion of Avro does")]
fn real(item: &Item<'_>) -> Option<f64> {
    match item {
        Item::Real(number) => Some(*number),
        Item::Whole(number) => Some(*number as f64),
        Item::Unsigned(number) => Some(*number as f64),
        _ => None,
    }
}

/// A whole number, or a time in the unit of its type; `None` if that loses digits.
fn whole(logical: Option<Logical>, item: &Item<'_>) -> Option<i64> {
    match (logical, item) {
        (_, Item::Whole(number)) => Some(*number),
        (_, Item::Unsigned(number)) => i64::try_from(*number).ok(),
        (Some(Logical::Date), Item::Date(days)) => Some((*days).into()),
        (Some(Logical::TimeMillis), Item::Time(number, unit)) => in_unit(*number, *unit, TimeUnit::Millisecond),
        (Some(Logical::TimeMicros), Item::Time(number, unit)) => in_unit(*number, *unit, TimeUnit::Microsecond),
        (Some(Logical::Timestamp { unit: wanted, is_utc }), Item::Timestamp(number, unit, is_of_utc)) if is_utc == *is_of_utc => {
            let wanted = match wanted {
                AvroTimeUnit::Millis => TimeUnit::Millisecond,
                AvroTimeUnit::Micros => TimeUnit::Microsecond,
                AvroTimeUnit::Nanos => TimeUnit::Nanosecond,
            };
            in_unit(*number, *unit, wanted)
        }
        _ => None,
    }
}

/// A number of one unit in another one; `None` if that loses digits.
pub fn in_unit(number: i64, unit: TimeUnit, wanted: TimeUnit) -> Option<i64> {
    let per_second = |unit| match unit {
        TimeUnit::Second => 1_i64,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (given, wanted) = (per_second(unit), per_second(wanted));
    if wanted >= given {
        return number.checked_mul(wanted / given);
    }
    let divisor = given / wanted;
    (number % divisor == 0).then_some(number / divisor)
}

/// The two's complement of a decimal with so many digits.
fn decimal(item: &Item<'_>, precision: usize, scale: usize) -> Option<Vec<u8>> {
    let (digits, given) = match item {
        Item::Decimal(digits, given) => (*digits, i64::from(*given)),
        Item::Whole(number) => (i256::from_i128((*number).into()), 0),
        Item::Text(text) => return put::decimal_of(std::str::from_utf8(text).ok()?, precision, scale),
        _ => return None,
    };
    let more = i64::try_from(scale).ok()?.checked_sub(given)?;
    let ten = i256::from_i128(10);
    let power = ten.checked_pow(u32::try_from(more.unsigned_abs()).ok()?)?;
    let number = if more >= 0 {
        digits.checked_mul(power)?
    } else if digits.checked_rem(power)? == i256::ZERO {
        digits.checked_div(power)?
    } else {
        return None;
    };
    let bound = ten.checked_pow(u32::try_from(precision).ok()?);
    let fits = bound.is_none_or(|bound| number < bound && number > bound.wrapping_neg());
    fits.then(|| number.to_be_bytes().to_vec())
}

fn duration(members: &Members<'_>, out: &mut Vec<u8>) -> WriteResult {
    for (place, name) in ["months", "days", "millis"].into_iter().enumerate() {
        let number = match members.get(name, place) {
            Some(Item::Whole(number)) => u32::try_from(number).ok(),
            Some(Item::Unsigned(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| misfit("not an integer from 0 to 4294967295").inside(name))?;
        out.extend_from_slice(&number.to_le_bytes());
    }
    Ok(())
}
