//! Identifies a record by the first bytes of its key and value.

use super::part::Part;
use super::schema::{Message, Record};
use super::topic::{Layout, Topic, control_records, record_of};
use super::undecoded::Undecoded;
use crate::error::Result;
use crate::wire::Cursor;

/// A record of an internal topic, or a control record.
#[derive(Clone, Copy, Debug)]
pub struct Identified<'a> {
    /// The type, by Kafka's name for it; `None` when no table has it.
    pub name: Option<&'static str>,
    /// The version of the value; `None` without a value.
    pub version: Option<i16>,
    /// Its key.
    pub key: Part<'a>,
    /// Its value.
    pub value: Part<'a>,
    /// Why a part is raw that has bytes.
    pub undecoded: Option<Undecoded>,
}

/// The rule that a key or value breaks which is too short to say what it is.
const RULE: &str = "INT-2";
/// The one version of the frame of metadata records (`AbstractApiMessageSerde`).
const FRAME: u32 = 1;

/// What a record is. `None` for an ordinary record of a topic that is not internal.
pub fn identify<'a>(topic: Option<Topic>, is_control: bool, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Option<Identified<'a>> {
    if is_control {
        return Some(control(key, value));
    }
    let topic = topic?;
    Some(match topic.layout() {
        Layout::Coordinator => coordinator(topic, key, value),
        Layout::Framed => metadata(topic, key, value),
        Layout::Mirror { has_version } => mirror(topic, has_version, key, value),
    })
}

fn coordinator<'a>(topic: Topic, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Identified<'a> {
    let whole = key.unwrap_or_default();
    let mut cursor = Cursor::new(whole, RULE);
    let record = match cursor.take_i16("type") {
        Ok(id) => record_of(topic.records(), id.into()).ok_or(Undecoded::Type { topic: topic.name(), id: id.into() }),
        Err(error) => Err(Undecoded::of(topic.name(), &error)),
    };
    let record = match record {
        Ok(record) => record,
        Err(undecoded) => return Identified::raw(key, value, undecoded),
    };
    let key = key_part(record, cursor.left(), whole);
    let Some(all) = value else {
        return Identified { name: Some(record.name), version: None, key, value: Part::Null, undecoded: None };
    };
    let mut cursor = Cursor::new(all, RULE);
    let version = cursor.take_i16("version");
    Identified::of(record, key, version.map(|version| (version, cursor.left())), all)
}

fn metadata<'a>(topic: Topic, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Identified<'a> {
    let key_part = key.map_or(Part::Null, Part::Raw);
    let Some(all) = value else {
        return Identified { name: None, version: None, key: key_part, value: Part::Null, undecoded: None };
    };
    let mut cursor = Cursor::new(all, RULE);
    let begun = begin(&mut cursor);
    let (frame, id, version) = match begun {
        Ok(begun) => begun,
        Err(error) => return Identified::raw(key, value, Undecoded::of(topic.name(), &error)),
    };
    if frame != FRAME {
        return Identified::raw(key, value, Undecoded::Version { name: "frame", version: frame.into() });
    }
    match record_of(topic.records(), id.into()) {
        Some(record) => Identified::of(record, key_part, Ok((i16::try_from(version).unwrap_or(i16::MAX), cursor.left())), all),
        None => Identified::raw(key, value, Undecoded::Type { topic: topic.name(), id: id.into() }),
    }
}

/// A record of MirrorMaker 2, whose topics have one type each.
fn mirror<'a>(topic: Topic, has_version: bool, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Identified<'a> {
    let Some(record) = topic.records().first() else {
        return Identified::raw(key, value, Undecoded::Type { topic: topic.name(), id: 0 });
    };
    let key = key.map_or(Part::Null, |key| key_part(record, key, key));
    let Some(all) = value else {
        return Identified { name: Some(record.name), version: None, key, value: Part::Null, undecoded: None };
    };
    if !has_version {
        let value = Part::Message { message: record.value, version: 0, bytes: all, all };
        return Identified { name: Some(record.name), version: None, key, value, undecoded: None };
    }
    let mut cursor = Cursor::new(all, RULE);
    let version = cursor.take_i16("version");
    Identified::of(record, key, version.map(|version| (version, cursor.left())), all)
}

/// Version of the frame, number of the type, version of the type.
fn begin(cursor: &mut Cursor<'_>) -> Result<(u32, u32, u32)> {
    Ok((cursor.take_uvarint("frameVersion")?, cursor.take_uvarint("apiKey")?, cursor.take_uvarint("version")?))
}

/// The value of a marker begins with its version; the values of KRaft begin with a field of that name (CTL-4, CTL-8).
fn control<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Identified<'a> {
    let whole = key.unwrap_or_default();
    let mut cursor = Cursor::new(whole, RULE);
    let head = cursor.take_i16("version").and_then(|_| {
        let fields = cursor.left();
        cursor.take_i16("type").map(|id| (fields, id))
    });
    let (fields, id) = match head {
        Ok(head) => head,
        Err(error) => return Identified::raw(key, value, Undecoded::of("control", &error)),
    };
    let Some(record) = record_of(control_records(), id.into()) else {
        return Identified::raw(key, value, Undecoded::Type { topic: "control", id: id.into() });
    };
    let key = key_part(record, fields, whole);
    let Some(all) = value else {
        return Identified { name: Some(record.name), version: None, key, value: Part::Null, undecoded: None };
    };
    let mut cursor = Cursor::new(all, RULE);
    let version = cursor.take_i16("version");
    let fields = if record.value.holds_version() { all } else { cursor.left() };
    Identified::of(record, key, version.map(|version| (version, fields)), all)
}

fn key_part<'a>(record: &'static Record, bytes: &'a [u8], all: &'a [u8]) -> Part<'a> {
    match record.key {
        Some(message) => Part::Message { message, version: 0, bytes, all },
        None => Part::Raw(all),
    }
}

impl Message {
    /// Its first field is its version.
    fn holds_version(&self) -> bool {
        self.fields.first().is_some_and(|field| field.name == "version")
    }
}

impl<'a> Identified<'a> {
    /// A record whose type no table has.
    fn raw(key: Option<&'a [u8]>, value: Option<&'a [u8]>, undecoded: Undecoded) -> Self {
        let part = |bytes: Option<&'a [u8]>| bytes.map_or(Part::Null, Part::Raw);
        Self { name: None, version: None, key: part(key), value: part(value), undecoded: Some(undecoded) }
    }

    /// A record of this type, whose value begins with its version.
    fn of(record: &'static Record, key: Part<'a>, value: Result<(i16, &'a [u8])>, all: &'a [u8]) -> Self {
        let name = Some(record.name);
        let message = record.value;
        match value {
            Ok((version, bytes)) if message.versions.has(version) => {
                let value = Part::Message { message, version, bytes, all };
                Self { name, version: Some(version), key, value, undecoded: None }
            }
            Ok((version, _)) => {
                let undecoded = Some(Undecoded::Version { name: record.name, version: version.into() });
                Self { name, version: Some(version), key, value: Part::Raw(all), undecoded }
            }
            Err(error) => Self { name, version: None, key, value: Part::Raw(all), undecoded: Some(Undecoded::of(record.name, &error)) },
        }
    }

    /// Hands the fields of a part to a visitor; what is wrong with its bytes, when they had to be handed over as they are.
    pub fn visit(&self, part: &Part<'_>, visitor: &mut impl super::Visitor) -> Option<Undecoded> {
        let error = part.visit(visitor).err()?;
        Some(Undecoded::of(self.name.unwrap_or_default(), &error))
    }
}
