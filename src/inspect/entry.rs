//! The bytes that an inspection is about: one entry, or what there is of it.

use bytes::Bytes;

use crate::decode::{DecodeOptions, parse_header};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{v0_v1, v07};
use crate::framing::{Frame, Source, Step, Tail, step};
use crate::model::RecordFormat;
use crate::validate::{Depth, Finding, Validator};
use crate::wire::as_u64;

/// One entry, whole or not.
#[derive(Clone, Debug)]
pub struct InspectedEntry {
    /// Position of the first byte in the input.
    pub position: u64,
    /// The entry; of one that cannot be framed, about as many bytes as a header has.
    pub bytes: Bytes,
    /// Its format, by its magic.
    pub format: Option<RecordFormat>,
    /// Why it is not a whole entry.
    problem: Option<Finding>,
}

/// Rules that need more than one entry to be broken.
const OF_SEVERAL: [&str; 7] = ["SWALLOWED", "PRD-1", "PRD-2", "TRX-1", "TRX-2", "TRX-3", "TRX-4"];
/// Bytes that are shown of what cannot be framed.
const HEAD: usize = 64;

impl InspectedEntry {
    /// True if all bytes of the entry are there, by its length.
    pub fn is_whole(&self) -> bool {
        self.problem.is_none()
    }

    /// What is wrong with the entry. Where the checksum does not match, also what else is wrong.
    ///
    /// # Errors
    /// As `inspect`.
    pub(super) fn findings(&self, options: &DecodeOptions, depth: Depth) -> Result<Vec<Finding>> {
        if let Some(problem) = &self.problem {
            return Ok(vec![problem.clone()]);
        }
        let mut findings = self.validated(options, depth)?;
        if findings.iter().any(|finding| finding.field == Some("crc")) {
            let unchecked = self.validated(&DecodeOptions { check_crc: false, ..options.clone() }, depth)?;
            findings.extend(unchecked.into_iter().filter(|finding| finding.field != Some("crc")));
        }
        Ok(findings)
    }

    fn validated(&self, options: &DecodeOptions, depth: Depth) -> Result<Vec<Finding>> {
        let mut validator = Validator::new(Source::memory(self.bytes.clone()), options.clone(), depth, false);
        while validator.advance()? {}
        // What batches say about each other is no matter of one.
        validator.take_before();
        let findings = validator.take_findings().into_iter();
        Ok(findings.filter(|finding| finding.position == 0 && !OF_SEVERAL.contains(&finding.rule())).collect())
    }
}

/// Takes the entry that begins at the front of a source.
///
/// # Errors
/// `Usage` when there is nothing; `Io`.
pub fn take(source: &mut Source, options: &DecodeOptions) -> Result<InspectedEntry> {
    let position = source.position();
    loop {
        let front = source.front();
        let (len, problem) = match step(front, options.formats, &options.limits) {
            Step::Entry { len, .. } => (len, None),
            Step::Incomplete { needed } => {
                if source.fill(needed)? {
                    continue;
                }
                let available = source.front().len();
                let tail = Tail::Torn { position, needed: as_u64(needed), available: as_u64(available) };
                (available.min(needed), Finding::of_tail(tail))
            }
            Step::Error(error) => {
                if front.len() < HEAD && source.fill(HEAD)? {
                    continue;
                }
                let len = source.front().len().min(HEAD);
                (len, Some(Finding::of_error(&error, position, as_u64(len))))
            }
        };
        if source.front().is_empty() {
            let problem = format!("byte {position} is the end of the input");
            return Err(Error::from(ErrorKind::Usage { argument: "at", problem }));
        }
        let format = format_of(source.front(), options);
        return Ok(InspectedEntry { position, bytes: source.take(len).slice(..len), format, problem });
    }
}

/// Drops the fields before the first entry that ends at or after `offset`.
///
/// # Errors
/// `Usage` when there is none, what is wrong with an entry on the way, and `Io`.
pub fn find(source: &mut Source, offset: i64, options: &DecodeOptions) -> Result<()> {
    loop {
        let position = source.position();
        match step(source.front(), options.formats, &options.limits) {
            Step::Entry { len, magic } => {
                let bytes = source.front().get(..len).unwrap_or_default();
                let header = parse_header(Frame { position, magic, bytes }, options.formats, options.base_position);
                if header.map_err(|error| error.at_byte(position))?.last_offset >= offset {
                    return Ok(());
                }
                source.discard(len);
            }
            Step::Incomplete { needed } => {
                if !source.fill(needed)? {
                    let problem = format!("no entry ends at or after offset {offset}");
                    return Err(Error::from(ErrorKind::Usage { argument: "offset", problem }));
                }
            }
            Step::Error(error) => return Err(error.at_byte(position)),
        }
    }
}

/// Drops the next `ahead` bytes of a source.
///
/// # Errors
/// `Usage` when there are fewer; `Io`.
pub fn skip(source: &mut Source, ahead: u64) -> Result<()> {
    let goal = source.position().saturating_add(ahead);
    loop {
        source.discard_to(goal);
        if source.position() >= goal || !source.fill(1)? {
            break;
        }
    }
    if source.position() < goal {
        let problem = format!("byte {goal} is after the end of the input, at {}", source.position());
        return Err(Error::from(ErrorKind::Usage { argument: "at", problem }));
    }
    Ok(())
}

fn format_of(front: &[u8], options: &DecodeOptions) -> Option<RecordFormat> {
    let at = if options.formats.is_v07() { v07::layout::MAGIC } else { v0_v1::layout::MAGIC };
    options.formats.of_magic(i8::from_be_bytes([*front.get(at)?]))
}
