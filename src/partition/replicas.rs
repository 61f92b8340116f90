//! Replicas: one partition in several directories, such as two disks or the trees of three brokers (SEG-18).
//!
//! Reading all of them would give each record several times. So whoever returns or writes the records of a partition chooses the directory
//! that is read.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::ends::end_of_replica;
use super::links::identity_of;
use super::names::{PartitionKey, listed};
use super::{SegmentFile, Storage};
use crate::error::{Error, ErrorKind, Result, grouped};
use crate::validate::{Finding, Severity};

/// The segments of a partition by directory, in the order of the segments.
type Directories<'a> = Vec<(OsString, Vec<&'a SegmentFile>)>;

const RULE: &str = "SEG-18";
/// Directories that a message names.
const NAMED: usize = 3;

/// The directory that is read of a partition that is in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Replica {
    /// None of them is chosen.
    #[default]
    Unknown,
    /// The first one.
    First,
    /// The one whose valid batches end last; the first of several.
    Longest,
    /// The one at or below a path.
    Below(PathBuf),
}

/// The directory of each partition that is read. It stays the same for who looks again and again.
#[derive(Clone, Debug, Default)]
pub struct ReplicaChoice {
    replica: Replica,
    chosen: HashMap<PartitionKey, OsString>,
}

impl ReplicaChoice {
    /// A choice that is still to be made.
    pub fn new(replica: Replica) -> Self {
        Self { replica, chosen: HashMap::new() }
    }

    /// For each segment, whether it is of the directory of its partition that is read.
    ///
    /// The segments are those of all paths at first, in the order of the paths; later also of some of them.
    ///
    /// # Errors
    /// `Replicas` if a partition is in several directories and none of them is chosen, if the chosen path has no segments, or if another
    /// directory of a known partition has come. `Io` if a segment cannot be read to find the longest replica.
    pub fn of(&mut self, files: &[SegmentFile], storage: &dyn Storage) -> Result<Vec<bool>> {
        let dropped = if self.chosen.is_empty() { self.dropped(files, storage)? } else { HashSet::new() };
        let mut kept = Vec::with_capacity(files.len());
        for file in files {
            let place = storage.place(file);
            let is_kept = !dropped.contains(&place) && self.is_chosen(file, place, storage)?;
            kept.push(is_kept);
        }
        Ok(kept)
    }

    fn is_chosen(&mut self, file: &SegmentFile, place: OsString, storage: &dyn Storage) -> Result<bool> {
        let Some(name) = name_of(file) else { return Ok(true) };
        let chosen = self.chosen.entry(name.clone()).or_insert_with(|| place.clone());
        if *chosen == place {
            return Ok(true);
        }
        if self.replica == Replica::Unknown && identity_of(chosen, storage)? != identity_of(&place, storage)? {
            return Err(refused(where_is(&name, [chosen.as_os_str(), &place], storage), false));
        }
        Ok(false)
    }

    /// The directories that are not read.
    fn dropped(&self, files: &[SegmentFile], storage: &dyn Storage) -> Result<HashSet<OsString>> {
        let replicas = directories_of(files, storage);
        if let Replica::Below(path) = &self.replica {
            ensure_known(path, files, storage)?;
        }
        let mut dropped = HashSet::new();
        for (name, directories) in &replicas {
            let chosen = self.chosen_of(name, directories, storage)?;
            dropped.extend(directories.iter().map(|(place, _)| place).filter(|place| *place != chosen).cloned());
        }
        Ok(dropped)
    }

    /// The directory of a partition that is read.
    fn chosen_of<'a>(&self, name: &PartitionKey, directories: &'a Directories<'_>, storage: &dyn Storage) -> Result<&'a OsString> {
        let places = || directories.iter().map(|(place, _)| place);
        let have =
            |text: String, is_asked| refused(format!("{}{text}", where_is(name, places().map(OsString::as_os_str), storage)), is_asked);
        let first = places().next().ok_or_else(|| have(String::new(), false))?;
        match &self.replica {
            Replica::Unknown => Err(have(String::new(), false)),
            Replica::First => Ok(first),
            Replica::Longest => {
                let mut longest = (i64::MIN, first);
                for (place, files) in directories {
                    let ends = files.iter().map(|file| end_of_replica(file, storage)).collect::<Result<Vec<_>>>()?;
                    let end = ends.into_iter().max().unwrap_or(i64::MIN);
                    longest = if end > longest.0 { (end, place) } else { longest };
                }
                Ok(longest.1)
            }
            Replica::Below(path) => {
                let inside: Vec<_> = places().filter(|place| is_in(place, path, storage)).collect();
                let number = if inside.is_empty() { "no directory" } else { "several directories" };
                let text = || format!(", and {} has {number} of them", storage.shown(path));
                if let [directory] = inside.as_slice() { Ok(directory) } else { Err(have(text(), true)) }
            }
        }
    }
}

/// A finding (SEG-18) for each partition in several directories, and the path that is above these directories.
pub fn replica_findings(files: &[SegmentFile], storage: &dyn Storage) -> (String, Vec<Finding>) {
    let replicas = directories_of(files, storage);
    let mut findings = Vec::new();
    let mut places = Vec::new();
    for (name, directories) in &replicas {
        let shown = directories.iter().map(|(place, _)| storage.shown(Path::new(place)));
        let text = where_is(name, directories.iter().map(|(place, _)| place.as_os_str()), storage);
        let finding = Finding::of_files(RULE, Severity::Info, format!("{text}; readers of records need the option replica"), 0, 0);
        places.extend(shown.map(|place| format!("{place}/")));
        if let Some((first, _)) = directories.first() {
            findings.push(finding.in_file(&storage.shown(Path::new(first)).into()));
        }
    }
    (above(&places), findings)
}

/// The path above all of these; of URIs too.
fn above(places: &[String]) -> String {
    let Some((first, others)) = places.split_first() else { return "/".to_owned() };
    let same = |other: &String| first.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let common = others.iter().map(same).min().unwrap_or(first.len());
    let directory = first.as_bytes().get(..common).and_then(|front| front.iter().rposition(|byte| *byte == b'/'));
    directory.and_then(|end| first.get(..end)).filter(|above| !above.is_empty()).unwrap_or("/").to_owned()
}

fn name_of(file: &SegmentFile) -> Option<PartitionKey> {
    file.topic.clone().zip(file.partition)
}

/// The segments of the partitions that are in several directories, in the order of the first segment of each.
fn directories_of<'a>(files: &'a [SegmentFile], storage: &dyn Storage) -> Vec<(PartitionKey, Directories<'a>)> {
    let mut at: HashMap<PartitionKey, usize> = HashMap::new();
    let mut place_at: HashMap<(PartitionKey, OsString), usize> = HashMap::new();
    let mut found: Vec<(PartitionKey, Directories<'a>)> = Vec::new();
    for file in files {
        let Some(name) = name_of(file) else { continue };
        let number = *at.entry(name.clone()).or_insert_with(|| {
            found.push((name.clone(), Vec::new()));
            found.len() - 1
        });
        let Some((_, directories)) = found.get_mut(number) else { continue };
        let place = storage.place(file);
        let number = *place_at.entry((name, place.clone())).or_insert_with(|| {
            directories.push((place, Vec::new()));
            directories.len() - 1
        });
        if let Some((_, own)) = directories.get_mut(number) {
            own.push(file);
        }
    }
    found.retain(|(_, directories)| directories.len() > 1);
    found
}

/// Fails for a path that has none of the segments, such as a misspelt one.
fn ensure_known(path: &Path, files: &[SegmentFile], storage: &dyn Storage) -> Result<()> {
    let places: HashSet<_> = files.iter().map(|file| storage.place(file)).collect();
    if files.is_empty() || places.iter().any(|place| is_in(place, path, storage)) {
        return Ok(());
    }
    Err(refused(format!("{} is not a directory of the segments, nor one above them", storage.shown(path)), true))
}

/// True if a directory is at a path or below it. Links are followed.
fn is_in(place: &OsStr, path: &Path, storage: &dyn Storage) -> bool {
    let (inside, outside) = (Path::new(place), storage.untiered(path));
    match (storage.is_stored(inside), storage.is_stored(&outside)) {
        (false, false) => storage.real_path(inside).starts_with(storage.real_path(&outside)),
        (true, true) => {
            let with_slash = |path: &Path| format!("{}/", storage.shown(path).trim_end_matches('/'));
            with_slash(inside).starts_with(&with_slash(&outside))
        }
        _ => false,
    }
}

fn where_is<'a>(name: &PartitionKey, places: impl IntoIterator<Item = &'a OsStr>, storage: &dyn Storage) -> String {
    let places: Vec<_> = places.into_iter().map(|place| storage.shown(Path::new(place))).collect();
    let number = grouped(u64::try_from(places.len()).unwrap_or(u64::MAX));
    format!("{}-{} is in {number} directories: {}", name.0, name.1, listed(places.into_iter(), NAMED))
}

fn refused(problem: String, is_asked: bool) -> Error {
    ErrorKind::Replicas { problem, is_asked }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_above_is_that_of_whole_names() {
        let above = |places: &[&str]| above(&places.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>());
        assert_eq!(above(&["/jbod/disk1/sale-0/", "/jbod/disk2/sale-0/"]), "/jbod");
        assert_eq!(above(&["s3://bucket/a/sale-0/", "s3://bucket/a/b/sale-0/"]), "s3://bucket/a");
        assert_eq!((above(&["/a/", "/b/"]), above(&[])), ("/".to_owned(), "/".to_owned()));
    }
}
