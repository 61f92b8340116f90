use crate::codec::Compression;
use crate::decode::DecodeOptions;
use crate::encode::BatchSettings;
use crate::error::{ErrorKind, Result};
use crate::model::{CompressionType, RecordFormat};

/// What a conversion is asked for.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// How entries are read that are rewritten; others are not looked into.
    pub decode: DecodeOptions,
    /// Format of the output. Entries of older formats stay below magic 2 where the target is below it, as a broker leaves them.
    pub to: RecordFormat,
    /// Codec of the output; `None` keeps that of each entry.
    pub compression: Option<CompressionType>,
    /// To magic 3: the metadata of all records before their payloads.
    pub is_metadata_first: bool,
    /// Level of that codec.
    pub level: Option<i32>,
    /// Entries of an older format than the target are rewritten too; a broker that converts down leaves them as they are.
    pub is_up_wanted: bool,
    /// From Kafka 0.7: offset of the first record. To magic 0 and 1: records of uncompressed batches below it are left out (CNV-5).
    pub first_offset: Option<i64>,
    /// About how many bytes of uncompressed messages make one batch.
    pub batch_bytes: usize,
}

impl ConvertOptions {
    /// How an entry of this codec is compressed in the output.
    ///
    /// # Errors
    /// `Refused` for a level that the codec does not have, `UnknownCompression` for a type without a codec.
    pub fn compression_for(&self, found: CompressionType) -> Result<Option<Compression>> {
        Compression::new(self.compression.unwrap_or(found), self.level)
    }

    /// Fails on options that contradict each other.
    ///
    /// # Errors
    /// `Usage`, the errors of `compression_for`, and `Refused` for a codec that the format does not have.
    pub fn ensure_legal(&self) -> Result<()> {
        let usage = |argument, problem: &str| Err(ErrorKind::Usage { argument, problem: problem.to_owned() }.into());
        if self.level.is_some() && self.compression.is_none() {
            return usage("level", "a level needs a codec; pass compression=");
        }
        if self.is_metadata_first && self.to != RecordFormat::V3 {
            return usage("metadata_first", "only batches of format v3 can have the metadata of their records first");
        }
        if self.first_offset.is_some_and(|offset| offset < 0) {
            return usage("first_offset", "offsets begin at 0");
        }
        if self.first_offset.is_some() && !self.decode.formats.is_v07() && self.to >= RecordFormat::V2 {
            return usage(
                "first_offset",
                "it applies to input of Kafka 0.7 and to formats older than v2; other conversions keep the offsets",
            );
        }
        let compression = self.compression_for(CompressionType::None)?;
        // Where the codec of each entry stays, an entry may be copied, or end the conversion.
        self.compression.map_or(Ok(()), |_| BatchSettings::new(self.to, compression).ensure_legal())
    }
}
