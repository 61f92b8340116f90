//! Directories and those below them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use super::{Listing, Storage};
use crate::error::Result;

/// A directory and each directory below it, one after the other, each before those in it.
///
/// A link does not lead in a circle. The depth is bounded by the system alone. A store is listed once, and its listings have files only.
pub struct Tree<'a> {
    storage: &'a dyn Storage,
    is_skipped: fn(&str) -> bool,
    /// The listings of a store.
    listed: Option<IntoIter<(PathBuf, Listing)>>,
    /// On each level on the way down, the directories that are still to come.
    waiting: Vec<IntoIter<PathBuf>>,
    /// The identities of the directories on the way down.
    above: Vec<String>,
    on_the_way: HashSet<String>,
}

impl<'a> Tree<'a> {
    /// A directory, without directories below of a name that is skipped.
    ///
    /// # Errors
    /// Those of a store.
    pub fn of(directory: &Path, is_skipped: fn(&str) -> bool, storage: &'a dyn Storage) -> Result<Self> {
        let found = storage.tree(directory)?;
        let waiting = if found.is_some() { Vec::new() } else { vec![vec![directory.to_owned()].into_iter()] };
        let is_below = |(below, _): &(PathBuf, Listing)| !has_skipped(below, directory, is_skipped);
        let listed = found.map(|found| found.into_iter().filter(is_below).collect::<Vec<_>>().into_iter());
        Ok(Self { storage, is_skipped, listed, waiting, above: Vec::new(), on_the_way: HashSet::new() })
    }

    /// The next directory and its entries.
    ///
    /// # Errors
    /// If the directory cannot be listed, and when the work is to stop.
    pub fn next_directory(&mut self) -> Result<Option<(PathBuf, Listing)>> {
        if let Some(listed) = &mut self.listed {
            return Ok(listed.next());
        }
        while let Some(level) = self.waiting.last_mut() {
            let Some(directory) = level.next() else {
                self.waiting.pop();
                if let Some(left) = self.above.pop() {
                    self.on_the_way.remove(&left);
                }
                continue;
            };
            self.storage.interrupt().ensure_wanted()?;
            let here = self.storage.identity(&directory)?;
            if self.on_the_way.contains(&here) {
                continue;
            }
            let listing = self.storage.list(&directory)?;
            let below = listing.directories.iter().filter(|entry| !(self.is_skipped)(&entry.name)).map(|entry| entry.path.clone());
            self.waiting.push(below.collect::<Vec<_>>().into_iter());
            self.on_the_way.insert(here.clone());
            self.above.push(here);
            return Ok(Some((directory, listing)));
        }
        Ok(None)
    }
}

/// True if a directory between a base and one below it, or this one, is skipped.
fn has_skipped(below: &Path, base: &Path, is_skipped: fn(&str) -> bool) -> bool {
    let names = below.strip_prefix(base).map(Path::components);
    names.is_ok_and(|mut names| names.any(|name| is_skipped(&name.as_os_str().to_string_lossy())))
}
