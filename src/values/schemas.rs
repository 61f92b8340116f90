//! The schemas that a read knows, by the names that values have for them.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;

use super::formats::{AnySchema, ValueFormat};
use super::framing::{Framed, Framing, Header, SchemaName};
use super::payload::{Problem, Read};

/// A schema with its names.
#[derive(Clone, Debug)]
pub struct Entry {
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
    entries: Vec<Entry>,
    parsed: Vec<OnceLock<Result<AnySchema, String>>>,
    names: HashMap<SchemaName, usize>,
    fingerprints: OnceLock<HashMap<SchemaName, usize>>,
    framing: Framing,
    format: ValueFormat,
    /// The number of the schema of values that name none.
    bare: Option<usize>,
}

impl Schemas {
    /// The schemas, of which a later one takes the name of an earlier one.
    pub fn new(entries: Vec<Entry>, framing: Framing, format: ValueFormat) -> Self {
        let mut names = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            names.extend(entry.id.map(|id| (SchemaName::Id(id), index)));
            names.extend(entry.global_ids.iter().map(|id| (SchemaName::GlobalId(*id), index)));
            names.extend(entry.guid.map(|guid| (SchemaName::Guid(guid), index)));
        }
        // The last schema has no name then.
        let is_bare = |entry: &Entry| format == ValueFormat::Auto && entry.id.is_none() && entry.guid.is_none() && entry.kind == "JSON";
        let bare = entries.len().checked_sub(1).filter(|last| entries.get(*last).is_some_and(is_bare));
        Self {
            parsed: entries.iter().map(|_| OnceLock::new()).collect(),
            entries,
            names,
            fingerprints: OnceLock::new(),
            framing,
            format,
            bare,
        }
    }

    /// How values name them.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Takes a value apart. A JSON text needs no framing where it cannot be of several schemas, or where formats are detected.
    ///
    /// # Errors
    /// `Framing` for a value without the framing.
    pub fn take_apart<'a>(&self, value: &'a [u8], header: Option<Header<'a>>) -> Read<Framed<'a>> {
        let may_be_bare = match self.format {
            ValueFormat::Auto => self.bare.is_some(),
            ValueFormat::Json => self.framing == Framing::Auto && self.is_single(),
            _ => false,
        };
        let is_bare = may_be_bare && header.is_none() && !matches!(value, [0 | 1, ..] | [0xc3, 1, ..]);
        let framing = if is_bare { Framing::None } else { self.framing };
        framing.parse(value, header, |name| self.knows(name))
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

    /// The schema with a number.
    pub fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// The number of the schema with a name.
    ///
    /// # Errors
    /// `UnknownSchema`.
    pub fn find(&self, name: SchemaName) -> Read<usize> {
        let found = match name {
            // A set of one schema without a name is that of every value.
            _ if self.is_single() => Some(0),
            SchemaName::Unnamed => self.bare,
            // Schemas that did not come from Apicurio have one kind of ids.
            SchemaName::GlobalId(id) if !self.has_global_ids() => self.names.get(&SchemaName::Id(id)).copied(),
            SchemaName::Fingerprint(_) => self.fingerprints.get_or_init(|| self.fingerprints()).get(&name).copied(),
            name => self.names.get(&name).copied(),
        };
        found.ok_or_else(|| Problem::UnknownSchema(name.to_string()).into())
    }

    /// The parsed schema with a number.
    ///
    /// # Errors
    /// `Schema` for one of another format, and for one that is bad.
    pub fn parsed(&self, index: usize) -> Read<AnySchema> {
        let (Some(entry), Some(parsed)) = (self.entries.get(index), self.parsed.get(index)) else { return Err(Box::new(Problem::Shape)) };
        let parsed = parsed.get_or_init(|| entry.parse(self.format));
        parsed.clone().map_err(|problem| Problem::Schema(format!("{}: {problem}", entry.label())).into())
    }

    fn has_global_ids(&self) -> bool {
        self.entries.iter().any(|entry| !entry.global_ids.is_empty())
    }

    fn is_single(&self) -> bool {
        self.bare.is_none() && matches!(self.entries.as_slice(), [Entry { id: None, guid: None, .. }])
    }

    fn fingerprints(&self) -> HashMap<SchemaName, usize> {
        let parsed =
            (0..self.entries.len()).filter_map(|index| Some((SchemaName::Fingerprint(self.parsed(index).ok()?.fingerprint()), index)));
        parsed.collect()
    }
}

impl Entry {
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
            Self::Unnamed => f.write_str("values that name none"),
        }
    }
}

/// The name of the member of a struct that has the values of one schema of several.
pub(super) fn member_name(entry: &Entry, fingerprint: [u8; 8]) -> String {
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
