//! Schemas as Spark writes them in JSON: an Arrow schema goes in, the text that `DataType.fromJson` reads comes out.

use arrow_array::new_empty_array;
use arrow_schema::{DataType, Schema, TimeUnit};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::jvm::spark_types::as_spark;

/// The fields of columns in the types of Spark, all of them nullable.
///
/// # Errors
/// `Internal` for a type that no column has.
pub fn fields_of(schema: &Schema) -> Result<Vec<Value>> {
    let field = |field: &arrow_schema::FieldRef| {
        let own = as_spark(&new_empty_array(field.data_type())).map_err(|error| internal(error.to_string()))?;
        Ok(named(field.name(), &type_of(own.data_type())?))
    };
    schema.fields().iter().map(field).collect()
}

/// The corrupt column.
pub fn text_field(name: &str) -> Value {
    named(name, &json!("string"))
}

/// A struct of fields.
pub fn struct_of(fields: Vec<Value>) -> Value {
    json!({"type": "struct", "fields": fields})
}

/// A type as users read it: `struct<key:string,value:binary>`.
pub fn simple(kind: &Value) -> String {
    let inner = |name: &str| simple(kind.get(name).unwrap_or(&Value::Null));
    match (kind, kind.get("type").and_then(Value::as_str)) {
        (Value::String(name), _) => match name.as_str() {
            "integer" => "int".to_owned(),
            "long" => "bigint".to_owned(),
            "short" => "smallint".to_owned(),
            "byte" => "tinyint".to_owned(),
            other => other.to_owned(),
        },
        (_, Some("struct")) => {
            let fields = kind.get("fields").and_then(Value::as_array).cloned().unwrap_or_default();
            let field = |field: &Value| {
                let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
                format!("{name}:{}", simple(field.get("type").unwrap_or(&Value::Null)))
            };
            format!("struct<{}>", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
        (_, Some("array")) => format!("array<{}>", inner("elementType")),
        (_, Some("map")) => format!("map<{},{}>", inner("keyType"), inner("valueType")),
        _ => kind.to_string(),
    }
}

fn named(name: &str, kind: &Value) -> Value {
    json!({"name": name, "type": kind, "nullable": true, "metadata": {}})
}

fn type_of(kind: &DataType) -> Result<Value> {
    Ok(match kind {
        DataType::Boolean => json!("boolean"),
        DataType::Int8 => json!("byte"),
        DataType::Int16 | DataType::UInt8 => json!("short"),
        DataType::Int32 | DataType::UInt16 => json!("integer"),
        DataType::Int64 => json!("long"),
        DataType::Float32 => json!("float"),
        DataType::Float64 => json!("double"),
        DataType::Utf8 => json!("string"),
        DataType::Binary => json!("binary"),
        DataType::Date32 => json!("date"),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => json!(if zone.is_some() { "timestamp" } else { "timestamp_ntz" }),
        DataType::Decimal128(precision, scale) => json!(format!("decimal({precision},{scale})")),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| Ok(named(field.name(), &type_of(field.data_type())?))).collect::<Result<_>>()?;
            struct_of(fields)
        }
        DataType::List(item) => json!({"type": "array", "elementType": type_of(item.data_type())?, "containsNull": true}),
        DataType::Map(entries, _) => {
            let DataType::Struct(pair) = entries.data_type() else { return Err(internal(kind.to_string())) };
            let [key, value] = pair.iter().as_slice() else { return Err(internal(kind.to_string())) };
            json!({"type": "map", "keyType": type_of(key.data_type())?, "valueType": type_of(value.data_type())?, "valueContainsNull": true})
        }
        other => return Err(internal(other.to_string())),
    })
}

fn internal(what: String) -> Error {
    ErrorKind::Internal { what: format!("a column of Spark cannot have the type {what}") }.into()
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn types_are_written_as_spark_writes_them() {
        let pair = DataType::Struct(vec![Field::new("a", DataType::UInt32, true), Field::new("b", DataType::Utf8, true)].into());
        let list = DataType::List(Field::new("element", pair, true).into());
        let fields = fields_of(&Schema::new(vec![Field::new("headers", list, true)])).unwrap();
        let kind = fields[0].get("type").unwrap();
        assert_eq!(simple(kind), "array<struct<a:bigint,b:string>>");
        assert_eq!(kind.get("containsNull"), Some(&json!(true)));
    }
}
