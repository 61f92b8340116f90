//! Gzip: members one after the other, as one stream.
//!
//! Sources: `GzipCompression` of Kafka's clients, `GZIPInputStream` of JDK 17, RFC 1952. A member is unpacked in one go when its size
//! can be guessed, as nearly always; else, or if the guess was wrong, by a streaming inflater, whose word is also the last on bad data.

mod libdeflate;
mod member;
mod streaming;

pub use libdeflate::Compressor;

/// The flags of a member's header.
pub mod flag {
    pub use super::member::{COMMENT, EXTRA, HEADER_CRC, NAME};
}

use super::output::Output;
use super::{Plain, Remark, bad, to_len};
use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::wire::as_u64;

/// What the deflated data of a member unpacks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Bytes of deflated data.
    pub deflated: usize,
    /// Bytes that they unpack to.
    pub unpacked: usize,
    /// The checksum of those.
    pub crc: u32,
}

/// Measures the deflated data that `body` begins with; its trailer is not looked at.
///
/// # Errors
/// `Codec` when the data is bad, `Limit` when it unpacks to more than the budget.
pub fn measure(body: &[u8], budget: &Budget) -> Result<Measured> {
    let mut plain = Plain::default();
    let mut output = Output::new(&mut plain, budget)?;
    let rest = streaming::Inflater::default().inflate(body, &mut output)?;
    Ok(Measured { deflated: body.len() - rest.len(), unpacked: plain.len(), crc: crc32fast::hash(plain.bytes()) })
}

/// Room that a member gets on the word of its trailer alone.
const TRUSTED: usize = 8 << 20;
/// Or this many bytes for each of its own; records rarely shrink more.
const TRUSTED_RATIO: usize = 64;

/// Room behind the guessed size: libdeflate takes its slow path in the last 300 bytes of its output.
const MARGIN: usize = 512;

/// The inflating contexts, made when the first member comes.
#[derive(Default)]
pub(super) struct Inflater {
    oneshot: libdeflate::Inflater,
    streaming: streaming::Inflater,
}

impl Inflater {
    /// Unpacks all members. What follows the last one and is none is passed over, as in Java (COD-G2).
    pub(super) fn unpack(&mut self, input: &[u8], out: &mut Output<'_>, remarks: Option<&mut Vec<Remark>>) -> Result<()> {
        if out.is_watched() {
            return self.unpack_watched(input, out);
        }
        let mut rest = self.unpack_member(member::split_header(input)?, out)?;
        while let Some(body) = member::next(rest) {
            rest = self.unpack_member(body, out)?;
        }
        if let (Some(remarks), false) = (remarks, rest.is_empty()) {
            remarks.push(Remark::TrailingBytes { bytes: as_u64(rest.len()) });
        }
        Ok(())
    }

    /// Unpacks members piece by piece, until no more is wanted.
    fn unpack_watched(&mut self, input: &[u8], out: &mut Output<'_>) -> Result<()> {
        let mut next = Some(member::split_header(input)?);
        while let Some(body) = next {
            let start = out.len();
            let Some(trailer) = self.streaming.inflate_watched(body, out)? else { return Ok(()) };
            next = member::next(member::verify(out.from(start), trailer)?);
        }
        Ok(())
    }

    /// Unpacks the member whose deflated data `body` begins with, and gives what follows its trailer.
    fn unpack_member<'a>(&mut self, body: &'a [u8], out: &mut Output<'_>) -> Result<&'a [u8]> {
        let start = out.len();
        let trailer = match self.inflate_at_once(body, out)? {
            Some(trailer) => trailer,
            None => self.streaming.inflate(body, out)?,
        };
        member::verify(out.from(start), trailer)
    }

    /// Tries to unpack `body` into the room that the trailer asks for; gives what follows the deflated data if it went well.
    fn inflate_at_once<'a>(&mut self, body: &'a [u8], out: &mut Output<'_>) -> Result<Option<&'a [u8]>> {
        let Some(size) = guess(body).filter(|size| *size <= out.left()) else {
            return Ok(None);
        };
        let room = out.room(size + MARGIN)?;
        // Not all the room there may be: what bad data gives must not depend on what was unpacked before it.
        let given = room.len().min(size + MARGIN);
        let Some(inflated) = self.oneshot.inflate(body, room.get_mut(..given).unwrap_or_default()) else {
            return Ok(None);
        };
        out.fill(inflated.written);
        Ok(body.get(inflated.read..))
    }
}

/// The size that the last four bytes of the stream declare, if it may be trusted. True for a single member without garbage behind it.
fn guess(body: &[u8]) -> Option<usize> {
    let size = to_len(u32::from_le_bytes(*body.last_chunk::<4>()?));
    (size <= body.len().saturating_mul(TRUSTED_RATIO).max(TRUSTED)).then_some(size)
}

#[cold]
fn fault(rule: &'static str, fault: &'static str) -> Error {
    bad("gzip", rule, fault)
}
