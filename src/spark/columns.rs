//! The columns of a query: the usual ones or those of an option, with the columns of decoded keys and values.

use super::error::{QueryResult, SparkError};
use super::query::{BatchQuery, DamageMode, TypedValues};

/// The columns of Spark's Kafka source, in its order.
pub const KAFKA_COLUMNS: [&str; 7] = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"];
/// The column that its option includeHeaders adds.
pub const HEADERS: &str = "headers";
const VALUES: [&str; 2] = ["valueRecord", "valueSchemaId"];
const KEYS: [&str; 2] = ["keyRecord", "keySchemaId"];
const INTERNAL: &str = "internal";

/// The names of the columns of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowColumns {
    /// Columns of records, in order.
    pub names: Vec<String>,
    /// The corrupt column is one of the columns of the read.
    pub has_corrupt: bool,
}

impl RowColumns {
    /// The columns if a user names none by a schema.
    ///
    /// # Errors
    /// `Value` if the corrupt column has the name of another column.
    pub fn usual(query: &BatchQuery) -> QueryResult<Self> {
        let usual = || {
            let headers = query.includes_headers.then_some(HEADERS);
            KAFKA_COLUMNS.into_iter().chain(headers).map(str::to_owned).collect()
        };
        let names = with_decoded(query.columns.clone().unwrap_or_else(usual), query);
        let has_corrupt = query.damage == DamageMode::Report;
        if has_corrupt && names.contains(&query.corrupt) {
            return Err(name_is_taken(query));
        }
        Ok(Self { names, has_corrupt })
    }

    /// The columns of a schema with these names.
    ///
    /// # Errors
    /// `Value` if the corrupt column has the name of another column, or the option `columns` names other columns.
    pub fn of_schema(names: &[String], query: &BatchQuery) -> QueryResult<Self> {
        if KAFKA_COLUMNS.contains(&query.corrupt.as_str()) || query.corrupt == HEADERS {
            return Err(name_is_taken(query));
        }
        let has_corrupt = names.contains(&query.corrupt);
        let names: Vec<String> = names.iter().filter(|name| **name != query.corrupt).cloned().collect();
        if let Some(named) = query.columns.clone().map(|named| with_decoded(named, query)).filter(|named| *named != names) {
            let text = format!("option columns names {}, but the schema {}", named.join(", "), names.join(", "));
            return Err(SparkError::value(text));
        }
        Ok(Self { names, has_corrupt })
    }

    /// The columns of decoded keys and values.
    pub fn decoded(&self) -> Vec<&String> {
        self.names.iter().filter(|name| is_of(&VALUES, name) || is_of(&KEYS, name)).collect()
    }
}

/// The columns with those that `values` and `keyValues` add last, unless one of them is among the columns.
fn with_decoded(columns: Vec<String>, query: &BatchQuery) -> Vec<String> {
    let mut added: Vec<&str> = Vec::new();
    for (kind, names) in [(&query.values, VALUES), (&query.keys, KEYS)] {
        let is_there = columns.iter().any(|name| is_of(&names, name));
        match kind {
            TypedValues::Internal => added.push(INTERNAL),
            TypedValues::Primitive(_) if !is_there => added.extend(names.first()),
            TypedValues::Schemas(_) if !is_there => added.extend(names),
            _ => {}
        }
    }
    let added: Vec<String> = added.into_iter().filter(|name| !columns.iter().any(|own| own == name)).map(str::to_owned).collect();
    columns.into_iter().chain(added).collect()
}

fn is_of(names: &[&str; 2], column: &str) -> bool {
    let [record, _] = names;
    names.contains(&column) || column.strip_prefix(record).is_some_and(|rest| rest.starts_with('.'))
}

fn name_is_taken(query: &BatchQuery) -> SparkError {
    SparkError::value(format!("option columnNameOfCorruptRecord: {} is already the name of a column", query.corrupt))
}

#[cfg(test)]
mod tests {
    use super::super::options::QueryOptions;
    use super::*;

    fn usual(given: &[(&str, &str)]) -> Vec<String> {
        let options =
            QueryOptions::new(given.iter().chain([&("path", "/a")]).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        RowColumns::usual(&BatchQuery::parse(&options).unwrap()).unwrap().names
    }

    #[test]
    fn decoded_columns_come_last() {
        assert_eq!(usual(&[]), KAFKA_COLUMNS);
        assert_eq!(usual(&[("includeHeaders", "true")]).last().unwrap(), HEADERS);
        assert_eq!(usual(&[("columns", "offset"), ("values", "string")]), ["offset", "valueRecord"]);
        assert_eq!(usual(&[("columns", "offset,keyRecord.id"), ("keyValues", "avro")]), ["offset", "keyRecord.id"]);
        assert_eq!(usual(&[("columns", "offset"), ("values", "internal")]), ["offset", "internal"]);
    }
}
