//! Findings as columns.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};

use crate::validate::Finding;

/// What is in a row.
pub struct FindingRow<'a> {
    /// Id of the rule.
    pub rule: &'a str,
    /// Name of the severity.
    pub severity: &'a str,
    /// What is wrong.
    pub message: Cow<'a, str>,
    /// Where, from the outside in.
    pub path: Cow<'a, str>,
    /// Position of the bytes.
    pub position: u64,
    /// How many bytes.
    pub length: u64,
    /// Base offset of the batch.
    pub base_offset: Option<i64>,
    /// Last offset of the batch.
    pub last_offset: Option<i64>,
    /// Index of the record.
    pub record_index: Option<u64>,
    /// The field, in Kafka's spelling.
    pub field: Option<&'a str>,
}

impl<'a> From<&'a Finding> for FindingRow<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            rule: finding.rule(),
            severity: finding.severity.name(),
            message: finding.kind.to_string().into(),
            path: finding.path().into(),
            position: finding.position,
            length: finding.length,
            base_offset: finding.base_offset,
            last_offset: finding.last_offset,
            record_index: finding.record_index,
            field: finding.field,
        }
    }
}

/// Names and types, in order.
pub fn finding_fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Int64, true);
    Fields::from(vec![
        text("rule"),
        text("severity"),
        text("message"),
        text("path"),
        number("position"),
        number("length"),
        number("baseOffset"),
        number("lastOffset"),
        number("recordIndex"),
        text("field"),
    ])
}

/// One row per finding.
pub fn findings_array<'a>(rows: impl IntoIterator<Item = FindingRow<'a>>) -> StructArray {
    let [mut rule, mut severity, mut message, mut path, mut field] = std::array::from_fn(|_| StringBuilder::new());
    let [mut position, mut length, mut base_offset, mut last_offset, mut record_index] = std::array::from_fn(|_| Int64Builder::new());
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for row in rows {
        rule.append_value(row.rule);
        severity.append_value(row.severity);
        message.append_value(row.message);
        path.append_value(row.path);
        position.append_value(signed(row.position));
        length.append_value(signed(row.length));
        base_offset.append_option(row.base_offset);
        last_offset.append_option(row.last_offset);
        record_index.append_option(row.record_index.map(signed));
        field.append_option(row.field);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rule.finish()),
        Arc::new(severity.finish()),
        Arc::new(message.finish()),
        Arc::new(path.finish()),
        Arc::new(position.finish()),
        Arc::new(length.finish()),
        Arc::new(base_offset.finish()),
        Arc::new(last_offset.finish()),
        Arc::new(record_index.finish()),
        Arc::new(field.finish()),
    ];
    StructArray::new(finding_fields(), columns, None)
}
