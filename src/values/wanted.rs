//! Which fields of a struct are wanted: fields that nobody asked for are skipped, not decoded.

use std::collections::BTreeMap;

/// The wanted part of a value: all of it, or some fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Nothing below is left out.
    pub is_all: bool,
    /// The wanted fields.
    pub fields: BTreeMap<String, Wanted>,
}

impl Wanted {
    /// All of it.
    pub fn all() -> Self {
        Self { is_all: true, fields: BTreeMap::new() }
    }

    /// The fields with these paths, whose names have dots between them; the empty path is all.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            let mut place = &mut wanted;
            if !path.is_empty() {
                for name in path.split('.') {
                    place = place.fields.entry(name.to_owned()).or_default();
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
}
