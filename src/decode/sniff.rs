//! Which family of formats some bytes are of, by the first entry (MAP-1).

use super::{parse_header, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, Source, Step, step};
use crate::limits::Limits;
use crate::model::{Formats, RecordFormat};

/// Looks at the front of a source, of which nothing is taken; `later` is what entries of Kafka 0.8 and later may be. A source without bytes, or of zeros only, is of Kafka 0.8 and later.
///
/// # Errors
/// `Invalid` (MAP-1) when the first entry is good in neither family; `Io`.
pub fn sniff(source: &mut Source, later: Formats, limits: &Limits) -> Result<Formats> {
    for formats in [later, Formats::Only(RecordFormat::V07)] {
        if has_good_entry(source, formats, limits)? {
            return Ok(formats);
        }
    }
    if source.front().iter().all(|byte| *byte == 0) {
        return Ok(later);
    }
    let what = "the first entry is valid neither in a format of Kafka 0.8 or later nor in that of 0.7; pass the format";
    Err(Error::from(ErrorKind::Invalid { rule: "MAP-1", what }).at_byte(source.position()))
}

fn has_good_entry(source: &mut Source, formats: Formats, limits: &Limits) -> Result<bool> {
    loop {
        match step(source.front(), formats, limits) {
            Step::Entry { len, magic } => {
                let bytes = source.front().get(..len).unwrap_or_default();
                let header = parse_header(Frame { position: 0, magic, bytes }, formats, 0);
                return Ok(header.is_ok_and(|header| verify(bytes, &header).is_ok()));
            }
            Step::Incomplete { needed } if source.fill(needed)? => {}
            Step::Incomplete { .. } | Step::Error(_) => return Ok(false),
        }
    }
}
