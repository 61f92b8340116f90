//! The record columns: names (Spark's, then Kafka's), order and Arrow types. Every field is nullable, as in Spark's Kafka source.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// How runs of bytes are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BinaryKind {
    /// 32-bit offsets; what Spark takes.
    #[default]
    Binary,
    /// 64-bit offsets.
    LargeBinary,
    /// Views into the uncompressed records; nothing is copied.
    BinaryView,
}

/// A record column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "API names, listed with their meaning in docs/how-to")]
pub enum Column {
    Key,
    Value,
    Topic,
    Partition,
    Offset,
    Timestamp,
    TimestampType,
    Headers,
    HeadersRaw,
    TimestampMs,
    Attributes,
    ProducerId,
    ProducerEpoch,
    Sequence,
    PartitionLeaderEpoch,
    IsTransactional,
    IsControl,
    ControlType,
    Magic,
    Compression,
    BatchBaseOffset,
    EntryPosition,
    IndexInEntry,
    Internal,
}

/// So many of the columns, the first, are those that a user gets without asking: Spark's, in Spark's order.
const DEFAULT_COLUMNS: usize = 8;

/// All columns with their names.
pub const COLUMNS: [(Column, &str); 24] = [
    (Column::Key, "key"),
    (Column::Value, "value"),
    (Column::Topic, "topic"),
    (Column::Partition, "partition"),
    (Column::Offset, "offset"),
    (Column::Timestamp, "timestamp"),
    (Column::TimestampType, "timestampType"),
    (Column::Headers, "headers"),
    (Column::HeadersRaw, "headersRaw"),
    (Column::TimestampMs, "timestampMs"),
    (Column::Attributes, "attributes"),
    (Column::ProducerId, "producerId"),
    (Column::ProducerEpoch, "producerEpoch"),
    (Column::Sequence, "sequence"),
    (Column::PartitionLeaderEpoch, "partitionLeaderEpoch"),
    (Column::IsTransactional, "isTransactional"),
    (Column::IsControl, "isControl"),
    (Column::ControlType, "controlType"),
    (Column::Magic, "magic"),
    (Column::Compression, "compression"),
    (Column::BatchBaseOffset, "batchBaseOffset"),
    (Column::EntryPosition, "entryPosition"),
    (Column::IndexInEntry, "indexInEntry"),
    (Column::Internal, "internal"),
];

/// A name that cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnError {
    /// No record column has it.
    Unknown(String),
    /// It was named twice; a column is built once.
    Repeated(&'static str),
}

impl std::fmt::Display for ColumnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known = COLUMNS.map(|(_, known)| known).join(", ");
                write!(f, "unknown record column {name:?}; the columns are {known}")
            }
            Self::Repeated(name) => write!(f, "the column {name:?} is named twice"),
        }
    }
}

/// Which columns to build, in order, and how.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The columns.
    pub columns: Vec<Column>,
    /// Layout of keys, values and header values.
    pub binary: BinaryKind,
    /// Headers of a record without any are null instead of an empty list, as Spark's Kafka source gives them.
    pub has_null_headers: bool,
}

impl Projection {
    /// The columns with these names; the default ones without names.
    ///
    /// # Errors
    /// The first name that is unknown or repeated.
    pub fn named(names: Option<&[String]>, binary: BinaryKind) -> Result<Self, ColumnError> {
        let columns: Vec<Column> = match names {
            None => COLUMNS.iter().take(DEFAULT_COLUMNS).map(|(column, _)| *column).collect(),
            Some(names) => names.iter().map(|name| Column::named(name)).collect::<Result<_, _>>()?,
        };
        let repeated = columns.iter().enumerate().find(|(index, column)| columns.iter().take(*index).any(|earlier| earlier == *column));
        if let Some((_, column)) = repeated {
            return Err(ColumnError::Repeated(column.name()));
        }
        Ok(Self { columns, binary, has_null_headers: false })
    }

    /// True when this column is built.
    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields()))
    }

    /// The Arrow fields.
    pub fn fields(&self) -> Fields {
        self.columns.iter().map(|column| Field::new(column.name(), column.data_type(self.binary), true)).collect()
    }
}

impl Column {
    /// The column with this name.
    ///
    /// # Errors
    /// `Unknown`.
    pub fn named(name: &str) -> Result<Self, ColumnError> {
        let found = COLUMNS.iter().find(|(_, known)| *known == name);
        found.map(|(column, _)| *column).ok_or_else(|| ColumnError::Unknown(name.to_owned()))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        COLUMNS.iter().find(|(column, _)| *column == self).map_or("", |(_, name)| name)
    }

    /// Its Arrow type.
    pub fn data_type(self, binary: BinaryKind) -> DataType {
        match self {
            Self::Key | Self::Value => binary.data_type(),
            Self::Topic | Self::ControlType | Self::Compression => DataType::Utf8,
            Self::Partition | Self::TimestampType | Self::Sequence | Self::PartitionLeaderEpoch | Self::IndexInEntry => DataType::Int32,
            Self::Offset | Self::TimestampMs | Self::ProducerId | Self::BatchBaseOffset | Self::EntryPosition => DataType::Int64,
            Self::Timestamp => timestamp_type(),
            Self::Headers => headers_type(DataType::Utf8, binary),
            Self::HeadersRaw => headers_type(DataType::Binary, binary),
            Self::Attributes | Self::Magic => DataType::Int8,
            Self::ProducerEpoch => DataType::Int16,
            Self::IsTransactional | Self::IsControl => DataType::Boolean,
            Self::Internal => super::record_metadata::internal::data_type(),
        }
    }
}

impl BinaryKind {
    /// The name that users call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::LargeBinary => "large_binary",
            Self::BinaryView => "binary_view",
        }
    }

    /// Its Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Binary => DataType::Binary,
            Self::LargeBinary => DataType::LargeBinary,
            Self::BinaryView => DataType::BinaryView,
        }
    }
}

/// Microseconds, UTC.
pub fn timestamp_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// list<struct<key, value>>; the child is called `element`, as Spark calls it.
pub fn headers_type(key: DataType, binary: BinaryKind) -> DataType {
    DataType::List(Arc::new(Field::new("element", DataType::Struct(header_fields(key, binary)), true)))
}

/// Key and value of a header.
pub fn header_fields(key: DataType, binary: BinaryKind) -> Fields {
    Fields::from(vec![Field::new("key", key, true), Field::new("value", binary.data_type(), true)])
}
