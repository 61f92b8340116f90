//! What HDFS has and object stores do not: directories, names that change, and errors of its own.

use hdfs_native::client::FileStatus;
use hdfs_native::{Client, HdfsError};

use super::client_error::kind_of_hdfs;
use super::entry::StoreEntry;
use super::error::{StoreError, StoreErrorKind};
use super::location::Location;

/// A client of a name node.
#[derive(Clone)]
pub(super) struct Hdfs(pub Client);

impl Hdfs {
    /// The entry of a location.
    pub(super) async fn entry_of(&self, location: &Location) -> Result<StoreEntry, StoreError> {
        let status = self.0.get_file_info(&path_of(location)).await.map_err(|error| error_of(&error, location))?;
        Ok(entry(&status))
    }

    /// The entries in a directory, or with `is_deep` all files below it.
    pub(super) async fn entries_in(&self, location: &Location, is_deep: bool) -> Result<Vec<StoreEntry>, StoreError> {
        let own = path_of(location);
        let found = self.0.list_status(&own, is_deep).await.map_err(|error| error_of(&error, location))?;
        let is_wanted = |status: &&FileStatus| status.path != own && !(is_deep && status.isdir);
        Ok(found.iter().filter(is_wanted).map(entry).collect())
    }

    /// Renames a file whose directory may not exist yet. To repeat it is harmless.
    pub(super) async fn rename(&self, from: &Location, to: &Location) -> Result<(), StoreError> {
        let (source, place) = (path_of(from), path_of(to));
        if let Err(missing) = self.entry_of(from).await {
            // It was renamed before.
            let is_done = missing.kind == StoreErrorKind::NotFound && self.entry_of(to).await.is_ok();
            return if is_done { Ok(()) } else { Err(missing) };
        }
        if let Some((directory, _)) = place.rsplit_once('/').filter(|(directory, _)| !directory.is_empty()) {
            self.0.mkdirs(directory, 0o755, true).await.map_err(|error| error_of(&error, to))?;
        }
        self.0.rename(&source, &place, true).await.map_err(|error| error_of(&error, from))
    }

    /// Removes a file, or a directory with all that is in it, if there is one.
    pub(super) async fn remove(&self, location: &Location) -> Result<(), StoreError> {
        match self.0.delete(&path_of(location), true).await.map_err(|error| error_of(&error, location)) {
            Err(error) if error.kind != StoreErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn path_of(location: &Location) -> String {
    format!("/{}", location.key)
}

fn entry(status: &FileStatus) -> StoreEntry {
    let modified_ms = i64::try_from(status.modification_time).ok().filter(|_| !status.isdir);
    let size = if status.isdir { 0 } else { crate::wire::as_u64(status.length) };
    StoreEntry { key: status.path.trim_matches('/').to_owned(), is_directory: status.isdir, size, modified_ms, tag: None }
}

fn error_of(error: &HdfsError, location: &Location) -> StoreError {
    let kind = kind_of_hdfs(error).unwrap_or(StoreErrorKind::Other);
    let text = match kind {
        StoreErrorKind::NotFound => "no such file or directory".to_owned(),
        StoreErrorKind::PermissionDenied => format!("the store refused the request: {}", first_line(error)),
        StoreErrorKind::Unavailable => format!("the store does not respond: {}", first_line(error)),
        _ => first_line(error),
    };
    StoreError::new(kind, location.to_string(), text)
}

/// The error without the stack trace of the name node.
fn first_line(error: &HdfsError) -> String {
    let text = match error {
        HdfsError::RPCError(_, text) | HdfsError::FatalRPCError(_, text) => text.clone(),
        HdfsError::IOError(cause) => cause.to_string(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}
