use std::borrow::Cow;

use bytes::Bytes;

use crate::wire::as_u64;

/// A field, or a group of fields, with the bytes that it takes.
#[derive(Clone, Debug)]
pub struct Node {
    /// Kafka's name, or that of the codec's format.
    pub name: Cow<'static, str>,
    /// What the bytes say.
    pub value: FieldValue,
    /// Which bytes the position counts in: an index of `Inspection::areas`.
    pub area: usize,
    /// Position of the first byte.
    pub start: u64,
    /// Bytes, those of its children included.
    pub len: u64,
    /// What the value means.
    pub note: String,
    /// What is wrong here.
    pub marks: Vec<Mark>,
    /// What it is made of.
    pub children: Vec<Node>,
}

/// What the bytes of a field say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// Nothing by itself: a group, a null, or a field that is cut short.
    None,
    /// A number.
    Number(i128),
    /// The bytes themselves.
    Bytes,
}

/// Something wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The id of the rule; empty where only the walk over the fields could not go on.
    pub rule: &'static str,
    /// `"error"`, `"warning"` or `"info"`.
    pub severity: &'static str,
    /// What is wrong, in words.
    pub message: String,
}

/// Bytes in which positions count: the input, or what a codec gave.
#[derive(Clone, Debug)]
pub struct Area {
    /// What they are; empty for the input.
    pub name: String,
    /// Position of the first of them.
    pub start: u64,
    /// The bytes.
    pub bytes: Bytes,
}

impl Node {
    /// A field of `len` bytes from `start` of an area on, without anything more.
    pub(super) fn new(name: impl Into<Cow<'static, str>>, area: usize, start: u64, len: usize) -> Self {
        let (name, value, len) = (name.into(), FieldValue::None, as_u64(len));
        Self { name, value, area, start, len, note: String::new(), marks: Vec::new(), children: Vec::new() }
    }

    /// The fields below that are not made of others, itself when there are none.
    pub fn leaves(&self) -> Vec<&Self> {
        if self.children.is_empty() {
            return vec![self];
        }
        self.children.iter().flat_map(Self::leaves).collect()
    }

    /// The field of this name among its children.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }
}

impl Mark {
    /// What the walk over the fields met itself.
    pub(super) fn met(message: String) -> Self {
        Self { rule: "", severity: "error", message }
    }
}

impl Area {
    /// The bytes of a node that lies in it; fewer when it claims more.
    pub fn bytes_of(&self, node: &Node) -> Bytes {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let start = number(node.start.saturating_sub(self.start)).min(self.bytes.len());
        let end = start.saturating_add(number(node.len)).min(self.bytes.len());
        self.bytes.slice(start..end)
    }
}
