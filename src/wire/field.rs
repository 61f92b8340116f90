use super::varint::{self, VarintError};

/// A field of a layout: its name, in Kafka's spelling, and how its bytes are read. Layouts list theirs in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireField {
    /// Kafka's name.
    pub name: &'static str,
    /// How its bytes are read.
    pub kind: WireKind,
}

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// A signed big-endian integer of this many bytes.
    Int(usize),
    /// An unsigned big-endian integer of this many bytes.
    Unsigned(usize),
    /// An unsigned little-endian integer of this many bytes.
    Little(usize),
    /// A zigzag integer of 32 bits (PRM-1).
    Varint,
    /// A zigzag integer of 64 bits (PRM-2).
    Varlong,
    /// An unsigned integer of 32 bits in groups of seven.
    UnsignedVarint,
    /// An unsigned integer of 64 bits in groups of seven.
    UnsignedVarlong,
    /// Bytes, as many as the field before says, or up to the end.
    Bytes,
}

impl WireField {
    /// A field of this name and kind.
    pub const fn new(name: &'static str, kind: WireKind) -> Self {
        Self { name, kind }
    }

    /// Where the field of this name starts, when the fields before it are of fixed size.
    pub fn at(fields: &[Self], name: &str) -> Option<usize> {
        let before = fields.iter().position(|field| field.name == name)?;
        fields.get(..before)?.iter().map(|field| field.kind.fixed_len()).sum()
    }
}

impl WireKind {
    /// Bytes of the field; `None` when they vary.
    pub fn fixed_len(self) -> Option<usize> {
        match self {
            Self::Int(len) | Self::Unsigned(len) | Self::Little(len) => Some(len),
            _ => None,
        }
    }

    /// Reads the number that `bytes` begin with, and its length. Bytes are no number: 0 of length 0.
    ///
    /// # Errors
    /// `Ended` or `TooLong`.
    pub fn read(self, bytes: &[u8]) -> Result<(i128, usize), VarintError> {
        match self {
            Self::Int(len) => fixed(bytes, len).map(|bytes| (signed(bytes), len)),
            Self::Unsigned(len) => fixed(bytes, len).map(|bytes| (unsigned(bytes.iter()), len)),
            Self::Little(len) => fixed(bytes, len).map(|bytes| (unsigned(bytes.iter().rev()), len)),
            Self::Varint => grouped(bytes, varint::MAX_VARINT_LEN, |raw| i128::from(varint::zigzag_i32(raw))),
            Self::Varlong => grouped(bytes, varint::MAX_VARLONG_LEN, |raw| i128::from(varint::zigzag_i64(raw))),
            Self::UnsignedVarint => grouped(bytes, varint::MAX_VARINT_LEN, |raw| i128::from(raw & u64::from(u32::MAX))),
            Self::UnsignedVarlong => grouped(bytes, varint::MAX_VARLONG_LEN, i128::from),
            Self::Bytes => Ok((0, 0)),
        }
    }
}

fn fixed(bytes: &[u8], len: usize) -> Result<&[u8], VarintError> {
    bytes.get(..len).ok_or(VarintError::Ended)
}

fn unsigned<'a>(bytes: impl Iterator<Item = &'a u8>) -> i128 {
    bytes.fold(0, |number, byte| (number << 8) | i128::from(*byte))
}

fn signed(bytes: &[u8]) -> i128 {
    let number = unsigned(bytes.iter());
    let is_negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    if is_negative { number - (1 << (8 * bytes.len())) } else { number }
}

fn grouped(bytes: &[u8], most: usize, number: impl Fn(u64) -> i128) -> Result<(i128, usize), VarintError> {
    varint::take(bytes, most).map(|(raw, rest)| (number(raw), bytes.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_its_numbers_and_says_how_long_they_are() {
        for (kind, bytes, number, len) in [
            (WireKind::Int(1), &[0xff_u8, 1][..], -1, 1),
            (WireKind::Int(8), &[0x80, 0, 0, 0, 0, 0, 0, 0], i128::from(i64::MIN), 8),
            (WireKind::Int(2), &[0x01, 0x02], 0x0102, 2),
            (WireKind::Unsigned(4), &[0xff, 0xff, 0xff, 0xff], i128::from(u32::MAX), 4),
            (WireKind::Little(3), &[0x01, 0x02, 0x03, 0x04], 0x03_0201, 3),
            (WireKind::Varint, &[0x80, 0x01], 64, 2),
            (WireKind::Varlong, &[0x01], -1, 1),
            (WireKind::UnsignedVarint, &[0x80, 0x7d], 16000, 2),
            (WireKind::UnsignedVarlong, &[0xff; 9], 0, 0),
        ] {
            match kind.read(bytes) {
                Ok(read) => assert_eq!(read, (number, len), "{kind:?}"),
                Err(problem) => assert_eq!((problem, len), (VarintError::Ended, 0), "{kind:?}"),
            }
        }
        assert_eq!(WireKind::Int(4).read(&[0; 3]), Err(VarintError::Ended));
        assert_eq!(WireKind::Varint.read(&[0xff; 5]), Err(VarintError::TooLong));
    }

    #[test]
    fn a_field_comes_after_those_of_fixed_size() {
        const FIELDS: [WireField; 3] =
            [WireField::new("a", WireKind::Int(8)), WireField::new("b", WireKind::Varint), WireField::new("c", WireKind::Bytes)];
        assert_eq!(
            [WireField::at(&FIELDS, "a"), WireField::at(&FIELDS, "b"), WireField::at(&FIELDS, "c"), WireField::at(&FIELDS, "d")],
            [Some(0), Some(8), None, None]
        );
    }
}
