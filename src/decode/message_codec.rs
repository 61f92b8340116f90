//! The codecs of compressed messages, in the formats before magic 2.

use super::walk::entry_len;
use crate::codec::{Codec, HeaderChecksum, NO_ENTRIES, is_lz4_frame};
use crate::error::{Error, ErrorKind, Result};
use crate::format::v07::parse::V07Message;
use crate::model::{BatchHeader, CompressionType, RecordFormat};

/// Fails when an entry of a format before magic 2 names a codec that it cannot have.
///
/// # Errors
/// `Invalid` or `UnknownCompression`.
pub(crate) fn ensure_codec(header: &BatchHeader, entry: &[u8]) -> Result<()> {
    let known = match (header.compression(), header.format) {
        (CompressionType::None, _) => return Ok(()),
        (_, RecordFormat::V07) => V07Message::parse(entry).and_then(|message| codec_of_v07(&message, entry)),
        _ => codec_of_wrapper(header),
    };
    known.map(|_| ())
}

/// The codec of a wrapper (L8-4, L8-34).
///
/// # Errors
/// `Invalid` for zstd, `UnknownCompression` for codecs that no release knows.
pub(super) fn codec_of_wrapper(header: &BatchHeader) -> Result<Codec> {
    let accepted = if header.format == RecordFormat::V0 { HeaderChecksum::Any } else { HeaderChecksum::Correct };
    match header.compression() {
        CompressionType::Gzip => Ok(Codec::Gzip),
        CompressionType::Snappy => Ok(Codec::Snappy),
        CompressionType::Lz4 => Ok(Codec::Lz4(accepted, entry_len(header))),
        CompressionType::None | CompressionType::Zstd => {
            let zstd = ErrorKind::Invalid { rule: "L8-34", what: "zstd is not allowed before magic 2" };
            Err(Error::from(zstd).in_field("attributes"))
        }
        unknown @ (CompressionType::Plugin(_) | CompressionType::Unknown(_)) => {
            Err(Error::from(ErrorKind::UnknownCompression { rule: "L8-4", id: unknown.id() }).in_field("attributes"))
        }
    }
}

/// The codec of a compressed message (L7-5). No release of 0.7 knows codec 3: it is LZ4 where a checksum proves the payload, and this is a
/// frame of LZ4, with either header checksum.
///
/// # Errors
/// `UnknownCompression` for other payloads of codec 3.
pub(super) fn codec_of_v07(message: &V07Message, entry: &[u8]) -> Result<Codec> {
    match CompressionType::from_id(message.attributes & 0x03) {
        CompressionType::Gzip => Ok(Codec::Gzip),
        CompressionType::Snappy => Ok(Codec::Snappy),
        CompressionType::Lz4 if is_lz4_frame(message.payload(entry)) && message.verify(entry).is_ok() => {
            Ok(Codec::Lz4(HeaderChecksum::Any, NO_ENTRIES))
        }
        _ => Err(Error::from(ErrorKind::UnknownCompression { rule: "L7-5", id: 3 }).in_field("attributes")),
    }
}
