//! Takes fields off some bytes, one after the other, and writes down each with its place. Where the bytes end or lie, it writes what is there,
//! says so, and takes nothing more: a walk over its fields never fails.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use bytes::Bytes;

use super::node::{Area, FieldValue, Mark, Node};
use crate::error::plural;
use crate::wire::varint::VarintError;
use crate::wire::{WireField, WireKind, as_u64};

/// What the scribes of one inspection share: the areas, and how many fields may still be written.
#[derive(Default)]
pub(super) struct Areas {
    areas: RefCell<Vec<Area>>,
    left: Cell<usize>,
}

/// Fields of one inspection, some 300 MiB as Python objects. A hostile batch may hold a hundred million.
const MOST_FIELDS: usize = 300_000;

impl Areas {
    /// A book whose first area is the input.
    pub(super) fn new(input: Bytes, position: u64) -> Self {
        let area = Area { name: String::new(), start: position, bytes: input };
        Self { areas: RefCell::new(vec![area]), left: Cell::new(MOST_FIELDS) }
    }

    /// Adds an area; its number.
    pub(super) fn add_area(&self, name: String, bytes: Bytes) -> usize {
        let mut areas = self.areas.borrow_mut();
        areas.push(Area { name, start: 0, bytes });
        areas.len() - 1
    }

    /// The areas.
    pub(super) fn into_areas(self) -> Vec<Area> {
        self.areas.into_inner()
    }

    /// Counts a field; false when there may be no more.
    fn takes_one(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

pub(super) struct FieldWriter<'a> {
    pub(super) areas: &'a Areas,
    area: usize,
    /// Position of the first byte in the area.
    start: u64,
    bytes: Bytes,
    at: usize,
    nodes: Vec<Node>,
    /// Nothing more is taken: a field was cut short.
    is_over: bool,
    /// There were too many.
    is_full: bool,
    /// The bytes end where those of the group do.
    is_bounded: bool,
}

impl<'a> FieldWriter<'a> {
    /// A writer at the first of these bytes, which are at `start` of an area.
    pub(super) fn new(areas: &'a Areas, area: usize, start: u64, bytes: Bytes) -> Self {
        Self { areas, area, start, bytes, at: 0, nodes: Vec::new(), is_over: false, is_full: false, is_bounded: false }
    }

    /// Bytes not taken yet.
    pub(super) fn left(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// True when bytes are left and may be taken.
    pub(super) fn goes_on(&self) -> bool {
        !self.is_over && self.at < self.bytes.len()
    }

    /// The `len` bytes that were taken last.
    pub(super) fn taken(&self, len: usize) -> Bytes {
        self.bytes.slice(self.at.saturating_sub(len)..self.at)
    }

    /// Where the next field starts in the area.
    pub(super) fn position(&self) -> u64 {
        self.start.saturating_add(as_u64(self.at))
    }

    /// The field that was written last.
    pub(super) fn last(&mut self) -> Option<&mut Node> {
        self.nodes.last_mut()
    }

    /// The field of this name that was written.
    pub(super) fn field(&mut self, name: &str) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.name == name)
    }

    /// Says what the field that was written last means.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        if let Some(node) = self.last() {
            node.note = text.into();
        }
    }

    /// Takes a number; `None` when it is cut short.
    pub(super) fn number(&mut self, field: WireField) -> Option<i128> {
        if self.is_over {
            return None;
        }
        match field.kind.read(self.left()) {
            Ok((value, len)) => self.push(field.name.into(), FieldValue::Number(value), len).then_some(value),
            Err(problem) => {
                self.cut(field, problem);
                None
            }
        }
    }

    /// Takes all fields of fixed and variable length up to one that is bytes; the number of the last one.
    pub(super) fn numbers(&mut self, fields: &[WireField]) -> Option<i128> {
        fields.iter().map(|field| self.number(*field)).last().flatten()
    }

    /// Takes bytes after a length; a negative one is null (PRM-8). What is there when there are fewer, with a mark.
    pub(super) fn data(&mut self, name: &'static str, len: i128) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let Ok(wanted) = usize::try_from(len) else {
            self.push(name.into(), FieldValue::None, 0);
            self.note("null");
            return None;
        };
        let here = wanted.min(self.left().len());
        let bytes = self.bytes.slice(self.at..self.at + here);
        self.push(name.into(), FieldValue::Bytes, here);
        if here < wanted {
            self.mark(format!("cut short: {here} of {}", plural(wanted, "byte")));
            self.is_over = true;
        }
        Some(bytes)
    }

    /// Takes all that is left as one field.
    pub(super) fn rest(&mut self, name: &'static str) -> Bytes {
        let len = i128::try_from(self.left().len()).unwrap_or(i128::MAX);
        self.data(name, len).unwrap_or_default()
    }

    /// Takes a group of fields: `write` takes them with a writer of their own, which sees all that is left.
    pub(super) fn group(&mut self, name: impl Into<Cow<'static, str>>, write: impl FnOnce(&mut FieldWriter<'a>)) {
        self.nest(name.into(), self.left().len(), write);
    }

    /// The same of the next `len` bytes, and of all of them: what is not taken is written as left over.
    pub(super) fn group_of(&mut self, name: impl Into<Cow<'static, str>>, len: usize, write: impl FnOnce(&mut FieldWriter<'a>)) {
        self.nest(name.into(), len, |inner| {
            inner.is_bounded = true;
            write(inner);
        });
    }

    fn nest(&mut self, name: Cow<'static, str>, len: usize, write: impl FnOnce(&mut FieldWriter<'a>)) {
        if self.is_over {
            return;
        }
        let end = self.at.saturating_add(len).min(self.bytes.len());
        let mut inner = FieldWriter::new(self.areas, self.area, self.position(), self.bytes.slice(self.at..end));
        write(&mut inner);
        self.is_full = inner.is_full;
        self.is_over = inner.is_full || inner.is_over && !inner.is_bounded;
        let taken = if inner.is_bounded { inner.bytes.len() } else { inner.at };
        let mut node = self.node(name, FieldValue::None, taken);
        node.children = inner.finish_at(taken);
        if !node.children.is_empty() || !self.is_full {
            self.nodes.push(node);
            self.at += taken;
        }
    }

    /// Lets nothing after the next `len` bytes be taken; `None`, with a mark at the last field, when there are fewer.
    pub(super) fn bound(&mut self, len: i128) -> Option<()> {
        let left = self.left().len();
        match usize::try_from(len) {
            Ok(len) if len <= left => {
                self.bytes.truncate(self.at + len);
                self.is_bounded = true;
                Some(())
            }
            _ => {
                self.mark(format!("its length is {}, and {left} are left", plural(len, "byte")));
                None
            }
        }
    }

    /// Says that something is wrong with the last field.
    pub(super) fn mark(&mut self, message: String) {
        if let Some(node) = self.last() {
            node.marks.push(Mark::met(message));
        }
    }

    /// All fields; what nobody took is written too, so that they cover every byte.
    pub(super) fn finish(self) -> Vec<Node> {
        let len = self.bytes.len();
        self.finish_at(len)
    }

    fn finish_at(mut self, end: usize) -> Vec<Node> {
        if self.at < end {
            let (name, note) = if self.is_full { ("notShown", "too many fields") } else { ("leftOver", "bytes outside of all fields") };
            let mut node = self.node(name.into(), FieldValue::Bytes, end - self.at);
            node.note = note.to_owned();
            self.nodes.push(node);
        }
        self.nodes
    }

    fn node(&self, name: Cow<'static, str>, value: FieldValue, len: usize) -> Node {
        Node { value, ..Node::new(name, self.area, self.position(), len) }
    }

    /// Writes a field of the next `len` bytes; false when there are too many.
    fn push(&mut self, name: Cow<'static, str>, value: FieldValue, len: usize) -> bool {
        if !self.areas.takes_one() {
            (self.is_over, self.is_full) = (true, true);
            return false;
        }
        self.nodes.push(self.node(name, value, len));
        self.at += len;
        true
    }

    fn cut(&mut self, field: WireField, problem: VarintError) {
        let left = self.left().len();
        let message = match (problem, field.kind.fixed_len()) {
            (VarintError::TooLong, _) => "the integer does not end in time".to_owned(),
            (_, Some(len)) => format!("cut short: {left} of {}", plural(len, "byte")),
            (_, None) => "cut short: the bytes end inside of the integer".to_owned(),
        };
        let most = if problem == VarintError::TooLong { Self::longest(field.kind) } else { left };
        self.push(field.name.into(), FieldValue::None, most.min(left));
        self.mark(message);
        self.is_over = true;
    }

    fn longest(kind: WireKind) -> usize {
        use crate::wire::varint::{MAX_VARINT_LEN, MAX_VARLONG_LEN};
        if matches!(kind, WireKind::Varlong | WireKind::UnsignedVarlong) { MAX_VARLONG_LEN } else { MAX_VARINT_LEN }
    }
}

/// Bytes of memory of their own, so that a tree does not keep a whole source alive.
pub(super) fn owned(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
