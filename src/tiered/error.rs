//! What can be wrong with uploads: their keys, their manifests, their chunks, and which of them count.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, grouped};
use crate::stores::{StoreError, StoreErrorKind};

/// What the functions of this module return.
pub type TieredResult<T> = std::result::Result<T, TieredError>;

/// An error of uploaded segments.
#[derive(Clone, Debug)]
pub enum TieredError {
    /// A manifest is invalid, or contradicts its objects.
    Manifest(Box<ManifestError>),
    /// The bytes of a chunk cannot be restored.
    Chunk(Box<ChunkError>),
    /// An encrypted segment cannot be decrypted. The text names the segment and the id of the key, and contains no part of a key.
    Key(String),
    /// The template of a layout is invalid.
    Layout(String),
    /// Two uploads overlap, and no metadata decides which of them counts.
    Undecided {
        /// One sentence.
        text: String,
        /// One of them.
        uri: String,
    },
    /// Of the store or of the operating system.
    Store(StoreError),
    /// A look-up in a log failed.
    Log(Error),
    /// Of the key ring of the caller.
    KeyRing(Arc<dyn std::error::Error + Send + Sync>),
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The rule that is broken.
    pub rule: &'static str,
    /// One sentence; it begins with the path of the manifest where that is known.
    pub text: String,
    /// The segment that cannot be read because of it.
    pub lost: Option<LostSegment>,
}

/// A segment of which no byte can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its bytes, as far as they are known.
    pub size: u64,
    /// Its first offset.
    pub first_offset: i64,
    /// The last offset before the next segment, if there is one.
    pub last_offset: Option<i64>,
}

/// Bytes of a segment that cannot be restored: those of a chunk, or all after the end of a cut object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkError {
    /// One sentence.
    pub text: String,
    /// The number of the chunk, or of the first after the end of the object; `None` for an index.
    pub chunk: Option<u64>,
    /// The lost bytes of the segment.
    pub bytes: Range<u64>,
    /// The first offset that is not in a valid batch before them, if it is known.
    pub first_offset: Option<i64>,
    /// The last offset before the next valid batch, if it is known.
    pub last_offset: Option<i64>,
}

impl TieredError {
    /// An error of a manifest.
    pub fn manifest(rule: &'static str, text: impl Into<String>) -> Self {
        Self::Manifest(Box::new(ManifestError { rule, text: text.into(), lost: None }))
    }

    /// An error of bytes that belong to no chunk, such as those of an index.
    pub fn chunk(text: impl Into<String>) -> Self {
        let lost = ChunkError { text: text.into(), chunk: None, bytes: 0..0, first_offset: None, last_offset: None };
        Self::Chunk(Box::new(lost))
    }

    /// True if the caller does not want the work any more.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::Store(error) => error.kind == StoreErrorKind::Interrupted,
            Self::Log(error) => matches!(error.kind(), ErrorKind::Interrupted),
            _ => false,
        }
    }

    /// True if there is no such file.
    pub fn is_missing(&self) -> bool {
        // 20 is "not a directory".
        matches!(self, Self::Store(error) if matches!(error.kind, StoreErrorKind::NotFound | StoreErrorKind::System(20)))
    }
}

impl fmt::Display for TieredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(error) => f.write_str(&error.text),
            Self::Chunk(error) => f.write_str(&error.text),
            Self::Key(text) | Self::Layout(text) | Self::Undecided { text, .. } => f.write_str(text),
            Self::Store(error) => write!(f, "{error}"),
            Self::Log(error) => write!(f, "{error}"),
            Self::KeyRing(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for TieredError {}

impl From<StoreError> for TieredError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Error> for TieredError {
    fn from(error: Error) -> Self {
        Self::Log(error)
    }
}

/// Lost bytes are an error of the core, so that readers can continue after them.
impl From<TieredError> for io::Error {
    fn from(error: TieredError) -> Self {
        let lost = match &error {
            error if error.is_interrupted() => return Self::other(Error::from(ErrorKind::Interrupted)),
            TieredError::Store(error) => return error.clone().into(),
            TieredError::Log(error) => return Self::other(error.clone()),
            TieredError::Chunk(lost) => Some(lost.bytes.clone()).filter(|bytes| !bytes.is_empty()),
            TieredError::Manifest(error) => error.lost.map(|lost| 0..lost.size),
            _ => None,
        };
        match lost {
            Some(bytes) => Self::other(Error::from(ErrorKind::LostBytes { bytes, message: error.to_string() })),
            None => Self::other(error),
        }
    }
}

/// `1 byte`, `1,263 bytes`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}
