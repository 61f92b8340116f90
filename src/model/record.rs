/// One record as ranges of its section. Lengths below zero mean null (PRM-8); positions count from the section's start.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef {
    /// Index in the batch, from 0.
    pub index: usize,
    /// Where the record starts, its length field included.
    pub start: usize,
    /// Where its length field ends.
    pub body: usize,
    /// Where the record ends.
    pub end: usize,
    /// The attributes byte, unused by every released format (V2-19).
    pub attributes: u8,
    /// Difference to the batch's base offset.
    pub offset_delta: i64,
    /// Difference to the batch's base timestamp, ms.
    pub timestamp_delta: i64,
    /// Where the key starts.
    pub key_start: usize,
    /// Bytes of the key as stored.
    pub key_len: i32,
    /// Where the value starts.
    pub value_start: usize,
    /// Bytes of the value as stored.
    pub value_len: i32,
    /// How many headers were given before this record.
    pub headers: usize,
}

/// One header of a record, given before its record.
#[derive(Clone, Copy, Debug)]
pub struct HeaderRef {
    /// Where the key starts.
    pub key_start: usize,
    /// Bytes of the key; never negative.
    pub key_len: i32,
    /// Where the value starts.
    pub value_start: usize,
    /// Bytes of the value as stored; below zero is null.
    pub value_len: i32,
}

impl RecordRef {
    /// The key's range, `None` for null.
    #[inline(always)]
    pub fn key(&self) -> Option<(usize, usize)> {
        range(self.key_start, self.key_len)
    }

    /// The value's range, `None` for null.
    #[inline(always)]
    pub fn value(&self) -> Option<(usize, usize)> {
        range(self.value_start, self.value_len)
    }
}

impl HeaderRef {
    /// The key's range.
    #[inline(always)]
    pub fn key(&self) -> (usize, usize) {
        range(self.key_start, self.key_len).unwrap_or((self.key_start, 0))
    }

    /// The value's range, `None` for null.
    #[inline(always)]
    pub fn value(&self) -> Option<(usize, usize)> {
        range(self.value_start, self.value_len)
    }
}

/// Start and length of a nullable run of bytes.
#[inline(always)]
fn range(start: usize, len: i32) -> Option<(usize, usize)> {
    usize::try_from(len).ok().map(|len| (start, len))
}
