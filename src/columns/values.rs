//! Raw batches in an Arrow binary column: one result per value, null in, null out.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, GenericBinaryArray, Int32Array, Int64Array, ListArray, OffsetSizeTrait, RecordBatch,
    StructArray,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;

use super::array_checks::{bad_offsets, bad_views};
use super::batch_columns::{BatchColumns, batch_fields};
use super::binary::{BytesColumn, Copied};
use super::bitmap;
use super::chunks::ChunkBuilder;
use super::findings::{FindingRow, finding_fields, findings_array};
use super::run_pieces::{ASK_EVERY, leave_out, runs_of, tail_finding};
use super::schema::BinaryKind;
use super::stream_options::{OnError, StreamOptions};
use super::views::Views;
use crate::decode::{DecodeOptions, Unreadable, parse_header, sniff, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Frame, FrameEvent, Source, Step, step};
use crate::interrupt::Interrupt;
use crate::model::{BatchHeader, Formats, RecordFormat};
use crate::validate::{Depth, Finding, Severity, Validator};
use crate::wire::as_u64;

/// The values of a binary column as counted memory; nothing is copied but values of up to 12 bytes in views.
pub struct Values {
    values: Vec<Option<Bytes>>,
}

/// What to do with a value that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBadValue {
    /// Fail.
    Raise,
    /// Leave out what is damaged in it.
    Skip,
    /// Give null for it.
    Null,
}

/// The records of every value, in one batch, and which value each came from.
pub struct Exploded {
    /// The records.
    pub rows: RecordBatch,
    /// Where the rows of each value end; the first entry is 0.
    pub ends: Vec<i32>,
    /// Values that gave null.
    pub nulls: Vec<usize>,
}

impl Values {
    /// The values of arrays of type binary, large_binary or binary_view, one after the other.
    ///
    /// # Errors
    /// `Usage` for other types, and for arrays that are not valid.
    pub fn of(arrays: &[ArrayRef]) -> Result<Self> {
        let mut values = Vec::new();
        for array in arrays {
            values.append(&mut values_of(array)?);
        }
        Ok(Self { values })
    }

    /// The values; `None` for null.
    pub(super) fn values(&self) -> &[Option<Bytes>] {
        &self.values
    }

    /// Decodes every value.
    ///
    /// # Errors
    /// What `decode` meets in a value, when bad values raise; `Limit` when the result needs more than 2^31-1 bytes in one column.
    pub fn explode(&self, options: &StreamOptions, on_bad: OnBadValue) -> Result<Exploded> {
        match options.projection.binary {
            BinaryKind::Binary => self.explode_as::<Copied<i32>>(options, on_bad),
            BinaryKind::LargeBinary => self.explode_as::<Copied<i64>>(options, on_bad),
            BinaryKind::BinaryView => self.explode_as::<Views>(options, on_bad),
        }
    }

    /// The header of the first entry of every value, as a struct of the batch columns.
    ///
    /// # Errors
    /// When a value does not begin with an entry, unless bad values give null.
    pub fn batch_info(&self, options: &DecodeOptions, on_bad: OnBadValue) -> Result<StructArray> {
        let mut columns = BatchColumns::new(&options.codecs.plugins);
        let mut nulls = Vec::new();
        for (index, value) in self.values.iter().enumerate() {
            let header = match value {
                None => None,
                Some(value) => match (first_header(value, options), on_bad) {
                    (Ok(found), _) => Some(found),
                    (Err(error), OnBadValue::Raise) => return Err(error.in_row(index)),
                    (Err(_), _) => None,
                },
            };
            match header {
                Some((header, is_valid)) => columns.push(&header, is_valid),
                None => {
                    nulls.push(index);
                    columns.push(&BatchHeader::new(RecordFormat::V2), None);
                }
            }
        }
        Ok(StructArray::new(batch_fields(), columns.finish(), bitmap::nulls(&nulls, self.values.len())))
    }

    /// The findings of every value, as struct<ok, errors, warnings, findings>.
    ///
    /// # Errors
    /// `Interrupted` only: bad bytes are findings.
    pub fn validate(&self, options: &DecodeOptions, depth: Depth, interrupt: &Interrupt) -> Result<StructArray> {
        let mut all = Vec::new();
        let (mut ok, mut errors, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lengths, mut nulls) = (Vec::new(), Vec::new());
        for (index, value) in self.values.iter().enumerate() {
            interrupt.ensure_wanted()?;
            let found = match value {
                Some(value) => findings_of(value.clone(), options, depth, interrupt)?,
                None => {
                    nulls.push(index);
                    Vec::new()
                }
            };
            let count = |severity| i32::try_from(found.iter().filter(|finding| finding.severity == severity).count()).unwrap_or(i32::MAX);
            ok.push(count(Severity::Error) == 0);
            errors.push(count(Severity::Error));
            warnings.push(count(Severity::Warning));
            lengths.push(found.len());
            all.extend(found);
        }
        let item = Arc::new(Field::new("element", DataType::Struct(finding_fields()), true));
        let findings = ListArray::new(
            Arc::clone(&item),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(findings_array(all.iter().map(FindingRow::from))),
            None,
        );
        let fields = Fields::from(vec![
            Field::new("ok", DataType::Boolean, true),
            Field::new("errors", DataType::Int32, true),
            Field::new("warnings", DataType::Int32, true),
            Field::new("findings", DataType::List(item), true),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(ok)),
            Arc::new(Int32Array::from(errors)),
            Arc::new(Int32Array::from(warnings)),
            Arc::new(findings),
        ];
        Ok(StructArray::new(fields, columns, bitmap::nulls(&nulls, self.values.len())))
    }

    fn explode_as<B: BytesColumn>(&self, options: &StreamOptions, on_bad: OnBadValue) -> Result<Exploded> {
        let on_error = if on_bad == OnBadValue::Skip { OnError::Skip } else { OnError::Raise };
        let options = StreamOptions { batch_size: MOST_ROWS, batch_bytes: usize::MAX, on_error, threads: 1, ..options.clone() };
        let mut chunks = ChunkBuilder::<B>::new(options);
        let (mut ends, mut nulls) = (vec![0], Vec::new());
        for (index, value) in self.values.iter().enumerate() {
            let before = chunks.columns.mark();
            let decoded = match value {
                Some(value) => decode_value(&mut chunks, value.clone()),
                None => {
                    nulls.push(index);
                    Ok(())
                }
            };
            if let Err(error) = decoded {
                // A result that does not fit is not the fault of the value: its rows are gone with the chunk that was closed.
                // Kafka refuses a value with a quirk, as it refuses other invalid values.
                let is_refused = !error.quirks().is_empty();
                let raises = error.is_unreadable() && !is_refused && chunks.options.decode.unreadable == Unreadable::Raise;
                if on_bad != OnBadValue::Null || raises || !error.is_about_data() || error.kind() == too_much().kind() {
                    return Err(error.in_row(index));
                }
                chunks.drop_run();
                chunks.columns.back_to(before);
                nulls.push(index);
            }
            ends.push(i32::try_from(chunks.columns.rows()).map_err(|_| too_much())?);
        }
        let rows = chunks.columns.finish().map_err(|error| Error::from(ErrorKind::Internal { what: error.to_string() }))?;
        Ok(Exploded { rows, ends, nulls })
    }
}

/// Rows of one result at most: list offsets are 32 bits wide.
const MOST_ROWS: usize = 0x7fff_ffff;

impl Exploded {
    /// One list of record structs per value.
    pub fn to_lists(self) -> ListArray {
        let nulls = bitmap::nulls(&self.nulls, self.ends.len().saturating_sub(1));
        let rows = StructArray::from(self.rows);
        let item = Arc::new(Field::new("element", rows.data_type().clone(), true));
        ListArray::new(item, OffsetBuffer::new(self.ends.into()), Arc::new(rows), nulls)
    }

    /// The index of the value that each row came from.
    pub fn parents(&self) -> Int64Array {
        let mut parents = Vec::with_capacity(self.rows.num_rows());
        for (index, end) in self.ends.iter().skip(1).enumerate() {
            parents.resize(usize::try_from(*end).unwrap_or(0), i64::try_from(index).unwrap_or(i64::MAX));
        }
        Int64Array::from(parents)
    }
}

fn values_of(array: &ArrayRef) -> Result<Vec<Option<Bytes>>> {
    let any = array.as_any();
    let values = if array.data_type() == &DataType::Null {
        // Nulls alone have no other type.
        Ok(vec![None; array.len()])
    } else if let Some(binary) = any.downcast_ref::<GenericBinaryArray<i32>>() {
        offset_values(binary)
    } else if let Some(binary) = any.downcast_ref::<GenericBinaryArray<i64>>() {
        offset_values(binary)
    } else if let Some(views) = any.downcast_ref::<BinaryViewArray>() {
        view_values(views)
    } else {
        Err(format!("a column of type binary, large_binary or binary_view is needed, not {}", array.data_type()))
    };
    values.map_err(|problem| ErrorKind::Usage { argument: "array", problem }.into())
}

fn decode_value<B: BytesColumn>(chunks: &mut ChunkBuilder<B>, value: Bytes) -> Result<()> {
    chunks.options.interrupt.ensure_wanted()?;
    chunks.set_formats(formats_of(&value, &chunks.options.decode)?);
    let mut runs = runs_of(Source::memory(value), &chunks.options, 1);
    let mut pieces = 0_u32;
    while let Some(piece) = runs.next_piece()? {
        pieces = pieces.wrapping_add(1);
        if pieces.is_multiple_of(ASK_EVERY) {
            chunks.options.interrupt.ensure_wanted()?;
        }
        let FrameEvent::Run(run) = piece else {
            leave_out(&chunks.options, &mut chunks.findings, &piece)?;
            continue;
        };
        chunks.feed(run);
        if chunks.next_full()?.is_some() {
            return Err(too_much());
        }
    }
    tail_finding(runs.tail(), &chunks.options, &mut chunks.findings)
}

#[cold]
pub(super) fn too_much() -> Error {
    ErrorKind::Limit { limit: "2^31-1 bytes or rows of one array", asked: 1 << 31, allowed: (1 << 31) - 1 }.into()
}

/// The formats of one value.
fn formats_of(value: &Bytes, options: &DecodeOptions) -> Result<Formats> {
    let sniffed = |later| sniff(&mut Source::memory(value.clone()), later, &options.limits);
    options.sniffed_values.map_or(Ok(options.formats), sniffed)
}

fn first_header(value: &Bytes, options: &DecodeOptions) -> Result<(BatchHeader, Option<bool>)> {
    let formats = formats_of(value, options)?;
    let available = as_u64(value.len());
    match step(value, formats, &options.limits) {
        Step::Entry { len, magic } => {
            let bytes = value.get(..len).unwrap_or_default();
            let header =
                parse_header(Frame { position: 0, magic, bytes }, formats, options.base_position).map_err(|error| error.at_byte(0))?;
            let is_valid = options.check_crc.then(|| verify(bytes, &header).is_ok());
            Ok((header, is_valid))
        }
        Step::Incomplete { needed } => {
            Err(Error::from(ErrorKind::Truncated { rule: "L8-14", needed: as_u64(needed), available }).at_byte(0))
        }
        Step::Error(error) => Err(error.at_byte(0)),
    }
}

fn findings_of(value: Bytes, options: &DecodeOptions, depth: Depth, interrupt: &Interrupt) -> Result<Vec<Finding>> {
    let formats = match formats_of(&value, options) {
        Ok(formats) => formats,
        Err(error) => return Ok(vec![Finding::of_error(&error, 0, 0)]),
    };
    let options = DecodeOptions { formats, ..options.clone() };
    let mut validator = Validator::new(Source::memory(value), options, depth, false).with_interrupt(interrupt.clone());
    while validator.advance()? {}
    Ok(validator.take_findings())
}

struct Owner(Buffer);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn offset_values<O: OffsetSizeTrait>(array: &GenericBinaryArray<O>) -> std::result::Result<Vec<Option<Bytes>>, String> {
    ensure_valid(bad_offsets(array.value_offsets(), &(0..array.len()), array.value_data().len()))?;
    let data = Bytes::from_owner(Owner(array.values().clone()));
    let offsets = array.value_offsets().iter().map(|end| end.as_usize());
    let stops = array.value_offsets().iter().skip(1).map(|end| end.as_usize());
    Ok(offsets.zip(stops).enumerate().map(|(index, (start, stop))| array.is_valid(index).then(|| data.slice(start..stop))).collect())
}

fn view_values(array: &BinaryViewArray) -> std::result::Result<Vec<Option<Bytes>>, String> {
    let data: Vec<_> = array.data_buffers().iter().map(|buffer| buffer.as_slice()).collect();
    ensure_valid(bad_views(array.views(), array.nulls(), &(0..array.len()), &data))?;
    let buffers: Vec<_> = array.data_buffers().iter().map(|buffer| Bytes::from_owner(Owner(buffer.clone()))).collect();
    let value = |(index, value): (usize, Option<&[u8]>)| -> Option<Bytes> {
        let value = value?;
        let view = array.views().get(index).map(|view| arrow_data::ByteView::from(*view))?;
        let buffer = buffers.get(usize::try_from(view.buffer_index).ok()?).filter(|_| view.length > arrow_data::MAX_INLINE_VIEW_LEN);
        let Some(buffer) = buffer else { return Some(Bytes::copy_from_slice(value)) };
        let start = usize::try_from(view.offset).ok()?;
        Some(buffer.slice(start..start + value.len()))
    };
    Ok(array.iter().enumerate().map(value).collect())
}

fn ensure_valid(problem: Option<String>) -> std::result::Result<(), String> {
    problem.map_or(Ok(()), |problem| Err(format!("the column is not a valid Arrow array: {problem}")))
}
