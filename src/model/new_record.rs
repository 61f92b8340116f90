use crate::model::timestamp::NO_TIMESTAMP;

/// One record to be written; what it points to is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRecord<'a> {
    /// Absolute offset.
    pub offset: i64,
    /// ms; -1 for none.
    pub timestamp: i64,
    /// The key, `None` for null.
    pub key: Option<&'a [u8]>,
    /// The value, `None` for null.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: NewHeaders<'a>,
    /// The attributes byte of magic 2: 0, unless a record is copied that has another (V2-19).
    pub attributes: u8,
    /// True for a control record, which is in a control batch (V2-64).
    pub is_control: bool,
}

/// One header to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewHeader<'a> {
    /// The key, UTF-8 by convention.
    pub key: &'a [u8],
    /// The value, `None` for null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record.
pub type NewHeaders<'a> = &'a [NewHeader<'a>];

impl Default for NewRecord<'_> {
    /// Offset 0, no timestamp, null key, null value, no headers.
    #[inline]
    fn default() -> Self {
        Self { offset: 0, timestamp: NO_TIMESTAMP, key: None, value: None, headers: &[], attributes: 0, is_control: false }
    }
}
