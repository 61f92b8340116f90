//! Findings as columns.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};

use crate::validate::Finding;

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
pub fn findings_array<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> StructArray {
    let [mut rule, mut severity, mut message, mut path, mut field] = std::array::from_fn(|_| StringBuilder::new());
    let [mut position, mut length, mut base_offset, mut last_offset, mut record_index] = std::array::from_fn(|_| Int64Builder::new());
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for finding in findings {
        rule.append_value(finding.rule());
        severity.append_value(finding.severity.name());
        message.append_value(finding.what.to_string());
        path.append_value(finding.path());
        position.append_value(signed(finding.position));
        length.append_value(signed(finding.length));
        base_offset.append_option(finding.base_offset);
        last_offset.append_option(finding.last_offset);
        record_index.append_option(finding.record_index.map(signed));
        field.append_option(finding.field);
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
