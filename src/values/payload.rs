//! The bytes of one value, read from the front, and what the value may still cost.

use std::fmt;

use super::schema_name::SchemaName;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum Problem {
    /// SCH-1: the value does not begin as values with a schema do.
    Framing(&'static str),
    /// SCH-2: no schema has this name.
    UnknownSchema(SchemaName),
    /// SCH-3: the payload is not one of its schema.
    Truncated {
        needed: usize,
        available: usize,
    },
    Varint,
    IntRange(i64),
    Boolean(u8),
    Length(i64),
    Branch {
        branch: i64,
        branches: usize,
    },
    Symbol {
        symbol: i64,
        symbols: usize,
    },
    Utf8,
    Digits {
        precision: usize,
    },
    Trailing(usize),
    /// A name of a JSON object.
    Twice(String),
    Text(String),
    /// A number that its column cannot hold: the value is there without it. The first one, with its field.
    Number {
        field: String,
        problem: String,
        others: usize,
    },
    /// The columns of an inferred schema cannot hold the text: the reason.
    Unheld(Box<Problem>),
    /// SCH-3, with what the bytes begin with, and the framing that would read them.
    Hinted(Box<Problem>, String),
    /// SCH-4: the schema of the value cannot be read as the one that is wanted.
    Unresolved(String),
    /// SCH-5: more than a limit allows.
    Limit {
        limit: &'static str,
        allowed: u64,
    },
    /// SCH-6: the schema cannot be used.
    Schema(String),
    /// A defect of this library.
    Shape,
}

/// The result of reading a value. A problem is behind a pointer, so that a result fits registers.
pub type Read<T> = Result<T, Box<Problem>>;

impl Problem {
    /// The id of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Framing(_) => "SCH-1",
            Self::UnknownSchema(_) => "SCH-2",
            Self::Unresolved(_) => "SCH-4",
            Self::Limit { .. } => "SCH-5",
            Self::Schema(_) => "SCH-6",
            Self::Hinted(problem, _) | Self::Unheld(problem) => problem.rule(),
            _ => "SCH-3",
        }
    }

    /// True if the value is there, with null for a part of it.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Number { .. })
    }

    /// True if the value is valid, but its columns cannot hold all of it.
    pub fn is_unheld(&self) -> bool {
        matches!(self, Self::Unheld(_)) || self.is_partial()
    }

    /// True if formats are detected and the value is null then: nothing says what it is, or readers disagree on what it is.
    pub fn is_undetected(&self) -> bool {
        matches!(self, Self::Framing(_) | Self::UnknownSchema(_) | Self::Twice(_))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Framing(what) => f.write_str(what),
            Self::UnknownSchema(name) => write!(f, "no schema is known for {name}"),
            Self::Truncated { needed, available } => write!(f, "the payload is cut short: {needed} bytes needed, {available} available"),
            Self::Varint => f.write_str("variable-length integer does not end in time"),
            Self::IntRange(number) => write!(f, "{number} does not fit an int"),
            Self::Boolean(byte) => write!(f, "{byte} is not a boolean"),
            Self::Length(length) => write!(f, "{length} is not a length or a count"),
            Self::Branch { branch, branches } => write!(f, "branch {branch} of a union of {branches}"),
            Self::Symbol { symbol, symbols } => write!(f, "symbol {symbol} of an enum of {symbols}"),
            Self::Utf8 => f.write_str("a string is not UTF-8"),
            Self::Digits { precision } => write!(f, "a decimal has more than its {precision} digits"),
            Self::Trailing(bytes) => write!(f, "bytes are left over after the value: {bytes}"),
            Self::Twice(name) => write!(f, "not JSON of its schema: the name {name:?} is there twice"),
            Self::Unheld(problem) => problem.fmt(f),
            Self::Hinted(problem, hint) => write!(f, "{problem}; {hint}"),
            Self::Number { field, problem, others } => {
                f.write_str(field)?;
                f.write_str(if field.is_empty() { "" } else { ": " })?;
                f.write_str(problem)?;
                if *others > 0 { write!(f, " (and {others} more)") } else { Ok(()) }
            }
            Self::Text(text) | Self::Unresolved(text) | Self::Schema(text) => f.write_str(text),
            Self::Limit { limit, allowed } => write!(f, "the value is over the limit {limit} = {allowed}"),
            Self::Shape => f.write_str("internal error, please report it: a value does not have the shape of its column"),
        }
    }
}

/// Most levels of values in each other.
pub const MOST_DEPTH: usize = 100;
/// What a value may cost: items of arrays and maps, slots of columns, each eight bytes that are not in the payload.
pub const MOST_ITEMS: u64 = 1 << 24;

/// The bytes of a value that are not read yet.
#[derive(Clone, Debug)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    budget: u64,
    /// A value of type bytes is all that is left, without a length before it.
    pub is_bare_bytes: bool,
    /// Why a part of the value is null.
    pub misfit: Option<Box<Problem>>,
}

impl<'a> Payload<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, budget: MOST_ITEMS, is_bare_bytes: false, misfit: None }
    }

    /// How many bytes are left.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// What was spent.
    pub fn spent(&self) -> u64 {
        MOST_ITEMS - self.budget
    }

    /// Notes why a part of the value is null; the first reason is kept.
    #[cold]
    pub fn note_misfit(&mut self, problem: Box<Problem>) {
        match self.misfit.as_deref_mut() {
            Some(Problem::Number { others, .. }) => *others += 1,
            _ => self.misfit = Some(problem),
        }
    }

    /// Notes that the part that was read last is inside of a field.
    pub fn note_field(&mut self, name: &str) {
        let Some(Problem::Number { field, .. }) = self.misfit.as_deref_mut() else { return };
        let name = if name.contains('.') { format!("`{name}`") } else { name.to_owned() };
        *field = if field.is_empty() { name } else { format!("{name}.{field}") };
    }

    /// Spends on what the payload does not contain.
    #[inline(always)]
    pub fn spend(&mut self, items: usize) -> Read<()> {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        self.budget = self.budget.checked_sub(items).ok_or(Problem::Limit { limit: "max_value_items", allowed: MOST_ITEMS })?;
        Ok(())
    }

    /// Fails if bytes are left.
    pub fn finish(&self) -> Read<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Box::new(Problem::Trailing(self.bytes.len()))) }
    }

    /// The next bytes.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Read<&'a [u8]> {
        match self.bytes.split_at_checked(len) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => Err(Box::new(Problem::Truncated { needed: len, available: self.bytes.len() })),
        }
    }

    /// The next bytes as an array.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        match self.bytes.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(*taken)
            }
            None => Err(Box::new(Problem::Truncated { needed: N, available: self.bytes.len() })),
        }
    }

    /// The next byte.
    #[inline(always)]
    pub fn byte(&mut self) -> Read<u8> {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                Ok(*first)
            }
            None => Err(Box::new(Problem::Truncated { needed: 1, available: 0 })),
        }
    }

    /// A long: a zigzag number in groups of seven bits.
    #[inline(always)]
    pub fn long(&mut self) -> Read<i64> {
        let first = self.byte()?;
        if first < 0x80 {
            let first = i64::from(first);
            return Ok((first >> 1) ^ -(first & 1));
        }
        let number = self.long_varint(first)?;
        Ok((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    /// An unsigned number in groups of seven bits.
    #[inline]
    pub fn varint(&mut self) -> Read<u64> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.long_varint(first) }
    }

    #[inline]
    fn long_varint(&mut self, first: u8) -> Read<u64> {
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        for (index, byte) in self.bytes.iter().take(9).enumerate() {
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                if index == 8 && *byte > 1 {
                    return Err(Box::new(Problem::Varint));
                }
                self.bytes = self.bytes.get(index + 1..).unwrap_or_default();
                return Ok(number);
            }
            shift += 7;
        }
        if self.bytes.len() < 9 { self.take(self.bytes.len() + 1).map(|_| 0) } else { Err(Box::new(Problem::Varint)) }
    }

    /// An int.
    #[inline(always)]
    pub fn int(&mut self) -> Read<i32> {
        let number = self.long()?;
        i32::try_from(number).map_err(|_| Box::new(Problem::IntRange(number)))
    }

    /// The bytes after their length.
    #[inline(always)]
    pub fn run(&mut self) -> Read<&'a [u8]> {
        if self.is_bare_bytes {
            return self.take(self.bytes.len());
        }
        let length = self.long()?;
        let len = usize::try_from(length).map_err(|_| Problem::Length(length))?;
        self.take(len)
    }

    /// How many items the next block of an array or a map has; 0 after the last one. Each item has at least `least` bytes.
    #[inline]
    pub fn block(&mut self, least: usize) -> Read<usize> {
        let mut count = self.long()?;
        if count < 0 {
            count = count.checked_neg().ok_or(Problem::Length(count))?;
            let bytes = self.long()?;
            if usize::try_from(bytes).map_or(true, |bytes| bytes > self.left()) {
                return Err(Box::new(Problem::Length(bytes)));
            }
        }
        let items = usize::try_from(count).map_err(|_| Problem::Length(count))?;
        if let Some(most) = self.left().checked_div(least)
            && items > most
        {
            return Err(Box::new(Problem::Truncated { needed: items.saturating_mul(least), available: self.left() }));
        }
        self.spend(items)?;
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Read<i64> {
        let mut payload = Payload::new(bytes);
        let number = payload.long()?;
        payload.finish()?;
        Ok(number)
    }

    #[test]
    fn longs_of_every_length_are_read_and_no_longer_ones() {
        for shift in 0..64 {
            for number in [1_i64 << shift, (1_i64 << shift).wrapping_neg(), (1_i64 << shift).wrapping_sub(1), i64::MIN, i64::MAX] {
                let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
                let mut bytes = Vec::new();
                while left >= 0x80 {
                    bytes.push((left & 0x7f) as u8 | 0x80);
                    left >>= 7;
                }
                bytes.push(left as u8);
                assert_eq!(long(&bytes), Ok(number));
                bytes.pop();
                assert!(matches!(*long(&bytes).unwrap_err(), Problem::Truncated { .. }), "{number} {bytes:?}");
            }
        }
        let ten = |last: u8| [&[0xff; 9][..], &[last]].concat();
        assert_eq!(long(&ten(1)), Ok(i64::MIN));
        assert_eq!(*long(&ten(2)).unwrap_err(), Problem::Varint);
        assert_eq!(*long(&[&[0x80; 10][..], &[0]].concat()).unwrap_err(), Problem::Varint);
    }

    #[test]
    fn a_block_claims_no_more_items_than_its_bytes_and_its_budget_hold() {
        assert_eq!(Payload::new(&[6, 0, 0, 0]).block(1), Ok(3));
        assert!(matches!(*Payload::new(&[8, 0, 0, 0]).block(1).unwrap_err(), Problem::Truncated { needed: 4, available: 3 }));
        assert_eq!(Payload::new(&[5, 6, 0, 0, 0]).block(1), Ok(3));
        assert_eq!(*Payload::new(&[5, 8, 0, 0, 0]).block(1).unwrap_err(), Problem::Length(4));
        let least = [&[0xff; 9][..], &[1]].concat();
        assert_eq!(*Payload::new(&least).block(0).unwrap_err(), Problem::Length(i64::MIN));
        assert!(matches!(*Payload::new(&[0x80, 0x80, 0x80, 0x80, 0x10]).block(0).unwrap_err(), Problem::Limit { .. }));
    }
}
