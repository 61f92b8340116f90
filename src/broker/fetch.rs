//! What a broker sends to a fetch, by default one up to 3.9 (CNV-13, CNV-14; KIP-110, KIP-283).

use bytes::Bytes;

use super::entries::{EntryWithHeader, entries};
use super::refusal::refused;
use crate::compat::error_codes::{UNSUPPORTED_COMPRESSION_TYPE, UNSUPPORTED_VERSION};
use crate::compat::{Api, Release, unserved, verdict};
use crate::convert::{ConvertOptions, Converter};
use crate::decode::{DecodeOptions, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v2::layout::HEADER_LEN;
use crate::framing::{LOG_OVERHEAD, Source};
use crate::limits::Limits;
use crate::model::{CompressionType, Formats, RecordFormat};
use crate::wire::Sink;

/// Bytes of entries that a broker converts at a time, after the first entry.
const CHUNK: usize = 128 << 10;

/// A Fetch request.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest {
    /// Its version.
    pub version: i16,
    /// The release of the broker; `None` for those up to 3.9.
    pub release: Option<Release>,
    /// The formats that the log may have. Magic 3 is converted down for every version, as none has it.
    pub formats: Formats,
}

/// The bytes that a request gets. `topic` is the topic's codec, `None` for `producer`; entries that end before
/// `first_offset` are left out, and so are records of uncompressed batches below it where they are converted.
///
/// # Errors
/// `Rejected` with 76 for zstd or a plugin that the version cannot take; `Usage` for a version below 0; what is wrong with the bytes.
pub fn fetch(
    input: &[u8],
    request: FetchRequest,
    topic: Option<CompressionType>,
    first_offset: Option<i64>,
    limits: &Limits,
) -> Result<Vec<u8>> {
    let FetchRequest { version, release, formats } = request;
    let Some(row) = Api::Fetch.row(version) else {
        return Err(ErrorKind::Usage { argument: "api_version", problem: "versions begin at 0".to_owned() }.into());
    };
    if let Some(verdict) = unserved(Api::Fetch, version, release) {
        return Err(refused("CNV-13", verdict.error.unwrap_or(UNSUPPORTED_VERSION), verdict.advice));
    }
    match topic {
        Some(CompressionType::Zstd) if !row.takes_zstd(release) => return Err(too_old(version)),
        Some(CompressionType::Plugin(id)) if row.format < RecordFormat::V2 => return Err(without_plugins(id, version)),
        _ => {}
    }
    let mut entries = entries(input, formats, limits, |frame, _| parse_header(frame, formats, 0).map(Some))?;
    if let Some(first) = first_offset {
        let before = entries.iter().take_while(|(_, header)| header.last_offset < first).count();
        entries.drain(..before);
    }
    let stored = entries.first().map_or(&[][..], |(frame, _)| from(input, frame.position));
    if entries.iter().all(|(_, header)| header.format <= row.format) {
        return Ok(stored.to_vec());
    }
    // Batches stay whole.
    let first_offset = first_offset.filter(|_| row.format < RecordFormat::V2);
    let conversion = Conversion { to: row.format, formats, first_offset, limits };
    conversion.run(&entries, stored.len()).map_err(|stopped| stopped.unwrap_or_else(|| unconvertible(&entries, version)))
}

/// Why the first entry that is anything stops the conversion: zstd or a plugin (S-P22).
fn unconvertible(entries: &[EntryWithHeader<'_>], version: i16) -> Error {
    let mut codecs = entries.iter().map(|(_, header)| header.compression());
    match codecs.find(|codec| *codec == CompressionType::Zstd || codec.plugin_id().is_some()) {
        Some(CompressionType::Plugin(id)) => without_plugins(id, version),
        _ => too_old(version),
    }
}

fn without_plugins(id: u8, version: i16) -> Error {
    let advice = format!("the codec plugin:{id} exists in magic 2 only: read with Fetch version 4 or newer, this is {version}");
    refused("S-P22", UNSUPPORTED_COMPRESSION_TYPE, advice)
}

/// Kafka's error for zstd, with the advice of KIP-110.
fn too_old(version: i16) -> Error {
    let advice = verdict(Api::Fetch, version, None, RecordFormat::V2, CompressionType::Zstd).map(|verdict| verdict.advice);
    refused("CNV-13", UNSUPPORTED_COMPRESSION_TYPE, advice.unwrap_or_default())
}

fn from(input: &[u8], position: u64) -> &[u8] {
    input.get(usize::try_from(position).unwrap_or(usize::MAX)..).unwrap_or_default()
}

/// A conversion in pieces, as a broker sends it.
struct Conversion<'a> {
    to: RecordFormat,
    formats: Formats,
    first_offset: Option<i64>,
    limits: &'a Limits,
}

/// A conversion that cannot go on: `None` where the codec does not allow it.
type Halt = Option<Error>;

impl Conversion<'_> {
    /// The response: as many bytes as are stored, or as the first entry takes. What conversion leaves of it is filled up with an entry that
    /// is larger than the rest, which consumers skip.
    fn run(&self, entries: &[EntryWithHeader<'_>], stored: usize) -> std::result::Result<Vec<u8>, Halt> {
        let mut rest = entries;
        let Some(mut out) = self.first(&mut rest)? else { return Ok(overflow(LOG_OVERHEAD)) };
        let promised = stored.max(out.len());
        while !rest.is_empty() {
            match self.convert(chunk(&mut rest)) {
                Ok(converted) => out.extend_from_slice(&converted),
                Err(None) => break,
                Err(error) => return Err(error),
            }
        }
        out.truncate(promised);
        let left = promised - out.len();
        if left > 0 {
            out.extend_from_slice(&overflow(left));
        }
        Ok(out)
    }

    /// The first entry that is anything in the older format; none when none is.
    fn first(&self, rest: &mut &[EntryWithHeader<'_>]) -> std::result::Result<Option<Vec<u8>>, Halt> {
        while let Some((entry, after)) = rest.split_first() {
            *rest = after;
            let converted = self.convert(std::slice::from_ref(entry))?;
            if !converted.is_empty() {
                return Ok(Some(converted));
            }
        }
        Ok(None)
    }

    fn convert(&self, entries: &[EntryWithHeader<'_>]) -> std::result::Result<Vec<u8>, Halt> {
        let bytes: Vec<u8> = entries.iter().flat_map(|(frame, _)| frame.bytes).copied().collect();
        let start = entries.first().map_or(0, |(frame, _)| frame.position);
        let options = ConvertOptions {
            decode: DecodeOptions { limits: *self.limits, formats: self.formats, ..DecodeOptions::default() },
            to: self.to,
            compression: None,
            is_metadata_first: false,
            level: None,
            is_up_wanted: false,
            first_offset: self.first_offset,
            batch_bytes: usize::MAX,
        };
        let located = |error: Error| Some(error.from_position(start));
        let mut converter = Converter::new(Source::memory(Bytes::from(bytes)), options, false).map_err(located)?;
        let mut out = Sink::default();
        while converter.advance(&mut out).map_err(located)? {}
        if converter.stopped().is_some() { Err(None) } else { Ok(out.into_vec()) }
    }
}

/// Takes the entries that a broker converts together: one in any case, and others as long as they fit.
fn chunk<'a, 'b>(rest: &mut &'a [EntryWithHeader<'b>]) -> &'a [EntryWithHeader<'b>] {
    let mut len = 0;
    let fits = |(frame, _): &&EntryWithHeader<'_>| {
        len += frame.bytes.len();
        len <= CHUNK
    };
    let count = rest.iter().take_while(fits).count().max(1);
    let (chunk, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
    *rest = after;
    chunk
}

/// The beginning of an entry that claims more than `left` bytes: base offset -1, its length, zeros.
fn overflow(left: usize) -> Vec<u8> {
    let mut entry = vec![0; left.max(LOG_OVERHEAD)];
    let length = i32::try_from(left.saturating_add(1).max(HEADER_LEN)).unwrap_or(i32::MAX);
    let head = (-1_i64).to_be_bytes().into_iter().chain(length.to_be_bytes());
    for (byte, value) in entry.iter_mut().zip(head) {
        *byte = value;
    }
    entry.truncate(left);
    entry
}
