//! Whether the records of an entry with a valid checksum can be read: a writer may have made it wrong, or this machine cannot open it.

use bytes::Bytes;

use crate::decode::{DecodeOptions, Decoder, OffsetRange};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Frame;
use crate::model::Discard;

/// Opens entries, and keeps nothing of their records.
pub(super) struct RecordChecker {
    decoder: Decoder,
}

/// What came of it.
pub(super) enum Readability {
    /// All records can be read.
    Readable,
    /// A plugin or a dictionary is missing, or a limit is too low: nothing is known of the records.
    NotOpened,
    /// A reader that accepts the quirks of this error can read the records.
    NeedsQuirks(Error),
    /// The records cannot be read by any reader.
    Undecodable(Error),
}

impl RecordChecker {
    /// Checksums of whole entries were compared before.
    pub(super) fn new(decode: &DecodeOptions) -> Self {
        let decode = DecodeOptions { is_control_wanted: true, segment: OffsetRange::default(), ..decode.clone() };
        Self { decoder: Decoder::new(decode).trusting_framing() }
    }

    /// The memory of the next entries.
    pub(super) fn enter(&mut self, memory: &Bytes) {
        self.decoder.enter(memory);
    }

    /// Opens an entry.
    ///
    /// # Errors
    /// What neither the entry nor the options are to blame for.
    pub(super) fn open(&mut self, frame: Frame<'_>) -> Result<Readability> {
        match self.read(frame) {
            Ok(()) => Ok(Readability::Readable),
            Err(error) if !error.quirks().is_empty() => Ok(Readability::NeedsQuirks(error)),
            Err(error) if error.kind().is_of_reader() || matches!(error.kind(), ErrorKind::Plugin { .. }) => Ok(Readability::NotOpened),
            Err(error) if error.is_about_data() => Ok(Readability::Undecodable(error)),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, frame: Frame<'_>) -> Result<()> {
        let Some(opened) = self.decoder.open(frame)? else { return Ok(()) };
        let read = opened.walk.read_all(&self.decoder.section(&opened, frame.bytes, frame.bytes), &mut Discard);
        let blamed = read.map_err(|error| self.decoder.blame_plugin(&opened.header, error));
        blamed.map_err(|error| error.in_batch(opened.header.base_offset).at_byte(frame.position))
    }
}
