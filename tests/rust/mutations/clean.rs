//! The clean files, cut into stretches of whole entries so that a mutation costs microseconds, and what their records are.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use logsegment::convert::{ConvertOptions, Converter};
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::model::{Formats, RecordFormat};
use logsegment::wire::Sink;
use serde_json::Value;

use super::content;

/// Entries are put together until a stretch has as many bytes, and two of them.
const STRETCH: usize = 1 << 10;
/// A longer stretch is one entry, and costs milliseconds.
pub const LONG: usize = 64 << 10;
/// Made into magic 3 too, with and without the metadata first: no writer of it exists.
pub const OF_V3: [&str; 8] = [
    "modern-4.1.0/data/codec-none-0/00000000000000000000.log",
    "modern-4.1.0/data/codec-gzip-0/00000000000000000000.log",
    "modern-4.1.0/data/codec-snappy-0/00000000000000000000.log",
    "modern-4.1.0/data/codec-lz4-0/00000000000000000000.log",
    "modern-4.1.0/data/codec-zstd-0/00000000000000000000.log",
    "modern-4.1.0/data/edge-records-0/00000000000000000000.log",
    "modern-4.1.0/data/transactions-multi-segment-0/00000000000000000020.log",
    "modern-4.1.0/data/compacted-transactions-0/00000000000000000084.log",
];
/// Whose entries are put into other files.
pub const DONORS: [&str; 6] = [
    "legacy-0.7.2/data/codec-gzip-0/00000000000000000000.kafka",
    "legacy-0.10.2.2/data/codec-snappy-0/00000000000000000000.log",
    "lib-3.6.2/data/small-v0-none.bin",
    "lib-3.6.2/data/small-v1-lz4-createtime.bin",
    OF_V3[0],
    OF_V3[4],
];

/// One file without damage.
pub struct Clean {
    pub name: String,
    pub bytes: Bytes,
    pub formats: Formats,
    /// Where each entry lies.
    pub entries: Vec<Range<usize>>,
    /// Whole entries that follow each other; the short ones, and the long ones.
    pub stretches: [Vec<Range<usize>>; 2],
}

/// What a mutated stretch may give.
pub struct Known {
    /// Contents of whole entries.
    entries: HashSet<u64>,
    /// Keys and values of messages of 0.7, magic 0 and 1.
    messages: HashSet<u64>,
}

impl Known {
    /// The entries of a file and of those that are put into it.
    pub fn of(file: &Clean, files: &[Clean]) -> Self {
        let mut known = Self { entries: HashSet::new(), messages: HashSet::new() };
        donors(file, files).chain([file]).for_each(|clean| clean.tell(&mut known));
        known
    }

    pub fn has(&self, content: u64) -> bool {
        self.entries.contains(&content)
    }

    /// Whether an entry may be a message that stood in a compressed one, as it was: snappy keeps what does not repeat. Its own checksum
    /// covers key and value; its offset and its timestamp are told by the message around it.
    pub fn has_message(&self, messages: &[u64]) -> bool {
        messages.len() == 1 && self.messages.contains(&messages[0])
    }
}

/// The files from which others of the same family take something.
pub fn donors<'a>(file: &'a Clean, files: &'a [Clean]) -> impl Iterator<Item = &'a Clean> {
    files.iter().filter(move |other| DONORS.contains(&other.name.as_str()) && other.is_v07() == file.is_v07())
}

impl Clean {
    pub fn is_v07(&self) -> bool {
        self.formats == Formats::Only(RecordFormat::V07)
    }

    fn new(name: String, bytes: Vec<u8>, formats: Formats) -> Self {
        let mut clean = Self { name, bytes: Bytes::from(bytes), formats, entries: Vec::new(), stretches: [Vec::new(), Vec::new()] };
        clean.entries = clean.cut();
        let (mut at, mut entries) = (0..0, 0);
        for entry in &clean.entries {
            if entries > 1 && entry.end - at.start > STRETCH || at.len() > LONG {
                clean.stretches[usize::from(at.len() > LONG)].push(at.clone());
                (at.start, entries) = (entry.start, 0);
            }
            (at.end, entries) = (entry.end, entries + 1);
        }
        if !at.is_empty() {
            clean.stretches[usize::from(at.len() > LONG)].push(at);
        }
        clean
    }

    /// Where each entry lies, by the length fields.
    fn cut(&self) -> Vec<Range<usize>> {
        let front = if self.is_v07() { 4 } else { 12 };
        let (mut at, mut entries) = (0, Vec::new());
        while at + front < self.bytes.len() {
            let len = u32::from_be_bytes(self.bytes[at + front - 4..at + front].try_into().unwrap()) as usize;
            if len == 0 || at + front + len > self.bytes.len() {
                break;
            }
            entries.push(at..at + front + len);
            at += front + len;
        }
        entries
    }

    /// The content of each entry; of Kafka 0.7 also its payload as it stands, since no checksum covers the codec there.
    fn tell(&self, known: &mut Known) {
        for stretch in self.stretches.iter().flatten() {
            let read = content::read(&self.bytes.slice(stretch.clone()), self.formats, content::RAISING);
            assert!(read.error.is_none(), "{}: {:?}", self.name, read.error);
            known.entries.extend(read.entries);
            let is_message = |position: &i64| self.is_v07() || self.bytes[stretch.start + *position as usize + 16] < 2;
            let messages = read.positions.iter().zip(&read.messages).filter(|(position, _)| is_message(position));
            known.messages.extend(messages.flat_map(|(_, messages)| messages));
        }
        if self.is_v07() {
            known.entries.extend(self.entries.iter().map(|entry| content::of_payload(payload(&self.bytes[entry.clone()]))));
        }
    }
}

/// What the checksum of a message of 0.7 covers; in its magic 0 there are no attributes (L7-1).
fn payload(message: &[u8]) -> &[u8] {
    if message[4] == 0 { &message[9..] } else { &message[10..] }
}

/// Every file of the corpus that has entries, and some of them made into magic 3.
pub fn files() -> Vec<Clean> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let manifest: Value = serde_json::from_str(&fs::read_to_string(root.join("manifest.json")).unwrap()).unwrap();
    let mut files: Vec<_> = manifest["cases"].as_array().unwrap().iter().map(|case| file(&root, case)).collect();
    for name in OF_V3 {
        let source = files.iter().find(|file| file.name == name).unwrap().bytes.clone();
        for is_metadata_first in [false, true] {
            let name = format!("{name}-as-v3{}", if is_metadata_first { "-metadata-first" } else { "" });
            files.push(Clean::new(name, as_v3(source.clone(), is_metadata_first), Formats::Every));
        }
    }
    files.retain(|file| !file.entries.is_empty());
    assert_eq!(files.iter().filter(|file| DONORS.contains(&file.name.as_str())).count(), DONORS.len());
    files
}

fn file(root: &Path, case: &Value) -> Clean {
    let name = case["file"].as_str().unwrap();
    let formats = if case["format"] == "0.7" { Formats::Only(RecordFormat::V07) } else { Formats::Auto };
    Clean::new(name.to_owned(), fs::read(root.join(name)).unwrap(), formats)
}

fn as_v3(bytes: Bytes, is_metadata_first: bool) -> Vec<u8> {
    let options = ConvertOptions {
        decode: DecodeOptions::default(),
        to: RecordFormat::V3,
        compression: None,
        is_metadata_first,
        level: None,
        is_up_wanted: true,
        first_offset: None,
        batch_bytes: 2000,
    };
    let mut converter = Converter::new(Source::memory(bytes), options, false).unwrap();
    let mut out = Sink::default();
    while converter.advance(&mut out).unwrap() {}
    out.into_vec()
}
