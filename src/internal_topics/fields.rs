//! The fields of a message as a tree, for a reader that asks for them by name.
//!
//! A visit goes in, a `MessageValue` comes out. Its size is bounded: an array of small elements takes much more memory than its bytes.

use super::part::Part;
use super::record::Identified;
use super::undecoded::Undecoded;
use super::visitor::{Scalar, Visitor};

/// Most fields and elements of one message.
const MOST_NODES: usize = 1 << 20;

/// A value of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageValue {
    /// Null, and each field that is not in the message.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any width.
    Number(i64),
    /// A floating-point number.
    Float(f64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Elements of an array.
    List(Vec<Self>),
    /// Fields by name, in wire order.
    Struct(Vec<(&'static str, Self)>),
}

static NULL: MessageValue = MessageValue::Null;

impl MessageValue {
    /// The fields of a message. A part that is not a message has none.
    ///
    /// # Errors
    /// `Malformed` if the bytes are not what the table says, or have too many fields.
    pub fn of(record: &Identified<'_>, part: &Part<'_>) -> Result<Self, Undecoded> {
        let mut events = Events::default();
        match record.visit(part, &mut events) {
            Some(undecoded) => Err(undecoded),
            None if events.is_full => {
                Err(Undecoded::Malformed { name: record.name.unwrap_or_default(), field: "", problem: "more than 1,048,576 fields" })
            }
            None => Ok(value(&mut events.found.into_iter())),
        }
    }

    /// The field with this name; null if there is none.
    pub fn get(&self, name: &str) -> &Self {
        let Self::Struct(fields) = self else { return &NULL };
        fields.iter().find(|(own, _)| *own == name).map_or(&NULL, |(_, value)| value)
    }

    /// A number.
    pub fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// A field that is an integer of 32 bits or less.
    pub fn int(&self, name: &str) -> Option<i32> {
        self.get(name).number().and_then(|number| i32::try_from(number).ok())
    }

    /// A field that is an integer.
    pub fn long(&self, name: &str) -> Option<i64> {
        self.get(name).number()
    }

    /// A field that is true; an absent field is false.
    pub fn is_true(&self, name: &str) -> bool {
        *self.get(name) == Self::Bool(true)
    }

    /// A field that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        if let Self::Text(text) = self.get(name) { Some(text) } else { None }
    }

    /// A field that is a UUID.
    pub fn uuid(&self, name: &str) -> Option<[u8; 16]> {
        if let Self::Uuid(uuid) = self.get(name) { Some(*uuid) } else { None }
    }

    /// The elements of a field that is an array; `None` if it is null or absent.
    pub fn list(&self, name: &str) -> Option<&[Self]> {
        if let Self::List(elements) = self.get(name) { Some(elements) } else { None }
    }

    /// The integers of a field that is an array of them; `None` if it is null or absent.
    pub fn ints(&self, name: &str) -> Option<Vec<i32>> {
        Some(self.list(name)?.iter().filter_map(|element| element.number().and_then(|number| i32::try_from(number).ok())).collect())
    }

    /// The UUIDs of a field that is an array of them; `None` if it is null or absent.
    pub fn uuids(&self, name: &str) -> Option<Vec<[u8; 16]>> {
        Some(self.list(name)?.iter().filter_map(|element| if let Self::Uuid(uuid) = element { Some(*uuid) } else { None }).collect())
    }
}

/// A step of a visit.
enum Event {
    OpenStruct,
    CloseStruct,
    OpenArray,
    CloseArray,
    Name(&'static str),
    Value(MessageValue),
}

/// The steps of a visit, which can be taken back.
#[derive(Default)]
struct Events {
    found: Vec<Event>,
    is_full: bool,
}

impl Events {
    fn push(&mut self, event: Event) {
        if self.found.len() >= MOST_NODES {
            self.is_full = true;
        } else {
            self.found.push(event);
        }
    }
}

impl Visitor for Events {
    fn open_struct(&mut self) {
        self.push(Event::OpenStruct);
    }

    fn close_struct(&mut self) {
        self.push(Event::CloseStruct);
    }

    fn open_array(&mut self) {
        self.push(Event::OpenArray);
    }

    fn close_array(&mut self) {
        self.push(Event::CloseArray);
    }

    fn name(&mut self, name: &'static str) {
        self.push(Event::Name(name));
    }

    fn scalar(&mut self, scalar: Scalar<'_>) {
        if self.is_full {
            return;
        }
        self.push(Event::Value(match scalar {
            Scalar::Null => MessageValue::Null,
            Scalar::Bool(value) => MessageValue::Bool(value),
            Scalar::Number(number) => MessageValue::Number(number),
            Scalar::Float(number) => MessageValue::Float(number),
            Scalar::Uuid(uuid) => MessageValue::Uuid(uuid),
            Scalar::Text(text) => MessageValue::Text(text.to_owned()),
            Scalar::Bytes(bytes) => MessageValue::Bytes(bytes.to_vec()),
        }));
    }

    fn mark(&self) -> usize {
        self.found.len()
    }

    fn back_to(&mut self, mark: usize) {
        self.found.truncate(mark);
    }
}

/// The next value; as deep as the tables are.
fn value(events: &mut impl Iterator<Item = Event>) -> MessageValue {
    events.next().map_or(MessageValue::Null, |event| value_of(event, events))
}

fn value_of(event: Event, events: &mut impl Iterator<Item = Event>) -> MessageValue {
    match event {
        Event::Value(value) => value,
        Event::OpenStruct => {
            let mut fields = Vec::new();
            while let Some(Event::Name(name)) = events.next() {
                fields.push((name, value(events)));
            }
            MessageValue::Struct(fields)
        }
        Event::OpenArray => {
            let mut elements = Vec::new();
            while let Some(event) = events.next() {
                if matches!(event, Event::CloseArray) {
                    break;
                }
                elements.push(value_of(event, events));
            }
            MessageValue::List(elements)
        }
        Event::CloseStruct | Event::CloseArray | Event::Name(_) => MessageValue::Null,
    }
}
