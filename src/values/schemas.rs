//! The schemas that a read knows, by the names that values have for them.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;

use super::container;
use super::formats::{AnySchema, ValueFormat};
use super::framed::Framed;
use super::framing::{Framing, SchemaHeader};
use super::json::Integers;
use super::payload::{Problem, Read};
use super::schema_name::SchemaName;

/// A schema with its names.
#[derive(Clone, Debug)]
pub struct SchemaEntry {
    /// The id in the registry.
    pub id: Option<i64>,
    /// The ids of its versions in Apicurio.
    pub global_ids: Vec<i64>,
    /// The GUID in the registry.
    pub guid: Option<[u8; 16]>,
    /// AVRO, JSON or PROTOBUF.
    pub kind: String,
    /// The schema.
    pub text: String,
    /// Name and text of the schemas that it needs, each after those that it needs itself.
    pub referenced: Vec<(String, String)>,
}

/// All schemas of a read; each is parsed when it is first needed.
#[derive(Debug)]
pub struct Schemas {
    entries: Vec<SchemaEntry>,
    parsed: Vec<OnceLock<Result<AnySchema, String>>>,
    names: HashMap<SchemaName, usize>,
    fingerprints: OnceLock<HashMap<SchemaName, usize>>,
    framing: Framing,
    format: ValueFormat,
    integers: Integers,
    /// The number of the schema of values that name none.
    bare: Option<usize>,
    /// The number of the schema of values that name none, and of all values if it has no name itself.
    main: Option<usize>,
}

impl Schemas {
    /// The schemas, of which a later one takes the name of an earlier one. `main` is the number of the schema of all values; one without
    /// a name that is alone is it anyway.
    pub fn new(entries: Vec<SchemaEntry>, framing: Framing, format: ValueFormat, main: Option<usize>) -> Self {
        let mut names = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            names.extend((entry.kind == "AVRO").then(|| (container::name_of(&entry.text), index)));
            names.extend(entry.id.map(|id| (SchemaName::Id(id), index)));
            names.extend(entry.global_ids.iter().map(|id| (SchemaName::GlobalId(*id), index)));
            names.extend(entry.guid.map(|guid| (SchemaName::Guid(guid), index)));
        }
        // The last schema has no name then.
        let is_bare =
            |entry: &SchemaEntry| format == ValueFormat::Auto && entry.id.is_none() && entry.guid.is_none() && entry.kind == "JSON";
        let bare = entries.len().checked_sub(1).filter(|last| entries.get(*last).is_some_and(is_bare));
        let is_alone = bare.is_none() && matches!(entries.as_slice(), [SchemaEntry { id: None, guid: None, .. }]);
        Self {
            parsed: entries.iter().map(|_| OnceLock::new()).collect(),
            entries,
            names,
            fingerprints: OnceLock::new(),
            framing,
            format,
            integers: Integers::default(),
            bare,
            main: main.or(is_alone.then_some(0)),
        }
    }

    /// The same, with these columns of integers of JSON.
    #[must_use]
    pub fn with_integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// The column of an integer of JSON whose schema has no bounds.
    pub fn integers(&self) -> Integers {
        self.integers
    }

    /// How values name them.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Takes a value apart. Where formats are detected, a text needs no framing.
    ///
    /// # Errors
    /// `Framing` for a value without the framing.
    pub fn take_apart<'a>(&self, value: &'a [u8], header: Option<SchemaHeader<'a>>) -> Read<Framed<'a>> {
        let is_bare = self.bare.is_some() && header.is_none() && !is_framed(value);
        let framing = if is_bare { Framing::None } else { self.framing };
        self.take_apart_as(framing, value, header)
    }

    /// Takes a value apart that has this framing.
    ///
    /// # Errors
    /// `Framing` for a value without the framing.
    pub fn take_apart_as<'a>(&self, framing: Framing, value: &'a [u8], header: Option<SchemaHeader<'a>>) -> Read<Framed<'a>> {
        framing.parse(value, header, |name| self.knows(name))
    }

    /// True if the framing of each value is found by trying which one gives a value of the only schema.
    pub fn tries_framings(&self) -> bool {
        self.main.is_some() && self.framing == Framing::Auto
    }

    /// The number of the schema of all values.
    pub fn main(&self) -> Option<usize> {
        self.main
    }

    /// The number of the schema of values that name none.
    pub fn bare(&self) -> Option<usize> {
        self.bare
    }

    /// The format of their values.
    pub fn format(&self) -> ValueFormat {
        self.format
    }

    /// True if a schema has the name.
    pub fn knows(&self, name: SchemaName) -> bool {
        self.names.contains_key(&name)
    }

    /// How many schemas there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no schemas.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The schema with a number.
    pub fn entry(&self, index: usize) -> Option<&SchemaEntry> {
        self.entries.get(index)
    }

    /// The number of the schema with a name.
    ///
    /// # Errors
    /// `UnknownSchema`.
    pub fn find(&self, name: SchemaName) -> Read<usize> {
        let found = match name {
            SchemaName::Embedded(_) => self.names.get(&name).copied(),
            SchemaName::Fingerprint(_) if self.entries.len() > 1 => {
                self.fingerprints.get_or_init(|| self.fingerprints()).get(&name).copied()
            }
            // A schema of all values that has no name is that of every name.
            _ if self.is_of_every_name() => self.main,
            SchemaName::Unnamed => self.main.or(self.bare),
            // Schemas that did not come from Apicurio have one kind of ids.
            SchemaName::GlobalId(id) if !self.has_global_ids() => self.names.get(&SchemaName::Id(id)).copied(),
            SchemaName::Fingerprint(_) => self.fingerprints.get_or_init(|| self.fingerprints()).get(&name).copied(),
            name => self.names.get(&name).copied(),
        };
        found.ok_or_else(|| Problem::UnknownSchema(name).into())
    }

    /// The parsed schema with a number.
    ///
    /// # Errors
    /// `Schema` for one of another format, and for one that is bad.
    pub fn parsed(&self, index: usize) -> Read<AnySchema> {
        let (Some(entry), Some(parsed)) = (self.entries.get(index), self.parsed.get(index)) else { return Err(Box::new(Problem::Shape)) };
        let parsed = parsed.get_or_init(|| entry.parse(self.format).map(|schema| schema.with_integers(self.integers)));
        parsed.clone().map_err(|problem| Problem::Schema(format!("{}: {problem}", entry.label())).into())
    }

    fn is_of_every_name(&self) -> bool {
        self.main.and_then(|main| self.entries.get(main)).is_some_and(|entry| entry.id.is_none() && entry.guid.is_none())
    }

    fn has_global_ids(&self) -> bool {
        self.entries.iter().any(|entry| !entry.global_ids.is_empty())
    }

    fn fingerprints(&self) -> HashMap<SchemaName, usize> {
        let parsed =
            (0..self.entries.len()).filter_map(|index| Some((SchemaName::Fingerprint(self.parsed(index).ok()?.fingerprint()), index)));
        parsed.collect()
    }
}

impl SchemaEntry {
    /// What messages call it.
    pub fn label(&self) -> String {
        self.id.map_or_else(|| "the schema".to_owned(), |id| format!("schema {id}"))
    }

    fn parse(&self, format: ValueFormat) -> Result<AnySchema, String> {
        if !format.takes(&self.kind) {
            return Err(format!("of type {}, not {}", self.kind, format.kind().unwrap_or_default()));
        }
        AnySchema::parse(&self.kind, &self.text, &self.referenced)
    }
}

impl std::fmt::Display for SchemaName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = |f: &mut std::fmt::Formatter<'_>, bytes: &[u8]| bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"));
        match self {
            Self::Id(id) => write!(f, "the id {id}"),
            Self::GlobalId(id) => write!(f, "the global id {id}"),
            Self::Guid(guid) => {
                f.write_str("the GUID ")?;
                hex(f, guid)
            }
            Self::Fingerprint(fingerprint) => {
                f.write_str("the fingerprint ")?;
                hex(f, fingerprint)
            }
            Self::Embedded(_) => f.write_str("a schema that is in the value, and was not there when the read was planned"),
            Self::Unnamed => f.write_str("values that name none"),
        }
    }
}

/// True for a value that begins as one with a schema does.
fn is_framed(value: &[u8]) -> bool {
    match value {
        [0 | 1, ..] | [0xc3, 1, ..] | [b'O', b'b', b'j', 1, ..] => true,
        [3, 0 | 5, rest @ ..] => rest.len() >= 16,
        _ => false,
    }
}

/// The name of the member of a struct that has the values of one schema of several.
pub(super) fn member_name(entry: &SchemaEntry, fingerprint: [u8; 8]) -> String {
    match (entry.id, entry.guid) {
        (Some(id), _) => format!("schema_{id}"),
        (None, Some(guid)) => hex_name(&guid),
        (None, None) => hex_name(&fingerprint),
    }
}

fn hex_name(bytes: &[u8]) -> String {
    let mut name = "schema_".to_owned();
    for byte in bytes {
        // Text can always be written to memory.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
