//! Which fields of a struct are wanted: fields that nobody asked for are skipped, not decoded.

use std::collections::BTreeMap;

use super::payload::Problem;

/// The wanted part of a value: all of it, or some fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedFields {
    /// Nothing below is left out.
    pub is_all: bool,
    /// The wanted fields.
    pub fields: BTreeMap<String, WantedFields>,
}

impl WantedFields {
    /// All of it.
    pub fn all() -> Self {
        Self { is_all: true, fields: BTreeMap::new() }
    }

    /// The fields with these paths; the empty path is all.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            let mut place = &mut wanted;
            if !path.is_empty() {
                for name in names_of(path) {
                    place = place.fields.entry(name).or_default();
                }
            }
            place.is_all = true;
        }
        wanted
    }

    /// What is wanted of a field; `None` for nothing.
    pub fn field(&self, name: &str) -> Option<Self> {
        if self.is_all { Some(Self::all()) } else { self.fields.get(name).cloned() }
    }

    /// The name of a field that a struct with these fields does not have.
    pub fn missing<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<&str> {
        let names: Vec<_> = names.collect();
        if self.is_all { None } else { self.fields.keys().map(String::as_str).find(|name| !names.contains(name)) }
    }

    /// The problem of a schema that has these fields alone.
    #[cold]
    pub fn no_field<'n>(&self, names: impl Iterator<Item = &'n str>) -> Box<Problem> {
        let known: Vec<&str> = names.collect();
        let missing: Vec<&str> = self.fields.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
        let begins = |name: &&&str| missing.iter().any(|missing| name.strip_prefix(missing).is_some_and(|rest| rest.starts_with('.')));
        let dotted = known.iter().find(begins).map(|name| format!("; a name with dots is in backticks: `{name}`"));
        Box::new(Problem::Schema(format!("the schema has no field {}{}", missing.join(" or "), dotted.unwrap_or_default())))
    }
}

/// The names in the path of a field, as Spark writes it: dots are between names, and a name in backticks may have dots. Two backticks
/// inside of them are one.
pub fn names_of(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut is_quoted = false;
    let mut rest = path.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '`' if is_quoted && rest.next_if_eq(&'`').is_some() => name.push('`'),
            '`' if is_quoted || name.is_empty() => is_quoted = !is_quoted,
            '.' if !is_quoted => names.push(std::mem::take(&mut name)),
            next => name.push(next),
        }
    }
    names.push(name);
    names
}
