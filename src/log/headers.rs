use super::ReadAt;
use crate::decode::transactions::marker;
use crate::error::Result;
use crate::format::{v0_v1, v2};
use crate::framing::{Step, Tail, step};
use crate::limits::Limits;
use crate::model::batch::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE};
use crate::model::timestamp::NO_TIMESTAMP;
use crate::model::{Attributes, BatchHeader, Formats, Marker, Producer, RecordFormat};
use crate::wire::{Cursor, as_u64};

/// The headers of a log, one after the other, from a position on. The records between them are not read, where they are long.
///
/// Of a message set entry (magic 0, 1) `base_offset` is its stored offset as well: only unpacking would tell where a wrapper begins.
pub struct Headers<'a> {
    log: &'a dyn ReadAt,
    limits: Limits,
    position: u64,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
    filled: usize,
    tail: Option<Tail>,
}

/// In all formats since Kafka 0.8 (MAP-2).
const MAGIC_AT: usize = v0_v1::layout::MAGIC;
/// Smallest read: a page.
const LEAST_WINDOW: usize = 4 << 10;
/// Largest read, when batches are so small that they come one after the other.
const MOST_WINDOW: usize = 256 << 10;

impl<'a> Headers<'a> {
    /// From `start` to `end` (exclusive), both where an entry starts; `end` is the length of the log or less.
    pub fn new(log: &'a dyn ReadAt, limits: Limits, start: u64, end: u64) -> Self {
        Self { log, limits, position: start, end, window: Vec::new(), window_at: 0, filled: 0, tail: None }
    }

    /// How the log ended; `None` before it did.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Where the next entry starts.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next header; `None` at the end, or where an entry is cut short. No checksum is compared.
    ///
    /// # Errors
    /// `Length`, `Magic`, `Limit` where no entry can be framed, `UnsupportedFormat` for magic 3, `Io`.
    pub fn next_header(&mut self) -> Result<Option<BatchHeader>> {
        if self.tail.is_some() {
            return Ok(None);
        }
        let position = self.position;
        self.look_at(position, v2::layout::HEADER_LEN)?;
        let front = self.front(position);
        let (len, magic) = match step(front, Formats::Auto, &self.limits) {
            Step::Entry { len, magic } => (as_u64(len), magic),
            Step::Incomplete { needed } => match front.get(MAGIC_AT) {
                Some(magic) if as_u64(needed) <= self.end - position => (as_u64(needed), magic.cast_signed()),
                _ => {
                    self.tail = Some(self.torn(needed));
                    return Ok(None);
                }
            },
            Step::Fault(_) if self.is_zero_to_end()? => {
                self.tail = Some(Tail::Zeros { position, bytes: self.end - position });
                return Ok(None);
            }
            Step::Fault(error) => return Err(error.at_byte(position)),
        };
        let header = header(self.front(position), magic, position, len).map_err(|error| error.at_byte(position))?;
        self.position = position.saturating_add(len);
        Ok(Some(header))
    }

    /// The bytes of the entry that a header belongs to.
    ///
    /// # Errors
    /// `Io`.
    pub fn entry(&self, header: &BatchHeader) -> Result<Vec<u8>> {
        // The length was held against the limits and the end of the log before the header was given.
        let mut bytes = vec![0; usize::try_from(header.size).unwrap_or(0)];
        let len = self.log.fill_at(&mut bytes, header.position)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// The transaction marker of a batch; `None` for data, and for a marker that cannot be read.
    ///
    /// # Errors
    /// `Io`.
    pub fn marker(&self, header: &BatchHeader) -> Result<Option<Marker>> {
        /// Markers take 78 bytes; a control batch larger than this is none.
        const MOST: u64 = 1 << 16;
        if !header.is_control() || header.size > MOST {
            return Ok(None);
        }
        Ok(marker(header, &self.entry(header)?).ok().flatten())
    }

    /// Reads so that `len` bytes from `position` on are in the window, or all up to the end.
    fn look_at(&mut self, position: u64, len: usize) -> Result<()> {
        let wanted = len.min(usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX));
        if position >= self.window_at && self.front(position).len() >= wanted {
            return Ok(());
        }
        let is_near = position < self.window_at.saturating_add(as_u64(self.filled));
        let size = if is_near { self.window.len() * 2 } else { self.window.len() / 2 };
        self.window.resize(size.clamp(LEAST_WINDOW, MOST_WINDOW), 0);
        let most = self.window.len().min(usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX));
        self.filled = self.log.fill_at(self.window.get_mut(..most).unwrap_or_default(), position)?;
        self.window_at = position;
        if self.filled < most {
            // The file is shorter than it was.
            self.end = position.saturating_add(as_u64(self.filled));
        }
        Ok(())
    }

    fn front(&self, position: u64) -> &[u8] {
        let from = usize::try_from(position.saturating_sub(self.window_at)).unwrap_or(usize::MAX);
        self.window.get(..self.filled).and_then(|window| window.get(from..)).unwrap_or_default()
    }

    fn torn(&self, needed: usize) -> Tail {
        let (position, available) = (self.position, self.end.saturating_sub(self.position));
        let front = self.front(position);
        match available {
            0 => Tail::Complete,
            _ if as_u64(front.len()) == available && front.iter().all(|byte| *byte == 0) => Tail::Zeros { position, bytes: available },
            _ => Tail::Torn { position, needed: as_u64(needed), available },
        }
    }

    fn is_zero_to_end(&self) -> Result<bool> {
        let mut buffer = vec![0; MOST_WINDOW];
        let mut at = self.position;
        while at < self.end {
            let most = buffer.len().min(usize::try_from(self.end - at).unwrap_or(usize::MAX));
            let len = self.log.fill_at(buffer.get_mut(..most).unwrap_or_default(), at)?;
            if len == 0 {
                break;
            }
            if buffer.iter().take(len).any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += as_u64(len);
        }
        Ok(true)
    }
}

/// The header at the front of `bytes`, of an entry of `size` bytes that may go on behind them.
fn header(bytes: &[u8], magic: i8, position: u64, size: u64) -> Result<BatchHeader> {
    match magic {
        0 | 1 => message_header(bytes, magic, position, size),
        v2::layout::MAGIC => v2::parse::header(bytes, position).map(|header| BatchHeader { size, ..header }),
        _ => Err(crate::ErrorKind::UnsupportedFormat { rule: "MAP-3", magic, advice: "no broker writes it" }.into()),
    }
}

fn message_header(bytes: &[u8], magic: i8, position: u64, size: u64) -> Result<BatchHeader> {
    let mut cursor = Cursor::new(bytes, "L8-11");
    let offset = i64::from_be_bytes(cursor.take_array("offset")?);
    let _size = cursor.take_i32("size")?;
    let crc = u32::from_be_bytes(cursor.take_array("crc")?);
    let _magic = cursor.take_array::<1>("magic")?;
    let [attributes] = cursor.take_array::<1>("attributes")?;
    let timestamp = if magic == 0 { NO_TIMESTAMP } else { i64::from_be_bytes(cursor.take_array("timestamp")?) };
    Ok(BatchHeader {
        position,
        size,
        format: if magic == 0 { RecordFormat::V0 } else { RecordFormat::V1 },
        magic,
        base_offset: offset,
        last_offset: offset,
        count: None,
        attributes: Attributes(i16::from(attributes & 0x0f)),
        base_timestamp: timestamp,
        max_timestamp: timestamp,
        crc,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer: Producer { id: NO_PRODUCER_ID, epoch: -1, base_sequence: NO_SEQUENCE },
    })
}
