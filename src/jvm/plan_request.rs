//! The request of Java for a plan: bytes go in, options, columns and filters come out.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{ErrorKind, Result};
use crate::jvm::fields::TaskFields;
use crate::spark::{Condition, FilterTest, FilterValue, QueryOptions};

/// What Java asks for.
pub struct PlanRequest {
    /// The tasks are wanted, and the columns are known; otherwise only the columns are wanted.
    pub wants_tasks: bool,
    /// Cores that run tasks.
    pub cores: u64,
    /// The options of the query.
    pub options: QueryOptions,
    /// The settings of the session for Hadoop's file systems.
    pub settings: BTreeMap<String, String>,
    /// The columns of the table, each with its type in Spark's JSON.
    pub columns: Vec<SchemaColumn>,
    /// The filters on topic, partition, offset and timestamp.
    pub filters: Vec<Condition>,
}

/// A column of the table.
pub struct SchemaColumn {
    /// The name.
    pub name: String,
    /// The type in Spark's JSON.
    pub kind: Value,
    /// A value may be null.
    pub is_nullable: bool,
}

impl PlanRequest {
    /// Parse a request.
    ///
    /// # Errors
    /// `Internal` if the bytes are not those of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut fields = TaskFields::new(bytes);
        let found = request(&mut fields).ok().filter(|_| fields.is_at_end());
        found.ok_or_else(|| ErrorKind::Internal { what: "the request for a plan is unreadable".into() }.into())
    }
}

fn request(fields: &mut TaskFields<'_>) -> Result<PlanRequest> {
    let (wants_tasks, cores) = (fields.flag()?, fields.unsigned()?);
    let options = QueryOptions::new(fields.list(pair)?);
    let settings = fields.list(pair)?.into_iter().collect();
    Ok(PlanRequest { wants_tasks, cores, options, settings, columns: fields.list(column)?, filters: fields.list(condition)? })
}

fn pair(fields: &mut TaskFields<'_>) -> Result<(String, String)> {
    Ok((fields.text()?, fields.text()?))
}

fn column(fields: &mut TaskFields<'_>) -> Result<SchemaColumn> {
    let (name, kind) = (fields.text()?, fields.text()?);
    let kind = serde_json::from_str(&kind).unwrap_or(Value::String(kind));
    Ok(SchemaColumn { name, kind, is_nullable: fields.flag()? })
}

fn condition(fields: &mut TaskFields<'_>) -> Result<Condition> {
    let (is_negated, name, column) = (fields.flag()?, fields.text()?, fields.text()?);
    let values =
        fields.list(|fields| Ok(if fields.flag()? { FilterValue::Text(fields.text()?) } else { FilterValue::Number(fields.long()?) }))?;
    let test = FilterTest::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, test)| test);
    let unknown = || ErrorKind::Internal { what: format!("the filter {name} is unknown") };
    Ok(Condition { is_negated, test: test.ok_or_else(unknown)?, column, values })
}
