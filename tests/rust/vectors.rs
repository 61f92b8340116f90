//! The primitive and control vectors of the peers' own test suites (tests/corpus/vectors.json).

use logsegment::model::{ControlType, control};
use logsegment::wire::Cursor;
use serde_json::Value;

fn vectors(unit: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/vectors.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all["vectors"].as_array().unwrap().iter().filter(|vector| vector["unit"] == unit).cloned().collect()
}

fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn prm_1_to_6_varint_tables() {
    let mut seen = 0;
    for vector in vectors("varint-table") {
        for row in vector["table"].as_array().unwrap() {
            let bytes = hex(&row[0]);
            let expected = row[1].as_i64().unwrap();
            let mut cursor = Cursor::new(&bytes, "PRM-2");
            assert_eq!(cursor.take_varlong("value").unwrap(), expected, "{}", row[0]);
            assert!(cursor.left().is_empty());
            if i32::try_from(expected).is_ok() {
                assert_eq!(i64::from(Cursor::new(&bytes, "PRM-1").take_varint("value").unwrap()), expected);
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 47);
}

#[test]
fn ctl_2_and_3_control_keys() {
    let mut seen = 0;
    for vector in vectors("control-key") {
        let expected = &vector["expected"];
        let parsed = ControlType::parse(Some(&hex(&vector["data"])));
        if expected.get("error").is_some_and(|error| !error.is_null()) {
            assert!(parsed.is_err(), "{}", vector["name"]);
        } else {
            let name = expected["type"].as_str().unwrap_or("UNKNOWN");
            assert_eq!(parsed.unwrap().name(), name.to_uppercase(), "{}", vector["name"]);
        }
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn ctl_4_control_values() {
    let mut seen = 0;
    for vector in vectors("control-value") {
        let parsed = control::coordinator_epoch(Some(&hex(&vector["data"])));
        match vector["expected"]["coordinator_epoch"].as_i64() {
            Some(epoch) => assert_eq!(i64::from(parsed.unwrap()), epoch, "{}", vector["name"]),
            None => assert!(parsed.is_err(), "{}", vector["name"]),
        }
        seen += 1;
    }
    assert_eq!(seen, 5);
}
