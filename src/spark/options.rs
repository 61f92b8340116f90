//! Spark's options: strings by name, whose case means nothing.

use std::collections::BTreeMap;

use super::error::{QueryResult, SparkError, quoted};
use super::names::is_of_table;

/// The options of a query.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    /// The values by the names in lower case.
    values: BTreeMap<String, String>,
    /// The names as they were written.
    names: Vec<String>,
}

impl QueryOptions {
    /// The options with these names and values, without those that Spark adds for a table of its catalog.
    pub fn new(given: impl IntoIterator<Item = (String, String)>) -> Self {
        let given: Vec<(String, String)> = given.into_iter().collect();
        let is_table = given.iter().any(|(name, _)| name.eq_ignore_ascii_case("provider"));
        let mut options = Self::default();
        for (name, value) in given.iter().filter(|(name, _)| !is_table || !is_of_table(name)) {
            options.put(name, value);
        }
        if is_table {
            // Spark keeps the options of a table with a prefix, and its path as the location.
            let prefixed = given.iter().filter_map(|(name, value)| Some((name.strip_prefix("option.")?, value)));
            let location = given.iter().filter(|(name, _)| name == "location").map(|(_, value)| ("path", value));
            for (name, value) in prefixed.chain(location).filter(|(name, _)| !is_of_table(name)) {
                if options.get(name).is_none() {
                    options.put(name, value);
                }
            }
        }
        options
    }

    fn put(&mut self, name: &str, value: &str) {
        if self.values.insert(name.to_lowercase(), value.to_owned()).is_none() {
            self.names.push(name.to_owned());
        }
    }

    /// Only the options with these names, or with those of them as a prefix that end in a dot.
    #[must_use]
    pub fn only(&self, known: &[&str]) -> Self {
        let is_kept = |name: &str| {
            known.iter().any(|own| own.eq_ignore_ascii_case(name) || (own.ends_with('.') && super::names::has_prefix(name, own)))
        };
        let names: Vec<String> = self.names.iter().filter(|name| is_kept(name)).cloned().collect();
        let values = self.values.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { values, names }
    }

    /// The names as they were written.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// All values by names in lower case.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    /// The value of an option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(&name.to_lowercase()).map(String::as_str)
    }

    /// An option that is true or false.
    ///
    /// # Errors
    /// `Value` if it is neither.
    pub fn boolean(&self, name: &str, default: bool) -> QueryResult<bool> {
        match self.get(name).map(str::to_lowercase).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(_) => Err(SparkError::value(format!("option {name} must be true or false, not {}", self.shown(name)))),
        }
    }

    /// An option that is a whole number from `least` on; `None` if it is not given.
    ///
    /// # Errors
    /// `Value` if it is not such a number, or more than `most`.
    pub fn integer(&self, name: &str, least: i64, most: i64) -> QueryResult<Option<i64>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = text.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<i64>().unwrap_or(i64::MAX);
        if !is_number || number < least {
            return Err(SparkError::value(format!("option {name} must be a whole number from {least} on, not {}", quoted(text))));
        }
        if number > most || digits.trim_start_matches('0').len() > 19 {
            return Err(SparkError::value(format!("option {name} must be {most} at most, not {}", quoted(text))));
        }
        Ok(Some(number))
    }

    /// An option with one of these values, the first of which is its default. The case means nothing.
    ///
    /// # Errors
    /// `Value` for any other value.
    pub fn choice<T: Copy>(&self, name: &str, known: &[(&'static str, T)]) -> QueryResult<T> {
        let text = self.get(name).map(|text| text.trim().to_lowercase());
        let found = match &text {
            None => known.first(),
            Some(text) => known.iter().find(|(own, _)| own.eq_ignore_ascii_case(text)),
        };
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(own, _)| *own).collect();
            let text = match names.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => names.join(""),
            };
            SparkError::value(format!("option {name} must be {text}, not {}", self.shown(name)))
        })
    }

    /// A value in quotes.
    pub fn shown(&self, name: &str) -> String {
        quoted(self.get(name).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> QueryOptions {
        QueryOptions::new(given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn numbers_are_whole_and_within_their_bounds() {
        let number = |text| options(&[("minPartitions", text)]).integer("minPartitions", 1, i64::from(i32::MAX));
        assert_eq!(number(" 12 ").unwrap(), Some(12));
        for text in ["0", "-1", "1.5", "", "x", "2147483648", "99999999999999999999"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_of_a_table_are_left_out() {
        let given = [("provider", "logsegment"), ("path", "/a"), ("option.path", "/a"), ("owner", "me")];
        assert_eq!(options(&given).names(), ["path"]);
        assert_eq!(options(&given[1..]).names().len(), 3);
        let kept = options(&[("provider", "logsegment"), ("option.includeHeaders", "true"), ("location", "file:/a")]);
        assert_eq!((kept.get("path"), kept.get("includeHeaders")), (Some("file:/a"), Some("true")));
    }
}
