//! One entry as a tree of its fields: every byte with its name, its value and what it means, and the damage marked where it is.
//!
//! The fields are those of the tables in `format/*/layout.rs`, read one after the other as far as the bytes go; errors are the findings of
//! `validate`. Decompressed records are separate areas with their own positions.

mod batch;
mod codecs;
mod control;
mod decompress;
mod entry;
mod field_writer;
mod marks;
mod meaning;
mod message;
mod node;
mod options;
mod record;

pub use entry::{InspectedEntry, find, skip, take};
pub use node::{Area, FieldValue, Mark, Node};
pub use options::InspectOptions;

use crate::decode::DecodeOptions;
use crate::error::Result;
use crate::format::{v0_v1, v07};
use crate::framing::LOG_OVERHEAD;
use crate::model::RecordFormat;
use crate::wire::{WireField, WireKind};
use decompress::Decompression;
use field_writer::{Areas, FieldWriter};
use options::InspectContext;

/// An entry as a tree.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The entry.
    pub root: Node,
    /// The bytes in which positions count; the first are those of the input.
    pub areas: Vec<Area>,
}

/// Shows a stretch of bytes as an entry, with marks for unreadable parts.
///
/// # Errors
/// `Io` and `Interrupted` only, of the registry of plugins and of a plugin.
pub fn inspect(stretch: &InspectedEntry, options: &DecodeOptions, shown: &InspectOptions) -> Result<Inspection> {
    let areas = Areas::new(stretch.bytes.clone(), stretch.position);
    let wanted = InspectContext { options, shown };
    let mut decompression = Decompression::new(&areas, &wanted);
    let mut writer = FieldWriter::new(&areas, 0, stretch.position, stretch.bytes.clone());
    let name = write(&mut writer, stretch, &wanted, &mut decompression);
    let children = [writer.finish(), decompression.take()?].concat();
    let mut root = Node { children, ..Node::new(name, 0, stretch.position, stretch.bytes.len()) };
    root.note = root.child("magic").map_or_else(String::new, |magic| magic.note.clone());
    marks::place(&mut root, &stretch.findings(options, shown.depth)?);
    Ok(Inspection { root, areas: areas.into_areas() })
}

/// Writes the fields of an entry; gives what it is called.
fn write<'a>(
    writer: &mut FieldWriter<'a>,
    stretch: &InspectedEntry,
    wanted: &InspectContext<'_>,
    decompression: &mut Decompression<'a, '_>,
) -> &'static str {
    match stretch.format {
        Some(RecordFormat::V07) => {
            message::write(writer, RecordFormat::V07, message::Wrapper::Sets(1), wanted, decompression);
            "message"
        }
        Some(format @ (RecordFormat::V0 | RecordFormat::V1)) => {
            message::write(writer, format, message::Wrapper::None, wanted, decompression);
            "message"
        }
        Some(format) => {
            batch::write(writer, format, stretch, wanted, decompression);
            "batch"
        }
        None => {
            unknown(writer, wanted.options.formats.is_v07());
            "entry"
        }
    }
}

/// The fields that every format has, of an entry that is of none.
fn unknown(writer: &mut FieldWriter<'_>, is_v07: bool) {
    if is_v07 {
        writer.numbers(v07::layout::FIELDS_V0.get(..2).unwrap_or_default());
    } else {
        writer.numbers(v0_v1::layout::FIELDS_V0.get(..2).unwrap_or_default());
        if writer.left().len() > v0_v1::layout::MAGIC - LOG_OVERHEAD {
            writer.data("unknown", i128::try_from(v0_v1::layout::MAGIC - LOG_OVERHEAD).unwrap_or(0));
            writer.number(WireField::new("magic", WireKind::Int(1)));
        }
    }
    writer.rest("unknown");
    writer.note("no fields are known after this magic");
}
