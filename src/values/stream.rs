//! A stream of records whose keys and values are decoded: the columns of records, and those of what keys and values say.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use super::decoder::{Flaw, MOST_SPENT, ValueDecoder};
use super::outputs::{OutputColumn, RecordPart, path_to};
use super::plan::ValuePlan;
use super::record_parts::RecordParts;
use crate::columns::{BatchSource, BinaryKind, Column, OnError, Projection, StreamOptions, ValueNotes, stream};
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::Source;
use crate::validate::{Finding, Findings, Severity};

/// How keys and values are decoded, and the columns of the read.
#[derive(Clone, Debug)]
pub struct TypedOptions {
    /// Of values.
    pub value: Option<Arc<ValuePlan>>,
    /// Of keys.
    pub key: Option<Arc<ValuePlan>>,
    /// All columns, in order.
    pub outputs: Vec<OutputColumn>,
}

impl TypedOptions {
    /// The options of a read of columns with these names; `None` if nothing is decoded.
    pub fn of(names: &[String], value: Option<Arc<ValuePlan>>, key: Option<Arc<ValuePlan>>) -> Option<Self> {
        let outputs = names.iter().map(|name| OutputColumn::named(name)).collect();
        (value.is_some() || key.is_some()).then_some(Self { value, key, outputs })
    }

    /// The plan of keys or of values.
    pub fn plan(&self, part: RecordPart) -> Option<&Arc<ValuePlan>> {
        match part {
            RecordPart::Value => self.value.as_ref(),
            RecordPart::Key => self.key.as_ref(),
        }
    }

    /// The names of the columns of records that the caller wants.
    pub fn raw_names(&self) -> Vec<String> {
        let names = self.outputs.iter().filter_map(|output| if let OutputColumn::Raw(name) = output { Some(name.clone()) } else { None });
        names.collect()
    }
}

/// Opens a stream. The projection of `options` has the columns of records that the caller wants.
///
/// # Errors
/// `Usage` for a column that does not exist.
pub fn open(source: Source, options: StreamOptions, typed: &TypedOptions) -> Result<Box<dyn BatchSource>> {
    let layout = ColumnLayout::new(&options, typed)?;
    let on_error = options.on_error;
    let projection = layout.projection.clone();
    let inner = stream::open(source, StreamOptions { projection, ..options });
    Ok(Box::new(TypedStream {
        value: typed.value.clone().map(ValueDecoder::new),
        key: typed.key.clone().map(ValueDecoder::new),
        inner,
        layout,
        on_error,
        pending: None,
        findings: Findings::default(),
        failed: None,
        is_done: false,
    }))
}

/// The schema of such a stream.
///
/// # Errors
/// `Usage` for a column that does not exist.
pub fn schema_of(options: &StreamOptions, typed: &TypedOptions) -> Result<SchemaRef> {
    Ok(ColumnLayout::new(options, typed)?.schema)
}

/// Where each column comes from.
#[derive(Debug)]
struct ColumnLayout {
    schema: SchemaRef,
    projection: Projection,
    cells: Vec<ColumnSource>,
}

/// The source of a column.
#[derive(Debug)]
enum ColumnSource {
    Raw(Column),
    Record(RecordPart),
    SchemaId(RecordPart),
    Field(RecordPart, Vec<usize>),
}

impl ColumnLayout {
    fn new(options: &StreamOptions, typed: &TypedOptions) -> Result<Self> {
        let wanted = &options.projection;
        let mut cells = Vec::new();
        let mut fields: Vec<FieldRef> = Vec::new();
        let mut raw = wanted.columns.iter();
        for output in &typed.outputs {
            let (cell, field) = match output {
                OutputColumn::Raw(_) => {
                    let column = *raw.next().ok_or_else(|| usage("columns", "a column is missing"))?;
                    (ColumnSource::Raw(column), Field::new(column.name(), column.data_type(wanted.binary), true))
                }
                OutputColumn::Record(part) => {
                    let data_type = plan(typed, *part)?.shape().data_type();
                    (ColumnSource::Record(*part), Field::new(record_name(*part), data_type, true))
                }
                OutputColumn::SchemaId(part) => {
                    plan(typed, *part)?;
                    (ColumnSource::SchemaId(*part), Field::new(id_name(*part), DataType::Int64, true))
                }
                OutputColumn::Field(part, path) => {
                    let (numbers, field) = path_to(plan(typed, *part)?, path)
                        .ok_or_else(|| usage("columns", &format!("{} has no field {path}", record_name(*part))))?;
                    let name = format!("{}.{path}", record_name(*part));
                    (ColumnSource::Field(*part, numbers), field.as_ref().clone().with_name(name).with_nullable(true))
                }
            };
            cells.push(cell);
            fields.push(Arc::new(field));
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), projection: projection(options, typed), cells })
    }
}

/// The columns of records that are decoded: those that are wanted, and those that values need.
fn projection(options: &StreamOptions, typed: &TypedOptions) -> Projection {
    let wanted = &options.projection;
    let has_bytes = [Column::Key, Column::Value, Column::Headers, Column::HeadersRaw].iter().any(|column| wanted.has(*column));
    let mut needed = vec![Column::Offset, Column::EntryPosition];
    needed.extend(typed.value.as_ref().map(|_| Column::Value));
    needed.extend(typed.key.as_ref().map(|_| Column::Key));
    let plans = typed.value.iter().chain(&typed.key);
    if plans.into_iter().any(|plan| plan.schemas().framing().looks_at_headers()) {
        needed.push(Column::HeadersRaw);
    }
    if options.decode.is_control_wanted {
        needed.push(Column::IsControl);
    }
    let mut columns = wanted.columns.clone();
    columns.extend(needed.into_iter().filter(|column| !wanted.has(*column)));
    // Nothing is copied that nobody gets.
    let binary = if has_bytes { wanted.binary } else { BinaryKind::BinaryView };
    Projection { columns, binary, has_null_headers: wanted.has_null_headers }
}

fn plan(typed: &TypedOptions, part: RecordPart) -> Result<&Arc<ValuePlan>> {
    typed.plan(part).ok_or_else(|| usage("columns", &format!("{} needs {}", record_name(part), option_of(part))))
}

fn option_of(part: RecordPart) -> &'static str {
    match part {
        RecordPart::Value => "values=",
        RecordPart::Key => "key_values=",
    }
}

fn record_name(part: RecordPart) -> &'static str {
    match part {
        RecordPart::Value => "valueRecord",
        RecordPart::Key => "keyRecord",
    }
}

fn id_name(part: RecordPart) -> &'static str {
    match part {
        RecordPart::Value => "valueSchemaId",
        RecordPart::Key => "keySchemaId",
    }
}

fn usage(argument: &'static str, problem: &str) -> Error {
    ErrorKind::Usage { argument, problem: problem.to_owned() }.into()
}

/// Records with decoded keys and values.
struct TypedStream {
    inner: Box<dyn BatchSource>,
    layout: ColumnLayout,
    value: Option<ValueDecoder>,
    key: Option<ValueDecoder>,
    on_error: OnError,
    /// Records that are not decoded yet: from this row on.
    pending: Option<(RecordBatch, usize)>,
    findings: Findings,
    failed: Option<Error>,
    is_done: bool,
}

impl TypedStream {
    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        let (batch, start) = match self.pending.take() {
            Some(pending) => pending,
            None => match self.inner.next_batch()? {
                Some(batch) => (batch, 0),
                None => return Ok(None),
            },
        };
        let parts = RecordParts::of(&batch)?;
        let mut row = start;
        while row < batch.num_rows() && self.spent() < MOST_SPENT {
            if let Err(error) = self.push(&parts, row) {
                self.failed = Some(error);
                break;
            }
            row += 1;
        }
        if row < batch.num_rows() && self.failed.is_none() {
            self.pending = Some((batch.clone(), row));
        }
        let rows = batch.slice(start, row - start);
        if rows.num_rows() == 0 && self.failed.is_some() {
            return self.failed.take().map_or(Ok(None), Err);
        }
        self.close(&rows).map(Some).map_err(|error| ErrorKind::Internal { what: error.to_string() }.into())
    }

    fn spent(&self) -> u64 {
        self.value.iter().chain(&self.key).map(ValueDecoder::spent).fold(0, u64::saturating_add)
    }

    fn push(&mut self, parts: &RecordParts<'_>, row: usize) -> Result<()> {
        for part in [RecordPart::Value, RecordPart::Key] {
            let decoder = match part {
                RecordPart::Value => &mut self.value,
                RecordPart::Key => &mut self.key,
            };
            let Some(decoder) = decoder else { continue };
            let Some(bytes) = parts.bytes(part, row) else {
                decoder.push_null();
                continue;
            };
            if let Err(Flaw { problem, is_error }) = decoder.push(bytes, parts.header(part, row)) {
                let kind = ErrorKind::Value { rule: problem.rule(), offset: Some(parts.offset(row)), problem: problem.to_string() };
                let field = if part == RecordPart::Value { "value" } else { "key" };
                let position = parts.position(row);
                let error = Error::from(kind).at_byte(position).in_field(field);
                // A valid value that its columns cannot hold does not end the read.
                let is_error = is_error && !problem.is_unheld();
                if is_error && self.on_error == OnError::Raise {
                    return Err(error);
                }
                let (length, offset) = (u64::try_from(bytes.len()).unwrap_or(u64::MAX), Some(parts.offset(row)));
                let finding = Finding::of_error(&error, position, length);
                let severity = if is_error { finding.severity } else { Severity::Warning };
                self.findings.push(Finding { base_offset: offset, last_offset: offset, severity, ..finding });
            }
        }
        Ok(())
    }

    /// The columns of these records, whose keys and values are decoded; of a row that failed there may be one more.
    fn close(&mut self, rows: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
        let finished = |decoder: &mut Option<ValueDecoder>| match decoder {
            Some(decoder) => {
                let (record, ids) = decoder.finish()?;
                Ok::<_, ArrowError>(Some([record.slice(0, rows.num_rows()), ids.slice(0, rows.num_rows())]))
            }
            None => Ok(None),
        };
        let (value, key) = (finished(&mut self.value)?, finished(&mut self.key)?);
        let part = |part: RecordPart| if part == RecordPart::Value { value.as_ref() } else { key.as_ref() };
        let missing = || ArrowError::SchemaError("a column is missing".to_owned());
        let array = |cell: &ColumnSource| match cell {
            ColumnSource::Raw(column) => rows.column_by_name(column.name()).cloned().ok_or_else(missing),
            ColumnSource::Record(of) => part(*of).map(|[record, _]| Arc::clone(record)).ok_or_else(missing),
            ColumnSource::SchemaId(of) => part(*of).map(|[_, ids]| Arc::clone(ids)).ok_or_else(missing),
            ColumnSource::Field(of, path) => part(*of).and_then(|[record, _]| inside(record, path)).ok_or_else(missing),
        };
        let arrays = self.layout.cells.iter().map(array).collect::<std::result::Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.layout.schema), arrays, &options)
    }
}

/// A field of structs in structs; it is null where one of them is.
fn inside(array: &ArrayRef, path: &[usize]) -> Option<ArrayRef> {
    let mut found = Arc::clone(array);
    let mut nulls: Option<NullBuffer> = None;
    for number in path {
        let rows: &StructArray = found.as_struct_opt()?;
        nulls = NullBuffer::union(nulls.as_ref(), rows.nulls());
        let child = Arc::clone(rows.columns().get(*number)?);
        found = child;
    }
    if found.data_type() == &DataType::Null {
        return Some(found);
    }
    let nulls = NullBuffer::union(nulls.as_ref(), found.nulls());
    let data = found.to_data().into_builder().nulls(nulls).build().ok()?;
    Some(arrow_array::make_array(data))
}

impl BatchSource for TypedStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.layout.schema)
    }

    /// Rows before an error are given first, then the error, then nothing.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_done {
            return Ok(None);
        }
        let next = match self.failed.take() {
            Some(error) => Err(error),
            None => self.pull(),
        };
        self.is_done = !matches!(next, Ok(Some(_)));
        next
    }

    fn take_findings(&mut self) -> Findings {
        let mut findings = self.inner.take_findings();
        findings.append(std::mem::take(&mut self.findings));
        findings
    }

    fn stats(&self) -> Stats {
        let mut stats = self.inner.stats();
        self.value.iter().chain(&self.key).for_each(|decoder| stats.add(decoder.counts()));
        stats
    }

    fn value_notes(&self) -> ValueNotes {
        let mut notes = ValueNotes::default();
        self.value.iter().chain(&self.key).for_each(|decoder| notes.add(decoder.notes()));
        notes
    }
}
