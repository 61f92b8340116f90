//! The schemas of keys or of values in the data of a query: bytes that Python wrote go in.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::jvm::fields::TaskFields;
use crate::values::json::Integers;
use crate::values::outputs::{RecordPart, planned};
use crate::values::{Expected, Framing, ReaderSchema, SchemaEntry, Schemas, ValueFormat, ValuePlan};

/// The schemas of keys or of values, and what is known about them.
pub struct TaskSchemas {
    schemas: Arc<Schemas>,
    expected: Expected,
}

impl TaskSchemas {
    /// Parse them, if there are any.
    ///
    /// # Errors
    /// If the data ends before they do, or names an unknown format.
    pub fn parse(fields: &mut TaskFields<'_>) -> Result<Option<Self>> {
        if !fields.flag()? {
            return Ok(None);
        }
        let entries = fields.list(entry)?;
        let framing = choice(&fields.text()?, Framing::NAMES)?;
        let format = choice(&fields.text()?, ValueFormat::NAMES)?;
        let present = fields.list(TaskFields::size)?;
        let newest = fields.given()?.and_then(|number| usize::try_from(number).ok());
        let reader = if fields.flag()? { Some(reader(fields)?) } else { None };
        let messages = fields.list(|fields| Ok((fields.size()?, fields.list(path_step)?)))?;
        let main = fields.given()?.and_then(|number| usize::try_from(number).ok());
        let integers = choice(&fields.text()?, Integers::NAMES)?;
        let schemas = Schemas::new(entries, framing, format, main).with_integers(integers);
        Ok(Some(Self { schemas: Arc::new(schemas), expected: Expected { present, messages, newest, reader } }))
    }

    /// Plan the columns of keys or of values with these names; `None` if there are none.
    ///
    /// # Errors
    /// `Usage` for a reader's schema that is bad, and for fields that do not exist.
    pub fn plan(&self, names: &[String], part: RecordPart) -> Result<Option<Arc<ValuePlan>>> {
        planned(names, part, &self.schemas, &self.expected).map_err(|problem| usage(problem.to_string()))
    }
}

fn entry(fields: &mut TaskFields<'_>) -> Result<SchemaEntry> {
    Ok(SchemaEntry {
        id: fields.given()?,
        guid: if fields.flag()? { Some(fields.array()?) } else { None },
        kind: fields.text()?,
        text: fields.text()?,
        referenced: fields.list(referenced)?,
        global_ids: fields.list(TaskFields::long)?,
    })
}

fn reader(fields: &mut TaskFields<'_>) -> Result<ReaderSchema> {
    Ok(ReaderSchema { kind: fields.text()?, text: fields.text()?, referenced: fields.list(referenced)? })
}

/// Name and text.
fn referenced(fields: &mut TaskFields<'_>) -> Result<(String, String)> {
    Ok((fields.text()?, fields.text()?))
}

fn path_step(fields: &mut TaskFields<'_>) -> Result<i32> {
    Ok(i32::try_from(fields.long()?).unwrap_or(-1))
}

fn choice<T>(name: &str, known: impl IntoIterator<Item = (&'static str, T)>) -> Result<T> {
    let found = known.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    found.ok_or_else(|| usage(format!("{name:?} is unknown")))
}

fn usage(problem: String) -> Error {
    ErrorKind::Usage { argument: "schemas", problem }.into()
}
