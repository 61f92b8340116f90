//! Rows as a producer takes them: each says its topic and perhaps its partition, and goes to a writer of that partition. The bytes of
//! ended batches are handed to the caller, partition by partition; offsets count from 0 in each.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::Rows;
use super::bytes::ByteRuns;
use super::errors::table_error;
use super::numbers::IntegerColumn;
use crate::codec::Plugins;
use crate::encode::{BatchSettings, Partitioner, RecordWriter};
use crate::error::{Error, ErrorKind, Result};
use crate::model::NewHeader;

/// What the caller says about all rows.
#[derive(Clone, Debug)]
pub struct ProducedOptions {
    /// Settings of the topics that are compressed, and of the others.
    pub settings: (BatchSettings, BatchSettings),
    /// The topics that are compressed; none for all of them.
    pub compressed_topics: Vec<String>,
    /// Estimated size at which a batch ends.
    pub batch_bytes: usize,
    /// The topic of all rows, whatever they say.
    pub topic: Option<String>,
    /// Partitions of every topic; a row may name no other then.
    pub partitions: Option<u32>,
    /// Partitions that topics have, where `partitions` does not say it; a topic that is not here has one.
    pub known_partitions: HashMap<String, u32>,
    /// Codecs that are not built in.
    pub plugins: Plugins,
    /// With which partition rows without keys begin, modulo their number.
    pub start: u32,
}

/// The writers of all partitions that rows went to.
pub struct Produced {
    options: ProducedOptions,
    topics: HashMap<Vec<u8>, ProducedTopic>,
    targets: Vec<ProduceTarget>,
}

struct ProducedTopic {
    partitioner: Partitioner,
    settings: BatchSettings,
    targets: HashMap<i32, usize>,
}

/// One partition.
pub struct ProduceTarget {
    /// Name of the topic, legal as Kafka's names are.
    pub topic: String,
    /// Number of the partition.
    pub partition: i32,
    writer: RecordWriter,
}

impl ProduceTarget {
    /// Records written.
    pub fn records(&self) -> i64 {
        self.writer.next_offset()
    }
}

/// Takes the ended batches of a partition, given by its index among the targets, when there are many or it is the end.
pub trait BatchSink {
    /// Takes all ended batches from the writer, or nothing since they are too few.
    ///
    /// # Errors
    /// `Io`.
    fn take(&mut self, target: usize, writer: &mut RecordWriter, is_end: bool) -> Result<()>;
}

impl Produced {
    /// No partitions yet.
    pub fn new(options: ProducedOptions) -> Self {
        Self { options, topics: HashMap::new(), targets: Vec::new() }
    }

    /// The partitions, in the order in which rows named them.
    pub fn targets(&self) -> &[ProduceTarget] {
        &self.targets
    }

    /// Writes the rows of a batch. `now` is the timestamp of those that have none, in ms; `first_row` counts for errors.
    ///
    /// # Errors
    /// `Usage` for a column of a wrong type, `Refused` for a row that cannot be written, with its number; what `outlet` says.
    pub fn write(&mut self, batch: &RecordBatch, now: i64, first_row: usize, outlet: &mut impl BatchSink) -> Result<()> {
        let rows = ProducedRows::of(batch, now)?;
        let mut scratch = Vec::new();
        for row in 0..batch.num_rows() {
            self.write_row(&rows, row, &mut scratch, outlet).map_err(|error| at_row(error, first_row + row))?;
        }
        Ok(())
    }

    /// Ends all batches.
    ///
    /// # Errors
    /// `Limit` for a batch that is too large, what `outlet` says.
    pub fn finish(&mut self, outlet: &mut impl BatchSink) -> Result<()> {
        for (index, target) in self.targets.iter_mut().enumerate() {
            target.writer.end_batch()?;
            outlet.take(index, &mut target.writer, true)?;
        }
        Ok(())
    }

    #[inline]
    fn write_row<'s>(
        &mut self,
        rows: &'s ProducedRows<'_>,
        row: usize,
        scratch: &mut Vec<NewHeader<'s>>,
        outlet: &mut impl BatchSink,
    ) -> Result<()> {
        let index = self.target(rows, row)?;
        let Some(target) = self.targets.get_mut(index) else { return Ok(()) };
        rows.rows.write_row(row, &mut target.writer, scratch)?;
        outlet.take(index, &mut target.writer, false)
    }

    #[inline]
    fn target(&mut self, rows: &ProducedRows<'_>, row: usize) -> Result<usize> {
        let name = match (&self.options.topic, &rows.topics) {
            (Some(topic), _) => topic.as_bytes(),
            (None, Some(topics)) => {
                topics.get(row).ok_or_else(|| refused("the topic is null; fill the column \"topic\", or pass the option topic"))?
            }
            (None, None) => return Err(table_error("the column \"topic\" is missing; add it, or pass the option topic")),
        };
        if !self.topics.contains_key(name) {
            let topic = ProducedTopic::new(name, &self.options)?;
            self.topics.insert(name.to_owned(), topic);
        }
        let Some(topic) = self.topics.get_mut(name) else { return Ok(usize::MAX) };
        let partition = match rows.partitions.as_ref().and_then(|partitions| partitions.get(row)) {
            Some(partition) => checked(partition, self.options.partitions)?,
            None => topic.partitioner.partition(rows.rows.key(row), rows.rows.contents_len(row)),
        };
        if let Some(index) = topic.targets.get(&partition) {
            return Ok(*index);
        }
        let index = self.targets.len();
        topic.targets.insert(partition, index);
        let mut writer = RecordWriter::new(topic.settings, self.options.batch_bytes, 0)?;
        writer.set_plugins(self.options.plugins.clone());
        self.targets.push(ProduceTarget { topic: String::from_utf8_lossy(name).into_owned(), partition, writer });
        Ok(index)
    }
}

impl ProducedTopic {
    fn new(name: &[u8], options: &ProducedOptions) -> Result<Self> {
        let name = legal(name)?;
        let partitions = options.partitions.or_else(|| options.known_partitions.get(name).copied()).unwrap_or(1);
        let is_compressed = options.compressed_topics.is_empty() || options.compressed_topics.iter().any(|topic| topic == name);
        let (compressed, uncompressed) = options.settings;
        Ok(Self {
            partitioner: Partitioner::new(partitions, options.start, options.batch_bytes),
            settings: if is_compressed { compressed } else { uncompressed },
            targets: HashMap::new(),
        })
    }
}

/// The columns of a batch that a producer looks at.
struct ProducedRows<'a> {
    rows: Rows<'a>,
    topics: Option<ByteRuns<'a>>,
    partitions: Option<IntegerColumn>,
}

impl<'a> ProducedRows<'a> {
    fn of(batch: &'a RecordBatch, now: i64) -> Result<Self> {
        /// What `Rows` finds under other names is left to the writer: offsets, control records.
        const TAKEN: [&str; 5] = ["key", "value", "headers", "timestamp", "timestampMs"];
        let column = |name: &str| if TAKEN.contains(&name) { batch.column_by_name(name) } else { None };
        let rows = Rows::from_columns(column)?;
        Ok(Self {
            rows: Rows { no_timestamp: now, ..rows },
            topics: batch.column_by_name("topic").map(|array| ByteRuns::of("topic", array)).transpose()?,
            partitions: batch.column_by_name("partition").map(|array| IntegerColumn::of("partition", array)).transpose()?,
        })
    }
}

impl Rows<'_> {
    fn key(&self, row: usize) -> Option<&[u8]> {
        self.keys.as_ref().and_then(|keys| keys.get(row))
    }

    /// Bytes of key and value.
    fn contents_len(&self, row: usize) -> usize {
        self.key(row).map_or(0, <[u8]>::len) + self.values.get(row).map_or(0, <[u8]>::len)
    }
}

/// Kafka's rule for names (`ProducedTopic.validate`); a name becomes that of a directory.
fn legal(name: &[u8]) -> Result<&str> {
    const MOST: usize = 249;
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let text = std::str::from_utf8(name).ok().filter(|text| !matches!(*text, "" | "." | ".."));
    match text.filter(|_| name.len() <= MOST && name.iter().all(is_legal)) {
        Some(text) => Ok(text),
        None => Err(refused(format!(
            "invalid topic name {:?}: a name has 1 to {MOST} of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
            String::from_utf8_lossy(name)
        ))),
    }
}

fn checked(partition: i64, partitions: Option<u32>) -> Result<i32> {
    let most = partitions.map_or(i64::from(i32::MAX), |partitions| i64::from(partitions) - 1);
    let found = i32::try_from(partition).ok().filter(|_| (0..=most).contains(&partition));
    found.ok_or_else(|| refused(format!("partition {partition} is not in the range from 0 to {most}")))
}

#[cold]
fn refused(reason: impl Into<String>) -> Error {
    ErrorKind::Refused { rule: "SEG-1", reason: reason.into() }.into()
}

/// A failure of the machine has no row.
fn at_row(error: Error, row: usize) -> Error {
    if matches!(error.kind(), ErrorKind::Io { .. } | ErrorKind::Registry { .. } | ErrorKind::Interrupted) {
        error
    } else {
        error.in_written_row(row)
    }
}
