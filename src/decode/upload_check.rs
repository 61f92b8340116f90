//! Compares the offsets of each batch with those of its upload in tiered storage, and with those of the batch before it.

use super::{DecodeOptions, parse_header, verify};
use crate::error::Error;
use crate::framing::{Frame, SourceCheck};
use crate::model::{BatchHeader, Formats, UploadOffsets};

/// The check of an upload.
#[derive(Clone, Copy, Debug)]
pub struct UploadCheck {
    upload: UploadOffsets,
    formats: Formats,
    check_crc: bool,
    previous_last: Option<i64>,
}

impl UploadCheck {
    /// A check for what a decode with these options reads; `None` for what is no upload.
    pub fn of(options: &DecodeOptions) -> Option<Box<dyn SourceCheck>> {
        let upload = options.upload?;
        Some(Box::new(Self { upload, formats: options.formats, check_crc: options.check_crc, previous_last: None }))
    }

    fn header(&self, entry: &[u8], magic: i8) -> Option<BatchHeader> {
        parse_header(Frame { position: 0, magic, bytes: entry }, self.formats, 0).ok()
    }
}

impl SourceCheck for UploadCheck {
    /// A header that cannot be parsed, and a wrong checksum, are left to whoever reads the batch: that error says more.
    fn error_of(&self, entry: &[u8], magic: i8) -> Option<Error> {
        let header = self.header(entry, magic)?;
        let error = self.upload.ensure_next(self.previous_last, &header).err()?;
        (!self.check_crc || verify(entry, &header).is_ok()).then_some(error)
    }

    fn pass(&mut self, entry: &[u8], magic: i8) {
        let Some(header) = self.header(entry, magic) else { return };
        if self.upload.holds(&header) {
            self.previous_last = Some(header.last_offset);
        }
    }
}
