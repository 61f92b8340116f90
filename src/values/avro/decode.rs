//! Values into columns, step by step.

use arrow_buffer::i256;

use super::json;
use super::resolve::{AvroFieldStep, ResolveStep};
use crate::values::column::{Slots, ValueColumn, ValueRuns, end_row, push_member};
use crate::values::payload::{Payload, Problem, Read};

/// Reads one value into a column.
///
/// # Errors
/// What is wrong with it; the column may have a part of it then.
pub fn read(step: &ResolveStep, column: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
    match step {
        ResolveStep::Null => {
            if column.width() > 1 {
                payload.spend(column.width())?;
            }
            column.push_null();
            return Ok(());
        }
        ResolveStep::Nullable(null, step) => {
            let branch = payload.long()?;
            return match branch {
                0 | 1 if branch != *null => read(step, column, payload),
                0 | 1 => read(&ResolveStep::Null, column, payload),
                _ => Err(Box::new(Problem::Branch { branch, branches: 2 })),
            };
        }
        ResolveStep::Union(branches) => {
            let branch = payload.long()?;
            let step = usize::try_from(branch).ok().and_then(|branch| branches.get(branch));
            return read(step.ok_or(Problem::Branch { branch, branches: branches.len() })?, column, payload);
        }
        ResolveStep::Unresolved(problem) => return Err(Box::new(Problem::Unresolved(problem.to_string()))),
        _ => {}
    }
    value(step, &mut column.slots, payload)?;
    column.note_valid();
    Ok(())
}

#[inline(always)]
fn value(step: &ResolveStep, slots: &mut Slots, payload: &mut Payload<'_>) -> Read<()> {
    match (step, slots) {
        (ResolveStep::Long, Slots::I64(values)) => values.push(payload.long()?),
        (ResolveStep::Int, Slots::I32(values)) => values.push(payload.int()?),
        (ResolveStep::Run { .. }, Slots::Runs(runs)) => run(runs, payload)?,
        (ResolveStep::Double, Slots::F64(values)) => values.push(f64::from_le_bytes(payload.array()?)),
        (ResolveStep::Float, Slots::F32(values)) => values.push(f32::from_le_bytes(payload.array()?)),
        (ResolveStep::Boolean, Slots::Boolean(bits)) => match payload.byte()? {
            byte @ (0 | 1) => bits.append(byte == 1),
            byte => return Err(Box::new(Problem::Boolean(byte))),
        },
        (ResolveStep::Record(fields), Slots::Struct(children, len)) => {
            record(fields, children, payload)?;
            *len += 1;
        }
        (ResolveStep::Array(item, least), Slots::List(offsets, items)) => {
            loop {
                let count = payload.block(*least)?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    read(item, items, payload)?;
                }
            }
            end_row(offsets, items)?;
        }
        (ResolveStep::Map(item, least), Slots::Map(offsets, keys, values)) => {
            loop {
                let count = payload.block(*least)?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    key(keys, payload)?;
                    read(item, values, payload)?;
                }
            }
            end_row(offsets, values)?;
        }
        (ResolveStep::Enum(symbols), Slots::Runs(runs)) => symbol(symbols, runs, payload)?,
        (ResolveStep::Fixed(size), Slots::Fixed(_, data)) => data.extend_from_slice(payload.take(*size)?),
        (ResolveStep::Fixed(size), Slots::Runs(runs)) => runs.push(payload.take(*size)?)?,
        (ResolveStep::Member(place, step), Slots::Struct(children, len)) => {
            push_member(*place, children, payload, |child, payload| read(step, child, payload))?;
            *len += 1;
        }
        (step, slots) => rare(step, slots, payload)?,
    }
    Ok(())
}

/// Promotions, and the logical types that are not numbers.
#[inline(never)]
fn rare(step: &ResolveStep, slots: &mut Slots, payload: &mut Payload<'_>) -> Read<()> {
    match (step, slots) {
        (ResolveStep::Int, Slots::I64(values)) => values.push(payload.int()?.into()),
        (ResolveStep::Int, Slots::F32(values)) => values.push(float_of(payload.int()?.into())),
        (ResolveStep::Int, Slots::F64(values)) => values.push(payload.int()?.into()),
        (ResolveStep::Long, Slots::F32(values)) => values.push(float_of(payload.long()?)),
        (ResolveStep::Long, Slots::F64(values)) => values.push(double_of(payload.long()?)),
        (ResolveStep::Float, Slots::F64(values)) => values.push(f32::from_le_bytes(payload.array()?).into()),
        (ResolveStep::Decimal { size, precision, .. }, Slots::I128(values)) => {
            let digits = decimal(*size, *precision, payload)?;
            values.push(digits.to_i128().ok_or(Problem::Digits { precision: *precision })?);
        }
        (ResolveStep::Decimal { size, precision, .. }, Slots::I256(values)) => values.push(decimal(*size, *precision, payload)?),
        (ResolveStep::Decimal { size, scale, .. }, Slots::Runs(runs)) => {
            let bytes = decimal_bytes(*size, payload)?;
            payload.spend(bytes.len())?;
            runs.push(json::decimal_text(bytes, *scale)?.as_bytes())?;
        }
        (ResolveStep::Uuid, Slots::Runs(runs)) => runs.push(json::uuid_text(payload.array()?).as_bytes())?,
        (ResolveStep::Duration, Slots::Struct(children, len)) => {
            for child in children {
                let number = u32::from_le_bytes(payload.array()?);
                if let Slots::I64(values) = &mut child.slots {
                    values.push(number.into());
                }
            }
            *len += 1;
        }
        (ResolveStep::Json(schema, node), Slots::Runs(runs)) => {
            json::write(schema, *node, payload, &mut runs.data, 0)?;
            runs.end()?;
        }
        _ => return Err(Box::new(Problem::Shape)),
    }
    Ok(())
}

#[inline]
fn key(keys: &mut ValueColumn, payload: &mut Payload<'_>) -> Read<()> {
    match &mut keys.slots {
        Slots::Runs(runs) => run(runs, payload),
        _ => Err(Box::new(Problem::Shape)),
    }
}

#[inline(always)]
fn run(runs: &mut ValueRuns, payload: &mut Payload<'_>) -> Read<()> {
    let bytes = payload.run()?;
    // Most text is ASCII, which is seen faster.
    if runs.is_text && !bytes.is_ascii() {
        std::str::from_utf8(bytes).map_err(|_| Problem::Utf8)?;
    }
    runs.push(bytes)
}

#[inline]
fn record(fields: &[AvroFieldStep], children: &mut [ValueColumn], payload: &mut Payload<'_>) -> Read<()> {
    for field in fields {
        match field {
            AvroFieldStep::Read(place, step) => match children.get_mut(*place) {
                Some(child) => read(step, child, payload)?,
                None => return Err(Box::new(Problem::Shape)),
            },
            AvroFieldStep::Skip(schema, node) => json::skip(schema, *node, payload, 0)?,
            AvroFieldStep::Default(place, step, bytes) => {
                payload.spend(bytes.len() / 8 + 1)?;
                read(step, children.get_mut(*place).ok_or(Problem::Shape)?, &mut Payload::new(bytes))?;
            }
        }
    }
    Ok(())
}

fn symbol(symbols: &[Option<Box<str>>], runs: &mut ValueRuns, payload: &mut Payload<'_>) -> Read<()> {
    let symbol = i64::from(payload.int()?);
    let known = usize::try_from(symbol).ok().and_then(|symbol| symbols.get(symbol));
    match known.ok_or(Problem::Symbol { symbol, symbols: symbols.len() })? {
        Some(name) => {
            payload.spend(name.len() / 8)?;
            runs.push(name.as_bytes())
        }
        None => Err(Box::new(Problem::Unresolved(format!("symbol {symbol} is not in the reader's enum, which has no default")))),
    }
}

fn decimal_bytes<'a>(size: Option<usize>, payload: &mut Payload<'a>) -> Read<&'a [u8]> {
    match size {
        Some(size) => payload.take(size),
        None => payload.run(),
    }
}

/// The digits of a decimal, which has at most so many.
fn decimal(size: Option<usize>, precision: usize, payload: &mut Payload<'_>) -> Read<i256> {
    let too_long = || Problem::Digits { precision };
    let number = whole(decimal_bytes(size, payload)?).ok_or_else(too_long)?;
    let precision = u32::try_from(precision).unwrap_or(u32::MAX);
    let bound = i256::from_i128(10).checked_pow(precision);
    match bound {
        Some(bound) if number >= bound || number <= bound.wrapping_neg() => Err(too_long().into()),
        _ => Ok(number),
    }
}

/// A two's complement of any length, most significant byte first; `None` if it does not fit.
fn whole(bytes: &[u8]) -> Option<i256> {
    const LEN: usize = 32;
    let fill = if bytes.first().is_some_and(|first| *first >= 0x80) { 0xff } else { 0 };
    let cut = bytes.len().saturating_sub(LEN);
    let (extra, rest) = bytes.split_at_checked(cut)?;
    let is_same_sign = rest.first().is_none_or(|first| (*first >= 0x80) == (fill == 0xff));
    if extra.iter().any(|byte| *byte != fill) || !(extra.is_empty() || is_same_sign) {
        return None;
    }
    let mut number = [fill; LEN];
    number.get_mut(LEN - rest.len()..)?.copy_from_slice(rest);
    Some(i256::from_be_bytes(number))
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to the nearest float, as the specification says")]
fn float_of(number: i64) -> f32 {
    number as f32
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to the nearest double, as the specification says")]
fn double_of(number: i64) -> f64 {
    number as f64
}
