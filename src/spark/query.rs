//! The options of a batch query of records, parsed.

use std::path::{Path, PathBuf};

use super::error::{QueryResult, SparkError, quoted};
use super::names::{KAFKA_ISOLATION, LIMITS, check_known, check_names, has_prefix};
use super::offset_limit::{OffsetLimit, batch_limits};
use super::options::QueryOptions;
use super::paths::paths_of;
use super::topics::{ReplicaOptions, TopicPartition, TopicSelection};
use crate::codec::zstd::Dictionaries;
use crate::columns::OnError;
use crate::decode::{DecodeOptions, Unreadable};
use crate::error::Error;
use crate::limits::Limits;
use crate::model::Formats;
use crate::partition::Replica;
use crate::quirks::{Quirk, Quirks};
use crate::stores;

/// Bytes of an Arrow batch. In batches of 1 MiB small records took 5 to 15 % more CPU a row on their way to the JVM.
const BATCH_BYTES: i64 = 4 << 20;
const BATCH_ROWS: i64 = 65_536;
const PARTITION_BYTES: u64 = 128 << 20;
/// The name of the corrupt column, unless the option sets another one.
const CORRUPT_RECORD: &str = "_corrupt_record";

/// The options that decide which columns there are.
const OF_COLUMNS: [&str; 15] = [
    "path",
    "paths",
    "keys",
    "layout",
    "storage.",
    "includeHeaders",
    "columns",
    "values",
    "keyValues",
    "schemas.path",
    "schemas.framing",
    "readerSchema",
    "integers",
    "mode",
    "columnNameOfCorruptRecord",
];

/// Reaction to damage: the option `mode` of Spark's file sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageMode {
    /// FAILFAST: end with the error.
    Fail,
    /// PERMISSIVE: go on, with a row for each skipped place if the read has the corrupt column.
    Report,
    /// DROPMALFORMED: go on.
    Drop,
}

/// How keys or values are decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedValues {
    /// As bytes.
    Raw,
    /// The records of Kafka's internal topics.
    Internal,
    /// By one of Kafka's own serializers, by its name.
    Primitive(String),
    /// With schemas.
    Schemas(String),
}

/// Which reader reads the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReaderName {
    Auto,
    Python,
    Columnar,
}

/// A batch query of records.
#[derive(Clone, Debug)]
pub struct BatchQuery {
    pub(super) paths: Vec<PathBuf>,
    pub(super) selection: TopicSelection,
    /// The name of files outside of partition directories.
    pub(super) unnamed: TopicPartition,
    pub(super) partition: ReplicaOptions,
    /// What to do at damage.
    pub damage: DamageMode,
    /// The name of the corrupt column.
    pub corrupt: String,
    /// Rows of committed transactions only.
    pub is_committed: bool,
    /// What to do at an undamaged batch that cannot be read here.
    pub unreadable: Unreadable,
    /// Most rows of a batch.
    pub batch_rows: i64,
    /// About how many bytes of keys and values a batch has.
    pub batch_bytes: i64,
    /// Batches of magic 3 are read.
    pub reads_proposed: bool,
    /// Deviations from Kafka's formats that are accepted.
    pub quirks: Quirks,
    /// The bytes of dictionaries of zstd.
    pub dictionaries: Vec<Vec<u8>>,
    /// What a batch may claim.
    pub limits: Limits,
    pub(super) starting: OffsetLimit,
    pub(super) ending: OffsetLimit,
    pub(super) min_partitions: Option<u64>,
    pub(super) max_records: Option<i64>,
    pub(super) max_partition_bytes: u64,
    /// Missing offsets and files end the query.
    pub fails_on_data_loss: bool,
    /// A time for which there is no record means the end of the log.
    pub(super) goes_on_without_match: bool,
    /// The column `headers` is among the usual ones.
    pub includes_headers: bool,
    /// The names of the columns; `None` for the usual ones.
    pub columns: Option<Vec<String>>,
    /// How values are decoded.
    pub values: TypedValues,
    /// How keys are decoded.
    pub keys: TypedValues,
    pub(super) reader: ReaderName,
    /// What only the Python reader does.
    reasons: Vec<String>,
    /// A warning about options that are ignored.
    pub ignored: Option<String>,
}

impl BatchQuery {
    /// Parse the options.
    ///
    /// # Errors
    /// `Value` for an unknown option, an invalid value or combination, or without a path.
    pub fn parse(options: &QueryOptions) -> QueryResult<Self> {
        let ignored = check_names(&options.names(), options.get("isolation").is_some())?;
        let damage = options
            .choice("mode", &[("FAILFAST", DamageMode::Fail), ("PERMISSIVE", DamageMode::Report), ("DROPMALFORMED", DamageMode::Drop)])?;
        let corrupt = options.get("columnNameOfCorruptRecord").unwrap_or(CORRUPT_RECORD).to_owned();
        if corrupt.is_empty() {
            return Err(SparkError::value("option columnNameOfCorruptRecord must be the name of a column, not ''"));
        }
        let (starting, ending) = batch_limits(options)?;
        let number = |name, default| Ok::<i64, SparkError>(options.integer(name, 1, i64::from(i32::MAX))?.unwrap_or(default));
        let (values, keys) = (values_of(options, "values")?, values_of(options, "keyValues")?);
        ensure_schemas_used(options, &values, &keys)?;
        Ok(Self {
            paths: paths_of(options)?,
            selection: TopicSelection::parse(options)?,
            unnamed: unnamed(options)?,
            partition: ReplicaOptions {
                replica: replica(options)?,
                ignores_log_start: options.choice("logStartOffset", &[("honour", false), ("ignore", true)])?,
            },
            damage,
            corrupt,
            is_committed: is_committed(options)?,
            unreadable: options.choice("unreadable", &[("raise", Unreadable::Raise), ("skip", Unreadable::Skip)])?,
            batch_rows: number("batchSize", BATCH_ROWS)?,
            batch_bytes: number("batchBytes", BATCH_BYTES)?,
            reads_proposed: options.choice("format", &[("auto", false), ("v3", true)])?,
            quirks: quirks(options)?,
            dictionaries: dictionaries(options)?,
            limits: limits(options)?,
            starting,
            ending,
            min_partitions: options.integer("minPartitions", 1, i64::from(i32::MAX))?.map(i64::unsigned_abs),
            max_records: options.integer("maxRecordsPerPartition", 1, i64::MAX)?,
            max_partition_bytes: options.integer("maxPartitionBytes", 1, i64::MAX)?.map_or(PARTITION_BYTES, i64::unsigned_abs),
            fails_on_data_loss: options.boolean("failOnDataLoss", true)?,
            goes_on_without_match: options.choice("startingOffsetsByTimestampStrategy", &[("error", false), ("latest", true)])?,
            includes_headers: options.boolean("includeHeaders", false)?,
            columns: columns(options)?,
            values,
            keys,
            reader: options
                .choice("reader", &[("auto", ReaderName::Auto), ("python", ReaderName::Python), ("columnar", ReaderName::Columnar)])?,
            reasons: reasons(options),
            ignored,
        })
    }

    /// Return why Python must read a query, or `None` if it is planned here.
    ///
    /// # Errors
    /// `Value` for a query that asks for the columnar reader and cannot have it, or for an unknown view.
    pub fn python_reason(options: &QueryOptions) -> QueryResult<Option<String>> {
        if let Some(reason) = Self::view(options)? {
            return Ok(Some(reason));
        }
        let parsed = Self::parse(options)?;
        let own = (parsed.reader == ReaderName::Python).then(|| "option reader is python".to_owned());
        let reason = own.or_else(|| parsed.reasons.first().cloned());
        match (&reason, parsed.reader) {
            (Some(reason), ReaderName::Columnar) => {
                Err(SparkError::value(format!("option reader: the columnar reader does not read this query: {reason}")))
            }
            _ => Ok(reason),
        }
    }

    /// Return the view of a query as a reason why Python reads it; `None` for records.
    ///
    /// # Errors
    /// `Value` for an unknown view.
    pub fn view(options: &QueryOptions) -> QueryResult<Option<String>> {
        let view = options.choice("view", &[("records", None), ("batches", Some("batches")), ("findings", Some("findings"))])?;
        Ok(view.map(|view| format!("view {view}")))
    }

    /// Parse the options that decide which columns there are; others may be of a streaming query.
    ///
    /// # Errors
    /// `Value` for an option that nothing has, and for an invalid value.
    pub fn of_columns(options: &QueryOptions) -> QueryResult<Self> {
        check_known(&options.names())?;
        Self::parse(&options.only(&OF_COLUMNS))
    }

    /// True if the read goes on past damage.
    pub fn skips_damage(&self) -> bool {
        self.damage != DamageMode::Fail
    }

    /// What to do at damage, as streams know it.
    pub fn on_error(&self) -> OnError {
        if self.skips_damage() { OnError::Skip } else { OnError::Raise }
    }

    /// The formats that are read.
    pub fn formats(&self) -> Formats {
        if self.reads_proposed { Formats::Every } else { Formats::Auto }
    }

    /// How batches are decoded.
    ///
    /// # Errors
    /// For a file that is not a dictionary.
    pub fn decode(&self) -> QueryResult<DecodeOptions> {
        let formats = self.formats();
        let mut decode = DecodeOptions { formats, limits: self.limits, unreadable: self.unreadable, ..DecodeOptions::default() };
        decode.codecs.quirks = self.quirks;
        decode.codecs.zstd_dictionaries = Dictionaries::new(self.dictionaries.clone())?;
        Ok(decode)
    }

    /// True if keys or values are decoded with schemas, which Python finds.
    pub fn needs_schemas(&self) -> bool {
        [&self.values, &self.keys].iter().any(|kind| matches!(kind, TypedValues::Schemas(_)))
    }
}

fn unnamed(options: &QueryOptions) -> QueryResult<TopicPartition> {
    let partition = options.integer("partition", 0, i64::from(i32::MAX))?.and_then(|number| i32::try_from(number).ok());
    Ok(TopicPartition { topic: options.get("topic").map(str::to_owned), partition })
}

fn replica(options: &QueryOptions) -> QueryResult<Replica> {
    match options.get("replica") {
        None => Ok(Replica::Unknown),
        Some(text) if text.trim().is_empty() => {
            let text = format!("option replica must be longest, first or the path of a directory, not {}", options.shown("replica"));
            Err(SparkError::value(text))
        }
        Some("first") => Ok(Replica::First),
        Some("longest") => Ok(Replica::Longest),
        Some(path) => {
            let path = stores::to_internal_uri(Path::new(path)).map_err(|error| SparkError::value(error.to_string()))?;
            Ok(Replica::Below(path))
        }
    }
}

/// Our option, or Kafka's own name of it.
fn is_committed(options: &QueryOptions) -> QueryResult<bool> {
    let name = if options.get("isolation").is_none() && options.get(KAFKA_ISOLATION).is_some() { KAFKA_ISOLATION } else { "isolation" };
    match options.get(name).map(str::to_lowercase).as_deref() {
        None | Some("read_uncommitted") => Ok(false),
        Some("read_committed") => Ok(true),
        Some(_) => {
            let text = format!("option isolation must be read_uncommitted or read_committed, not {}", options.shown(name));
            Err(SparkError::value(text))
        }
    }
}

fn columns(options: &QueryOptions) -> QueryResult<Option<Vec<String>>> {
    let Some(text) = options.get("columns") else { return Ok(None) };
    let names: Vec<String> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    if names.is_empty() || unique.len() < names.len() {
        let text = format!("option columns must be different names of columns with commas between them, not {}", options.shown("columns"));
        return Err(SparkError::value(text));
    }
    Ok(Some(names))
}

fn quirks(options: &QueryOptions) -> QueryResult<Quirks> {
    let text = options.get("quirks").unwrap_or_default().to_lowercase();
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    Quirks::named(&names).map_err(|name| {
        let known = Quirk::ALL.map(|quirk| format!("\"{}\"", quirk.name())).join(" or ");
        SparkError::value(format!("option quirks must be {known}, not {}", quoted(name)))
    })
}

/// The bytes of the files: paths with commas between them, or a JSON array. They are read here, and travel with the tasks.
fn dictionaries(options: &QueryOptions) -> QueryResult<Vec<Vec<u8>>> {
    let Some(text) = options.get("zstdDictionaries") else { return Ok(Vec::new()) };
    let files: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).unwrap_or_default()
    } else {
        text.split(',').map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned).collect()
    };
    if files.is_empty() || files.iter().any(String::is_empty) {
        let text =
            format!("option zstdDictionaries must be paths with commas between them, or a JSON array of paths, not {}", quoted(text));
        return Err(SparkError::value(text));
    }
    let read = |file: &String| {
        let path = stores::to_internal_uri(Path::new(file)).map_err(|error| SparkError::value(error.to_string()))?;
        std::fs::read(&path).map_err(|error| Error::from(error).in_file(&stores::redacted_uri(&path).into()).into())
    };
    files.iter().map(read).collect()
}

fn limits(options: &QueryOptions) -> QueryResult<Limits> {
    let mut limits = Limits::default();
    let set = |name: &str, default: u64| {
        let option = format!("{LIMITS}{name}");
        let Some(text) = options.get(&option) else { return Ok(default) };
        let word = text.trim().to_lowercase();
        if word == "unlimited" {
            return Ok(u64::MAX);
        }
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        match word.parse::<u64>().ok().filter(|_| is_number) {
            None => Err(SparkError::value(format!("option {option} must be a whole number or unlimited, not {}", options.shown(&option)))),
            Some(0) => Err(SparkError::value(format!("option {option} must be at least 1"))),
            Some(limit) => Ok(limit),
        }
    };
    limits.max_batch_bytes = set("max_batch_bytes", limits.max_batch_bytes)?;
    limits.max_decompressed_bytes = set("max_decompressed_bytes", limits.max_decompressed_bytes)?;
    limits.max_ratio = set("max_ratio", limits.max_ratio)?;
    limits.max_records = set("max_records", limits.max_records)?;
    limits.max_headers = set("max_headers", limits.max_headers)?;
    limits.max_nesting = u32::try_from(set("max_nesting", u64::from(limits.max_nesting))?).unwrap_or(u32::MAX);
    Ok(limits)
}

/// The types of Kafka's own serializers.
const PRIMITIVES: [&str; 7] = ["string", "long", "int", "short", "float", "double", "uuid"];
const OF_SCHEMAS: [&str; 4] = ["auto", "avro", "json", "protobuf"];

fn values_of(options: &QueryOptions, name: &str) -> QueryResult<TypedValues> {
    let text = options.get(name).unwrap_or("raw").trim().to_lowercase();
    let inner = ["windowed(", "session("].iter().find_map(|front| text.strip_prefix(front)?.strip_suffix(')'));
    match text.as_str() {
        "raw" => Ok(TypedValues::Raw),
        "internal" if name == "values" => Ok(TypedValues::Internal),
        known if OF_SCHEMAS.contains(&known) => Ok(TypedValues::Schemas(text)),
        known if PRIMITIVES.contains(&inner.unwrap_or(known)) => Ok(TypedValues::Primitive(text)),
        _ => {
            let internal = if name == "values" { &["internal"][..] } else { &[] };
            let names: Vec<String> =
                [&["raw"], internal, &OF_SCHEMAS, &PRIMITIVES].concat().iter().map(|name| format!("\"{name}\"")).collect();
            let text = format!("option {name} must be {}, \"windowed(TYPE)\" or \"session(TYPE)\", not '{text}'", names.join(", "));
            Err(SparkError::value(text))
        }
    }
}

/// Refuse options of schemas that mean nothing, since neither keys nor values are decoded with schemas.
fn ensure_schemas_used(options: &QueryOptions, values: &TypedValues, keys: &TypedValues) -> QueryResult<()> {
    if [values, keys].iter().any(|kind| matches!(kind, TypedValues::Schemas(_))) {
        return Ok(());
    }
    let useless = ["schemas.path", "schemas.framing", "readerSchema", "integers"].into_iter().find(|name| options.get(name).is_some());
    match useless {
        Some(name) => Err(SparkError::value(format!("option {name} needs the option values or keyValues, such as values=avro"))),
        None => Ok(()),
    }
}

/// What only the Python reader does.
fn reasons(options: &QueryOptions) -> Vec<String> {
    let mut reasons = Vec::new();
    if options.names().iter().any(|name| has_prefix(name, "plugins.")) {
        reasons.push("plugin codecs".to_owned());
    }
    if options.get("ioStats").is_some() {
        reasons.push("option ioStats".to_owned());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(given: &[(&str, &str)]) -> QueryResult<BatchQuery> {
        let options =
            QueryOptions::new(given.iter().chain([&("path", "/a")]).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        BatchQuery::parse(&options)
    }

    #[test]
    fn options_have_the_defaults_of_spark() {
        let query = query(&[]).unwrap();
        assert_eq!(
            (query.damage, query.batch_rows, query.batch_bytes, query.fails_on_data_loss),
            (DamageMode::Fail, 65_536, 4 << 20, true)
        );
        assert_eq!((query.values, query.is_committed, query.limits), (TypedValues::Raw, false, Limits::default()));
    }

    #[test]
    fn invalid_options_are_named() {
        for (name, value) in [
            ("mode", "x"),
            ("isolation", "x"),
            ("columns", "key,key"),
            ("limits.max_records", "0"),
            ("values", "xml"),
            ("schemas.path", "/x"),
            ("startingOffset", "1"),
            ("upTo", "logEnd"),
            ("replica", " "),
            ("failOnDataLoss", "yes"),
            ("subscribe", ","),
        ] {
            let error = query(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        assert!(query(&[("kafka.group.id", "x")]).unwrap().ignored.unwrap().contains("kafka.group.id"));
    }
}
