//! Decides the action for one entry by its header alone.

use super::ConvertOptions;
use super::loss::{LossKind, Losses};
use crate::model::batch::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID};
use crate::model::{BatchHeader, CompressionType, RecordFormat, TimestampType};

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// Its bytes stay.
    Copy,
    /// It is left out.
    Drop,
    /// The conversion ends before it: its codec does not exist in the target format (CNV-2).
    Stop,
    /// Its records are compressed anew, and stay byte for byte.
    Recompress,
    /// Its header and records are written in the layout of the other batch format (S-C1, S-C2).
    Relayout,
    /// Its records are written anew.
    Rebuild,
}

/// Decides.
pub fn action(header: &BatchHeader, options: &ConvertOptions) -> EntryAction {
    let (from, to) = (header.format, options.to);
    let is_control = header.is_control();
    if from == to {
        return same_format(header, options);
    }
    if to < RecordFormat::V2 && is_control {
        return EntryAction::Drop;
    }
    if from.is_batch() && to.is_batch() {
        return EntryAction::Relayout;
    }
    if options.compression.is_none() && !holds(to, header.compression()) {
        return EntryAction::Stop;
    }
    if from < to && from != RecordFormat::V07 && !options.is_up_wanted {
        return EntryAction::Copy;
    }
    if header.count == Some(0) { EntryAction::Drop } else { EntryAction::Rebuild }
}

fn same_format(header: &BatchHeader, options: &ConvertOptions) -> EntryAction {
    if header.format == RecordFormat::V3 && options.is_metadata_first != header.is_metadata_first() {
        return EntryAction::Relayout;
    }
    let found = header.compression();
    let is_same = options.compression.is_none_or(|wanted| wanted == found && options.level.is_none());
    // Control batches and empty ones are never compressed (CTL-9, V2-9).
    if is_same || header.is_control() || header.count == Some(0) {
        return EntryAction::Copy;
    }
    if header.format.is_batch() { EntryAction::Recompress } else { EntryAction::Rebuild }
}

/// True when entries of the format may have this codec (FORMAT section 7.1).
fn holds(format: RecordFormat, compression: CompressionType) -> bool {
    match compression {
        CompressionType::None | CompressionType::Gzip | CompressionType::Snappy => true,
        // Kafka 0.7 has a number for it, and no release that reads it: who wants it must name it.
        CompressionType::Lz4 => format != RecordFormat::V07,
        CompressionType::Zstd | CompressionType::Plugin(_) => format.is_batch(),
        // Whether it can be read at all is said where it is read.
        CompressionType::Unknown(_) => true,
    }
}

/// Counts what the header says and the target cannot.
pub fn count_losses(header: &BatchHeader, action: EntryAction, options: &ConvertOptions, losses: &mut Losses) {
    let mut lose = |kind, is_lost: bool| losses.add(kind, u64::from(is_lost), header.position, header.base_offset);
    if action == EntryAction::Relayout {
        // Bits that are nobody's in one format and mean something in the other cannot stay.
        let lost = header.attributes.unused() & !header.attributes.unused_in_proposed();
        return lose(LossKind::UnusedBits, header.format == RecordFormat::V2 && lost != 0);
    }
    if !matches!(action, EntryAction::Drop | EntryAction::Rebuild) {
        return;
    }
    let to = options.to;
    if header.format.is_batch() {
        lose(LossKind::ControlBatch, header.is_control());
        if header.is_control() {
            return;
        }
        lose(LossKind::EmptyBatch, action == EntryAction::Drop);
        lose(LossKind::Producer, header.producer.id != NO_PRODUCER_ID);
        lose(LossKind::Transaction, header.is_transactional());
        lose(LossKind::LeaderEpoch, header.partition_leader_epoch != NO_PARTITION_LEADER_EPOCH);
        lose(LossKind::DeleteHorizon, header.delete_horizon_ms().is_some());
    }
    lose(LossKind::UnusedBits, header.unused_bits() != 0);
    lose(LossKind::TimestampType, to < RecordFormat::V1 && header.timestamp_type() == TimestampType::LogAppendTime);
}
