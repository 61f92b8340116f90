//! Members of JSON objects.

use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::error::{TieredError, TieredResult};

/// Letters of a value that an error shows.
const MOST_LETTERS: usize = 40;

/// Base64 with padding, as Java writes it.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// A whole number of a JSON object.
pub(super) fn number(members: &Map<String, Value>, name: &str, least: u64, most: u64, rule: &'static str) -> TieredResult<u64> {
    let value = members.get(name);
    value
        .and_then(Value::as_u64)
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| TieredError::manifest(rule, format!("{name} must be a whole number from {least} to {most}, not {}", shown(value))))
}

pub(super) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string().chars().take(MOST_LETTERS).collect())
}
