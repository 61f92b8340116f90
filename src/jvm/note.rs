//! A finding as the corrupt column reports it: those of the bytes, of a store, and of the file as the driver knows it.

use std::ops::Range;

use crate::error::Result;
use crate::jvm::fields::TaskFields;
use crate::validate::Finding;
use crate::validate::lost_ranges;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNote {
    rule: String,
    severity: String,
    message: String,
    /// First of its bytes.
    pub position: u64,
    length: u64,
    /// Its offsets, as far as they are known.
    pub base_offset: Option<i64>,
    pub last_offset: Option<i64>,
    record_index: Option<u64>,
    field: Option<String>,
    file: String,
    /// It is about the file as a whole, and was known before the read.
    pub is_of_file: bool,
    /// It is about a batch without damage that cannot be read here.
    pub is_unreadable: bool,
}

impl From<&Finding> for TaskNote {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule().to_owned(),
            severity: finding.severity.name().to_owned(),
            message: finding.kind.to_string(),
            position: finding.position,
            length: finding.length,
            base_offset: finding.base_offset,
            last_offset: finding.last_offset,
            record_index: finding.record_index,
            field: finding.field.map(str::to_owned),
            file: finding.file.as_deref().unwrap_or_default().to_owned(),
            is_of_file: false,
            is_unreadable: finding.is_unreadable(),
        }
    }
}

impl lost_ranges::NamedFinding for TaskNote {
    fn rule(&self) -> &str {
        &self.rule
    }

    fn bytes(&self) -> Range<u64> {
        self.position..self.position.saturating_add(self.length)
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn widen(&mut self, bytes: Range<u64>) {
        let end = lost_ranges::NamedFinding::bytes(self).end.max(bytes.end);
        self.position = self.position.min(bytes.start);
        self.length = end.saturating_sub(self.position);
    }
}

impl TaskNote {
    /// The finding of a file, which Python wrote.
    ///
    /// # Errors
    /// If the data ends before it does.
    pub fn parse(fields: &mut TaskFields<'_>) -> Result<Self> {
        Ok(Self {
            rule: fields.text()?,
            severity: fields.text()?,
            message: fields.text()?,
            position: fields.unsigned()?,
            length: fields.unsigned()?,
            base_offset: fields.given()?,
            last_offset: fields.given()?,
            record_index: fields.given_unsigned()?,
            field: fields.given_text()?,
            file: String::new(),
            is_of_file: true,
            is_unreadable: false,
        })
    }

    /// The id of the rule.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// True for a finding without harm, such as a torn tail.
    pub fn is_info(&self) -> bool {
        self.severity == "info"
    }

    /// What a row about it has in a column of numbers.
    pub fn number(&self, column: &str) -> Option<i64> {
        match column {
            "offset" | "batchBaseOffset" => self.base_offset,
            "entryPosition" => i64::try_from(self.position).ok(),
            _ => None,
        }
    }

    /// The finding as JSON, as Python's `json.dumps` writes the dict of a finding.
    pub fn json(&self, path: &str) -> String {
        let number = |value: Option<i128>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let fields = [
            ("rule", quoted(&self.rule)),
            ("severity", quoted(&self.severity)),
            ("message", quoted(&self.message)),
            ("path", quoted(path)),
            ("position", self.position.to_string()),
            ("length", self.length.to_string()),
            ("baseOffset", number(self.base_offset.map(i128::from))),
            ("lastOffset", number(self.last_offset.map(i128::from))),
            ("recordIndex", number(self.record_index.map(i128::from))),
            ("field", self.field.as_deref().map_or_else(|| "null".to_owned(), quoted)),
        ];
        let fields = fields.map(|(name, value)| format!("\"{name}\": {value}"));
        format!("{{{}}}", fields.join(", "))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Tail;

    #[test]
    fn json_is_that_of_python() {
        let finding = Finding::of_tail(Tail::Zeros { position: 7, bytes: 20 }).unwrap();
        let note = TaskNote { field: Some("a\"\n\u{e9}\u{1}".into()), base_offset: Some(-1), ..TaskNote::from(&finding) };
        let expected = concat!(
            r#"{"rule": "FND-17", "severity": "info", "message": "the input ends in 20 zero bytes, as a preallocated segment does", "#,
            r#""path": "/a-0/b.log", "position": 7, "length": 20, "baseOffset": -1, "lastOffset": null, "recordIndex": null, "#,
            "\"field\": \"a\\\"\\n\u{e9}\\u0001\"}"
        );
        assert_eq!(note.json("/a-0/b.log"), expected);
    }
}
