use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Int32Array, Int64Array, LargeBinaryArray, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::Schema;
use serde_json::{Value, json};

use super::*;
use crate::columns::schema::{BinaryKind, header_fields};

type Bytes<'a> = Vec<Option<&'a [u8]>>;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn lines(columns: Vec<(&str, ArrayRef)>, options: JsonLines) -> Vec<String> {
    let text = String::from_utf8(options.write(&batch(columns)).unwrap()).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn values(columns: Vec<(&str, ArrayRef)>, options: JsonLines) -> Vec<Value> {
    lines(columns, options).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn in_form(bytes: BytesForm) -> JsonLines {
    JsonLines { bytes, ..JsonLines::default() }
}

fn chosen(rows: RowFilter) -> Vec<Value> {
    let times = Int64Array::from(vec![Some(5), Some(-1), Some(10), Some(11), None]);
    let keys: BinaryArray = [Some(&b"a"[..]), Some(b"b"), None, Some(b"a"), Some(b"")].into_iter().collect();
    let numbers = Int32Array::from(vec![0, 1, 2, 3, 4]);
    let fields = Some(vec![("n".to_owned(), "n".to_owned())]);
    let columns: Vec<(&str, ArrayRef)> = vec![("timestampMs", Arc::new(times)), ("key", Arc::new(keys)), ("n", Arc::new(numbers))];
    let found = values(columns, JsonLines { rows, fields, ..JsonLines::default() });
    found.into_iter().map(|line| line["n"].clone()).collect()
}

#[test]
fn bytes_are_text_or_an_object() {
    let bytes: Bytes = vec![Some(b""), None, Some("\u{1f980}".as_bytes()), Some(b"\xff\x00"), Some(b"{\"base64\":\"/wA=\"}")];
    let columns: [ArrayRef; 3] = [
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes.clone())),
        Arc::new(bytes.into_iter().collect::<BinaryViewArray>()),
    ];
    for column in columns {
        let found = values(vec![("v", column)], JsonLines::default());
        let expected = [json!(""), json!(null), json!("\u{1f980}"), json!({"base64": "/wA="}), json!("{\"base64\":\"/wA=\"}")];
        assert_eq!(found, expected.map(|value| json!({ "v": value })));
    }
}

#[test]
fn a_chosen_form_holds_for_all_bytes() {
    let column: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"ab"[..]), Some(b"\xff\x0a"), None]));
    let in_form = |form| values(vec![("v", Arc::clone(&column))], in_form(form)).iter().map(|line| line["v"].clone()).collect::<Vec<_>>();
    assert_eq!(in_form(BytesForm::Base64), [json!("YWI="), json!("/wo="), json!(null)]);
    assert_eq!(in_form(BytesForm::Hex), [json!("6162"), json!("ff0a"), json!(null)]);
    assert_eq!(in_form(BytesForm::Utf8), [json!("ab"), json!("\u{fffd}\n"), json!(null)]);
}

/// Plain, quoted, control and other characters, at every place around the stride in which plain text is copied.
#[test]
fn any_text_reads_back_and_no_control_character_reaches_a_terminal() {
    let every: String = (0..0x400).filter_map(char::from_u32).chain("\u{2028}\u{10ffff}".chars()).collect();
    for middle in ["", "\"", "\\", "\"\\\"", "{\"a\":[\"\",\"b\"]}", "\u{e9}\u{1f980}", "\u{7f}", "\u{9b}2J", "\u{a0}", every.as_str()] {
        for (before, after) in (0..40).flat_map(|before| [0, 1, 15, 16, 33].map(|after| (before, after))) {
            let text = format!("{}{middle}{}", "x".repeat(before), "y".repeat(after));
            let line = lines(vec![("v", Arc::new(StringArray::from(vec![text.as_str()])))], JsonLines::default()).remove(0);
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), json!({ "v": text }));
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn whole_numbers_are_written_in_full() {
    let numbers = vec![Some(i64::MIN), Some(-1), Some(0), Some(10), Some(i64::MAX), None];
    let expected = ["-9223372036854775808", "-1", "0", "10", "9223372036854775807", "null"];
    let found = lines(vec![("n", Arc::new(Int64Array::from(numbers)))], JsonLines::default());
    assert_eq!(found, expected.map(|number| format!("{{\"n\":{number}}}")));
}

#[test]
fn times_are_milliseconds_and_their_type_has_kafkas_name() {
    let micros = TimestampMicrosecondArray::from(vec![Some(-1000), Some(1_700_000_000_001_000), None]).with_timezone("UTC");
    let types = Int32Array::from(vec![Some(-1), Some(0), Some(1)]);
    let found = lines(vec![("timestamp", Arc::new(micros)), ("timestampType", Arc::new(types))], JsonLines::default());
    assert_eq!(found[0], r#"{"timestamp":-1,"timestampType":"NoTimestampType"}"#);
    assert_eq!(found[1], r#"{"timestamp":1700000000001,"timestampType":"CreateTime"}"#);
    assert_eq!(found[2], r#"{"timestamp":null,"timestampType":"LogAppendTime"}"#);
}

#[test]
fn headers_keep_their_order_their_repeats_and_their_nulls() {
    let row = StructBuilder::from_fields(header_fields(arrow_schema::DataType::Utf8, BinaryKind::Binary), 4);
    let mut headers = ListBuilder::new(row);
    for (key, value) in [("k", Some(&b"1"[..])), ("k", None), ("", Some(b"\xfe"))] {
        headers.values().field_builder::<StringBuilder>(0).unwrap().append_value(key);
        headers.values().field_builder::<BinaryBuilder>(1).unwrap().append_option(value);
        headers.values().append(true);
    }
    headers.append(true);
    headers.append(true);
    headers.append(false);
    let found = lines(vec![("headers", Arc::new(headers.finish()))], JsonLines::default());
    assert_eq!(found[0], r#"{"headers":[{"key":"k","value":"1"},{"key":"k","value":null},{"key":"","value":{"base64":"/g=="}}]}"#);
    assert_eq!(found[1..], [r#"{"headers":[]}"#, r#"{"headers":null}"#]);
}

#[test]
fn fields_pick_order_and_rename_and_constants_come_first() {
    let columns: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(Int32Array::from(vec![1]))), ("b", Arc::new(BooleanArray::from(vec![true])))];
    let names = [("b", "is\"b"), ("a", "a"), ("a", "again")].map(|(column, name)| (column.to_owned(), name.to_owned()));
    let constants = vec![("file".to_owned(), "x\ny".to_owned())];
    let options = JsonLines { fields: Some(names.to_vec()), constants: constants.clone(), ..JsonLines::default() };
    assert_eq!(lines(columns.clone(), options), [r#"{"file":"x\ny","is\"b":true,"a":1,"again":1}"#]);
    let only = |constants| JsonLines { fields: Some(Vec::new()), constants, ..JsonLines::default() };
    assert_eq!(lines(columns.clone(), only(constants)), [r#"{"file":"x\ny"}"#]);
    assert_eq!(lines(columns, only(Vec::new())), ["{}"]);
}

#[test]
fn conditions_choose_rows_and_a_record_without_a_time_meets_none_about_time() {
    let keys = |keys: &[&[u8]]| Some(keys.iter().map(|key| key.to_vec()).collect());
    assert_eq!(chosen(RowFilter::default()), [0, 1, 2, 3, 4]);
    assert_eq!(chosen(RowFilter { since: Some(10), ..RowFilter::default() }), [2, 3]);
    assert_eq!(chosen(RowFilter { until: Some(11), ..RowFilter::default() }), [0, 2]);
    assert_eq!(chosen(RowFilter { keys: keys(&[b"a", b""]), ..RowFilter::default() }), [0, 3, 4]);
    assert_eq!(chosen(RowFilter { keys: keys(&[b"a"]), since: Some(6), limit: Some(9), ..RowFilter::default() }), [3]);
    assert_eq!(chosen(RowFilter { limit: Some(2), ..RowFilter::default() }), [0, 1]);
    assert_eq!(chosen(RowFilter { limit: Some(0), ..RowFilter::default() }), [0; 0]);
}

#[test]
fn a_column_that_is_missing_or_of_another_type_is_the_callers_mistake() {
    let empty = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let fields = Some(vec![("a".to_owned(), "a".to_owned())]);
    let missing = JsonLines { fields, ..JsonLines::default() }.write(&empty).unwrap_err();
    assert_eq!(missing.to_string(), "[USAGE] fields: there is no column \"a\"");
    let untimed = JsonLines { rows: RowFilter { since: Some(0), ..RowFilter::default() }, ..JsonLines::default() };
    assert_eq!(untimed.write(&empty).unwrap_err().rule(), "USAGE");
    assert!(untimed.write(&batch(vec![("timestampMs", Arc::new(Int32Array::from(vec![1])))])).is_err());
    let duration: ArrayRef = Arc::new(arrow_array::DurationSecondArray::from(vec![1]));
    assert!(JsonLines::default().write(&batch(vec![("d", duration)])).is_err());
}
