use crate::model::{CompressionType, TimestampType};

/// The attribute bits of a batch (V2-1), kept whole: unknown bits are neither read nor lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub i16);

const COMPRESSION_MASK: i16 = 0x07;
const TIMESTAMP_TYPE: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
const DELETE_HORIZON: i16 = 1 << 6;
const USED: i16 = 0x7f;

impl Attributes {
    /// The bits for a batch of this compression and timestamp type; codecs that are none give no bits.
    pub fn new(compression: CompressionType, timestamp_type: TimestampType) -> Self {
        let bits = i16::from(compression.id()) & COMPRESSION_MASK;
        Self(bits).with(TIMESTAMP_TYPE, timestamp_type == TimestampType::LogAppendTime)
    }

    /// The same with bit 4 as told.
    #[must_use]
    pub fn with_transactional(self, is_transactional: bool) -> Self {
        self.with(TRANSACTIONAL, is_transactional)
    }

    /// The same with bit 5 as told.
    #[must_use]
    pub fn with_control(self, is_control: bool) -> Self {
        self.with(CONTROL, is_control)
    }

    /// The same with bit 6 as told.
    #[must_use]
    pub fn with_delete_horizon(self, has_delete_horizon: bool) -> Self {
        self.with(DELETE_HORIZON, has_delete_horizon)
    }

    /// Bits 0-2.
    pub fn compression(self) -> CompressionType {
        CompressionType::from_id(u8::try_from(self.0 & COMPRESSION_MASK).unwrap_or(0))
    }

    /// Bit 3.
    pub fn timestamp_type(self) -> TimestampType {
        if self.has(TIMESTAMP_TYPE) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    /// Bit 4.
    pub fn is_transactional(self) -> bool {
        self.has(TRANSACTIONAL)
    }

    /// Bit 5.
    pub fn is_control(self) -> bool {
        self.has(CONTROL)
    }

    /// Bit 6: the base timestamp is the delete horizon (KIP-534).
    pub fn has_delete_horizon(self) -> bool {
        self.has(DELETE_HORIZON)
    }

    /// Bits that no released format uses (FND-6).
    pub fn unused(self) -> i16 {
        self.0 & !USED
    }

    fn with(self, bit: i16, is_set: bool) -> Self {
        Self(if is_set { self.0 | bit } else { self.0 & !bit })
    }

    fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }
}
