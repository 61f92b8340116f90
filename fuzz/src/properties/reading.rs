//! Bytes to records and findings, and what the ways of reading must agree about.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use bytes::Bytes;
use logsegment::Error;
use logsegment::columns::schema::COLUMNS;
use logsegment::columns::{BinaryKind, Column, OnError, Projection, StreamOptions, stream};
use logsegment::decode::{DecodeOptions, OffsetRange, Unreadable};
use logsegment::framing::Source;
use logsegment::interrupt::Interrupt;
use logsegment::limits::Limits;
use logsegment::model::{Formats, UploadOffsets};
use logsegment::validate::{Depth, Severity, Validator};

/// Small enough that a bomb is found out at once.
pub const LIMITS: Limits = Limits {
    max_batch_bytes: 1 << 20,
    max_decompressed_bytes: 1 << 20,
    max_ratio: 1000,
    max_records: 1 << 14,
    max_headers: 1000,
    max_nesting: 4,
};

/// Columns that every format has, and whose values a checksum covers.
const COVERED: [Column; 4] = [Column::Key, Column::Value, Column::HeadersRaw, Column::TimestampMs];

/// How all targets decode.
pub fn options(formats: Formats) -> DecodeOptions {
    DecodeOptions { formats, is_control_wanted: true, limits: LIMITS, ..DecodeOptions::default() }
}

/// What a reading asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub columns: Vec<Column>,
    pub binary: BinaryKind,
    pub on_error: OnError,
}

impl Asked {
    /// These columns, copied, up to the first error.
    pub fn of(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), binary: BinaryKind::Binary, on_error: OnError::Raise }
    }

    /// The same, past every damage.
    pub fn skipping(self) -> Self {
        Self { on_error: OnError::Skip, ..self }
    }
}

/// Batches of one schema that a reading gave, and the error that ended it.
#[derive(Debug)]
pub struct Read {
    pub batches: Vec<RecordBatch>,
    pub error: Option<Error>,
}

/// Reads some bytes in batches of a few rows.
pub fn read(bytes: &[u8], decode: &DecodeOptions, asked: &Asked) -> Read {
    let options = StreamOptions {
        decode: decode.clone(),
        projection: Projection { columns: asked.columns.clone(), binary: asked.binary, has_null_headers: false },
        topic: None,
        partition: None,
        on_error: asked.on_error,
        is_tail_strict: false,
        batch_size: 7,
        batch_bytes: 1 << 12,
        keys: None,
        threads: 1,
        interrupt: Interrupt::default(),
    };
    let mut stream = stream::open(Source::memory(Bytes::copy_from_slice(bytes)), options);
    let mut batches = Vec::new();
    let error = loop {
        match stream.next_batch() {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Read { batches, error }
}

impl Read {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// One row after the other, each as its columns.
    pub fn each(&self) -> impl Iterator<Item = Vec<ArrayRef>> {
        self.batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| column.slice(row, 1)).collect()))
    }

    /// These columns only.
    fn project(&self, columns: &[usize]) -> Vec<RecordBatch> {
        self.batches.iter().map(|batch| batch.project(columns).expect("they are there")).collect()
    }

    /// The values of a column of bytes.
    pub fn blobs(&self, column: usize) -> Vec<Option<Vec<u8>>> {
        let owned = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
        let of = |batch: &RecordBatch| match batch.column(column).as_binary_view_opt() {
            Some(views) => views.iter().map(owned).collect::<Vec<_>>(),
            None => batch.column(column).as_binary::<i32>().iter().map(owned).collect(),
        };
        self.batches.iter().flat_map(of).collect()
    }
}

/// True when both hold the same rows, wherever their batches end.
pub fn are_same(one: &[RecordBatch], other: &[RecordBatch]) -> bool {
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    if rows(one) != rows(other) {
        return false;
    }
    let (mut one, mut other) = (one.iter().cloned(), other.iter().cloned());
    let (mut left, mut right) = (None, None);
    loop {
        let take = |held: &mut Option<RecordBatch>| held.take().filter(|batch| batch.num_rows() > 0);
        let Some(a) = take(&mut left).or_else(|| one.find(|batch| batch.num_rows() > 0)) else { return true };
        let Some(b) = take(&mut right).or_else(|| other.find(|batch| batch.num_rows() > 0)) else { return false };
        let len = a.num_rows().min(b.num_rows());
        if a.slice(0, len).columns() != b.slice(0, len).columns() {
            return false;
        }
        (left, right) = (Some(a.slice(len, a.num_rows() - len)), Some(b.slice(len, b.num_rows() - len)));
    }
}

/// What a checksum covers of each record, one by one.
pub fn covered_rows(bytes: &[u8], decode: &DecodeOptions, on_error: OnError) -> Vec<Vec<ArrayRef>> {
    read(bytes, decode, &Asked { on_error, ..Asked::of(&COVERED) }).each().collect()
}

/// The first error that `validate` finds.
pub fn error_finding(bytes: &[u8], decode: &DecodeOptions, depth: Depth) -> Option<&'static str> {
    let source = Source::memory(Bytes::copy_from_slice(bytes));
    let mut validator = Validator::new(source, decode.clone(), depth, false);
    while validator.advance().expect("memory does not fail") {}
    let findings = validator.take_findings();
    for finding in &findings {
        let end = finding.position.checked_add(finding.length).expect("a place in the input");
        assert!(end <= bytes.len() as u64, "{finding:?} lies behind the input");
    }
    findings.iter().find(|finding| finding.severity == Severity::Error).map(|finding| finding.rule())
}

/// All that must hold of any bytes, also where the names of segments, or an upload, restrict their offsets.
pub fn check_in_place(bytes: &[u8], decode: &DecodeOptions) {
    check(bytes, decode);
    for (start, last) in [(1, 59), (50, 119)] {
        let segment = OffsetRange { start, end: Some(last + 1) };
        check(bytes, &DecodeOptions { segment, ..decode.clone() });
        let upload = Some(UploadOffsets { start, end: Some(last) });
        check(bytes, &DecodeOptions { upload, ..decode.clone() });
    }
}

/// All that must hold of any bytes, read in this way.
pub fn check(bytes: &[u8], decode: &DecodeOptions) {
    let all: Vec<Column> = COLUMNS.iter().map(|(column, _)| *column).collect();
    let copied = read(bytes, decode, &Asked::of(&all));
    let found = error_finding(bytes, decode, Depth::Full);
    assert_eq!(copied.error.as_ref().map(|error| error.kind().rule()), found, "decode and validate disagree: {:?}", copied.error);
    if let Some(error) = &copied.error {
        assert!(error.is_about_data(), "{error}");
    }
    let place = |wanted: &Column| all.iter().position(|column| column == wanted).expect("a column");
    let alone = read(bytes, decode, &Asked::of(&COVERED));
    let covered: Vec<usize> = COVERED.iter().map(place).collect();
    assert!(are_same(&copied.project(&covered), &alone.batches), "columns depend on what else is asked for");
    let views = read(bytes, decode, &Asked { binary: BinaryKind::BinaryView, ..Asked::of(&all) });
    for column in [Column::Key, Column::Value] {
        assert_eq!(views.blobs(place(&column)), copied.blobs(place(&column)), "views and copies disagree");
    }
    // A batch that names a plugin that is not there is no damage: only who asks for it leaves it out.
    let lenient = DecodeOptions { unreadable: Unreadable::Skip, ..decode.clone() };
    let skipped = read(bytes, &lenient, &Asked::of(&all).skipping());
    assert!(skipped.error.is_none(), "skipping past damage failed: {:?}", skipped.error);
    assert!(skipped.rows() >= copied.rows() || copied.error.is_none(), "skipping gives less than what stands before the damage");
    error_finding(bytes, decode, Depth::Headers);
    error_finding(bytes, decode, Depth::Metadata);
}
