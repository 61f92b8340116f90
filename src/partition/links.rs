//! Directories that several paths lead to: their segments are read once.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::storage::is_io;
use super::{SegmentFile, Storage};
use crate::error::Result;

/// False for a directory that was listed, and the number of its argument: the lowest counts.
type Rank = (bool, usize);

/// For each segment of each argument whether it is read: those of a directory that several paths lead to are read once.
///
/// A directory that was listed counts before files that were named, an earlier argument before a later one, and a path before one with more
/// links.
///
/// # Errors
/// When the work is to stop.
pub fn without_links(found: &[Vec<SegmentFile>], storage: &dyn Storage) -> Result<Vec<Vec<bool>>> {
    let Some(kept) = kept_places(found, storage)? else { return Ok(found.iter().map(|files| vec![true; files.len()]).collect()) };
    let own = |file: &SegmentFile| {
        let place = storage.place(file);
        let is_kept = kept.get(&place).is_none_or(|kept| *kept == place);
        ((kept.get(&place).cloned().unwrap_or(place), file.name()), is_kept)
    };
    let mut names: HashSet<(OsString, String)> =
        found.iter().flatten().map(own).filter(|(_, is_kept)| *is_kept).map(|(name, _)| name).collect();
    // The first file of a name in a directory counts, whatever the path of the directory.
    let mut counts = |file: &SegmentFile| {
        let (name, is_kept) = own(file);
        names.insert(name) || is_kept
    };
    Ok(found.iter().map(|files| files.iter().map(&mut counts).collect()).collect())
}

/// For the path of each directory the path under which it is read; `None` if each directory has one path.
fn kept_places(found: &[Vec<SegmentFile>], storage: &dyn Storage) -> Result<Option<HashMap<OsString, OsString>>> {
    let mut identities: HashMap<OsString, String> = HashMap::new();
    let mut ranks: HashMap<String, Vec<(OsString, Rank)>> = HashMap::new();
    for (number, files) in found.iter().enumerate() {
        for file in files {
            let place = storage.place(file);
            let identity = match identities.get(&place) {
                Some(known) => known.clone(),
                None => {
                    let identity = identity_of(&place, storage)?;
                    identities.insert(place.clone(), identity.clone());
                    identity
                }
            };
            let own = ranks.entry(identity).or_default();
            let rank = (!file.is_listed, number);
            match own.iter_mut().find(|(known, _)| *known == place) {
                Some((_, known)) => *known = rank.min(*known),
                None => own.push((place, rank)),
            }
        }
    }
    if ranks.values().all(|own| own.len() == 1) {
        return Ok(None);
    }
    let mut kept = HashMap::new();
    for own in ranks.into_values() {
        let first = own.iter().min_by_key(|(place, rank)| (*rank, storage.links_in(Path::new(place)))).map(|(place, _)| place.clone());
        kept.extend(own.into_iter().filter_map(|(place, _)| Some((place, first.clone()?))));
    }
    Ok(Some(kept))
}

/// A text that all paths of a directory share. The read reports a directory that is gone.
pub(super) fn identity_of(place: &OsStr, storage: &dyn Storage) -> Result<String> {
    let place = Path::new(place);
    match storage.identity(place) {
        Err(error) if is_io(&error) => Ok(storage.absolute(place).to_string_lossy().into_owned()),
        identity => identity,
    }
}

impl dyn Storage + '_ {
    /// The path of the directory of a segment, also of uploads. As text: paths of one directory that differ are two.
    pub(super) fn place(&self, file: &SegmentFile) -> OsString {
        let directory = file.directory();
        if self.is_uploaded(&directory) { self.untiered(&directory).into_os_string() } else { directory.into_os_string() }
    }
}
