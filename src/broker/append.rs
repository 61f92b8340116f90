//! What a broker's append path makes of produced records.

use super::checks::{ensure_acceptable, ensure_size};
use super::entries::entries;
use super::options::{AppendOptions, Appended, ProduceRequest};
use super::origin::AppendOrigin;
use super::producers::ProducerState;
use super::refusal::refused;
use super::{follower, leader};
use crate::compat::error_codes::UNKNOWN_SERVER_ERROR;
use crate::compat::{Api, KafkaError, Verdict, unserved, verdict};
use crate::decode::{parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Frame;
use crate::model::{BatchHeader, CompressionType, Formats};

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
