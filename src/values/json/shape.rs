//! The column of a JSON Schema. What Arrow cannot hold is JSON text: several types in one place, values without a type, recursion.

use arrow_schema::{DataType, TimeUnit};
use serde_json::{Map, Value, json};

use super::schema::{Integers, JsonSchema, SchemaPosition};
use crate::values::payload::{MOST_DEPTH, Problem, Read};
use crate::values::shape::{MOST_COLUMNS, Member, Shape, ShapeKind, common};
use crate::values::wanted::WantedFields;

/// The column of the whole value, with the wanted fields alone. All of it may be null: a JSON Schema does not say that a name is there.
///
/// # Errors
/// `Schema` for a schema that is too deep or too wide, or has no field that is wanted.
pub fn shape_of(schema: &JsonSchema, wanted: &WantedFields) -> Read<Shape> {
    let (place, root) = schema.root();
    let mut shaper = JsonShaper { schema, above: vec![place.clone()], columns: 0, depth: 0 };
    let kind = shaper.kind(&place, root, wanted)?;
    Ok(Shape { kind, is_nullable: true })
}

/// True if every value of a column of the first shape can be read as one of the other.
pub fn holds(reader: &ShapeKind, writer: &ShapeKind) -> bool {
    match (reader, writer) {
        (ShapeKind::Json, _) | (_, ShapeKind::Leaf(DataType::Null)) => true,
        (ShapeKind::Leaf(DataType::Float64 | DataType::Decimal128(38, 0)), ShapeKind::Leaf(DataType::Int64)) => true,
        (ShapeKind::Struct(read), ShapeKind::Struct(written)) => read.iter().all(|member| {
            let same = written.iter().find(|other| other.name == member.name);
            same.is_none_or(|other| holds(&member.shape.kind, &other.shape.kind))
        }),
        (ShapeKind::List(read), ShapeKind::List(written)) | (ShapeKind::Map(_, read), ShapeKind::Map(_, written)) => {
            holds(&read.kind, &written.kind)
        }
        (one, other) => one == other,
    }
}

struct JsonShaper<'s> {
    schema: &'s JsonSchema,
    /// The schemas that are being walked into by references.
    above: Vec<SchemaPosition>,
    columns: usize,
    depth: usize,
}

impl JsonShaper<'_> {
    fn kind(&mut self, place: &SchemaPosition, schema: &Value, wanted: &WantedFields) -> Read<ShapeKind> {
        self.columns += 1;
        if self.columns > MOST_COLUMNS {
            return Err(Box::new(Problem::Schema(format!("the schema has more than {MOST_COLUMNS} columns"))));
        }
        if self.depth >= MOST_DEPTH {
            return Err(Box::new(Problem::Schema(format!("the schema is deeper than {MOST_DEPTH} levels"))));
        }
        self.depth += 1;
        let kind = self.described(place, schema, wanted);
        self.depth -= 1;
        let kind = kind?;
        if !matches!(kind, ShapeKind::Struct(_)) && !wanted.is_all && !wanted.fields.is_empty() {
            return Err(wanted.no_field(std::iter::empty()));
        }
        Ok(kind)
    }

    fn described(&mut self, place: &SchemaPosition, schema: &Value, wanted: &WantedFields) -> Read<ShapeKind> {
        let Value::Object(keywords) = schema else { return Ok(ShapeKind::Json) };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            return self.referenced(place, reference, wanted);
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            if let Some(Value::Array(branches)) = keywords.get(keyword) {
                let has_more = keywords.contains_key("properties") || (keyword == "allOf" && branches.len() > 1);
                return if has_more { Ok(ShapeKind::Json) } else { self.branches(place, branches, wanted) };
            }
        }
        match keywords.get("type") {
            Some(Value::String(name)) => self.typed(name, place, keywords, wanted),
            Some(Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
                let kinds = names.iter().map(|name| self.typed(name, place, keywords, wanted)).collect::<Read<Vec<_>>>()?;
                Ok(one_kind(kinds))
            }
            _ if keywords.contains_key("properties") => self.typed("object", place, keywords, wanted),
            _ => Ok(constants(keywords)),
        }
    }

    fn typed(&mut self, name: &str, place: &SchemaPosition, keywords: &Map<String, Value>, wanted: &WantedFields) -> Read<ShapeKind> {
        Ok(match name {
            "null" => ShapeKind::Leaf(DataType::Null),
            "boolean" => ShapeKind::Leaf(DataType::Boolean),
            "integer" => ShapeKind::Leaf(integer(keywords, self.schema.integers())),
            "number" => ShapeKind::Leaf(DataType::Float64),
            "string" => ShapeKind::Leaf(DataType::Utf8),
            "array" => match keywords.get("items") {
                Some(items @ Value::Object(_)) if !keywords.contains_key("prefixItems") => {
                    let kind = self.kind(place, items, &WantedFields::all())?;
                    ShapeKind::List(Box::new(Shape { kind, is_nullable: true }))
                }
                _ => ShapeKind::Json,
            },
            "object" => self.object(place, keywords, wanted)?,
            // Not a type of JSON Schema: reader_schema has the name of an Arrow type here.
            name => name.strip_prefix("arrow:").and_then(arrow_type).map_or(ShapeKind::Json, ShapeKind::Leaf),
        })
    }

    fn object(&mut self, place: &SchemaPosition, keywords: &Map<String, Value>, wanted: &WantedFields) -> Read<ShapeKind> {
        let properties = match keywords.get("properties") {
            Some(Value::Object(properties)) if !properties.is_empty() => properties,
            _ => {
                return match keywords.get("additionalProperties") {
                    Some(values @ Value::Object(_)) if !keywords.contains_key("patternProperties") => {
                        let kind = self.kind(place, values, &WantedFields::all())?;
                        Ok(Shape::map_of(Shape { kind, is_nullable: true }))
                    }
                    _ => Ok(ShapeKind::Json),
                };
            }
        };
        if wanted.missing(properties.keys().map(String::as_str)).is_some() {
            return Err(wanted.no_field(properties.keys().map(String::as_str)));
        }
        let required: Vec<&str> =
            keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut members = Vec::new();
        for (name, property) in properties {
            if let Some(wanted) = wanted.field(name) {
                let kind = self.kind(place, property, &wanted)?;
                let member = Member::new(name, Shape { kind, is_nullable: true });
                members.push(Member { is_required: required.contains(&name.as_str()), ..member });
            }
        }
        Ok(ShapeKind::Struct(members))
    }

    fn referenced(&mut self, place: &SchemaPosition, reference: &str, wanted: &WantedFields) -> Read<ShapeKind> {
        let Some((target, schema)) = self.schema.resolved(place, reference) else {
            return Err(Box::new(Problem::Schema(format!("$ref {reference} is not there"))));
        };
        if self.above.contains(&target) {
            return Ok(ShapeKind::Json);
        }
        self.above.push(target.clone());
        let kind = self.kind(&target, schema, wanted);
        self.above.pop();
        kind
    }

    fn branches(&mut self, place: &SchemaPosition, branches: &[Value], wanted: &WantedFields) -> Read<ShapeKind> {
        let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) != Some("null");
        let others: Vec<&Value> = branches.iter().filter(is_null).collect();
        let all = WantedFields::all();
        let wanted = if others.len() == 1 { wanted } else { &all };
        let kinds = others.iter().map(|branch| self.kind(place, branch, wanted)).collect::<Read<Vec<_>>>()?;
        Ok(one_kind(kinds))
    }
}

/// The one kind that holds values of all of these, else JSON text.
fn one_kind(kinds: Vec<ShapeKind>) -> ShapeKind {
    let shapes: Vec<Shape> = kinds.into_iter().map(|kind| Shape { kind, is_nullable: true }).collect();
    let is_whole = |shape: &Shape| matches!(shape.kind, ShapeKind::Leaf(DataType::Int64 | DataType::Decimal128(38, 0)));
    let is_number = |shape: &Shape| is_whole(shape) || shape.kind == ShapeKind::Leaf(DataType::Float64);
    match common(&shapes) {
        Some(kind) => kind,
        None if !shapes.is_empty() && shapes.iter().all(is_whole) => ShapeKind::Leaf(DataType::Decimal128(38, 0)),
        None if !shapes.is_empty() && shapes.iter().all(is_number) => ShapeKind::Leaf(DataType::Float64),
        None if shapes.is_empty() => ShapeKind::Leaf(DataType::Null),
        None => ShapeKind::Json,
    }
}

/// 64 bits, unless a bound of the schema is beyond them, or is missing and integers without bounds are decimals.
fn integer(keywords: &Map<String, Value>, integers: Integers) -> DataType {
    let bounds = |names: [&'static str; 2]| names.into_iter().filter_map(|name| keywords.get(name)).filter(|bound| bound.is_number());
    let sides = [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]];
    let is_beyond = sides.into_iter().flat_map(bounds).any(|bound| !bound.is_i64());
    let is_bounded = sides.into_iter().all(|names| bounds(names).next().is_some());
    if is_beyond || (!is_bounded && integers == Integers::Decimal) { DataType::Decimal128(38, 0) } else { DataType::Int64 }
}

/// The type of the values of `enum` or `const`.
fn constants(keywords: &Map<String, Value>) -> ShapeKind {
    let values: Vec<&Value> = match (keywords.get("enum"), keywords.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().filter(|value| !value.is_null()).collect(),
        (_, Some(value)) => vec![value],
        _ => return ShapeKind::Json,
    };
    let all = |test: fn(&Value) -> bool| !values.is_empty() && values.iter().all(|value| test(value));
    ShapeKind::Leaf(if all(Value::is_string) {
        DataType::Utf8
    } else if all(Value::is_i64) {
        DataType::Int64
    } else if all(Value::is_number) {
        DataType::Float64
    } else if all(Value::is_boolean) {
        DataType::Boolean
    } else {
        return ShapeKind::Json;
    })
}

/// The text of a JSON Schema for values of an Arrow type: what `reader_schema` means as an Arrow schema.
///
/// # Errors
/// The name of a type that JSON values are not decoded to.
pub fn schema_of(data_type: &DataType) -> Result<Value, String> {
    match data_type {
        DataType::Struct(fields) => {
            let properties = fields.iter().map(|field| Ok((field.name().clone(), schema_of(field.data_type())?)));
            let properties: Map<String, Value> = properties.collect::<Result<_, String>>()?;
            Ok(json!({"type": "object", "properties": properties}))
        }
        DataType::List(items) | DataType::LargeList(items) => Ok(json!({"type": "array", "items": schema_of(items.data_type())?})),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => {
                let values = pair.last().ok_or("map")?;
                Ok(json!({"type": "object", "additionalProperties": schema_of(values.data_type())?}))
            }
            other => Err(other.to_string()),
        },
        leaf => {
            let leaf = match leaf {
                DataType::LargeUtf8 | DataType::Utf8View => &DataType::Utf8,
                DataType::LargeBinary | DataType::BinaryView => &DataType::Binary,
                leaf => leaf,
            };
            let name = leaf.to_string();
            if arrow_type(&name).is_some() { Ok(json!({"type": format!("arrow:{name}")})) } else { Err(name) }
        }
    }
}

/// The type of a column that `schema_of` wrote.
fn arrow_type(name: &str) -> Option<DataType> {
    let found: DataType = name.parse().ok()?;
    let is_held = match &found {
        DataType::Decimal128(digits, scale) => (1..=38).contains(digits) && *scale >= 0 && scale.unsigned_abs() <= *digits,
        DataType::Timestamp(unit, _) => *unit != TimeUnit::Second,
        DataType::Null | DataType::Boolean | DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64 => true,
        DataType::Float32 | DataType::Float64 | DataType::Utf8 | DataType::Binary | DataType::Date32 => true,
        _ => false,
    };
    is_held.then_some(found)
}
