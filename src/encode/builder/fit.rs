//! What a record must be to go into the batch that is open.

use super::BatchBuilder;
use crate::encode::errors::{mixed_control, negative_offset, negative_timestamp, not_increasing, refused, too_far, too_many, too_old};
use crate::error::Result;
use crate::format::v2::encode::Deltas;
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{NewRecord, RecordFormat};

impl BatchBuilder {
    #[inline(always)]
    pub(super) fn ensure_fits(&self, record: &NewRecord<'_>) -> Result<()> {
        if record.is_control != self.settings.is_control {
            return Err(mixed_control());
        }
        if record.timestamp < NO_TIMESTAMP {
            return Err(negative_timestamp(record.timestamp));
        }
        if self.settings.format < RecordFormat::V2 { self.ensure_legacy(record) } else { Ok(()) }
    }

    #[inline(never)]
    fn ensure_legacy(&self, record: &NewRecord<'_>) -> Result<()> {
        match self.settings.format {
            RecordFormat::V07 if record.key.is_some() => Err(too_old("Keys are", RecordFormat::V07)),
            RecordFormat::V07 if record.value.is_none() => Err(too_old("Null values are", RecordFormat::V07)),
            RecordFormat::V07 if !record.headers.is_empty() => Err(too_old("Headers are", RecordFormat::V07)),
            format if !record.headers.is_empty() => {
                Err(refused("V2-60", format!("Magic v{} does not support record headers", format.magic())))
            }
            RecordFormat::V1 if record.offset < 0 && self.settings.compression.is_some() => Err(negative_offset(record.offset)),
            _ => Ok(()),
        }
    }

    /// Distances to the first record, where offsets must increase (V2-62). Kafka 0.7 knows no offsets.
    #[inline(always)]
    pub(super) fn deltas(&self, record: &NewRecord<'_>) -> Result<Deltas> {
        if self.settings.format == RecordFormat::V07 {
            return Ok(Deltas::default());
        }
        let (base_offset, base_timestamp) = match self.is_empty() {
            true => (record.offset, self.settings.delete_horizon_ms.unwrap_or(record.timestamp)),
            false => (self.base_offset, self.base_timestamp),
        };
        let last = if self.is_empty() { base_offset.wrapping_sub(1) } else { self.last_offset };
        if record.offset <= last {
            return Err(not_increasing(record.offset, last));
        }
        if self.count == i32::MAX {
            return Err(too_many());
        }
        let offset = record.offset.checked_sub(base_offset).and_then(|delta| i32::try_from(delta).ok());
        let offset = offset.ok_or_else(|| too_far(record.offset, base_offset))?;
        Ok(Deltas { offset, timestamp: record.timestamp.wrapping_sub(base_timestamp) })
    }
}
