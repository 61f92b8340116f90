//! The fingerprint of a schema, by which Avro's single objects name it.
//!
//! Source: "Parsing Canonical Form for Schemas" and "Schema Fingerprints" in the specification of Avro 1.12.

use super::schema::{AvroKind, AvroSchema, NodeId};

/// The fingerprint of no bytes.
const EMPTY: u64 = 0xc15d_213a_a4d7_a795;

/// The CRC-64-AVRO of the canonical form, as the bytes of a value have it.
pub fn fingerprint(schema: &AvroSchema) -> [u8; 8] {
    let mut text = String::new();
    let mut canonical = Canonical { schema, seen: Vec::new(), out: &mut text };
    canonical.node(schema.root());
    crc(text.as_bytes()).to_le_bytes()
}

/// The CRC-64-AVRO of bytes.
pub fn crc(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |crc, byte| {
        let mut part = (crc ^ u64::from(*byte)) & 0xff;
        for _ in 0..8 {
            part = (part >> 1) ^ (EMPTY & (part & 1).wrapping_neg());
        }
        (crc >> 8) ^ part
    })
}

struct Canonical<'s> {
    schema: &'s AvroSchema,
    seen: Vec<NodeId>,
    out: &'s mut String,
}

/// Most bytes of a canonical form, which types inside each other could multiply.
const MOST_BYTES: usize = 16 << 20;

impl Canonical<'_> {
    fn node(&mut self, id: NodeId) {
        let node = self.schema.node(id);
        if self.out.len() > MOST_BYTES {
            return;
        }
        if let Some(name) = &node.name {
            if self.seen.contains(&id) {
                return self.text(&name.full);
            }
            self.seen.push(id);
        }
        match &node.kind {
            AvroKind::Union(branches) => self.list('[', branches, ']', |canonical, branch| canonical.node(*branch)),
            AvroKind::Array(items) => self.wrap(r#"{"type":"array","items":"#, *items),
            AvroKind::Map(values) => self.wrap(r#"{"type":"map","values":"#, *values),
            AvroKind::Fixed(size) => {
                self.named(node.type_name(), "fixed");
                self.out.push_str(&format!(r#","size":{size}}}"#));
            }
            AvroKind::Enum(symbols) => {
                self.named(node.type_name(), "enum");
                self.out.push_str(r#","symbols":"#);
                self.list('[', &symbols.names, ']', |canonical, symbol| canonical.text(symbol));
                self.out.push('}');
            }
            AvroKind::Record(fields) => {
                self.named(node.type_name(), "record");
                self.out.push_str(r#","fields":"#);
                self.list('[', fields, ']', |canonical, field| {
                    canonical.out.push_str(r#"{"name":"#);
                    canonical.text(&field.name);
                    canonical.out.push_str(r#","type":"#);
                    canonical.node(field.node);
                    canonical.out.push('}');
                });
                self.out.push('}');
            }
            primitive => self.text(primitive.name()),
        }
    }

    fn named(&mut self, name: &str, kind: &str) {
        self.out.push_str(r#"{"name":"#);
        self.text(name);
        self.out.push_str(r#","type":"#);
        self.text(kind);
    }

    fn wrap(&mut self, start: &str, inner: NodeId) {
        self.out.push_str(start);
        self.node(inner);
        self.out.push('}');
    }

    fn list<T>(&mut self, open: char, items: &[T], close: char, each: impl Fn(&mut Self, &T)) {
        self.out.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            each(self, item);
        }
        self.out.push(close);
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_specification() {
        // share/test/data/schema-tests.txt of Apache Avro.
        let of = |text| i64::from_le_bytes(fingerprint(&AvroSchema::parse(text, &[]).unwrap()));
        assert_eq!(of(r#""null""#), 7_195_948_357_588_979_594);
        assert_eq!(of(r#"{"type":"boolean"}"#), -6_970_731_678_124_411_036);
        assert_eq!(of(r#""int""#), 8_247_732_601_305_521_295);
    }
}
