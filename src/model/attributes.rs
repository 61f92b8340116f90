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
/// Of magic 3 (S-V2).
const IGNORE_MESSAGE_ATTRIBUTES: i16 = 1 << 7;
/// Of magic 3, as this project reads the additional proposal, which names no bit (S-H4).
const METADATA_FIRST: i16 = 1 << 12;
/// Bits 8-11, which have a meaning only with a codec that says plugin (S-P1, S-P5).
const PLUGIN_ID: i16 = 0x0f00;
const PLUGIN_SHIFT: u32 = 8;

impl Attributes {
    /// The bits for a batch of this compression and timestamp type; codecs that are none give no bits.
    pub fn new(compression: CompressionType, timestamp_type: TimestampType) -> Self {
        Self::default().with_compression(compression).with(TIMESTAMP_TYPE, timestamp_type == TimestampType::LogAppendTime)
    }

    /// The same with the codec of a batch of magic 2 (S-P1). Who was no plugin's and becomes none keeps bits 8-11, as all that nobody uses (V2-2).
    #[must_use]
    pub fn with_compression(self, compression: CompressionType) -> Self {
        let is_plugins = self.batch_compression().plugin_id().is_some() || compression.plugin_id().is_some();
        let replaced = if is_plugins { COMPRESSION_MASK | PLUGIN_ID } else { COMPRESSION_MASK };
        let plugin = i16::from(compression.plugin_id().unwrap_or(0)) << PLUGIN_SHIFT & PLUGIN_ID;
        Self(self.0 & !replaced | i16::from(compression.id()) & COMPRESSION_MASK | plugin)
    }

    /// The same with bit 4 as given.
    #[must_use]
    pub fn with_transactional(self, is_transactional: bool) -> Self {
        self.with(TRANSACTIONAL, is_transactional)
    }

    /// The same with bit 5 as given.
    #[must_use]
    pub fn with_control(self, is_control: bool) -> Self {
        self.with(CONTROL, is_control)
    }

    /// The same with bit 6 as given.
    #[must_use]
    pub fn with_delete_horizon(self, has_delete_horizon: bool) -> Self {
        self.with(DELETE_HORIZON, has_delete_horizon)
    }

    /// Bits 0-2, of formats without plugins.
    pub fn compression(self) -> CompressionType {
        CompressionType::from_id(u8::try_from(self.0 & COMPRESSION_MASK).unwrap_or(0))
    }

    /// Bits 0-2, and bits 8-11 of a plugin: magic 2 (S-P1, S-P2).
    #[inline]
    pub fn batch_compression(self) -> CompressionType {
        self.compression().with_plugin(u8::try_from((self.0 & PLUGIN_ID) >> PLUGIN_SHIFT).unwrap_or(0))
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

    /// The same with bit 7 as given (magic 3).
    #[must_use]
    pub fn with_ignored_message_attributes(self, is_ignored: bool) -> Self {
        self.with(IGNORE_MESSAGE_ATTRIBUTES, is_ignored)
    }

    /// The same with bit 12 as given (magic 3).
    #[must_use]
    pub fn with_metadata_first(self, is_first: bool) -> Self {
        self.with(METADATA_FIRST, is_first)
    }

    /// Bit 7 of magic 3: records have no attributes byte (S-V2).
    pub fn ignores_message_attributes(self) -> bool {
        self.has(IGNORE_MESSAGE_ATTRIBUTES)
    }

    /// Bit 12 of magic 3: the metadata of all records comes before their payloads (S-H4).
    pub fn is_metadata_first(self) -> bool {
        self.has(METADATA_FIRST)
    }

    /// True with a bit that only magic 3 has a meaning for.
    #[inline]
    pub fn has_proposed_bits(self) -> bool {
        self.0 & (IGNORE_MESSAGE_ATTRIBUTES | METADATA_FIRST) != 0
    }

    /// Bits that magic 3 does not use.
    pub fn unused_in_proposed(self) -> i16 {
        self.unused() & !(IGNORE_MESSAGE_ATTRIBUTES | METADATA_FIRST)
    }

    /// Bits that magic 2 does not use (FND-6): the id of a plugin is none when there is no plugin (S-P5).
    pub fn unused(self) -> i16 {
        let used = if self.batch_compression().plugin_id().is_some() { USED | PLUGIN_ID } else { USED };
        self.0 & !used
    }

    fn with(self, bit: i16, is_set: bool) -> Self {
        Self(if is_set { self.0 | bit } else { self.0 & !bit })
    }

    fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_p2_a_plugin_is_in_bits_8_to_11() {
        for (bits, id, unused) in [(0x0305, 3, 0), (0x0f15, 15, 0), (0x0005, 0, 0), (0x1385, 3, 0x1080_u16.cast_signed())] {
            assert_eq!(Attributes(bits).batch_compression(), CompressionType::Plugin(id));
            assert_eq!(Attributes(bits).unused(), unused);
        }
        assert_eq!(Attributes::new(CompressionType::Plugin(15), TimestampType::LogAppendTime), Attributes(0x0f0d));
    }

    #[test]
    fn s_p5_with_another_codec_the_bits_mean_nothing() {
        for codec in [0, 1, 2, 3, 4, 6, 7] {
            let attributes = Attributes(0x0300 | codec);
            assert_eq!(attributes.batch_compression().plugin_id(), None);
            assert_eq!(attributes.unused(), 0x0300);
        }
    }

    #[test]
    fn s_p5_another_codec_takes_the_plugin_away_and_v2_2_leaves_the_rest() {
        let to = |bits, compression| Attributes(bits).with_compression(compression).0;
        assert_eq!(to(0x0395, CompressionType::Zstd), 0x0094);
        assert_eq!(to(0x1305, CompressionType::None), 0x1000);
        assert_eq!(to(0x0094, CompressionType::Plugin(3)), 0x0395);
        assert_eq!(to(0x0305, CompressionType::Plugin(0)), 0x0005);
        assert_eq!(to(0x0304, CompressionType::Gzip), 0x0301);
    }
}
