//! Records of internal topics and control records, whatever their bytes: what is told of them is whole, bounded, and JSON.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use logsegment::columns::{BinaryKind, Column, OnError, Projection, StreamOptions, stream};
use logsegment::decode::DecodeOptions;
use logsegment::encode::{BatchSettings, RecordWriter};
use logsegment::framing::Source;
use logsegment::internal_topics::replay::{Groups, Metadata, ShareOffsets, TransactionalIds};
use logsegment::internal_topics::{Part, Scalar, Topic, Visitor, identify};
use logsegment::interrupt::Interrupt;
use logsegment::limits::Limits;
use logsegment::model::{Formats, NewRecord, RecordFormat};
use serde_json::Value;

use super::choices::Choices;
use super::reading::options;

/// Events that a byte may become: that of an empty struct, with the names of its fields.
const MOST_EVENTS: usize = 64;

/// One byte chooses the topic, or a control record; a run is the key, the rest the value.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let chosen = choices.byte();
    let topic = Topic::ALL.get(usize::from(chosen) % (Topic::ALL.len() + 1)).copied();
    let key = choices.run(1 << 12);
    let value = (chosen < 240).then_some(choices.0);
    let Some(record) = identify(topic, topic.is_none(), key, value) else { return };
    for (part, bytes) in [(&record.key, key), (&record.value, value)] {
        let mut told = Told::default();
        let fault = record.visit(part, &mut told);
        assert!(told.open.is_empty() && told.values == 1, "{part:?} is not told whole: {told:?}");
        let most = MOST_EVENTS * (bytes.map_or(0, <[u8]>::len) + 4);
        assert!(told.events <= most, "{} events of {part:?}", told.events);
        let is_raw = matches!(part, Part::Raw(_)) || fault.is_some();
        assert_eq!(told.raw.as_deref(), bytes.filter(|_| is_raw), "bytes that say nothing are given as they are");
        assert_eq!(part.is_null(), bytes.is_none());
    }
    if let Some(topic) = topic {
        ensure_replay(topic, chosen, key, choices.0);
        ensure_json(topic, key, value, options(Formats::Auto));
        ensure_room(topic, key, value);
    }
}

/// The state that records add up to has no more objects than there were bytes, and a record that cannot be read changes nothing.
fn ensure_replay(topic: Topic, chosen: u8, key: Option<&[u8]>, rest: &[u8]) {
    let mut choices = Choices(rest);
    let (mut metadata, mut groups) = (Metadata::default(), Groups::default());
    let (mut ids, mut shared) = (TransactionalIds::default(), ShareOffsets::default());
    let mut records = vec![(key, Some(rest))];
    while !choices.0.is_empty() && records.len() < 64 {
        let key = choices.run(1 << 8);
        records.push((key, choices.run(1 << 10)));
    }
    for (offset, (key, value)) in (0..).zip(&records) {
        let of_transaction = (chosen & 1 == 1).then_some(offset % 3);
        let unread = match topic {
            Topic::ClusterMetadata => {
                let before = counts(&metadata);
                let unread = metadata.add(offset, false, *key, *value);
                let is_own = matches!(unread.as_slice(), [(at, _)] if *at == offset);
                assert!(!is_own || counts(&metadata) == before, "a record that cannot be read changed the state");
                !unread.is_empty()
            }
            Topic::ConsumerOffsets => groups.add(offset, of_transaction, *key, *value).is_some(),
            Topic::TransactionState => ids.add(*key, *value).is_some(),
            Topic::ShareGroupState => shared.add(offset, *key, *value).is_some(),
            _ => return,
        };
        let identified = identify(Some(topic), false, *key, *value);
        let is_of_state = topic != Topic::ConsumerOffsets;
        assert!(!is_of_state || unread || identified.is_none_or(|record| record.undecoded.is_none()), "{key:?} is not reported");
        if chosen & 2 == 2 && offset % 7 == 6 {
            groups.offsets.end(offset % 3, chosen & 4 == 4);
        }
    }
    let bytes = rest.len() + key.map_or(0, <[u8]>::len);
    let members: usize = groups.groups.values().map(|group| group.members.len() + 1).sum();
    let objects = counts(&metadata).iter().sum::<usize>() + members + ids.ids.len() + shared.offsets.len();
    assert!(objects <= 2 * (bytes + records.len()), "{objects} objects of {bytes} bytes");
}

/// The numbers of objects of the metadata.
fn counts(metadata: &Metadata) -> [usize; 7] {
    let partitions = metadata.topics.values().map(|topic| topic.partitions.len()).sum();
    let (configs, quotas) = (metadata.configs.len(), metadata.quotas.len());
    [metadata.topics.len(), partitions, metadata.brokers.len(), configs, metadata.acls.len(), quotas, metadata.scram.len()]
}

/// The text of a record in a column is JSON, or what the limits leave no room for.
fn ensure_json(topic: Topic, key: Option<&[u8]>, value: Option<&[u8]>, decode: DecodeOptions) {
    let texts = texts(topic, key, value, decode);
    for (text, bytes) in texts.into_iter().zip([key, value]) {
        assert_eq!(text.is_some(), bytes.is_some(), "a text of {bytes:?} is missing");
        if let Some(text) = text {
            let parsed: Result<Value, _> = serde_json::from_str(&text);
            assert!(parsed.is_ok_and(|value| value.is_object()), "{text} is no object");
        }
    }
}

/// Hardly any room: what is given fits into it.
fn ensure_room(topic: Topic, key: Option<&[u8]>, value: Option<&[u8]>) {
    let limits = Limits { max_decompressed_bytes: 64, ..Limits::default() };
    let texts = texts(topic, key, value, DecodeOptions { limits, ..options(Formats::Auto) });
    let len: usize = texts.iter().flatten().map(String::len).sum();
    assert!(len <= 64, "{len} bytes of JSON where 64 are allowed");
}

/// A name of the topic: those of MirrorMaker 2 have the alias of a cluster in it.
fn whole_name(topic: Topic) -> String {
    match topic {
        Topic::MirrorCheckpoints => format!("a.{}", topic.name()),
        Topic::MirrorOffsetSyncs => format!("{}.a.internal", topic.name()),
        _ => topic.name().to_owned(),
    }
}

/// The texts of key and value as they come out of a log.
fn texts(topic: Topic, key: Option<&[u8]>, value: Option<&[u8]>, decode: DecodeOptions) -> [Option<String>; 2] {
    let mut writer = RecordWriter::new(BatchSettings::new(RecordFormat::V2, None), 1 << 20, 0).expect("they are plain");
    writer.write(&NewRecord { key, value, ..NewRecord::default() }).expect("it has room");
    writer.end_batch().expect("it has room");
    let options = StreamOptions {
        decode,
        projection: Projection { columns: vec![Column::Internal], binary: BinaryKind::Binary, has_null_headers: false },
        topic: Some(whole_name(topic)),
        partition: None,
        on_error: OnError::Raise,
        is_tail_strict: false,
        batch_size: 7,
        batch_bytes: 1 << 20,
        keys: None,
        threads: 1,
        interrupt: Interrupt::default(),
    };
    let mut stream = stream::open(Source::memory(Bytes::copy_from_slice(writer.ended())), options);
    let batch = stream.next_batch().expect("it is intact").expect("it has a record");
    assert_eq!(batch.num_rows(), 1);
    ["key", "value"].map(|name| text(&batch, name))
}

fn text(batch: &RecordBatch, name: &str) -> Option<String> {
    let texts = batch.column(0).as_struct().column_by_name(name).expect("it is a field").as_string::<i32>();
    texts.is_valid(0).then(|| texts.value(0).to_owned())
}

/// What was told, as far as its shape goes.
#[derive(Debug, Default)]
struct Told {
    /// What is open: a struct, and whether its name waits for a value; or an array.
    open: Vec<Open>,
    /// Values at the top.
    values: usize,
    events: usize,
    /// The bytes of a part that says nothing.
    raw: Option<Vec<u8>>,
    /// What there was at each mark.
    marks: std::cell::RefCell<Vec<(Vec<Open>, usize)>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Open {
    Struct,
    Named,
    Array,
}

impl Told {
    /// A value stands where one may.
    fn value(&mut self) {
        self.events += 1;
        match self.open.last_mut() {
            Some(Open::Struct) => panic!("a value without a name"),
            Some(named @ Open::Named) => *named = Open::Struct,
            Some(Open::Array) => {}
            None => self.values += 1,
        }
    }

    fn close(&mut self, expected: Open) {
        assert_eq!(self.open.pop(), Some(expected));
    }
}

impl Visitor for Told {
    fn open_struct(&mut self) {
        self.value();
        self.open.push(Open::Struct);
    }

    fn close_struct(&mut self) {
        self.close(Open::Struct);
    }

    fn open_array(&mut self) {
        self.value();
        self.open.push(Open::Array);
    }

    fn close_array(&mut self) {
        self.close(Open::Array);
    }

    fn name(&mut self, name: &str) {
        self.events += 1;
        assert!(!name.is_empty());
        let last = self.open.last_mut().expect("a name in a struct");
        assert_eq!(std::mem::replace(last, Open::Named), Open::Struct, "a name behind a name");
        self.raw = (name == "base64" && self.open.len() == 1).then(Vec::new);
    }

    fn scalar(&mut self, scalar: Scalar<'_>) {
        if let (Some(raw), Scalar::Bytes(bytes)) = (&mut self.raw, scalar) {
            bytes.clone_into(raw);
        }
        self.value();
    }

    fn mark(&self) -> usize {
        let mut marks = self.marks.borrow_mut();
        marks.push((self.open.clone(), self.values));
        marks.len() - 1
    }

    fn back_to(&mut self, mark: usize) {
        let (open, values) = self.marks.get_mut()[mark].clone();
        (self.open, self.values) = (open, values);
    }
}
