use super::schema::{Absent, Field, Kind, Message};
use super::tables::control;
use super::*;

/// Events as text; every event is one entry, so that marks are counts.
#[derive(Default, Debug, PartialEq)]
struct Visited(Vec<String>);

impl Visitor for Visited {
    fn open_struct(&mut self) {
        self.0.push("{".into());
    }
    fn close_struct(&mut self) {
        self.0.push("}".into());
    }
    fn open_array(&mut self) {
        self.0.push("[".into());
    }
    fn close_array(&mut self) {
        self.0.push("]".into());
    }
    fn name(&mut self, name: &'static str) {
        self.0.push(format!("{name}:"));
    }
    fn scalar(&mut self, scalar: Scalar<'_>) {
        self.0.push(format!("{scalar:?}"));
    }
    fn mark(&self) -> usize {
        self.0.len()
    }
    fn back_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }
}

fn visited(identified: &Identified<'_>) -> (String, String, Option<Undecoded>) {
    let (mut key, mut value) = (Visited::default(), Visited::default());
    let error = identified.visit(&identified.key, &mut key);
    let error = identified.visit(&identified.value, &mut value).or(error);
    (key.0.concat(), value.0.concat(), identified.undecoded.or(error))
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

/// Writes messages of random content by their tables, and the expected output of a reader.
struct Writer {
    dice: Dice,
    version: i16,
    is_flexible: bool,
    out: Vec<u8>,
    visited: Visited,
}

impl Writer {
    fn message(message: &Message, version: i16, seed: u64) -> (Vec<u8>, Visited) {
        let dice = Dice(seed | 1);
        let mut writer = Self { dice, version, is_flexible: version >= message.flexible, out: Vec::new(), visited: Visited::default() };
        writer.fields(message.fields);
        (writer.out, writer.visited)
    }

    fn fields(&mut self, fields: &[Field]) {
        self.visited.open_struct();
        let version = self.version;
        for field in fields.iter().filter(|field| field.versions.has(version) && field.tag_in(version).is_none()) {
            self.visited.name(field.name);
            self.value(field.kind, field.nullable.has(version));
        }
        if self.is_flexible {
            self.tagged(fields);
        }
        self.visited.close_struct();
    }

    /// Some of the tagged fields, some of them with what they would be anyway, and one that nobody knows.
    fn tagged(&mut self, fields: &[Field]) {
        let mut tagged: Vec<_> = fields.iter().filter_map(|field| Some((field.tag_in(self.version)?, Some(field)))).collect();
        tagged.push((90, None));
        tagged.retain(|_| self.dice.below(3) > 0);
        tagged.sort_by_key(|(tag, _)| *tag);
        self.uvarint(tagged.len());
        for (tag, field) in tagged {
            self.uvarint(tag as usize);
            let before = std::mem::take(&mut self.out);
            match field {
                Some(field) if self.dice.below(3) > 0 || matches!(field.kind, Kind::Struct(_)) => {
                    let mark = self.visited.mark();
                    self.visited.name(field.name);
                    self.tagged_value(field);
                    let same = match (field.default, self.visited.0.last().unwrap().as_str()) {
                        (Absent::Null, last) => last == "Null",
                        (Absent::Number(number), "Bool(false)") => number == 0,
                        (Absent::Number(number), last) if last.starts_with("Number") => last == format!("Number({number})"),
                        (Absent::Number(number), last) => number == 0 && (last == "Text(\"\")" || last == "Bytes([])"),
                    };
                    let is_empty_array = self.visited.0.ends_with(&["[".to_owned(), "]".to_owned()]) && self.visited.0.len() == mark + 3;
                    if same && self.visited.0.len() == mark + 2 || is_empty_array && field.default == Absent::Number(0) {
                        self.visited.back_to(mark);
                    }
                }
                Some(field) => self.absent(field),
                None => self.out.extend_from_slice(b"unknown"),
            }
            let inner = std::mem::replace(&mut self.out, before);
            self.uvarint(inner.len());
            self.out.extend(inner);
        }
    }

    /// A struct that may be null begins in another way than elsewhere.
    fn tagged_value(&mut self, field: &Field) {
        let may_be_null = field.nullable.has(self.version);
        match field.kind {
            Kind::Struct(_) if may_be_null && self.dice.below(3) == 0 => {
                self.out.push(0);
                self.visited.scalar(Scalar::Null);
            }
            Kind::Struct(fields) => {
                self.out.extend(may_be_null.then_some(1));
                self.fields(fields);
            }
            kind => self.value(kind, may_be_null),
        }
    }

    /// The bytes of a field's default, which is omitted in the output.
    fn absent(&mut self, field: &Field) {
        let number = match field.default {
            Absent::Number(number) => number,
            Absent::Null => -1,
        };
        match field.kind {
            Kind::Bool | Kind::Int8 => self.out.push(number as u8),
            Kind::Int16 => self.out.extend((number as i16).to_be_bytes()),
            Kind::Int32 => self.out.extend((number as i32).to_be_bytes()),
            Kind::Int64 => self.out.extend(number.to_be_bytes()),
            Kind::Uuid => self.out.extend([0; 16]),
            _ => self.out.push(u8::from(field.default != Absent::Null)),
        }
    }

    fn value(&mut self, kind: Kind, may_be_null: bool) {
        if may_be_null && self.dice.below(3) == 0 {
            match kind {
                Kind::Struct(_) => self.out.push(0xff),
                Kind::Text if !self.is_flexible => self.out.extend((-1_i16).to_be_bytes()),
                _ if self.is_flexible => self.out.push(0),
                _ => self.out.extend((-1_i32).to_be_bytes()),
            }
            return self.visited.scalar(Scalar::Null);
        }
        match kind {
            Kind::Bool => {
                let is_true = self.dice.below(2) == 1;
                self.out.push(is_true.into());
                self.visited.scalar(Scalar::Bool(is_true));
            }
            Kind::Int8 => self.number(1, |bytes| i64::from(bytes[0] as i8)),
            Kind::Int16 => self.number(2, |bytes| i64::from(i16::from_be_bytes(bytes.try_into().unwrap()))),
            Kind::Uint16 => self.number(2, |bytes| i64::from(u16::from_be_bytes(bytes.try_into().unwrap()))),
            Kind::Int32 => self.number(4, |bytes| i64::from(i32::from_be_bytes(bytes.try_into().unwrap()))),
            Kind::Uint32 => self.number(4, |bytes| i64::from(u32::from_be_bytes(bytes.try_into().unwrap()))),
            Kind::Int64 => self.number(8, |bytes| i64::from_be_bytes(bytes.try_into().unwrap())),
            Kind::Float64 => {
                let float = self.dice.below(1 << 40) as f64 / 8.0;
                self.out.extend(float.to_be_bytes());
                self.visited.scalar(Scalar::Float(float));
            }
            Kind::Uuid => {
                let bytes: [u8; 16] = self.dice.bytes(16).try_into().unwrap();
                self.out.extend(bytes);
                self.visited.scalar(Scalar::Uuid(bytes));
            }
            Kind::Text => {
                let text = "\u{e9}\"x".repeat(self.dice.below(60) as usize);
                self.short_len(text.len());
                self.out.extend(text.as_bytes());
                self.visited.scalar(Scalar::Text(&text));
            }
            Kind::Bytes => {
                let len = self.dice.below(200) as usize;
                let bytes = self.dice.bytes(len);
                self.long_len(bytes.len());
                self.visited.scalar(Scalar::Bytes(&bytes));
                self.out.extend(bytes);
            }
            Kind::Array(element) => {
                let count = self.dice.below(4) as usize;
                self.long_len(count);
                self.visited.open_array();
                (0..count).for_each(|_| self.value(*element, false));
                self.visited.close_array();
            }
            Kind::Struct(fields) => {
                if may_be_null {
                    self.out.push(1);
                }
                self.fields(fields);
            }
        }
    }

    fn number(&mut self, len: usize, of: impl FnOnce(&[u8]) -> i64) {
        let bytes = self.dice.bytes(len);
        self.visited.scalar(Scalar::Number(of(&bytes)));
        self.out.extend(bytes);
    }

    fn short_len(&mut self, len: usize) {
        if self.is_flexible { self.uvarint(len + 1) } else { self.out.extend((len as i16).to_be_bytes()) }
    }

    fn long_len(&mut self, len: usize) {
        if self.is_flexible { self.uvarint(len + 1) } else { self.out.extend((len as i32).to_be_bytes()) }
    }

    fn uvarint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}

fn all_records() -> impl Iterator<Item = &'static Record> {
    Topic::ALL.into_iter().flat_map(Topic::records).chain(control::RECORDS)
}

/// Every message, once for each record that it belongs to.
fn all_messages() -> impl Iterator<Item = &'static Message> {
    all_records().flat_map(|record| record.key.into_iter().chain([record.value]))
}

fn part<'a>(message: &'static Message, version: i16, bytes: &'a [u8]) -> Part<'a> {
    Part::Message { message, version, bytes, all: bytes }
}

#[test]
fn every_message_of_every_version_is_read_as_its_table_says() {
    let mut seen = 0;
    for message in all_messages() {
        for version in message.versions.first..=message.versions.last {
            for seed in 1..40_u64 {
                let (bytes, expected) = Writer::message(message, version, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mut found = Visited::default();
                part(message, version, &bytes)
                    .visit(&mut found)
                    .unwrap_or_else(|error| panic!("{} {version} {seed}: {error:?}", message.name));
                assert_eq!(found, expected, "{} {version} {seed}", message.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 3000, "only {seen} messages");
}

#[test]
fn int_2_a_message_cut_anywhere_or_with_a_byte_after_it_is_given_as_bytes() {
    for message in all_messages() {
        let version = message.versions.last;
        let (mut bytes, _) = Writer::message(message, version, 0x1234_5678_9abc);
        bytes.push(0);
        for len in (0..bytes.len() - 1).chain([bytes.len()]) {
            let mut found = Visited::default();
            let cut = &bytes[..len];
            assert!(part(message, version, cut).visit(&mut found).is_err(), "{} cut at {len}", message.name);
            let mut raw = Visited::default();
            Part::Raw(cut).visit(&mut raw).unwrap();
            assert_eq!(found, raw);
        }
    }
}

#[test]
fn the_output_for_any_bytes_is_bounded_by_their_number() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let topics = Topic::ALL.map(Some).into_iter().chain([None]).collect::<Vec<_>>();
    for round in 0..20_000_u64 {
        let topic = topics[dice.below(topics.len() as u64) as usize];
        let (mut key, mut value) = (Vec::new(), Vec::new());
        // Half of them begin as a record of a known type does, so that the reader is reached.
        if round % 2 == 0 {
            key.extend([0, 0, 0, dice.below(7) as u8][2 * usize::from(topic.is_some())..].iter());
            value.extend([u8::from(topic == Some(Topic::ClusterMetadata)), dice.below(30) as u8, 0]);
        }
        let (key_len, value_len) = (dice.below(20) as usize, dice.below(300) as usize);
        key.extend(dice.bytes(key_len));
        value.extend(dice.bytes(value_len));
        let Some(record) = identify(topic, topic.is_none(), Some(&key), Some(&value)) else { panic!("every record is one") };
        let (key_text, value_text, _) = visited(&record);
        assert!(key_text.len() <= 64 * (key.len() + 8) && value_text.len() <= 64 * (value.len() + 8));
    }
}

#[test]
fn int_2_an_array_that_claims_more_elements_than_there_are_bytes_is_refused_at_once() {
    // TransactionLogValue v0: producerId, producerEpoch, timeout, status, then 2^31 - 1 partitions.
    let value = [&[0_u8; 2][..], &[0; 8 + 2 + 4 + 1], &[0x7f, 0xff, 0xff, 0xff], &[0; 40]].concat();
    let record = identify(Some(Topic::TransactionState), false, Some(&[0, 0, 0, 1, b'x']), Some(&value)).unwrap();
    let (key, _, error) = visited(&record);
    assert_eq!(key, "{transactionalId:Text(\"x\")}");
    let problem = "an array of more elements than there are bytes";
    assert_eq!(error, Some(Undecoded::Malformed { name: "TRANSACTION_LOG", field: "transactionPartitions", problem }));
}

#[test]
fn int_1_types_and_versions_that_no_table_has_are_given_as_bytes() {
    let topic = Some(Topic::ConsumerOffsets);
    let unknown = identify(topic, false, Some(&[0, 99, 1]), Some(&[0, 0, 2])).unwrap();
    let raw = |bytes: &[u8]| format!("{{base64:{:?}}}", Scalar::Bytes(bytes));
    assert_eq!(visited(&unknown), (raw(&[0, 99, 1]), raw(&[0, 0, 2]), Some(Undecoded::Type { topic: "__consumer_offsets", id: 99 })));
    let key = [0, 2, 0, 1, b'g'];
    let newer = identify(topic, false, Some(&key), Some(&[0, 77, 2])).unwrap();
    let undecoded = Some(Undecoded::Version { name: "GROUP_METADATA", version: 77 });
    assert_eq!(visited(&newer), ("{group:Text(\"g\")}".into(), raw(&[0, 77, 2]), undecoded));
    assert_eq!((newer.name, newer.version), (Some("GROUP_METADATA"), Some(77)));
    let framed = identify(Some(Topic::ClusterMetadata), false, None, Some(&[2, 20, 0, 0])).unwrap();
    assert_eq!(framed.undecoded, Some(Undecoded::Version { name: "frame", version: 2 }));
    let control = identify(None, true, Some(&[0, 0, 0, 9]), Some(&[1])).unwrap();
    assert_eq!(visited(&control), (raw(&[0, 0, 0, 9]), raw(&[1]), Some(Undecoded::Type { topic: "control", id: 9 })));
}

#[test]
fn tombstones_have_a_type_and_no_value_and_ordinary_records_are_none() {
    let key = [0, 1, 0, 1, b'g', 0, 1, b't', 0, 0, 0, 3];
    let tombstone = identify(Some(Topic::ConsumerOffsets), false, Some(&key), None).unwrap();
    assert_eq!((tombstone.name, tombstone.version, tombstone.undecoded), (Some("OFFSET_COMMIT"), None, None));
    assert_eq!(visited(&tombstone).0, "{group:Text(\"g\")topic:Text(\"t\")partition:Number(3)}");
    assert!(tombstone.value.is_null());
    assert!(identify(None, false, Some(&key), None).is_none());
}

#[test]
fn ctl_4_and_ctl_8_values_of_control_records_begin_with_their_version() {
    let commit = identify(None, true, Some(&[0, 0, 0, 1]), Some(&[0, 0, 0, 0, 0, 7])).unwrap();
    assert_eq!(visited(&commit), ("{type:Number(1)}".into(), "{coordinatorEpoch:Number(7)}".into(), None));
    let value = [0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 3, 0, 1, 0];
    let leader = identify(Some(Topic::ClusterMetadata), true, Some(&[0, 0, 0, 2]), Some(&value)).unwrap();
    let text = "{version:Number(0)leaderId:Number(3)voters:[{voterId:Number(3)}]grantingVoters:[]}";
    assert_eq!(visited(&leader), ("{type:Number(2)}".into(), text.into(), None));
}

/// An element without bytes would let a count make work that no bytes pay for.
#[test]
fn elements_of_arrays_take_a_byte_at_least() {
    fn check(kind: Kind, message: &Message) {
        match kind {
            Kind::Array(Kind::Struct(fields)) => {
                for version in message.versions.first..message.flexible.min(message.versions.last.saturating_add(1)) {
                    let has_bytes = fields.iter().any(|field| field.versions.has(version));
                    // A struct that is new in a later version may be empty in those that do not have it.
                    let is_used = message.fields.iter().any(|field| field.versions.has(version));
                    assert!(has_bytes || !is_used, "{} {version}", message.name);
                }
                fields.iter().for_each(|field| check(field.kind, message));
            }
            Kind::Array(element) => check(*element, message),
            Kind::Struct(fields) => fields.iter().for_each(|field| check(field.kind, message)),
            _ => {}
        }
    }
    for message in all_messages() {
        message.fields.iter().for_each(|field| check(field.kind, message));
    }
}

#[test]
fn types_of_control_records_have_the_names_that_the_model_gives_them() {
    for record in control::RECORDS {
        assert_eq!(crate::model::ControlType::from_id(record.id).name(), record.name);
    }
}
