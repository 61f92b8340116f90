//! What a broker's append path makes of produced records.

use super::checks::{ensure_acceptable, ensure_size};
use super::origin::AppendOrigin;
use super::producers::ProducerState;
use super::{follower, leader, refused};
use crate::codec::Plugins;
use crate::compat::error_codes::UNKNOWN_SERVER_ERROR;
use crate::compat::{Api, KafkaError, Release, Verdict, unserved, verdict};
use crate::decode::{parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Step, step};
use crate::limits::Limits;
use crate::model::{BatchHeader, CompressionType, Formats, RecordFormat, TimestampType};
use crate::wire::as_u64;

/// A Produce request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProduceRequest {
    /// Its version.
    pub version: i16,
    /// The release of the broker; `None` for those up to 3.9.
    pub release: Option<Release>,
}

/// What the topic and the log say.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// Who appends.
    pub origin: AppendOrigin,
    /// The request of a client, if its version is checked.
    pub request: Option<ProduceRequest>,
    /// Offset of the first record; of those that have offsets, the least that it may have.
    pub first_offset: i64,
    /// Format of the topic.
    pub to: RecordFormat,
    /// Codec of the topic; `None` keeps the producer's.
    pub compression: Option<CompressionType>,
    /// Level of the codec; `None` for Kafka's default.
    pub level: Option<i32>,
    /// Whether all brokers know zstd (`inter.broker.protocol.version` 2.1 or newer).
    pub has_zstd: bool,
    /// Timestamp type of the topic.
    pub timestamp_type: TimestampType,
    /// The broker's clock, ms.
    pub now: i64,
    /// How far timestamps may lie before that; `None` for any distance.
    pub before_max_ms: Option<i64>,
    /// How far timestamps may lie after that.
    pub after_max_ms: Option<i64>,
    /// The topic is compacted: records need keys.
    pub is_compacted: bool,
    /// Most bytes of a batch.
    pub max_message_bytes: u64,
    /// Epoch of the leader.
    pub partition_leader_epoch: i32,
    /// What an entry may claim.
    pub limits: Limits,
    /// Codecs that are not built in.
    pub plugins: Plugins,
}

/// What is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The entries; empty for a duplicate.
    pub data: Vec<u8>,
    /// Offset of the first record; of the earlier batch, for a duplicate.
    pub first_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// Largest timestamp, or the append time; -1 where there is none.
    pub max_timestamp: i64,
    /// The batch was appended before, and is not again.
    pub is_duplicate: bool,
}

/// An entry with its header.
pub type Entry<'a> = (Frame<'a>, BatchHeader);

/// Makes of entries what a broker appends. A torn tail is cut off in silence (VAL-2d). `producers` changes only when the append succeeds.
///
/// # Errors
/// `Rejected` with Kafka's code and the indexes of bad records; what is wrong with the bytes, as a decode says it.
pub fn append(input: &[u8], options: &AppendOptions, producers: &mut ProducerState) -> Result<Appended> {
    // In the order of a broker (VAL-2a to VAL-2c).
    if let Some(refusal) = options.request.and_then(|request| unserved(Api::Produce, request.version, request.release)) {
        return Err(refusal_of(refusal));
    }
    let entries = entries(input, Formats::Auto, &options.limits, |frame, before| looked_at(frame, before, options))?;
    match options.origin {
        AppendOrigin::Client | AppendOrigin::Coordinator => leader::append(&entries, options, producers).map_err(in_brokers_words),
        AppendOrigin::Replication | AppendOrigin::RaftLeader => follower::append(&entries, options, producers),
    }
}

/// Returns the whole entries with the headers that `header_of` gives, up to the first entry that it gives none for.
///
/// # Errors
/// Those of framing and of `header_of`, with the position of the entry.
pub fn entries<'a>(
    input: &'a [u8],
    formats: Formats,
    limits: &Limits,
    mut header_of: impl FnMut(Frame<'a>, Option<&BatchHeader>) -> Result<Option<BatchHeader>>,
) -> Result<Vec<Entry<'a>>> {
    let (mut entries, mut at): (Vec<Entry<'a>>, usize) = (Vec::new(), 0);
    loop {
        let tail = input.get(at..).unwrap_or_default();
        let position = as_u64(at);
        let (len, magic) = match step(tail, formats, limits) {
            Step::Entry { len, magic } => (len, magic),
            Step::Incomplete { .. } => return Ok(entries),
            Step::Error(error) => return Err(error.at_byte(position)),
        };
        let frame = Frame { position, magic, bytes: tail.get(..len).unwrap_or_default() };
        match header_of(frame, entries.last().map(|(_, header)| header)).map_err(|error| error.at_byte(position))? {
            Some(header) => entries.push((frame, header)),
            None => return Ok(entries),
        }
        at += len;
    }
}

/// The header; `None` for a batch that is left out, with all after it.
fn looked_at(frame: Frame<'_>, before: Option<&BatchHeader>, options: &AppendOptions) -> Result<Option<BatchHeader>> {
    let header = parse_header(frame, Formats::Auto, 0)?;
    if let Some(request) = options.request {
        ensure_carried(&header, request)?;
    }
    ensure_acceptable(&header, options)?;
    if follower::is_ahead(&header, options) {
        return Ok(None);
    }
    ensure_size(header.size, options)?;
    verify(frame.bytes, &header)?;
    if !options.origin.has_offsets_assigned() {
        follower::ensure_ascending(before, &header)?;
    }
    Ok(Some(header))
}

/// VAL-1: what a version of Produce may carry. Codecs that are not Kafka's are checked later.
fn ensure_carried(header: &BatchHeader, request: ProduceRequest) -> Result<()> {
    let compression = match header.compression() {
        CompressionType::Plugin(_) | CompressionType::Unknown(_) => CompressionType::None,
        known => known,
    };
    match verdict(Api::Produce, request.version, request.release, header.format, compression) {
        Some(verdict) if verdict.error.is_some() => Err(refusal_of(verdict)),
        Some(_) => Ok(()),
        None => Err(ErrorKind::Usage { argument: "api_version", problem: "versions begin at 0".to_owned() }.into()),
    }
}

fn refusal_of(verdict: Verdict) -> Error {
    refused("VAL-1", verdict.error.unwrap_or(UNKNOWN_SERVER_ERROR), verdict.advice)
}

/// S-P18: an id that Java's registry does not know is an illegal argument to a broker.
fn in_brokers_words(error: Error) -> Error {
    let ErrorKind::UnknownPlugin { id, wanted } = error.kind() else { return error };
    let reason = match wanted {
        None => format!("Unknown compression name: plugin:{id} (no plugin with the id {id} is registered for the brokers' language, java)"),
        Some(_) => error.message(),
    };
    let KafkaError { code, name, .. } = UNKNOWN_SERVER_ERROR;
    error.become_kind(ErrorKind::Rejected { rule: "S-P18", code, name, reason, records: Vec::new() })
}
