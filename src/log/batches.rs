//! The batches of a source one by one, up to damage or past it.

use crate::decode::{ChecksumVerifier, Checksums, DecodeOptions, Decoder, UploadCheck, parse_header};
use crate::error::{Error, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::model::{BatchHeader, Formats, RecordFormat};
use crate::wire::as_u64;

/// Bytes that are read at a time.
const AT_A_TIME: usize = 64 << 10;

/// What a walk over batches trusts.
#[derive(Clone, Copy, Debug)]
pub struct BatchTrust {
    /// What the entries are.
    pub formats: Formats,
    /// What an entry may claim.
    pub limits: Limits,
    /// `All`: entries with a wrong checksum are left out where damage is skipped.
    pub checksums: Checksums,
    /// Go on past damage.
    pub skips_damage: bool,
    /// Decompress compressed messages before magic 2 for their base offset and count (L8-28).
    pub resolves: bool,
    /// Position of the source in its partition, for Kafka 0.7.
    pub base_position: i64,
}

impl BatchTrust {
    /// The batches of every format of Kafka 0.8 and later whose checksums match, past damage.
    pub fn valid() -> Self {
        let (formats, limits) = (Formats::Every, Limits::default());
        Self { formats, limits, checksums: Checksums::All, skips_damage: true, resolves: false, base_position: 0 }
    }

    /// The same with the offsets of the first records and the counts of compressed messages.
    #[must_use]
    pub fn resolving(self) -> Self {
        Self { resolves: true, ..self }
    }
}

/// A batch of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Its header. The base offset of a wrapper of magic 0 and 1 is its last one unless it is decompressed.
    pub header: BatchHeader,
    /// The offset of its first record; `None` of a wrapper that is not decompressed.
    pub base_offset: Option<i64>,
}

/// A walk over the batches of a source.
pub struct Batches {
    runs: Runs,
    trust: BatchTrust,
    decoder: Option<Decoder>,
    interrupt: Interrupt,
    run: Option<Run>,
    /// Where the next entry of the run begins, in the run, and where the last one began.
    at: usize,
    last: usize,
}

impl Batches {
    /// The batches of a source.
    pub fn new(source: Source, trust: BatchTrust, interrupt: &Interrupt) -> Self {
        let BatchTrust { formats, limits, checksums, .. } = trust;
        let (check_crc, upload) = (checksums == Checksums::All, source.upload());
        let decode = DecodeOptions { formats, limits, check_crc, upload, ..DecodeOptions::default() };
        let runs = Runs::new(source, limits, AT_A_TIME).of(formats).with_source_check(UploadCheck::of(&decode));
        // Framing compares the checksums, and a wrong one alone does not make a message unreadable.
        let decode = DecodeOptions { check_crc: false, ..decode };
        let verifier = ChecksumVerifier { formats, limits, checksums };
        let runs =
            if trust.skips_damage { runs.with_recovery(Box::new(verifier)).with_interrupt(interrupt.clone()) } else { runs.skimmed() };
        Self { runs, trust, decoder: trust.resolves.then(|| Decoder::new(decode)), interrupt: interrupt.clone(), run: None, at: 0, last: 0 }
    }

    /// The next batch.
    ///
    /// # Errors
    /// `Io`, `Interrupted`; damage unless it is skipped.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(found) = self.next_in_run() {
                match found {
                    Err(error) if self.trust.skips_damage && error.is_about_data() => continue,
                    found => return found.map(Some),
                }
            }
            self.interrupt.ensure_wanted()?;
            match self.runs.next_piece() {
                Ok(Some(FrameEvent::Run(run))) => (self.run, self.at) = (Some(run), 0),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) if self.trust.skips_damage && error.is_about_data() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// The bytes of the batch that was given last.
    pub fn entry(&self) -> &[u8] {
        let run = self.run.as_ref().map(|run| run.entries_from(self.last)).unwrap_or_default();
        run.get(..self.at.saturating_sub(self.last)).unwrap_or_default()
    }

    /// What the entries are.
    pub fn formats(&self) -> Formats {
        self.trust.formats
    }

    /// How the source ended, after the last batch.
    pub fn tail(&self) -> Option<Tail> {
        self.runs.tail()
    }

    fn next_in_run(&mut self) -> Option<Result<Batch>> {
        let run = self.run.as_ref()?;
        let entries = run.entries_from(self.at);
        let Step::Entry { len, magic } = step(entries, self.trust.formats, &self.trust.limits) else {
            self.run = None;
            return None;
        };
        let position = run.position.saturating_add(as_u64(self.at));
        let frame = Frame { position, magic, bytes: entries.get(..len).unwrap_or_default() };
        let found = parse_header(frame, self.trust.formats, self.trust.base_position)
            .and_then(|header| resolved(self.decoder.as_mut(), header, frame))
            .map_err(|error: Error| error.at_byte(position));
        (self.last, self.at) = (self.at, self.at.saturating_add(len));
        Some(found)
    }
}

fn resolved(decoder: Option<&mut Decoder>, header: BatchHeader, frame: Frame<'_>) -> Result<Batch> {
    let is_known = header.count.is_some() || header.format == RecordFormat::V07;
    match decoder.filter(|_| !is_known) {
        Some(decoder) => {
            let header = decoder.open(frame)?.map_or(header, |opened| opened.header);
            Ok(Batch { header, base_offset: header.count.map(|_| header.base_offset) })
        }
        None => Ok(Batch { header, base_offset: is_known.then_some(header.base_offset) }),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::wire::checksum;

    /// An empty batch of magic 2.
    fn batch(offset: i64) -> Vec<u8> {
        let mut batch = vec![0; 61];
        batch[..8].copy_from_slice(&offset.to_be_bytes());
        batch[11] = 49;
        batch[16] = 2;
        let crc = checksum::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        batch
    }

    /// Three batches, and where each begins.
    fn log() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for offset in 0..3 {
            starts.push(bytes.len());
            bytes.extend(batch(offset));
        }
        (bytes, starts)
    }

    fn offsets(bytes: Vec<u8>, trust: BatchTrust) -> Result<Vec<i64>> {
        let mut batches = Batches::new(Source::memory(Bytes::from(bytes)), trust, &Interrupt::default());
        let mut found = Vec::new();
        while let Some(batch) = batches.next_batch()? {
            assert_eq!(as_u64(batches.entry().len()), batch.header.size);
            found.push(batch.header.base_offset);
        }
        Ok(found)
    }

    #[test]
    fn damage_ends_a_walk_or_is_skipped() {
        let (mut bytes, starts) = log();
        assert_eq!(offsets(bytes.clone(), BatchTrust::valid()).unwrap(), [0, 1, 2]);
        let length = starts[1] + 8;
        bytes[length..length + 4].copy_from_slice(&[0xff; 4]);
        assert_eq!(offsets(bytes.clone(), BatchTrust::valid()).unwrap(), [0, 2]);
        assert!(offsets(bytes, BatchTrust { skips_damage: false, ..BatchTrust::valid() }).unwrap_err().is_about_data());
    }

    #[test]
    fn a_batch_with_a_wrong_checksum_is_left_out_if_checksums_count() {
        let (mut bytes, starts) = log();
        let last = starts[2] - 1;
        bytes[last] ^= 1;
        assert_eq!(offsets(bytes.clone(), BatchTrust::valid()).unwrap(), [0, 2]);
        assert_eq!(offsets(bytes, BatchTrust { checksums: Checksums::None, ..BatchTrust::valid() }).unwrap(), [0, 1, 2]);
    }
}
