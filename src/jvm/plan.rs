//! The plan of a query for Java: options, columns and filters go in, the columns or the tasks come out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::jvm::error_text;
use crate::jvm::fields::FieldsWriter;
use crate::jvm::plan_bytes::{self, SKIPPING};
use crate::jvm::plan_request::{PlanRequest, SchemaColumn};
use crate::jvm::plan_talk::{Asker, PlanTalk};
use crate::jvm::questions::{JavaKeys, Questions};
use crate::jvm::spark_schema::{fields_of, simple, struct_of, text_field};
use crate::jvm::task::SparkTask;
use crate::partition::segment_at;
use crate::places::{FileStorage, uris};
use crate::spark::{BatchQuery, QueryOptions, QueryPlanner, QueryResult, RowColumns, SparkError, WantedRows, with_settings};
use crate::tiered::{self, TieredError};

/// Start to plan what the bytes of Java ask for.
pub fn start(request: Vec<u8>) -> PlanTalk {
    PlanTalk::start(move |asker| PlanWork::new(&asker).run(&request))
}

/// The work on one request.
struct PlanWork {
    questions: Arc<Questions>,
    storage: FileStorage,
    /// The last error of a store or of tiered storage.
    raised: Arc<Mutex<Option<TieredError>>>,
}

impl PlanWork {
    fn new(asker: &Arc<Asker>) -> Self {
        let questions = Questions::new(asker);
        let raised = Arc::<Mutex<Option<TieredError>>>::default();
        let (own, kept) = (Arc::clone(&questions), Arc::clone(&raised));
        let rings = Arc::new(move |text: &str| -> Arc<dyn tiered::UnwrapKey> {
            Arc::new(JavaKeys { text: text.to_owned(), questions: Arc::clone(&own) })
        });
        let on_error = Arc::new(move |error: &TieredError| {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        });
        Self { questions, storage: FileStorage::new(rings, on_error, asker.interrupt()), raised }
    }

    fn run(&self, bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let request = PlanRequest::parse(bytes).map_err(|error| self.text(&error.into(), ""))?;
        let mut hint = "";
        self.planned(&request, &mut hint).map_err(|error| self.text(&error, hint))
    }

    fn planned(&self, request: &PlanRequest, hint: &mut &str) -> QueryResult<Vec<u8>> {
        let options = with_settings(&request.options, &request.settings)?;
        let mut out = FieldsWriter::default();
        out.list(described(&request.options), |out, (name, value)| {
            out.text(&name).text(&value);
        });
        let reason = if request.wants_tasks { BatchQuery::python_reason(&options)? } else { BatchQuery::view(&options)? };
        if let Some(reason) = reason {
            return Ok(std::mem::take(out.given_text(Some(&reason))).into_bytes());
        }
        let query = if request.wants_tasks { BatchQuery::parse(&options)? } else { BatchQuery::of_columns(&options)? };
        if !query.skips_damage() {
            *hint = SKIPPING;
        }
        if request.wants_tasks {
            out.given_text(None);
            self.tasks(request, &query, &mut out)?;
        } else if query.needs_schemas() {
            out.given_text(Some("values with schemas"));
        } else {
            out.given_text(None);
            self.columns(request, &query, &mut out)?;
        }
        Ok(out.into_bytes())
    }

    /// Write the columns of a query whose user names none by a schema. A path that does not exist fails here.
    fn columns(&self, request: &PlanRequest, query: &BatchQuery, out: &mut FieldsWriter) -> QueryResult<()> {
        self.planner(request, query, &WantedRows::default()).ensure_paths()?;
        let columns = RowColumns::usual(query)?;
        let mut fields = own_fields(query, &columns, None)?;
        fields.extend(columns.has_corrupt.then(|| text_field(&query.corrupt)));
        out.text(&struct_of(fields).to_string());
        Ok(())
    }

    fn tasks(&self, request: &PlanRequest, query: &BatchQuery, out: &mut FieldsWriter) -> QueryResult<()> {
        let names: Vec<String> = request.columns.iter().map(|column| column.name.clone()).collect();
        let columns = RowColumns::of_schema(&names, query)?;
        let schemas = if query.needs_schemas() { Some(self.questions.schemas()?) } else { None };
        ensure_types(&request.columns, query, &columns, schemas.as_deref())?;
        let wanted = WantedRows::of(&request.filters);
        let plan = self.planner(request, query, &wanted).plan()?;
        let warnings: Vec<&String> = query.ignored.iter().chain(&plan.warnings).collect();
        out.list(warnings, |out, warning| {
            out.text(warning);
        });
        out.bytes(&plan_bytes::query(query, &columns, schemas.as_deref()));
        let tasks =
            plan.tasks.iter().map(|pieces| plan_bytes::task(pieces, |path| self.opened_as(path))).collect::<QueryResult<Vec<_>>>()?;
        out.list(tasks, |out, task| {
            out.bytes(&task);
        });
        Ok(())
    }

    fn planner<'a>(&'a self, request: &PlanRequest, query: &'a BatchQuery, wanted: &'a WantedRows) -> QueryPlanner<'a> {
        QueryPlanner { query, wanted, storage: &self.storage, matcher: &*self.questions, cores: request.cores }
    }

    /// The path of a segment as its task opens it, with its data key instead of private keys; and the first offset of its name.
    fn opened_as(&self, path: &Path) -> QueryResult<(PathBuf, i64)> {
        let base = segment_at(path, &self.storage).base_offset.unwrap_or(0);
        if !uris::is_uploaded(path) {
            return Ok((path.to_owned(), base));
        }
        let uri = self.storage.asked(path, || self.storage.upload(path))?;
        if uri.keys.text().is_empty() {
            return Ok((path.to_owned(), base));
        }
        let key = self.storage.asked(path, || tiered::data_key_of(&uri, &crate::partition::Storage::interrupt(&self.storage)))?;
        let own = tiered::uri_text(&path.to_string_lossy(), &key.unwrap_or_default(), uri.layouts.text());
        Ok((own.into(), base))
    }

    fn text(&self, error: &SparkError, hint: &str) -> String {
        match error {
            SparkError::Value(text) => format!("ValueError: {text}"),
            SparkError::System(text) => format!("OSError: {text}"),
            SparkError::Core(error) => error_text::text(error, hint, self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()),
        }
    }
}

/// The columns in the types of Spark.
fn own_fields(query: &BatchQuery, columns: &RowColumns, schemas: Option<&[u8]>) -> QueryResult<Vec<Value>> {
    let mut data = FieldsWriter::default();
    data.list(&columns.names, |out, name| {
        out.text(name);
    });
    data.long(i64::MAX).raw(&plan_bytes::query(query, columns, schemas)).list([(); 0], |_, ()| {});
    let SparkTask { query, .. } = SparkTask::parse(&data.into_bytes())?;
    let fields = fields_of(&query.schema)?;
    Ok(fields.into_iter().take(columns.names.len()).collect())
}

/// Refuse columns of a schema that are unknown or of another type. Spark would otherwise misread them.
fn ensure_types(given: &[SchemaColumn], query: &BatchQuery, columns: &RowColumns, schemas: Option<&[u8]>) -> QueryResult<()> {
    let own = own_fields(query, columns, schemas).map_err(|error| match error {
        SparkError::Core(error) => SparkError::value(format!("schema: {error}")),
        other => other,
    })?;
    let is_corrupt = |column: &&SchemaColumn| columns.has_corrupt && column.name == query.corrupt;
    if let Some(column) = given.iter().find(is_corrupt)
        && (column.kind != "string" || !column.is_nullable)
    {
        return Err(SparkError::value(format!("schema: column {} (descriptions of damage) must be a nullable string", query.corrupt)));
    }
    for (column, own) in given.iter().filter(|column| !is_corrupt(column)).zip(&own) {
        let right = own.get("type").unwrap_or(&Value::Null);
        let name = &column.name;
        if column.kind != *right {
            return Err(SparkError::value(format!("schema: column {name} is {}, not {}", simple(right), simple(&column.kind))));
        }
        if !column.is_nullable {
            return Err(SparkError::value(format!("schema: column {name} is nullable, as in Spark's Kafka source")));
        }
    }
    Ok(())
}

/// What a plan shows: the paths, and the options that are no settings of a store or of brokers, which may be secret.
fn described(options: &QueryOptions) -> Vec<(String, String)> {
    let hidden = ["storage.", "kafka.", "plugins.kafka.", "jvm."];
    let mut found = Vec::new();
    for name in options.names() {
        let value = options.get(name).unwrap_or_default();
        match name.to_lowercase().as_str() {
            "keys" => {}
            "path" => found.push((name.to_owned(), uris::redacted_uri(Path::new(value)))),
            "paths" => {
                let paths: Vec<String> = serde_json::from_str(value).unwrap_or_default();
                let shown: Vec<String> = paths.iter().map(|path| uris::redacted_uri(Path::new(path))).collect();
                found.push((name.to_owned(), shown.join(", ")));
            }
            lower if hidden.iter().any(|prefix| lower.starts_with(prefix)) => {}
            _ => found.push((name.to_owned(), value.to_owned())),
        }
    }
    found.sort_by_key(|(name, _)| !name.to_lowercase().starts_with("path"));
    found
}
