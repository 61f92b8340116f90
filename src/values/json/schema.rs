//! A JSON Schema with the schemas that it refers to.
//!
//! Source: JSON Schema, drafts 4 to 2020-12: the keywords that say which values there are; those that only restrict them are ignored.

use std::collections::HashMap;

use serde_json::Value;

/// The keyword of schemas that were inferred, which no draft has.
pub const INFERRED: &str = "arrow:inferred";

/// The column of an integer whose schema has no bounds within 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integers {
    /// Of 64 bits.
    #[default]
    Int64,
    /// Of 38 digits.
    Decimal,
}

impl Integers {
    /// All of them, with the names that callers use.
    pub const NAMES: [(&'static str, Self); 2] = [("int64", Self::Int64), ("decimal", Self::Decimal)];

    /// The name that callers use.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, integers)| *integers == self).map_or("int64", |(name, _)| name)
    }
}

/// A schema with the schemas that it refers to.
#[derive(Clone, Debug)]
pub struct JsonSchema {
    integers: Integers,
    documents: Vec<Value>,
    /// The documents by the names that references have for them.
    names: HashMap<String, usize>,
    text: String,
}

/// A place in a schema: the number of its document, and the pointer there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaPosition {
    document: usize,
    pointer: String,
}

impl JsonSchema {
    /// Parses a schema. `referenced` are names and texts of the schemas that it needs.
    ///
    /// # Errors
    /// A text that is not JSON.
    pub fn parse(text: &str, referenced: &[(String, String)]) -> Result<Self, String> {
        let mut schema = Self { integers: Integers::default(), documents: Vec::new(), names: HashMap::new(), text: text.to_owned() };
        schema.add(None, text)?;
        for (name, text) in referenced {
            schema.add(Some(name), text)?;
        }
        Ok(schema)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same, with these columns of integers.
    #[must_use]
    pub fn with_integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// The column of an integer without bounds.
    pub fn integers(&self) -> Integers {
        self.integers
    }

    /// True if it was inferred from values.
    pub fn is_inferred(&self) -> bool {
        self.documents.first().is_some_and(|root| root.get(INFERRED).is_some())
    }

    /// The schema of whole values.
    pub fn root(&self) -> (SchemaPosition, &Value) {
        let place = SchemaPosition { document: 0, pointer: String::new() };
        (place, self.documents.first().unwrap_or(&Value::Null))
    }

    /// What `$ref` at a place refers to; `None` if it is not there.
    pub fn resolved(&self, from: &SchemaPosition, reference: &str) -> Option<(SchemaPosition, &Value)> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if name.is_empty() { from.document } else { *self.names.get(name).or_else(|| self.names.get(last_part(name)))? };
        let pointer = fragment.to_owned();
        let found = self.documents.get(document)?.pointer(&pointer)?;
        Some((SchemaPosition { document, pointer }, found))
    }

    fn add(&mut self, name: Option<&String>, text: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let number = self.documents.len();
        let id = ["$id", "id"].iter().find_map(|key| value.get(key)?.as_str());
        self.names.extend(id.map(|id| (id.trim_end_matches('#').to_owned(), number)));
        self.names.extend(name.map(|name| (name.clone(), number)));
        self.documents.push(value);
        Ok(())
    }
}

/// The name of a file in a relative or absolute reference.
fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
