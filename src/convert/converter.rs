//! Drives a conversion: entry after entry, in bounded memory.

use super::ConvertOptions;
use super::action::{EntryAction, action, count_losses};
use super::loss::Losses;
use super::rebuild::{RebuildTarget, Rebuilder};
use super::relayout::{BatchTarget, Relayout, recompress};
use crate::codec::Compression;
use crate::decode::{Bundle, ChecksumVerifier, CodecOptions, DecodeOptions, DecodedBatch, Decoder, OffsetRange, UploadCheck, parse_header};
use crate::encode::BatchSettings;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::model::{BatchHeader, CompressionType, Discard, RecordFormat, Section, TimestampType};
use crate::quirks::Quirks;
use crate::wire::Sink;

/// Converts the entries of a source.
pub struct Converter {
    options: ConvertOptions,
    runs: Runs,
    decoder: Decoder,
    /// Where the options tolerate LZ4 frames that readers without them refuse: opens entries without that tolerance.
    strict: Option<Decoder>,
    rebuilder: Rebuilder,
    relayout: Relayout,
    losses: Losses,
    stopped: Option<Stopped>,
    next_offset: i64,
    map: Option<Vec<MapRow>>,
    /// Position of the first entry of magic 3.
    proposed_at: Option<u64>,
    is_dry: bool,
}

/// The entry that ended a conversion, because its codec does not exist in the target format (CNV-2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopped {
    /// Position of the entry.
    pub position: u64,
    /// Its base offset.
    pub base_offset: i64,
    /// Its last offset.
    pub last_offset: i64,
    /// Its codec.
    pub compression: CompressionType,
}

impl Stopped {
    /// The same as an error, for those who cannot take a part.
    pub fn to_error(&self) -> Error {
        let rule = if self.compression.plugin_id().is_some() { "S-P22" } else { "CNV-2" };
        let kind = ErrorKind::Unconvertible { rule, codec: self.compression.name() };
        Error::from(kind).in_batch(self.base_offset).at_byte(self.position)
    }
}

/// Where a message of Kafka 0.7 stood (position of its entry, index in it), and its new offset.
pub type MapRow = (u64, u64, i64);

/// Bytes of entries that are cut off a source at a time.
const RUN_LEN: usize = 1 << 20;

impl Converter {
    /// A converter of everything in a source; with `is_mapped` it notes where messages of Kafka 0.7 stood.
    ///
    /// # Errors
    /// `Usage` and `Refused` for options that contradict each other or that Kafka refuses.
    pub fn new(source: Source, options: ConvertOptions, is_mapped: bool) -> Result<Self> {
        options.ensure_legal()?;
        let compression = options.compression_for(CompressionType::None)?;
        let settings = BatchSettings::new(options.to, compression);
        let mut rebuilder = Rebuilder::new(settings)?;
        rebuilder.compressor().set_plugins(options.decode.codecs.plugins.clone());
        let decode = DecodeOptions { is_control_wanted: true, ..options.decode.clone() };
        Ok(Self {
            runs: Runs::new(source, options.decode.limits, RUN_LEN)
                .of(options.decode.formats)
                .with_source_check(UploadCheck::of(&options.decode))
                .checking_oversized(Box::new(ChecksumVerifier::of(&options.decode)))
                .refusing_hidden(Box::new(ChecksumVerifier::of(&options.decode))),
            strict: strict_decoder(&decode),
            decoder: Decoder::new(decode),
            rebuilder,
            relayout: Relayout::default(),
            losses: Losses::default(),
            stopped: None,
            next_offset: options.first_offset.unwrap_or(0),
            map: is_mapped.then(Vec::new),
            proposed_at: None,
            is_dry: false,
            options,
        })
    }

    /// Goes on without output: from now on only losses are counted.
    pub fn run_dry(&mut self) {
        self.is_dry = true;
    }

    /// Converts the next run and writes it after what `out` holds; false at the end.
    ///
    /// # Errors
    /// What framing and decoding meet, `Unwritable` for records that cannot exist in the target; with the entry's position.
    pub fn advance(&mut self, out: &mut Sink) -> Result<bool> {
        if self.stopped.is_some() {
            return Ok(false);
        }
        match self.runs.next_piece()? {
            Some(FrameEvent::Run(run)) => self.convert_run(&run, out)?,
            Some(FrameEvent::Damage(damage)) => return Err(damage.error),
            Some(_) => {}
            None => return Ok(false),
        }
        Ok(true)
    }

    /// What was lost so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The entry that ended the conversion.
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// How the source ended; `None` before it did.
    pub fn tail(&self) -> Option<Tail> {
        self.runs.tail()
    }

    /// Position of the first entry of magic 3 so far: a format that never shipped.
    pub fn proposed_at(&self) -> Option<u64> {
        self.proposed_at
    }

    /// From Kafka 0.7: the offset that the next message would get.
    pub fn next_offset(&self) -> Option<i64> {
        self.options.decode.formats.is_v07().then_some(self.next_offset)
    }

    /// The rows of the map since the last call.
    pub fn take_map(&mut self) -> Vec<MapRow> {
        self.map.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn convert_run(&mut self, run: &Run, out: &mut Sink) -> Result<()> {
        self.decoder.enter(&run.bytes);
        let mut at = 0;
        while self.stopped.is_none() {
            let entries = run.entries_from(at);
            let Step::Entry { len, magic } = step(entries, self.options.decode.formats, &self.options.decode.limits) else { break };
            let position = run.position.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
            let frame = Frame { position, magic, bytes: entries.get(..len).unwrap_or_default() };
            at += self.convert_entry(frame, entries, out)?;
        }
        Ok(())
    }

    /// Converts one entry, or a bundle of uncompressed messages; gives the bytes that it took.
    fn convert_entry(&mut self, frame: Frame<'_>, entries: &[u8], out: &mut Sink) -> Result<usize> {
        let header = parse_header(frame, self.options.decode.formats, self.options.decode.base_position)
            .map_err(|error| error.at_byte(frame.position))?;
        if header.format == RecordFormat::V3 {
            self.proposed_at.get_or_insert(frame.position);
        }
        let is_tolerated = self.is_tolerated(frame, &header);
        let action = match action(&header, &self.options) {
            EntryAction::Copy if is_tolerated && header.format.is_batch() => EntryAction::Recompress,
            EntryAction::Copy if is_tolerated => EntryAction::Rebuild,
            action => action,
        };
        if action != EntryAction::Rebuild {
            count_losses(&header, action, &self.options, &mut self.losses);
        }
        let taken = match action {
            EntryAction::Copy => self.copy(frame, out),
            EntryAction::Drop => Ok(frame.bytes.len()),
            EntryAction::Stop => self.stop(&header),
            EntryAction::Recompress => self.recompress(frame, &header, out),
            EntryAction::Relayout => self.relayout(frame, &header, is_tolerated, out),
            EntryAction::Rebuild => self.rebuild(frame, entries, out),
        };
        taken.map_err(|error| error.in_batch(header.base_offset).at_byte(frame.position))
    }

    /// True for an entry that is read only because the options tolerate its LZ4 frame: readers without these options refuse a copy of it.
    fn is_tolerated(&mut self, frame: Frame<'_>, header: &BatchHeader) -> bool {
        let Some(strict) = self.strict.as_mut().filter(|_| header.compression() == CompressionType::Lz4) else { return false };
        matches!(strict.open(frame), Err(error) if error.is_about_codec())
    }

    fn copy(&mut self, frame: Frame<'_>, out: &mut Sink) -> Result<usize> {
        if !self.is_dry {
            out.put(frame.bytes);
        }
        Ok(frame.bytes.len())
    }

    fn stop(&mut self, header: &BatchHeader) -> Result<usize> {
        let BatchHeader { position, base_offset, last_offset, .. } = *header;
        self.stopped = Some(Stopped { position, base_offset, last_offset, compression: header.compression() });
        Ok(0)
    }

    fn recompress(&mut self, frame: Frame<'_>, header: &BatchHeader, out: &mut Sink) -> Result<usize> {
        let compression = self.compression_of(header)?;
        if let Some(opened) = self.decoder.open(frame)? {
            let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
            self.ensure_records(&opened, &section)?;
            if !self.is_dry {
                recompress(header, (section.bytes(), opened.walk.metadata_len()), compression, self.rebuilder.compressor(), out)?;
            }
        }
        Ok(frame.bytes.len())
    }

    fn relayout(&mut self, frame: Frame<'_>, header: &BatchHeader, is_tolerated: bool, out: &mut Sink) -> Result<usize> {
        // Control batches and empty ones are never compressed (CTL-9, V2-9).
        let keeps_codec = self.options.compression.is_none() || header.is_control() || header.count == Some(0);
        let is_recompressed =
            is_tolerated || !keeps_codec && (self.options.compression != Some(header.compression()) || self.options.level.is_some());
        let compression = if keeps_codec { Compression::new(header.compression(), None)? } else { self.compression_of(header)? };
        if let Some(opened) = self.decoder.open(frame)? {
            let section = self.decoder.section(&opened, frame.bytes, frame.bytes);
            self.ensure_records(&opened, &section)?;
            let wanted =
                BatchTarget { format: self.options.to, is_metadata_first: self.options.is_metadata_first, compression, is_recompressed };
            let relayout = if self.is_dry {
                self.relayout.ensure(&opened, &section, wanted)
            } else {
                self.relayout.relayout((&opened, frame.bytes), &section, wanted, (self.rebuilder.compressor(), out))
            };
            relayout.map_err(|error| self.decoder.blame_plugin(header, error))?;
        }
        Ok(frame.bytes.len())
    }

    /// Fails if a record is malformed: with a new checksum, nothing would show whose fault that is.
    fn ensure_records(&self, opened: &DecodedBatch, section: &Section<'_>) -> Result<()> {
        let walked = opened.walk.read_all(section, &mut Discard);
        walked.map_err(|error| self.decoder.blame_plugin(&opened.header, error))
    }

    fn rebuild(&mut self, frame: Frame<'_>, entries: &[u8], out: &mut Sink) -> Result<usize> {
        let bundle = Bundle { records: usize::MAX, bytes: self.options.batch_bytes };
        let (opened, taken) = self.decoder.open_bundled(frame, entries, bundle)?;
        let Some(opened) = opened else { return Ok(taken) };
        let header = opened.header;
        count_losses(&header, EntryAction::Rebuild, &self.options, &mut self.losses);
        let compression = self.compression_of(&header)?;
        let settings = self.settings(&opened, compression);
        let bytes = entries.get(..opened.bundled).unwrap_or(frame.bytes);
        let section = self.decoder.section(&opened, bytes, entries);
        let target = RebuildTarget {
            settings,
            offsets: wanted(&header, &self.options),
            renumbered: (header.format == RecordFormat::V07).then_some(&mut self.next_offset),
            map: self.map.as_mut(),
            losses: &mut self.losses,
            out: (!self.is_dry).then_some(out),
        };
        self.rebuilder.rebuild(&opened, &section, target).map_err(|error| self.decoder.blame_plugin(&header, error))?;
        Ok(taken)
    }

    fn compression_of(&self, header: &BatchHeader) -> Result<Option<Compression>> {
        self.options.compression_for(header.compression())
    }

    /// What the batch says that an entry becomes.
    fn settings(&self, opened: &DecodedBatch, compression: Option<Compression>) -> BatchSettings {
        let settings =
            BatchSettings { is_metadata_first: self.options.is_metadata_first, ..BatchSettings::new(self.options.to, compression) };
        match opened.header.timestamp_type() {
            TimestampType::LogAppendTime => BatchSettings {
                timestamp_type: TimestampType::LogAppendTime,
                log_append_time: Some(opened.header.max_timestamp),
                ..settings
            },
            _ => settings,
        }
    }
}

/// A decoder without tolerance for LZ4 frames, where the options have any.
fn strict_decoder(decode: &DecodeOptions) -> Option<Decoder> {
    let codecs = CodecOptions { quirks: Quirks::default(), ..decode.codecs.clone() };
    (!decode.codecs.quirks.is_empty()).then(|| Decoder::new(DecodeOptions { codecs, ..decode.clone() }))
}

/// On the way down, records of uncompressed batches below the first offset are left out (CNV-5).
fn wanted(header: &BatchHeader, options: &ConvertOptions) -> OffsetRange {
    let is_filtered = header.format > options.to && header.compression() == CompressionType::None;
    match options.first_offset {
        Some(start) if is_filtered => OffsetRange { start, end: None },
        _ => OffsetRange::default(),
    }
}
