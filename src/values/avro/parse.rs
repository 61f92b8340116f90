//! The JSON text of an Avro schema, and those that it refers to, as one graph.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema::{AvroField, AvroKind, AvroName, AvroNode, AvroSchema, AvroTimeUnit, Logical, NodeId, Symbols};

/// Most types of a schema, with those of the schemas that it refers to.
const MOST_NODES: usize = 100_000;

type SchemaResult<T> = Result<T, String>;

impl AvroSchema {
    /// Parses a schema. `referenced` are the texts of the schemas that it needs, each after those that it needs itself.
    ///
    /// # Errors
    /// What is wrong with a text.
    pub fn parse(text: &str, referenced: &[&str]) -> SchemaResult<Self> {
        let mut parser = AvroParser { nodes: Vec::new(), names: HashMap::new() };
        for other in referenced {
            parser.text(other)?;
        }
        let root = parser.text(text)?;
        Ok(Self { nodes: parser.nodes, root })
    }
}

struct AvroParser {
    nodes: Vec<AvroNode>,
    names: HashMap<Box<str>, NodeId>,
}

impl AvroParser {
    fn text(&mut self, text: &str) -> SchemaResult<NodeId> {
        // A schema that is only a name may stand without quotes.
        let value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(_) if is_full_name(text.trim()) => Value::String(text.trim().to_owned()),
            Err(error) => return Err(format!("not JSON: {error}")),
        };
        self.node(&value, "")
    }

    fn node(&mut self, value: &Value, namespace: &str) -> SchemaResult<NodeId> {
        match value {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => self.union(branches, namespace),
            Value::Object(object) => self.object(object, namespace),
            other => Err(format!("{other} is not a type")),
        }
    }

    fn add(&mut self, kind: AvroKind, logical: Option<Logical>, name: Option<AvroName>) -> SchemaResult<NodeId> {
        if self.nodes.len() >= MOST_NODES {
            return Err(format!("more than {MOST_NODES} types"));
        }
        self.nodes.push(AvroNode { kind, logical, name });
        Ok(NodeId(self.nodes.len() - 1))
    }

    fn named(&mut self, name: &str, namespace: &str) -> SchemaResult<NodeId> {
        if let Some(kind) = primitive(name) {
            return self.add(kind, None, None);
        }
        let full = full_name(name, namespace);
        let found = self.names.get(full.as_str()).or_else(|| self.names.get(name));
        found.copied().ok_or_else(|| format!("there is no type {full:?}"))
    }

    fn union(&mut self, branches: &[Value], namespace: &str) -> SchemaResult<NodeId> {
        let mut ids = Vec::new();
        for branch in branches {
            let id = self.node(branch, namespace)?;
            if matches!(self.nodes.get(id.0), Some(AvroNode { kind: AvroKind::Union(_), .. })) {
                return Err("a union inside a union".to_owned());
            }
            ids.push(id);
        }
        self.add(AvroKind::Union(ids), None, None)
    }

    fn object(&mut self, object: &Map<String, Value>, namespace: &str) -> SchemaResult<NodeId> {
        let kind = match object.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(nested) => return self.node(nested, namespace),
            None => return Err("a type without \"type\"".to_owned()),
        };
        match kind {
            "record" | "error" => self.record(object, namespace),
            "enum" => self.enumeration(object, namespace),
            "fixed" => self.fixed(object, namespace),
            "array" => {
                let items = self.node(member(object, "items")?, namespace)?;
                self.add(AvroKind::Array(items), None, None)
            }
            "map" => {
                let values = self.node(member(object, "values")?, namespace)?;
                self.add(AvroKind::Map(values), None, None)
            }
            name => match primitive(name) {
                Some(kind) => {
                    let logical = logical(object, &kind);
                    self.add(kind, logical, None)
                }
                None => self.named(name, namespace),
            },
        }
    }

    /// Adds a named type whose content follows, so that the content may name it.
    fn declare(&mut self, object: &Map<String, Value>, namespace: &str) -> SchemaResult<(NodeId, String)> {
        let name = text(object, "name")?;
        let own = object.get("namespace").and_then(Value::as_str);
        let full = full_name(name, own.unwrap_or(namespace));
        let inner = full.rsplit_once('.').map_or("", |(inner, _)| inner).to_owned();
        let aliases = names(object, "aliases").map(|alias| full_name(alias, &inner).into()).collect();
        let id = self.add(AvroKind::Null, None, Some(AvroName { full: full.as_str().into(), aliases }))?;
        self.names.insert(full.into(), id);
        Ok((id, inner))
    }

    fn fill(&mut self, id: NodeId, kind: AvroKind, logical: Option<Logical>) -> NodeId {
        if let Some(node) = self.nodes.get_mut(id.0) {
            (node.kind, node.logical) = (kind, logical);
        }
        id
    }

    fn record(&mut self, object: &Map<String, Value>, namespace: &str) -> SchemaResult<NodeId> {
        let (id, inner) = self.declare(object, namespace)?;
        let Value::Array(listed) = member(object, "fields")? else { return Err("\"fields\" is not a list".to_owned()) };
        let mut fields: Vec<AvroField> = Vec::with_capacity(listed.len());
        for field in listed {
            let Value::Object(field) = field else { return Err("a field is not an object".to_owned()) };
            let name = text(field, "name")?;
            let node = self.node(member(field, "type")?, &inner).map_err(|problem| format!("field {name:?}: {problem}"))?;
            if fields.iter().any(|field| *field.name == *name) {
                return Err(format!("the field {name:?} is there twice"));
            }
            let aliases = names(field, "aliases").map(Into::into).collect();
            fields.push(AvroField { name: name.into(), aliases, node, default: field.get("default").cloned() });
        }
        Ok(self.fill(id, AvroKind::Record(fields), None))
    }

    fn enumeration(&mut self, object: &Map<String, Value>, namespace: &str) -> SchemaResult<NodeId> {
        let (id, _) = self.declare(object, namespace)?;
        let symbols: Vec<Box<str>> = names(object, "symbols").map(Into::into).collect();
        let default = object.get("default").and_then(Value::as_str).map(Into::into);
        Ok(self.fill(id, AvroKind::Enum(Symbols { names: symbols, default }), None))
    }

    fn fixed(&mut self, object: &Map<String, Value>, namespace: &str) -> SchemaResult<NodeId> {
        let (id, _) = self.declare(object, namespace)?;
        let size = member(object, "size")?.as_u64().and_then(|size| i32::try_from(size).ok()).and_then(|size| usize::try_from(size).ok());
        let kind = AvroKind::Fixed(size.ok_or("\"size\" is not a size")?);
        let logical = logical(object, &kind);
        Ok(self.fill(id, kind, logical))
    }
}

fn primitive(name: &str) -> Option<AvroKind> {
    let kinds = [
        AvroKind::Null,
        AvroKind::Boolean,
        AvroKind::Int,
        AvroKind::Long,
        AvroKind::Float,
        AvroKind::Double,
        AvroKind::Bytes,
        AvroKind::String,
    ];
    kinds.into_iter().find(|kind| kind.name() == name)
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.trim_start_matches('.').to_owned() } else { format!("{namespace}.{name}") }
}

fn is_full_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_' || char == '.')
}

fn member<'v>(object: &'v Map<String, Value>, name: &str) -> SchemaResult<&'v Value> {
    object.get(name).ok_or_else(|| format!("{name:?} is missing"))
}

fn text<'v>(object: &'v Map<String, Value>, name: &str) -> SchemaResult<&'v str> {
    member(object, name)?.as_str().ok_or_else(|| format!("{name:?} is not a text"))
}

fn names<'v>(object: &'v Map<String, Value>, name: &str) -> impl Iterator<Item = &'v str> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// What the type means; a logical type that does not fit its type is ignored, as the specification says.
fn logical(object: &Map<String, Value>, kind: &AvroKind) -> Option<Logical> {
    let name = object.get("logicalType")?.as_str()?;
    let timestamp = |unit, is_utc| Some(Logical::Timestamp { unit, is_utc });
    match (name, kind) {
        ("decimal", AvroKind::Bytes | AvroKind::Fixed(_)) => decimal(object, kind),
        ("date", AvroKind::Int) => Some(Logical::Date),
        ("time-millis", AvroKind::Int) => Some(Logical::TimeMillis),
        ("time-micros", AvroKind::Long) => Some(Logical::TimeMicros),
        ("timestamp-millis", AvroKind::Long) => timestamp(AvroTimeUnit::Millis, true),
        ("timestamp-micros", AvroKind::Long) => timestamp(AvroTimeUnit::Micros, true),
        ("timestamp-nanos", AvroKind::Long) => timestamp(AvroTimeUnit::Nanos, true),
        ("local-timestamp-millis", AvroKind::Long) => timestamp(AvroTimeUnit::Millis, false),
        ("local-timestamp-micros", AvroKind::Long) => timestamp(AvroTimeUnit::Micros, false),
        ("local-timestamp-nanos", AvroKind::Long) => timestamp(AvroTimeUnit::Nanos, false),
        ("uuid", AvroKind::String | AvroKind::Fixed(16)) => Some(Logical::Uuid),
        ("duration", AvroKind::Fixed(12)) => Some(Logical::Duration),
        _ => None,
    }
}

fn decimal(object: &Map<String, Value>, kind: &AvroKind) -> Option<Logical> {
    let number = |name| object.get(name).map_or(Some(0), |value| usize::try_from(value.as_u64()?).ok());
    let (precision, scale) = (number("precision")?, number("scale")?);
    let fits = match kind {
        // The digits that a two's complement of so many bytes always holds.
        AvroKind::Fixed(size) => precision <= (size.saturating_mul(8).saturating_sub(1)).saturating_mul(30_103) / 100_000,
        _ => true,
    };
    (precision > 0 && scale <= precision && fits).then_some(Logical::Decimal { precision, scale })
}
