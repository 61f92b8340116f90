//! The columns of a read with typed values: those of records, and those of what values say.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::payload::Read;
use super::plan::{Expected, ValuePlan};
use super::schemas::Schemas;
use super::wanted::{WantedFields, names_of};

/// The columns of the values that a user gets without asking, and of the keys.
const VALUE: [&str; 2] = ["valueRecord", "valueSchemaId"];
const KEY: [&str; 2] = ["keyRecord", "keySchemaId"];

/// A key or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the parts of a record")]
pub enum RecordPart {
    Value,
    Key,
}

/// A column of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputColumn {
    /// One of records, by its name.
    Raw(String),
    /// What keys or values say.
    Record(RecordPart),
    /// The ids of their schemas.
    SchemaId(RecordPart),
    /// A field of what they say, by its path.
    Field(RecordPart, String),
}

impl OutputColumn {
    /// The column with a name.
    pub fn named(name: &str) -> Self {
        for (part, [record, id]) in [(RecordPart::Value, VALUE), (RecordPart::Key, KEY)] {
            if name == record {
                return Self::Record(part);
            }
            if name == id {
                return Self::SchemaId(part);
            }
            if let Some(path) = name.strip_prefix(record).and_then(|rest| rest.strip_prefix('.')) {
                return Self::Field(part, path.to_owned());
            }
        }
        Self::Raw(name.to_owned())
    }

    /// The part of a record that must be decoded for it.
    pub fn part(&self) -> Option<RecordPart> {
        match self {
            Self::Raw(_) => None,
            Self::Record(part) | Self::SchemaId(part) | Self::Field(part, _) => Some(*part),
        }
    }
}

/// What is wanted of keys or of values by columns with these names; `None` for nothing.
pub fn wanted(names: &[String], part: RecordPart) -> Option<WantedFields> {
    let outputs: Vec<OutputColumn> =
        names.iter().map(|name| OutputColumn::named(name)).filter(|output| output.part() == Some(part)).collect();
    let paths = outputs.iter().filter_map(|output| match output {
        OutputColumn::Record(_) => Some(""),
        OutputColumn::Field(_, path) => Some(path.as_str()),
        _ => None,
    });
    (!outputs.is_empty()).then(|| WantedFields::of(paths))
}

/// Return how the keys or the values of a read become columns with these names; `None` if no column needs them.
///
/// # Errors
/// As `ValuePlan::new`.
pub fn planned(names: &[String], part: RecordPart, schemas: &Arc<Schemas>, expected: &Expected) -> Read<Option<Arc<ValuePlan>>> {
    let Some(wanted) = wanted(names, part) else { return Ok(None) };
    ValuePlan::new(Arc::clone(schemas), expected, &wanted).map(|plan| Some(Arc::new(plan)))
}

/// The path to a field in structs of structs: the number of the member at each level, and the field.
pub fn path_to(plan: &ValuePlan, path: &str) -> Option<(Vec<usize>, FieldRef)> {
    let mut numbers = Vec::new();
    let mut field: FieldRef = Field::new("", plan.shape().data_type(), true).into();
    for name in names_of(path) {
        let DataType::Struct(fields) = field.data_type() else { return None };
        let (number, found) = found(fields, &name)?;
        numbers.push(number);
        field = found;
    }
    Some((numbers, field))
}

fn found(fields: &Fields, name: &str) -> Option<(usize, FieldRef)> {
    let (number, field) = fields.find(name)?;
    Some((number, FieldRef::clone(field)))
}
