//! Columns of typed keys and values as the bytes of records: framing, then the payload.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};

use super::cells::{Cells, Item};
use super::formats::AnySchema;
use super::framing::Framing;
use super::misfit::{WriteResult, misfit};
use super::schemas::SchemaEntry;
use super::shape::Shape;
use super::wanted::WantedFields;
use super::{avro, json, protobuf};
use crate::error::{Error, ErrorKind, Result};

/// Rows of typed columns that are written together.
const ROWS: usize = 4096;

/// Writes the values of one schema.
#[derive(Clone, Debug)]
pub struct ValueWriter {
    schema: AnySchema,
    shape: Shape,
    /// What is before each payload.
    prefix: Vec<u8>,
    is_confluent: bool,
}

impl ValueWriter {
    /// A writer of values of a schema with a framing. `message` is the name of a message of Protobuf, without it the first one.
    ///
    /// # Errors
    /// A schema that cannot be used, and a framing that cannot name it.
    pub fn new(entry: &SchemaEntry, framing: Framing, message: Option<&str>) -> std::result::Result<Self, String> {
        let mut schema = AnySchema::parse(&entry.kind, &entry.text, &entry.referenced)?;
        let mut path = vec![0];
        if let Some(name) = message {
            let AnySchema::Protobuf(proto, _) = &schema else { return Err(format!("a schema of type {} has no messages", entry.kind)) };
            path = proto.path_of(name).ok_or_else(|| format!("the schema has no message {name:?}"))?;
            schema = schema.with_message(&path).ok_or_else(|| format!("the schema has no message {name:?}"))?;
        }
        let shape = schema.shape(&WantedFields::all()).map_err(|problem| problem.to_string())?;
        let fingerprint = matches!(schema, AnySchema::Avro(_)).then(|| schema.fingerprint());
        let mut prefix = framing.prefix(entry.id, fingerprint)?;
        if let AnySchema::Protobuf(_, message) = &schema {
            match framing {
                Framing::Auto | Framing::Confluent => protobuf::write_index(&path, &mut prefix),
                Framing::Apicurio => protobuf::write_ref(message.name(), &mut prefix),
                Framing::None | Framing::ConfluentNoIndex => {}
                Framing::ApicurioGlobal | Framing::SingleObject | Framing::Guid | Framing::Glue | Framing::Container => {
                    return Err("values of Protobuf are not written with this framing; use \"confluent\"".to_owned());
                }
            }
        }
        let is_confluent = matches!(framing, Framing::Auto | Framing::Confluent | Framing::ConfluentNoIndex);
        Ok(Self { schema, shape, prefix, is_confluent })
    }

    fn write(&self, item: &Item<'_>, out: &mut Vec<u8>) -> WriteResult {
        out.extend_from_slice(&self.prefix);
        match &self.schema {
            AnySchema::Avro(schema) if self.is_confluent && avro::write_bare_bytes(schema, &self.shape, item, out)? => Ok(()),
            AnySchema::Avro(schema) => avro::write(schema, &self.shape, item, out),
            AnySchema::Json(_) => json::write(&self.shape, item, out),
            AnySchema::Protobuf(_, message) => protobuf::write(message, item, out),
            AnySchema::Primitive(_) => Err(misfit("keys and values of Kafka's own serializers are not written")),
        }
    }

    /// The values of some rows; `first_row` is the number of row 0 in the table, for errors.
    fn column(&self, name: &str, cells: &Cells<'_>, rows: Range<usize>, first_row: usize) -> Result<ArrayRef> {
        let mut built = LargeBinaryBuilder::new();
        let mut value = Vec::new();
        for row in rows {
            match cells.item(row) {
                Item::Null => built.append_null(),
                item => {
                    value.clear();
                    self.write(&item, &mut value).map_err(|misfit| {
                        let reason = format!("{name} cannot be written with its schema: {misfit}");
                        Error::from(ErrorKind::Refused { rule: "SCH-3", reason }).in_written_row(first_row + row)
                    })?;
                    built.append_value(&value);
                }
            }
        }
        Ok(Arc::new(built.finish()))
    }
}

/// How the typed columns of a table become keys and values.
#[derive(Clone, Debug, Default)]
pub struct TypedWriters {
    /// Of the column `keyRecord`.
    pub key: Option<ValueWriter>,
    /// Of the column `valueRecord`.
    pub value: Option<ValueWriter>,
}

/// The typed column and the column of bytes that replaces it.
const COLUMNS: [(&str, &str); 2] = [("keyRecord", "key"), ("valueRecord", "value")];

impl TypedWriters {
    /// True if nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.key.is_none() && self.value.is_none()
    }

    /// Gives the rows of a batch, some at a time, with their keys and values as bytes, to `take`, with the number of the first of them.
    ///
    /// # Errors
    /// `Usage` if a typed column is missing or has another type; `Refused` for a row that does not fit its schema; what `take` says.
    pub fn each(&self, batch: &RecordBatch, first_row: usize, mut take: impl FnMut(&RecordBatch, usize) -> Result<()>) -> Result<()> {
        let mut typed = Vec::new();
        for (writer, (from, to)) in [&self.key, &self.value].into_iter().zip(COLUMNS) {
            let Some(writer) = writer else { continue };
            let array = batch.column_by_name(from).ok_or_else(|| missing(from))?;
            typed.push((writer, Cells::of(from, array)?, from, to));
        }
        let kept: Vec<usize> = (0..batch.num_columns()).filter(|index| self.keeps(batch, *index)).collect();
        let kept = batch.project(&kept).map_err(|error| ErrorKind::Internal { what: error.to_string() })?;
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = start..batch.num_rows().min(start + ROWS);
            let part = kept.slice(start, rows.len());
            let (mut fields, mut columns) = (part.schema().fields().to_vec(), part.columns().to_vec());
            for (writer, cells, from, to) in &typed {
                fields.push(Arc::new(Field::new(*to, DataType::LargeBinary, true)));
                columns.push(writer.column(from, cells, rows.clone(), first_row)?);
            }
            let part = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns);
            take(&part.map_err(|error| ErrorKind::Internal { what: error.to_string() })?, first_row + start)?;
            start = rows.end;
        }
        Ok(())
    }

    /// True for a column that no typed one replaces.
    fn keeps(&self, batch: &RecordBatch, index: usize) -> bool {
        let schema = batch.schema();
        let replaced = [&self.key, &self.value].into_iter().zip(COLUMNS).filter(|(writer, _)| writer.is_some());
        let name = schema.fields().get(index).map_or("", |field| field.name());
        replaced.into_iter().all(|(_, (from, to))| name != from && name != to)
    }
}

fn missing(name: &str) -> Error {
    let problem = format!("the column {name:?} is missing, from which typed values are written; a struct with the fields of the schema");
    ErrorKind::Usage { argument: "table", problem }.into()
}
