//! Paths that match a pattern (`orders-*`). `*`, `?` and `[...]` do not match a `/`.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::Storage;
use super::storage::is_missing;
use crate::error::{Error, ErrorKind, Result};

/// "No such file or directory", the same number on every system.
pub(super) const ENOENT: i32 = 2;

/// True if a path has `*`, `?` or `[` in it.
pub fn is_pattern(path: &Path, storage: &dyn Storage) -> bool {
    if storage.is_stored(path) { storage.names_of(path).1.iter().map(String::as_str).any(has_magic) } else { has_magic(path) }
}

/// Each path, and instead of a pattern the paths that match it.
///
/// # Errors
/// `Files` if nothing matches a pattern, and those of a store.
pub fn expanded(path: &Path, storage: &dyn Storage) -> Result<Vec<PathBuf>> {
    if is_pattern(path, storage) { matching(path, storage) } else { Ok(vec![path.to_owned()]) }
}

/// The paths that match a pattern, by name. A path that exists as it is written matches itself.
///
/// # Errors
/// `Files` if nothing matches, `NotFound` if there is no file of a path without a pattern, and those of a store.
pub fn matching(pattern: &Path, storage: &dyn Storage) -> Result<Vec<PathBuf>> {
    let is_stored = storage.is_stored(pattern);
    let is_literal = !is_pattern(pattern, storage) || if is_stored { exists(pattern, storage)? } else { storage.is_there(pattern) };
    if is_literal {
        let entry = storage.entry(pattern)?;
        return Ok(vec![if is_stored { entry.path } else { pattern.to_owned() }]);
    }
    let found = if is_stored { matching_uris(pattern, storage)? } else { matching_paths(pattern, storage) };
    if found.is_empty() {
        let kind = ErrorKind::Files { os_code: ENOENT, problem: "no file or directory matches".to_owned() };
        return Err(Error::from(kind).in_file(&storage.shown(pattern).into()));
    }
    Ok(found)
}

fn exists(path: &Path, storage: &dyn Storage) -> Result<bool> {
    match storage.entry(path) {
        Err(error) if error.is_not_found() => Ok(false),
        found => found.map(|_| true),
    }
}

fn matching_uris(pattern: &Path, storage: &dyn Storage) -> Result<Vec<PathBuf>> {
    let (root, names) = storage.names_of(pattern);
    let mut found = vec![root];
    for name in &names {
        if !has_magic(name) {
            found = found.iter().map(|place| storage.joined(place, name)).collect();
            continue;
        }
        let pattern = Pattern::of(name.as_ref());
        let mut below = Vec::new();
        for place in &found {
            let mut entries = match storage.list(place) {
                Err(error) if is_missing(&error) => continue,
                listing => listing.map(|listing| [listing.directories, listing.files].concat())?,
            };
            entries.sort_by(|left, right| left.name.cmp(&right.name));
            below.extend(entries.into_iter().filter(|entry| pattern.has(entry.name.as_ref())).map(|entry| entry.path));
        }
        found = below;
    }
    if names.last().is_some_and(|name| !has_magic(name)) {
        let mut there = Vec::new();
        for place in found {
            if exists(&place, storage)? {
                there.push(place);
            }
        }
        return Ok(there);
    }
    Ok(found)
}

/// A directory that cannot be listed has no matches. A name that begins with a dot is matched by a pattern that does, too.
fn matching_paths(pattern: &Path, storage: &dyn Storage) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    let mut is_listed = false;
    for component in pattern.components() {
        let part = component.as_os_str();
        if matches!(component, Component::Normal(_)) && has_magic(part) {
            is_listed = true;
            let pattern = Pattern::of(part);
            found = found.iter().flat_map(|place| matches_in(place, &pattern, storage)).collect();
            continue;
        }
        for place in &mut found {
            place.push(part);
        }
        if is_listed {
            found.retain(|place| storage.is_there(place));
        }
    }
    if pattern.as_os_str().as_encoded_bytes().ends_with(b"/") {
        found = found.iter().map(|place| place.join("")).filter(|place| storage.entry(place).is_ok()).collect();
    }
    found.sort_unstable_by(|left, right| left.as_os_str().cmp(right.as_os_str()));
    found
}

fn matches_in(place: &Path, pattern: &Pattern, storage: &dyn Storage) -> Vec<PathBuf> {
    let directory = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let Ok(listing) = storage.list(directory) else { return Vec::new() };
    let broken = listing.broken.into_iter().map(|(entry, _)| entry);
    let entries = listing.files.into_iter().chain(listing.directories).chain(listing.special).chain(broken);
    let names = entries.filter_map(|entry| entry.path.file_name().map(OsStr::to_owned));
    let is_shown = |name: &OsStr| pattern.begins_with_dot() || !name.as_encoded_bytes().starts_with(b".");
    names.filter(|name| is_shown(name) && pattern.has(name)).map(|name| place.join(name)).collect()
}

fn has_magic(text: impl AsRef<OsStr>) -> bool {
    text.as_ref().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// A sign of a pattern.
enum Sign {
    Exactly(u32),
    Any,
    AnyOf {
        signs: Vec<(u32, u32)>,
        is_negated: bool,
    },
    /// Any signs, also none.
    All,
}

/// The pattern of a name, with the rules of Python's `fnmatch`.
struct Pattern(Vec<Sign>);

impl Pattern {
    fn of(text: &OsStr) -> Self {
        let text = signs_of(text);
        let mut signs = Vec::new();
        let mut rest = text.as_slice();
        while let Some((&sign, after)) = rest.split_first() {
            rest = after;
            signs.push(match char::from_u32(sign) {
                Some('*') => Sign::All,
                Some('?') => Sign::Any,
                Some('[') => match set_in(after) {
                    Some((set, after)) => {
                        rest = after;
                        set
                    }
                    None => Sign::Exactly(sign),
                },
                _ => Sign::Exactly(sign),
            });
        }
        Self(signs)
    }

    fn begins_with_dot(&self) -> bool {
        matches!(self.0.first(), Some(Sign::Exactly(sign)) if *sign == u32::from('.'))
    }

    /// True for a name that matches. After a mismatch the last `*` takes one sign more.
    fn has(&self, name: &OsStr) -> bool {
        let name = signs_of(name);
        let (mut at, mut of_pattern) = (0, 0);
        let mut last_all: Option<(usize, usize)> = None;
        while at < name.len() {
            let sign = name.get(at).copied().unwrap_or_default();
            match self.0.get(of_pattern) {
                Some(Sign::All) => {
                    last_all = Some((of_pattern, at));
                    of_pattern += 1;
                }
                Some(wanted) if wanted.is(sign) => (at, of_pattern) = (at + 1, of_pattern + 1),
                _ => {
                    let Some((all, begun)) = last_all else { return false };
                    last_all = Some((all, begun + 1));
                    (at, of_pattern) = (begun + 1, all + 1);
                }
            }
        }
        self.0.iter().skip(of_pattern).all(|sign| matches!(sign, Sign::All))
    }
}

impl Sign {
    fn is(&self, sign: u32) -> bool {
        match self {
            Self::Exactly(own) => *own == sign,
            Self::Any => true,
            Self::AnyOf { signs, is_negated } => signs.iter().any(|(first, last)| (*first..=*last).contains(&sign)) != *is_negated,
            Self::All => false,
        }
    }
}

/// The set at the beginning of a text after its `[`, and the text after its `]`; `None` without a `]`. A `]` that comes first is a sign.
fn set_in(text: &[u32]) -> Option<(Sign, &[u32])> {
    let is = |sign: Option<&u32>, wanted: char| sign == Some(&u32::from(wanted));
    let is_negated = is(text.first(), '!');
    let text = text.get(usize::from(is_negated)..)?;
    let end = text.iter().skip(1).position(|sign| *sign == u32::from(']')).map(|end| end + 1)?;
    let (mut rest, after) = (text.get(..end)?, text.get(end + 1..)?);
    let mut signs = Vec::new();
    while let Some((&first, others)) = rest.split_first() {
        let last = others.get(1).filter(|_| is(others.first(), '-'));
        signs.push((first, last.copied().unwrap_or(first)));
        rest = if last.is_some() { others.get(2..)? } else { others };
    }
    Some((Sign::AnyOf { signs, is_negated }, after))
}

/// The characters of a text; a byte that is not UTF-8 is a sign of its own.
fn signs_of(text: &OsStr) -> Vec<u32> {
    const FOREIGN: u32 = 0xdc00;
    let mut signs = Vec::new();
    for chunk in text.as_encoded_bytes().utf8_chunks() {
        signs.extend(chunk.valid().chars().map(u32::from));
        signs.extend(chunk.invalid().iter().map(|byte| FOREIGN + u32::from(*byte)));
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_those_of_a_shell() {
        for (pattern, names, others) in [
            ("orders-*", &["orders-0", "orders-", "orders-*"][..], &["order-0", "xorders-0"][..]),
            ("day?", &["day1", "day\u{e9}"], &["day", "day11"]),
            ("day[0-9]", &["day1"], &["day[1]", "daya"]),
            ("day[[]1]", &["day[1]"], &["day1"]),
            ("[!a-c]x", &["dx", "-x"], &["ax", "cx", "x"]),
            ("[]-]", &["]", "-"], &["a"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[!]a]", &["b"], &["]", "a"]),
            ("[z-a]", &[], &["a", "m", "z"]),
            ("[ab", &["[ab"], &["a"]),
            ("*a*b*", &["ab", "xaxxb", "aabb"], &["ba", "a"]),
            ("**", &["", "x"], &[]),
        ] {
            let own = Pattern::of(pattern.as_ref());
            for name in names {
                assert!(own.has(name.as_ref()), "{pattern} {name}");
            }
            for name in others {
                assert!(!own.has(name.as_ref()), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let own = Pattern::of("*a".repeat(50).as_ref());
        assert!(!own.has("a".repeat(49).as_ref()) && !own.has(format!("{}b", "a".repeat(2000)).as_ref()));
    }
}
