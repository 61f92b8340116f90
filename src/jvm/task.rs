//! The data of a task: bytes that Python wrote go in, what is read comes out. `logsegment.spark.jvm.tasks` writes them.

use std::sync::Arc;

use crate::codec::Plugins;
use crate::codec::zstd::Dictionaries;
use crate::columns::{BinaryKind, OnError, Projection, StreamOptions, schema_of};
use crate::decode::{CodecOptions, DecodeOptions, Isolation, OffsetRange, Transactions, Unreadable};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::Interrupt;
use crate::jvm::fields::{NONE, TaskFields};
use crate::jvm::mode::Mode;
use crate::jvm::note::TaskNote;
use crate::jvm::outputs::Outputs;
use crate::jvm::part::{SegmentBytes, Share, TaskPart};
use crate::jvm::query::Query;
use crate::jvm::value_schemas::TaskSchemas;
use crate::limits::Limits;
use crate::model::Formats;
use crate::model::timestamp::TimeRange;
use crate::quirks::Quirks;
use crate::values::outputs::RecordPart as ValuePart;
use crate::values::{self, TypedOptions};

/// What one Spark task reads.
pub struct SparkTask {
    /// What all tasks of the query share.
    pub query: Query,
    /// The bytes of segments, in order.
    pub parts: Vec<TaskPart>,
}

impl SparkTask {
    /// Parse a task: the columns and the most rows, which Java writes, then what Python wrote.
    ///
    /// # Errors
    /// `Internal` if the bytes are not those of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut fields = TaskFields::new(bytes);
        let task = task(&mut fields).map_err(|error| match error.kind() {
            ErrorKind::Usage { .. } => error,
            _ => ErrorKind::Internal { what: "the data of a Spark task is unreadable".into() }.into(),
        })?;
        if fields.is_at_end() { Ok(task) } else { Err(ErrorKind::Internal { what: "the data of a Spark task is too long".into() }.into()) }
    }
}

fn task(fields: &mut TaskFields<'_>) -> Result<SparkTask> {
    let wanted = fields.list(TaskFields::text)?;
    let most_rows = fields.size()?;
    let query = query(fields, wanted, most_rows)?;
    let parts = fields.list(part)?;
    Ok(SparkTask { query, parts })
}

fn query(fields: &mut TaskFields<'_>, wanted: Vec<String>, most_rows: usize) -> Result<Query> {
    let (hint, registry) = (fields.text()?, fields.text()?);
    let formats = if fields.flag()? { Formats::Every } else { Formats::Auto };
    let (batch_size, batch_bytes) = (fields.size()?.min(most_rows).max(1), fields.size()?.max(1));
    let limits = limits(fields)?;
    let codecs = codecs(fields, &registry)?;
    let mode = match fields.long()? {
        0 => Mode::Fail,
        1 => Mode::Report,
        _ => Mode::Drop,
    };
    let unreadable = if fields.flag()? { Unreadable::Skip } else { Unreadable::Raise };
    let fails_on_data_loss = fields.flag()?;
    let mut outputs = Outputs::new(wanted, fields.given_text()?);
    let typed_names = fields.list(TaskFields::text)?;
    if outputs.show_findings_of_values(mode) {
        outputs.decode_for_findings(typed_names);
    }
    let (values, keys) = (TaskSchemas::parse(fields)?, TaskSchemas::parse(fields)?);
    let names = outputs.decoded();
    let plan = |schemas: Option<TaskSchemas>, part| schemas.map_or(Ok(None), |schemas| schemas.plan(names, part));
    let typed = TypedOptions::of(names, plan(values, ValuePart::Value)?, plan(keys, ValuePart::Key)?);
    let raw = typed.as_ref().map_or_else(|| names.to_vec(), TypedOptions::raw_names);
    let projection = Projection::named(Some(&raw), BinaryKind::Binary)
        .map_err(|error| Error::from(ErrorKind::Usage { argument: "columns", problem: error.to_string() }))?;
    let decode = DecodeOptions { formats, codecs, limits, unreadable, ..DecodeOptions::default() };
    let options = StreamOptions {
        decode,
        projection: Projection { has_null_headers: true, ..projection },
        topic: None,
        partition: None,
        on_error: if mode == Mode::Fail { OnError::Raise } else { OnError::Skip },
        is_tail_strict: false,
        batch_size,
        batch_bytes,
        keys: None,
        threads: 1,
        interrupt: Interrupt::default(),
    };
    let schema = match &typed {
        Some(typed) => values::schema_of(&options, typed)?,
        None => schema_of(&options),
    };
    Ok(Query { hint, options, mode, fails_on_data_loss, outputs, typed, schema })
}

/// The quirks, the dictionaries of zstd, and the absent plugins, whose errors name the options of a registry.
fn codecs(fields: &mut TaskFields<'_>, registry: &str) -> Result<CodecOptions> {
    let invalid = |name: &str| Error::from(ErrorKind::Usage { argument: "quirks", problem: format!("unknown name {name:?}") });
    let (quirks, dictionaries) = (fields.list(TaskFields::text)?, fields.list(|fields| fields.bytes().map(<[u8]>::to_vec))?);
    Ok(CodecOptions {
        quirks: Quirks::named(&quirks).map_err(invalid)?,
        zstd_dictionaries: Dictionaries::new(dictionaries)?,
        plugins: Plugins::absent(registry),
    })
}

fn limits(fields: &mut TaskFields<'_>) -> Result<Limits> {
    Ok(Limits {
        max_batch_bytes: fields.unsigned()?,
        max_decompressed_bytes: fields.unsigned()?,
        max_ratio: fields.unsigned()?,
        max_records: fields.unsigned()?,
        max_headers: fields.unsigned()?,
        max_nesting: u32::try_from(fields.unsigned()?).unwrap_or(u32::MAX),
    })
}

fn part(fields: &mut TaskFields<'_>) -> Result<TaskPart> {
    let (path, start, end) = (fields.path()?, fields.unsigned()?, fields.given_unsigned()?);
    let (offsets, wanted, shared) = (range(fields)?, range(fields)?, range(fields)?);
    let times = times(fields)?;
    let topic = fields.given_text()?;
    let partition = fields.given()?.and_then(|partition| i32::try_from(partition).ok());
    let is_tail_strict = fields.flag()?;
    let bytes = SegmentBytes { path, start, end, offsets, next_offset: fields.given()?, is_inner: fields.flag()? };
    let isolation = isolation(fields)?;
    let (first, resumes) = (fields.long()?, fields.flag()?);
    let share = Share { first, offsets: wanted.and(shared), resumes };
    let finding = if fields.flag()? { Some(TaskNote::parse(fields)?) } else { None };
    Ok(TaskPart { bytes, topic, partition, share, finding, wanted, shared, times, is_tail_strict, isolation })
}

/// A range without a first offset begins at the least number there is, which is also the mark of none.
fn range(fields: &mut TaskFields<'_>) -> Result<OffsetRange> {
    Ok(OffsetRange { start: fields.long()?, end: fields.given()? })
}

fn times(fields: &mut TaskFields<'_>) -> Result<Option<TimeRange>> {
    let (start, end) = (fields.long()?, fields.given()?);
    Ok((start != NONE || end.is_some()).then_some(TimeRange { start, end }))
}

/// The transactions of a committed read.
fn isolation(fields: &mut TaskFields<'_>) -> Result<Isolation> {
    if !fields.flag()? {
        return Ok(Isolation::ReadUncommitted);
    }
    let (stable, aborted, undecided) = (fields.given()?, fields.list(transaction)?, fields.list(transaction)?);
    Ok(Isolation::ReadCommitted(Arc::new(Transactions::from_parts(aborted, undecided, stable))))
}

/// Producer id, first offset and last offset.
fn transaction(fields: &mut TaskFields<'_>) -> Result<(i64, i64, i64)> {
    Ok((fields.long()?, fields.long()?, fields.long()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quirks::Quirk;

    fn counted(text: &[u8]) -> Vec<u8> {
        [&i32::try_from(text.len()).unwrap().to_be_bytes()[..], text].concat()
    }

    fn longs(numbers: &[i64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    fn count(number: i32) -> Vec<u8> {
        number.to_be_bytes().to_vec()
    }

    /// The schema of all values, with an id.
    fn schemas() -> Vec<u8> {
        let entry = [count(1), longs(&[7, 0]), counted(b"AVRO"), counted(b"\"long\""), count(0), count(0)].concat();
        let known = [counted(b"confluent"), counted(b"avro"), count(1), longs(&[0, NONE, 0]), count(0), longs(&[NONE]), counted(b"int64")];
        [longs(&[1]), entry, known.concat()].concat()
    }

    /// A task of one part with values, transactions and a finding.
    fn data() -> Vec<u8> {
        let columns = [count(2), counted(b"offset"), counted(b"valueRecord"), longs(&[i64::MAX])].concat();
        let shared = [counted(b""), counted(b""), longs(&[0, 65536, 1 << 22, 1, 2, 3, 4, 5, 6])];
        let codecs = [count(1), counted(b"lz4-dependent-blocks"), count(0), longs(&[1, 0, 1, 1]), counted(b"_corrupt_record")];
        let typed = [count(1), counted(b"valueRecord"), schemas(), longs(&[0])].concat();
        let place =
            [count(1), counted(b"/orders-0/0.log"), longs(&[0; 10]), longs(&[1]), counted(b"orders"), longs(&[0, 0, 5, 0])].concat();
        let transactions = [longs(&[1, 7]), count(1), longs(&[1, 2, 3]), count(1), longs(&[4, 5, 6])].concat();
        let finding = [longs(&[0, 0, 1]), counted(b"SEG-1"), counted(b"info"), counted(b"?"), longs(&[0, 0, NONE, NONE, NONE, 0])];
        [columns, shared.concat(), codecs.concat(), typed, place, transactions, finding.concat()].concat()
    }

    #[test]
    fn a_task_is_parsed() {
        let SparkTask { query, parts } = SparkTask::parse(&data()).unwrap();
        assert_eq!((query.options.batch_size, query.options.decode.limits.max_records, query.mode), (65536, 4, Mode::Report));
        let Isolation::ReadCommitted(known) = &parts[0].isolation else { panic!("it is committed") };
        assert_eq!((known.aborted(), known.last_stable_offset()), (vec![(1, 2, 3)], Some(7)));
        assert_eq!(query.options.decode.codecs.quirks, Quirks::default().with(Quirk::Lz4DependentBlocks));
        assert_eq!(query.schema.field(1).data_type(), &arrow_schema::DataType::Int64);
        assert_eq!((parts[0].topic.as_deref(), parts[0].bytes.next_offset), (Some("orders"), Some(5)));
    }

    #[test]
    fn cut_and_prolonged_data_is_an_error() {
        let data = data();
        for len in 0..data.len() {
            assert!(SparkTask::parse(&data[..len]).is_err(), "{len}");
        }
        assert!(SparkTask::parse(&[data.clone(), vec![0]].concat()).is_err());
    }

    #[test]
    fn changed_data_causes_no_panic() {
        let data = data();
        for at in 0..data.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = data.clone();
                changed[at] = byte;
                drop(SparkTask::parse(&changed));
            }
        }
    }
}
