//! The entries of produced or stored bytes, with their headers.

use crate::error::Result;
use crate::framing::{Frame, Step, step};
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats};
use crate::wire::as_u64;

/// An entry with its header.
pub type EntryWithHeader<'a> = (Frame<'a>, BatchHeader);

/// Returns the whole entries with the headers that `header_of` gives, up to the first entry that it gives none for.
///
/// # Errors
/// Those of framing and of `header_of`, with the position of the entry.
pub fn entries<'a>(
    input: &'a [u8],
    formats: Formats,
    limits: &Limits,
    mut header_of: impl FnMut(Frame<'a>, Option<&BatchHeader>) -> Result<Option<BatchHeader>>,
) -> Result<Vec<EntryWithHeader<'a>>> {
    let (mut entries, mut at): (Vec<EntryWithHeader<'a>>, usize) = (Vec::new(), 0);
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
