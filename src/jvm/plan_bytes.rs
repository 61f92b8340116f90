//! The data of a query and of its tasks: a plan goes in, bytes that `task` parses come out.

use std::path::Path;

use crate::decode::Transactions;
use crate::jvm::fields::FieldsWriter;
use crate::limits::Limits;
use crate::spark::{BatchQuery, DamageMode, RowColumns, TaskPiece, TypedValues};
use crate::validate::Finding;

/// What follows an error of damage: the options that skip it.
pub const SKIPPING: &str = "set the option mode to PERMISSIVE or DROPMALFORMED to skip damage";
/// What a query without plugin codecs lacks.
const NO_PLUGINS: &str = "the option plugins.path or plugins.kafka.bootstrap.servers";

/// What all tasks of a query share. `schemas` are those of values and of keys, as Python wrote them.
pub fn query(query: &BatchQuery, columns: &RowColumns, schemas: Option<&[u8]>) -> Vec<u8> {
    let mut out = FieldsWriter::default();
    out.text(if query.skips_damage() { "" } else { SKIPPING }).text(NO_PLUGINS);
    out.flag(query.reads_proposed).long(query.batch_rows).long(query.batch_bytes);
    limits(&mut out, &query.limits);
    out.list(query.quirks.iter().collect::<Vec<_>>(), |out, quirk| {
        out.text(quirk.name());
    });
    out.list(&query.dictionaries, |out, bytes| {
        out.bytes(bytes);
    });
    let mode = match query.damage {
        DamageMode::Fail => 0,
        DamageMode::Report => 1,
        DamageMode::Drop => 2,
    };
    out.long(mode).flag(query.unreadable == crate::decode::Unreadable::Skip).flag(query.fails_on_data_loss);
    out.given_text(columns.has_corrupt.then_some(query.corrupt.as_str()));
    out.list(columns.decoded(), |out, name| {
        out.text(name);
    });
    match schemas {
        Some(schemas) => {
            out.raw(schemas);
        }
        None => {
            primitive(&mut out, &query.values);
            primitive(&mut out, &query.keys);
        }
    }
    out.into_bytes()
}

/// What one task reads. `place` returns the path of a segment as the task opens it, and the first offset of its name.
///
/// # Errors
/// Those of `place`.
pub fn task<E>(pieces: &[TaskPiece], mut place: impl FnMut(&Path) -> Result<(std::path::PathBuf, i64), E>) -> Result<Vec<u8>, E> {
    let places = pieces.iter().map(|piece| place(&piece.file.path)).collect::<Result<Vec<_>, E>>()?;
    let mut out = FieldsWriter::default();
    out.list(pieces.iter().zip(&places), |out, (piece, (path, base))| part(out, piece, path, *base));
    Ok(out.into_bytes())
}

fn part(out: &mut FieldsWriter, piece: &TaskPiece, path: &Path, base: i64) {
    let (bytes, wanted) = (&piece.bytes, &piece.bytes.wanted);
    let offsets = piece.file.offsets;
    out.path(path).unsigned(bytes.bytes.0).given_unsigned(bytes.bytes.1);
    out.given(offsets.map(|offsets| offsets.start)).given(offsets.and_then(|offsets| offsets.end));
    out.given(wanted.start_offset).given(wanted.end_offset).given(wanted.share.0).given(wanted.share.1);
    out.given(wanted.times.0).given(wanted.times.1);
    out.given_text(piece.name.topic.as_deref()).given(piece.name.partition.map(i64::from));
    out.flag(piece.is_tail_strict).given(piece.file.next_offset).flag(bytes.is_inner);
    transactions(out, piece.transactions.as_ref());
    out.long(base).flag(piece.resumes);
    finding(out, piece.finding.as_ref());
}

fn transactions(out: &mut FieldsWriter, known: Option<&Transactions>) {
    let Some(known) = known else {
        out.flag(false);
        return;
    };
    out.flag(true).given(known.last_stable_offset());
    for ranges in [known.aborted(), known.undecided()] {
        out.list(ranges, |out, (producer, first, last)| {
            out.long(producer).long(first).long(last);
        });
    }
}

fn finding(out: &mut FieldsWriter, finding: Option<&Finding>) {
    let Some(finding) = finding else {
        out.flag(false);
        return;
    };
    out.flag(true).text(finding.rule()).text(finding.severity.name()).text(&finding.kind.to_string());
    out.unsigned(finding.position).unsigned(finding.length).given(finding.base_offset).given(finding.last_offset);
    out.given_unsigned(finding.record_index).given_text(finding.field);
}

fn limits(out: &mut FieldsWriter, limits: &Limits) {
    for limit in [limits.max_batch_bytes, limits.max_decompressed_bytes, limits.max_ratio, limits.max_records, limits.max_headers] {
        out.unsigned(limit);
    }
    out.unsigned(u64::from(limits.max_nesting));
}

/// The schema of one of Kafka's own serializers, which needs no other one.
fn primitive(out: &mut FieldsWriter, kind: &TypedValues) {
    let TypedValues::Primitive(kind) = kind else {
        out.flag(false);
        return;
    };
    let none = |out: &mut FieldsWriter| {
        out.list([(); 0], |_, ()| {});
    };
    out.flag(true).list([kind], |out, kind| {
        out.given(None).flag(false).text("PRIMITIVE").text(kind);
        none(out);
        none(out);
    });
    out.text("none").text("primitive").list([0_i64], |out, number| {
        out.long(number);
    });
    out.given(Some(0)).flag(false);
    none(out);
    out.given(None).text("int64");
}
