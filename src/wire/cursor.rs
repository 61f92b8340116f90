use crate::error::{ErrorKind, Result};
use crate::wire::varint;

/// Reads named big-endian fields one after the other; every overrun is an error that names its field.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    rule: &'static str,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes`; an overrun breaks `rule`.
    pub fn new(bytes: &'a [u8], rule: &'static str) -> Self {
        Self { bytes, rule }
    }

    /// Bytes not taken yet.
    pub fn left(&self) -> &'a [u8] {
        self.bytes
    }

    /// Takes `N` bytes.
    ///
    /// # Errors
    /// `Length` when fewer are left.
    pub fn take_array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        match self.bytes.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(*head)
            }
            None => Err(self.overrun(N, field)),
        }
    }

    /// Takes a run of `len` bytes.
    ///
    /// # Errors
    /// `Length` when fewer are left.
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8]> {
        match self.bytes.split_at_checked(len) {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(head)
            }
            None => Err(self.overrun(len, field)),
        }
    }

    /// Takes a big-endian int16.
    ///
    /// # Errors
    /// `Length` when fewer than 2 bytes are left.
    pub fn take_i16(&mut self, field: &'static str) -> Result<i16> {
        self.take_array(field).map(i16::from_be_bytes)
    }

    /// Takes a big-endian int32.
    ///
    /// # Errors
    /// `Length` when fewer than 4 bytes are left.
    pub fn take_i32(&mut self, field: &'static str) -> Result<i32> {
        self.take_array(field).map(i32::from_be_bytes)
    }

    /// Takes a zigzag varint of 32 bits (PRM-1).
    ///
    /// # Errors
    /// `Varint` when it does not end in 5 bytes, `Length` when the bytes end first.
    pub fn take_varint(&mut self, field: &'static str) -> Result<i32> {
        let raw = self.take_uvarlong(varint::MAX_VARINT_LEN, field)?;
        Ok(varint::zigzag_i32(raw))
    }

    /// Takes a zigzag varlong of 64 bits (PRM-2).
    ///
    /// # Errors
    /// `Varint` when it does not end in 10 bytes, `Length` when the bytes end first.
    pub fn take_varlong(&mut self, field: &'static str) -> Result<i64> {
        let raw = self.take_uvarlong(varint::MAX_VARLONG_LEN, field)?;
        Ok(varint::zigzag_i64(raw))
    }

    /// Takes an unsigned varint of 32 bits (PRM-3); bits above 32 are dropped.
    ///
    /// # Errors
    /// `Varint` when it does not end in 5 bytes, `Length` when the bytes end first.
    pub fn take_uvarint(&mut self, field: &'static str) -> Result<u32> {
        let raw = self.take_uvarlong(varint::MAX_VARINT_LEN, field)?;
        Ok(u32::try_from(raw & u64::from(u32::MAX)).unwrap_or(0))
    }

    /// Takes an unsigned integer of up to `max_len` bytes.
    ///
    /// # Errors
    /// `Varint` when it does not end there, `Length` when the bytes end first.
    pub fn take_uvarlong(&mut self, max_len: usize, field: &'static str) -> Result<u64> {
        match varint::take(self.bytes, max_len) {
            Ok((raw, rest)) => {
                self.bytes = rest;
                Ok(raw)
            }
            Err(varint::VarintError::Ended) => Err(self.overrun(self.bytes.len() + 1, field)),
            Err(varint::VarintError::TooLong) => Err(crate::Error::from(ErrorKind::Varint { rule: "PRM-4" }).in_field(field)),
        }
    }

    #[cold]
    fn overrun(&self, asked: usize, field: &'static str) -> crate::Error {
        let kind = ErrorKind::Length {
            rule: self.rule,
            declared: i64::try_from(asked).unwrap_or(i64::MAX),
            expected: i64::try_from(self.bytes.len()).unwrap_or(i64::MAX),
        };
        crate::Error::from(kind).in_field(field)
    }
}
