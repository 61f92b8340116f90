//! Records that an input makes up, written by the library.

use logsegment::codec::Compression;
use logsegment::encode::{BatchSettings, RecordWriter};
use logsegment::model::{CompressionType, Formats, NewHeader, NewRecord, RecordFormat, TimestampType};

use super::choices::Choices;

/// One record, as far as its format can say it.
#[derive(Clone, Debug)]
pub struct Made<'a> {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

/// Records and how to write them.
#[derive(Clone, Debug)]
pub struct Written<'a> {
    pub format: RecordFormat,
    pub compression: CompressionType,
    pub is_metadata_first: bool,
    pub has_append_time: bool,
    pub batch_bytes: usize,
    pub records: Vec<Made<'a>>,
}

/// More records than this say nothing new.
const MOST: usize = 40;
/// Nor do longer keys and values.
const MOST_BYTES: usize = 2000;

impl<'a> Written<'a> {
    /// What the rest of an input chooses.
    pub fn choose(choices: &mut Choices<'a>) -> Self {
        use CompressionType::{Gzip, Lz4, None, Snappy, Zstd};
        let format = choices.one_of([RecordFormat::V2, RecordFormat::V3, RecordFormat::V1, RecordFormat::V0, RecordFormat::V07]);
        let compression = match format {
            RecordFormat::V07 => choices.one_of([None, Gzip, Snappy]),
            RecordFormat::V0 | RecordFormat::V1 => choices.one_of([None, Gzip, Snappy, Lz4]),
            _ => choices.one_of([None, Gzip, Snappy, Lz4, Zstd]),
        };
        let flags = choices.byte();
        let is_metadata_first = format == RecordFormat::V3 && flags & 1 == 1;
        let has_append_time = format >= RecordFormat::V1 && format != RecordFormat::V07 && flags & 2 == 2;
        let batch_bytes = usize::from(choices.u16());
        let (mut records, mut offset) = (Vec::new(), -1);
        while !choices.is_empty() && records.len() < MOST {
            let made = Made::choose(choices, offset, format);
            offset = made.offset;
            records.push(made);
        }
        Self { format, compression, is_metadata_first, has_append_time, batch_bytes, records }
    }

    /// How to read them.
    pub fn formats(&self) -> Formats {
        Formats::Only(self.format)
    }

    /// The bytes of all batches.
    pub fn encode(&self) -> Vec<u8> {
        let compression = Compression::new(self.compression, None).expect("a codec of Kafka");
        let timestamp_type = if self.has_append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
        let settings = BatchSettings {
            is_metadata_first: self.is_metadata_first,
            timestamp_type,
            log_append_time: self.has_append_time.then_some(APPENDED),
            ..BatchSettings::new(self.format, compression)
        };
        let mut writer = RecordWriter::new(settings, self.batch_bytes, 0).expect("legal settings");
        for record in &self.records {
            let headers: Vec<_> = record.headers.iter().map(|(key, value)| NewHeader { key, value: *value }).collect();
            let Made { offset, timestamp, key, value, .. } = *record;
            let record = NewRecord { offset, timestamp, key, value, headers: &headers, ..NewRecord::default() };
            writer.write(&record).expect("a record that the format can hold");
        }
        writer.end_batch().expect("a batch of a few KiB");
        writer.ended().to_vec()
    }
}

/// The time of batches with LogAppendTime.
pub const APPENDED: i64 = 1_700_000_000_000;

impl<'a> Made<'a> {
    fn choose(choices: &mut Choices<'a>, last_offset: i64, format: RecordFormat) -> Self {
        let offset = last_offset + 1 + i64::from(choices.byte() >> 4);
        let timestamp = i64::from(choices.u32());
        let (key, value) = (choices.run(MOST_BYTES), choices.run(MOST_BYTES));
        let headers = if matches!(format, RecordFormat::V2 | RecordFormat::V3) {
            let count = choices.byte() % 4;
            (0..count).map(|_| (choices.run(MOST_BYTES).unwrap_or_default(), choices.run(MOST_BYTES))).collect()
        } else {
            Vec::new()
        };
        // A message of Kafka 0.7 has a value and nothing else.
        let (key, value) = if format == RecordFormat::V07 { (None, Some(value.unwrap_or_default())) } else { (key, value) };
        Self { offset, timestamp, key, value, headers }
    }
}
