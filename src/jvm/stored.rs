//! Parts of a task in a store or in tiered storage, by the URIs that the Python package carries.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, grouped};
use crate::framing::{Ending, Source};
use crate::interrupt::Interrupt;
use crate::io::named_offset;
use crate::jvm::reader::{count, lost};
use crate::jvm::task::Part;
use crate::log::not_a_segment;
use crate::model::UploadOffsets;
use crate::stores::{Location, StorageOptions, StoreErrorKind, StoredFile, StoredRange};
use crate::tiered::{self, DataKey, Encryption, Keys, TieredError, TieredRange, UnwrapKey, Uri};

/// True for a URI of a store or of tiered storage.
pub fn is_stored(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// A path or URI without options and keys.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !is_stored(path) {
        return text.into_owned();
    }
    let place = if Uri::is_one(&text) {
        Uri::parse(&text, keys).map(|uri| uri.place.to_string()).ok()
    } else {
        Location::parse(&text, &StorageOptions::new()).map(|location| location.to_string()).ok()
    };
    place.unwrap_or_else(|| "a file of a store".to_owned())
}

/// Open the bytes of a part.
///
/// # Errors
/// `NotASegment` by the name of the file; `Io` for a file that is gone or was cut, and for other errors of the store.
pub fn open(part: &Part) -> Result<Source> {
    let text = part.path.to_string_lossy();
    if part.start == 0 {
        let name = part.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        not_a_segment::error(&name, &[]).map_or(Ok(()), Err)?;
    }
    let never = Interrupt::default();
    if Uri::is_one(&text) {
        let uri = Uri::parse(&text, keys).map_err(|error| raised(error, &part.path))?;
        let file = tiered::open(&uri, &never).map_err(|error| raised(error, &part.path))?;
        ensure_uncut(part, file.size())?;
        // What a broker wrote is in order all the same.
        let offsets = file.offsets.unwrap_or(UploadOffsets { start: i64::MIN, end: None });
        let range = TieredRange::new(file, part.start, part.end, never);
        return Ok(Source::reader(Box::new(range), part.start).of_upload(Some(offsets)).before(ending(part, Ending::Uploaded)));
    }
    let opened = Location::parse(&text, &StorageOptions::new()).and_then(|location| StoredFile::open(&location, &never));
    let file = opened.map_err(|error| raised(error.into(), &part.path))?;
    ensure_uncut(part, file.size())?;
    let range = StoredRange::new(file, part.start, part.end, never);
    Ok(Source::reader(Box::new(range), part.start).before(ending(part, Ending::Open)))
}

/// What follows the last byte; `whole` after the last segment.
fn ending(part: &Part, whole: Ending) -> Ending {
    match (part.end, part.next_offset()) {
        (Some(at), _) if part.is_inner() => Ending::Entry { at },
        (None, None) => whole,
        (_, Some(next)) => Ending::Segment { first: named_offset(&part.path), next },
        _ => Ending::Open,
    }
}

fn ensure_uncut(part: &Part, size: u64) -> Result<()> {
    // The rest of a segment begins where a batch ends.
    match Some(part.end.unwrap_or(part.start)).filter(|end| size < *end) {
        Some(end) => {
            let path = shown(&part.path);
            let what = format!("{path} was cut to {} after the query was planned with {}", count(size, "byte"), grouped(end));
            Err(lost(what, io::ErrorKind::Other))
        }
        None => Ok(()),
    }
}

/// The error of a file that cannot be opened.
fn raised(error: TieredError, path: &Path) -> Error {
    let error = match error {
        TieredError::Store(error) => error,
        TieredError::Log(error) => return error,
        other => return ErrorKind::Io { kind: io::ErrorKind::Other, os_code: None, message: other.to_string() }.into(),
    };
    if error.kind == StoreErrorKind::NotFound {
        return lost(format!("{} was deleted after the query was planned", shown(path)), io::ErrorKind::NotFound);
    }
    io::Error::from(error).into()
}

fn keys(text: &str) -> Keys {
    Keys::new(text, Arc::new(NoRing))
}

/// Tasks have the data keys of their segments. A plan without a key has none for them.
struct NoRing;

impl UnwrapKey for NoRing {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> tiered::Result<DataKey> {
        Err(TieredError::Key(format!("{name} is encrypted under the key '{}': no keys were given", encryption.key_id)))
    }
}
