//! A JSON Schema with the schemas that it refers to.
//!
//! Source: JSON Schema, drafts 4 to 2020-12: the keywords that say which values there are; those that only restrict them are ignored.

use std::collections::HashMap;

use serde_json::Value;

/// A schema with the schemas that it refers to.
#[derive(Clone, Debug)]
pub struct JsonSchema {
    documents: Vec<Value>,
    /// The documents by the names that references have for them.
    names: HashMap<String, usize>,
    text: String,
}

/// A place in a schema: the number of its document, and the pointer there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    document: usize,
    pointer: String,
}

impl JsonSchema {
    /// Parses a schema. `referenced` are names and texts of the schemas that it needs.
    ///
    /// # Errors
    /// A text that is not JSON.
    pub fn parse(text: &str, referenced: &[(String, String)]) -> Result<Self, String> {
        let mut schema = Self { documents: Vec::new(), names: HashMap::new(), text: text.to_owned() };
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

    /// The schema of whole values.
    pub fn root(&self) -> (Place, &Value) {
        let place = Place { document: 0, pointer: String::new() };
        (place, self.documents.first().unwrap_or(&Value::Null))
    }

    /// What `$ref` at a place refers to; `None` if it is not there.
    pub fn resolved(&self, from: &Place, reference: &str) -> Option<(Place, &Value)> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if name.is_empty() { from.document } else { *self.names.get(name).or_else(|| self.names.get(last_part(name)))? };
        let pointer = fragment.to_owned();
        let found = self.documents.get(document)?.pointer(&pointer)?;
        Some((Place { document, pointer }, found))
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
