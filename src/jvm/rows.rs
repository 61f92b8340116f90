//! The rows of one part: its records with the corrupt column, and after them the rows about skipped places, as
//! `logsegment.spark.read.damage` describes them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use crate::columns::selection::selected;
use crate::columns::source_chain::OpenStream;
use crate::columns::{BatchSource, Column, stream};
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result, grouped};
use crate::jvm::mode::Mode;
use crate::jvm::names::redacted_uri;
use crate::jvm::note::TaskNote;
use crate::jvm::opening::source;
use crate::jvm::part::TaskPart;
use crate::jvm::query::Query;
use crate::jvm::share::reported_by;
use crate::jvm::stored::{Raised, StoreReports};
use crate::jvm::uncut::gone;

use crate::validate::lost_ranges::merged;
use crate::validate::{Finding, Findings};
use crate::values;

/// What the parts of a task share.
pub struct TaskContext {
    /// The query.
    pub query: Query,
    /// The last error of a store.
    pub raised: Raised,
    /// Sentences for the log, which end no query.
    warnings: Mutex<Vec<String>>,
}

impl TaskContext {
    /// A reading of a task of the query.
    pub fn new(query: Query) -> Self {
        Self { query, raised: Raised::default(), warnings: Mutex::default() }
    }

    /// Take the warnings.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn warn(&self, text: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Report that a file is gone or was cut.
    ///
    /// # Errors
    /// `Io`, unless the query continues without the records.
    fn lose(&self, text: &str, kind: std::io::ErrorKind) -> Result<()> {
        if self.query.fails_on_data_loss {
            let message = format!("{text}; set failOnDataLoss to false to read the remaining records");
            return Err(ErrorKind::Io { kind, os_code: None, message }.into());
        }
        self.warn(format!("{text}: its records are left out"));
        Ok(())
    }
}

/// The name of a part, and what opens its rows.
pub fn opener(part: TaskPart, reading: &Arc<TaskContext>) -> (Arc<str>, OpenStream) {
    let reading = Arc::clone(reading);
    let path = redacted_uri(&part.bytes.path);
    (Arc::from(path.as_str()), Box::new(move || Ok(Box::new(PartRows::open(part, path, reading)?))))
}

/// The rows of a part.
struct PartRows {
    /// The records; `None` after the last one.
    records: Option<Box<dyn BatchSource>>,
    part: TaskPart,
    path: String,
    reading: Arc<TaskContext>,
    reports: Arc<StoreReports>,
    /// The findings that are not about values.
    found: Findings,
    stats: Stats,
    schema: SchemaRef,
}

impl PartRows {
    fn open(part: TaskPart, path: String, reading: Arc<TaskContext>) -> Result<Self> {
        let query = &reading.query;
        let reports = StoreReports::new(query.skips_damage(), &reading.raised);
        let mut options = part.options(&query.options);
        let on_cut = |text: String| reading.lose(&text, std::io::ErrorKind::Other);
        let records = match source(&part.bytes, &mut options.decode, &reports, &on_cut) {
            Ok(source) => Some(match &query.typed {
                Some(typed) => values::open(source, options, typed)?,
                None => stream::open(source, options),
            }),
            Err(error) if is_not_found(&error) => {
                reading.lose(&gone(&part.bytes.path), std::io::ErrorKind::NotFound)?;
                None
            }
            Err(error) => return Err(error),
        };
        let schema = Arc::clone(&query.schema);
        Ok(Self { records, part, path, reading, reports, found: Findings::default(), stats: Stats::default(), schema })
    }

    /// The next records with the corrupt column.
    fn records(&mut self) -> Result<Option<RecordBatch>> {
        let Some(records) = &mut self.records else { return Ok(None) };
        let next = records.next_batch();
        let findings = records.take_findings().into_vec();
        self.stats = records.stats();
        let (of_values, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_of_value);
        self.found.extend(others);
        match next {
            Ok(Some(rows)) => self.shaped(&rows, &of_values).map(Some).map_err(|error| internal(&error)),
            Ok(None) => {
                self.records = None;
                self.last_rows()
            }
            Err(error) if is_not_found(&error) => {
                self.records = None;
                self.reading.lose(&gone(&self.part.bytes.path), std::io::ErrorKind::NotFound)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn shaped(&self, rows: &RecordBatch, of_values: &[Finding]) -> std::result::Result<RecordBatch, ArrowError> {
        let query = &self.reading.query;
        if of_values.is_empty() || !query.outputs.show_findings_of_values(query.mode) {
            return query.outputs.shaped(rows, None);
        }
        let mut bad: HashMap<Option<i64>, &Finding> = HashMap::new();
        for finding in of_values {
            if let Entry::Vacant(entry) = bad.entry(finding.base_offset) {
                entry.insert(finding);
            }
        }
        let offsets = rows.column_by_name(Column::Offset.name()).and_then(|column| column.as_primitive_opt::<Int64Type>()).cloned();
        let offsets = offsets.ok_or_else(|| ArrowError::SchemaError("the column of offsets is missing".to_owned()))?;
        let found = |row: usize| bad.get(&offsets.is_valid(row).then(|| offsets.value(row))).copied();
        if query.mode == Mode::Drop {
            let runs = runs_of((0..rows.num_rows()).filter(|row| found(*row).is_none()));
            let rows = selected(rows.columns().iter(), &rows.schema(), &runs)?;
            return query.outputs.shaped(&rows, None);
        }
        let text = |row: usize| found(row).map(|finding| TaskNote::from(finding).json(&self.path));
        query.outputs.shaped(rows, Some((0..rows.num_rows()).map(text).collect()))
    }

    /// The rows about skipped places, after the last record.
    fn last_rows(&mut self) -> Result<Option<RecordBatch>> {
        let findings = std::mem::take(&mut self.found).into_vec();
        let mut notes = self.reports.notes();
        notes.splice(0..0, self.part.finding.take());
        let notes: Vec<TaskNote> = merged(&findings, notes);
        let query = &self.reading.query;
        if query.mode != Mode::Report || !query.outputs.has_corrupt() {
            self.warn_of_unread(&notes);
            return Ok(None);
        }
        // A torn tail is damage where an entry should end.
        let is_cut = self.part.bytes.end.is_some();
        let notes = notes.into_iter().filter(|note| is_cut || !note.is_info()).collect();
        let notes = reported_by(notes, &self.part, query, &self.reading.raised)?;
        if notes.is_empty() {
            return Ok(None);
        }
        let texts = notes.iter().map(|note| Some(note.json(&self.path))).collect();
        let rows = self.rows_of(&notes).and_then(|rows| query.outputs.shaped(&rows, Some(texts)));
        rows.map(Some).map_err(|error| internal(&error))
    }

    /// A row for each finding, which is null except for its place.
    fn rows_of(&self, notes: &[TaskNote]) -> std::result::Result<RecordBatch, ArrowError> {
        let column = |name: &str, data_type: &DataType| -> ArrayRef {
            match name {
                "topic" => Arc::new(notes.iter().map(|_| self.part.topic.as_deref()).collect::<StringArray>()),
                "partition" => Arc::new(notes.iter().map(|_| self.part.partition).collect::<Int32Array>()),
                "offset" | "batchBaseOffset" | "entryPosition" => {
                    Arc::new(notes.iter().map(|note| note.number(name)).collect::<Int64Array>())
                }
                _ => new_null_array(data_type, notes.len()),
            }
        };
        let arrays = self.schema.fields().iter().map(|field| column(field.name(), field.data_type())).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(notes.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }

    /// Warn with the number of batches that `unreadable` left out, where no column reports them.
    fn warn_of_unread(&self, notes: &[TaskNote]) {
        let mut rules: Vec<&str> = notes.iter().filter(|note| note.is_unreadable).map(TaskNote::rule).collect();
        let unread = rules.len();
        if unread == 0 {
            return;
        }
        rules.sort_unstable();
        rules.dedup();
        let number = grouped(crate::wire::as_u64(unread));
        let (batches, rules) = (if unread == 1 { "batch" } else { "batches" }, rules.join(", "));
        self.reading.warn(format!("{}: {number} {batches} left out, undamaged but not readable here ({rules})", self.path));
    }
}

impl BatchSource for PartRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(rows) = self.records()? {
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// They are rows, or warnings.
    fn take_findings(&mut self) -> Findings {
        Findings::default()
    }

    fn stats(&self) -> Stats {
        self.stats
    }
}

/// True for a finding about a key or a value that cannot be decoded: its record is there, with null in its place.
fn is_of_value(finding: &Finding) -> bool {
    finding.rule().starts_with("SCH-")
}

fn is_not_found(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { kind: std::io::ErrorKind::NotFound, .. })
}

fn internal(error: &ArrowError) -> Error {
    ErrorKind::Internal { what: error.to_string() }.into()
}

/// Neighbouring rows as runs: first row, and row after the last one.
fn runs_of(rows: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some((_, end)) if *end == row => *end = row + 1,
            _ => runs.push((row, row + 1)),
        }
    }
    runs
}
