//! Values with schemas, whatever the bytes of both are: each becomes a row of a valid column or a null with a problem, in bounded memory.

use std::sync::Arc;

use arrow_array::Array;
use logsegment::values::wanted::WantedFields;
use logsegment::values::{Expected, Framing, SchemaEntry, Schemas, ValueDecoder, ValueFormat, ValuePlan};

use super::choices::Choices;

/// Longest schema and longest value of an input, in bytes.
const MOST_TEXT: usize = 1 << 12;

/// Schemas for inputs that bring none: records, unions, maps, arrays, logical types, recursive types.
const AVRO: &str = r#"{"type":"record","name":"R","fields":[
  {"name":"a","type":["null","long","string"]},{"name":"b","type":{"type":"array","items":{"type":"map","values":"bytes"}}},
  {"name":"c","type":{"type":"enum","name":"E","symbols":["X","Y"]}},{"name":"d","type":{"type":"fixed","name":"F","size":3}},
  {"name":"e","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"f","type":["null","R"],"default":null},
  {"name":"g","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"h","type":{"type":"array","items":"null"}}]}"#;
const JSON: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"number"}},
  "c":{"type":"object","additionalProperties":{"type":"string"}},"d":{"oneOf":[{"type":"boolean"},{"type":"null"}]}}}"#;
const PROTOBUF: &str = r#"syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto";
  message M { sint64 a = 1; repeated fixed32 b = 2; map<string, M> c = 3; oneof o { bool d = 4; bytes e = 5; }
  google.protobuf.Timestamp f = 6; google.protobuf.Value g = 7; optional double h = 8; enum S { Z = 0; P = 1; } S i = 9; }"#;

/// One byte chooses the format, one the framing; a run is the schema, if it has bytes; all other runs are values.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let (kind, format, usual) = choices.one_of([
        ("AVRO", ValueFormat::Avro, AVRO),
        ("JSON", ValueFormat::Json, JSON),
        ("PROTOBUF", ValueFormat::Protobuf, PROTOBUF),
        ("AVRO", ValueFormat::Auto, AVRO),
    ]);
    let framing = choices.one_of([
        Framing::None,
        Framing::Confluent,
        Framing::Auto,
        Framing::ConfluentNoIndex,
        Framing::Apicurio,
        Framing::ApicurioGlobal,
        Framing::SingleObject,
    ]);
    let given = choices.run(MOST_TEXT).filter(|text| !text.is_empty());
    let text = given.map_or_else(|| usual.to_owned(), |text| String::from_utf8_lossy(text).into_owned());
    let entry = SchemaEntry { id: Some(1), global_ids: vec![2], guid: Some([7; 16]), kind: kind.to_owned(), text, referenced: Vec::new() };
    let schemas = Arc::new(Schemas::new(vec![entry], framing, format, None));
    let messages = if kind == "PROTOBUF" { vec![(0, vec![0])] } else { Vec::new() };
    let expected = Expected { present: vec![0], messages, newest: Some(0), reader: None };
    let Ok(plan) = ValuePlan::new(schemas, &expected, &WantedFields::all()) else { return };
    let mut decoder = ValueDecoder::new(Arc::new(plan));
    let mut rows = Vec::new();
    while !choices.is_empty() {
        let is_bad = match choices.run(MOST_TEXT) {
            None => {
                decoder.push_null();
                true
            }
            Some(value) => decoder.push(value, None).is_err_and(|flaw| {
                assert!(flaw.problem.rule().starts_with("SCH-"));
                !flaw.problem.is_partial()
            }),
        };
        rows.push(is_bad);
    }
    let (column, ids) = decoder.finish().expect("the decoder wrote it");
    assert_eq!((column.len(), ids.len()), (rows.len(), rows.len()), "each value is one row");
    column.to_data().validate_full().expect("the column is valid");
    let nulls = column.logical_nulls();
    for (row, is_bad) in rows.into_iter().enumerate() {
        assert!(!is_bad || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)), "a value with a problem is null");
    }
}
