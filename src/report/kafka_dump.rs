//! Entries as `kafka-dump-log` of Kafka 4.3 prints them, with and without `--deep-iteration --print-data-log`.
//!
//! A source goes in, lines of text come out. Source: `DumpLogSegments` in `kafka.tools`, with its default decoders: text of UTF-8.

use std::io::Write;

use crate::columns::InternalJson;
use crate::decode::{DecodeOptions, DecodedBatch, Decoder, OffsetRange, parse_header, verify};
use crate::error::Result;
use crate::format::v0_v1::layout;
use crate::framing::{Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::internal_topics::identify;
use crate::interrupt::Interrupt;
use crate::model::control::coordinator_epoch;
use crate::model::{BatchHeader, ControlType, HeaderRef, RecordRef, RecordSink, Section};
use crate::wire::{as_u64, java_text};

/// Bytes of entries that are printed at a time.
const RUN_LEN: usize = 1 << 20;
/// Most bytes of the JSON of a control record.
const MOST_JSON: usize = 64 << 20;

/// Prints the entries of a source.
pub struct EntryDump {
    runs: Runs,
    /// Opens entries whose records are printed; `None` to print headers alone.
    decoder: Option<Decoder>,
    options: DecodeOptions,
    is_done: bool,
}

impl EntryDump {
    /// `is_deep` prints records too, with keys and values.
    pub fn new(source: Source, options: DecodeOptions, is_deep: bool, interrupt: &Interrupt) -> Self {
        // A wrong checksum is printed as such, and the tool compares no offsets with the name of the file.
        let options = DecodeOptions { check_crc: false, is_control_wanted: true, segment: OffsetRange::default(), ..options };
        let runs = Runs::new(source, options.limits, RUN_LEN).of(options.formats).with_interrupt(interrupt.clone());
        let decoder = is_deep.then(|| Decoder::new(options.clone()));
        Self { runs, decoder, options, is_done: false }
    }

    /// Appends the lines of some entries; false if there are no more.
    ///
    /// # Errors
    /// If bytes are not entries, after the lines of those before them, and those of a record that cannot be read.
    pub fn advance(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.is_done {
            return Ok(false);
        }
        match self.runs.next_piece() {
            Ok(Some(FrameEvent::Run(run))) => self.run(&run, out).map(|()| true),
            Ok(Some(_)) => Ok(true),
            Ok(None) => {
                self.is_done = true;
                Ok(false)
            }
            Err(error) => {
                self.is_done = true;
                Err(error)
            }
        }
    }

    /// The number of bytes after the last whole entry.
    pub fn trailing_bytes(&self) -> u64 {
        match self.runs.tail() {
            Some(Tail::Torn { available, .. }) => available,
            Some(Tail::Zeros { bytes, .. }) => bytes,
            _ => 0,
        }
    }

    fn run(&mut self, run: &Run, out: &mut Vec<u8>) -> Result<()> {
        let (formats, limits) = (self.options.formats, self.options.limits);
        let mut at = 0;
        while let Step::Entry { len, magic } = step(run.entries_from(at), formats, &limits) {
            let bytes = run.bytes.get(at..at + len).unwrap_or_default();
            let after = run.bytes.get(at..).unwrap_or_default();
            let frame = Frame { position: run.position.saturating_add(as_u64(at)), magic, bytes };
            at += len;
            let header = parse_header(frame, formats, 0)?;
            print_batch(&header, verify(bytes, &header).is_ok(), out);
            let Some(decoder) = &mut self.decoder else { continue };
            let Some(opened) = decoder.open(frame)? else { continue };
            let section = decoder.section(&opened, bytes, after);
            let mut printer = RecordPrinter { opened: &opened, section, headers: Vec::new(), out };
            opened.walk.read_all(&section, &mut printer)?;
        }
        Ok(())
    }
}

fn print_batch(header: &BatchHeader, is_valid: bool, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    if header.format.is_batch() {
        let horizon = header.delete_horizon_ms().map_or_else(|| "OptionalLong.empty".to_owned(), |ms| format!("OptionalLong[{ms}]"));
        let _ = write!(
            out,
            "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} \
             partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {horizon}",
            header.base_offset,
            header.last_offset,
            header.count.unwrap_or(0),
            header.producer.base_sequence,
            header.last_sequence(),
            header.producer.id,
            header.producer.epoch,
            header.partition_leader_epoch,
            header.is_transactional(),
            header.is_control(),
        );
    } else {
        let _ = write!(out, "offset: {}", header.last_offset);
    }
    let _ = writeln!(
        out,
        " position: {} {}: {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {is_valid}",
        header.position,
        header.timestamp_type().name(),
        header.max_timestamp,
        header.size,
        header.magic,
        header.compression().name(),
        header.crc,
    );
}

/// Prints the records of an entry.
struct RecordPrinter<'a, 'o> {
    opened: &'a DecodedBatch,
    section: Section<'a>,
    /// The keys of the headers of the next record.
    headers: Vec<String>,
    out: &'o mut Vec<u8>,
}

impl RecordPrinter<'_, '_> {
    /// The checksum of a message of magic 0 or 1.
    fn checksum(&self, record: &RecordRef) -> u32 {
        let message = self.section.run(record.start, record.end.saturating_sub(record.start));
        let stored = message.get(layout::CRC..).and_then(|bytes| bytes.first_chunk::<4>());
        stored.map_or(self.opened.header.crc, |bytes| u32::from_be_bytes(*bytes))
    }

    fn print_control(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) {
        let Ok(kind) = ControlType::parse(key) else { return };
        match kind {
            ControlType::Abort | ControlType::Commit => {
                let epoch = coordinator_epoch(value).unwrap_or(-1);
                let _ = write!(self.out, " endTxnMarker: {} coordinatorEpoch: {epoch}", kind.name());
            }
            ControlType::SnapshotHeader => self.print_json("SnapshotHeader", key, value),
            ControlType::SnapshotFooter => self.print_json("SnapshotFooter", key, value),
            ControlType::KraftVersion => self.print_json("KRaftVersion", key, value),
            ControlType::KraftVoters => self.print_json("KRaftVoters", key, value),
            ControlType::LeaderChange => self.print_json("LeaderChange:", key, value),
            ControlType::Unknown(_) => {
                let _ = write!(self.out, " controlType: {}({})", kind.name(), kind.id());
            }
        }
    }

    fn print_json(&mut self, name: &str, key: Option<&[u8]>, value: Option<&[u8]>) {
        let Some(record) = identify(None, true, key, value) else { return };
        let _ = write!(self.out, " {name} ");
        let mut text = Vec::new();
        record.visit(&record.value, &mut InternalJson::new(&mut text, MOST_JSON));
        self.out.append(&mut text);
    }
}

impl RecordSink for RecordPrinter<'_, '_> {
    fn header(&mut self, header: HeaderRef) {
        let (start, len) = header.key();
        self.headers.push(java_text(self.section.run(start, len)).into_owned());
    }

    fn record(&mut self, record: RecordRef) {
        let batch = &self.opened.header;
        let bytes = |range: Option<(usize, usize)>| range.map(|(start, len)| self.section.run(start, len));
        let (key, value) = (bytes(record.key()), bytes(record.value()));
        let size = |part: Option<&[u8]>| part.map_or(-1, |part| i64::try_from(part.len()).unwrap_or(i64::MAX));
        let _ = write!(
            self.out,
            "| offset: {} {}: {} keySize: {} valueSize: {}",
            batch.base_offset.wrapping_add(record.offset_delta),
            batch.timestamp_type().name(),
            self.opened.timestamp(&record),
            size(key),
            size(value),
        );
        if batch.format.is_batch() {
            let _ = write!(self.out, " sequence: {} headerKeys: [{}]", batch.sequence(record.offset_delta), self.headers.join(","));
        } else {
            let checksum = self.checksum(&record);
            let _ = write!(self.out, " isValid: true crc: {checksum}");
        }
        self.headers.clear();
        if batch.is_control() {
            self.print_control(key, value);
        } else {
            if let Some(key) = key {
                let _ = write!(self.out, " key: {}", java_text(key));
            }
            if let Some(value) = value {
                let _ = write!(self.out, " payload: {}", java_text(value));
            }
        }
        self.out.push(b'\n');
    }
}
