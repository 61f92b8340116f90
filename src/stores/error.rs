use std::error::Error;
use std::fmt;
use std::io;

/// Why a store did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// There is no such file, bucket or directory.
    NotFound,
    /// The store refused the request, or there are no credentials.
    PermissionDenied,
    /// The store does not respond.
    Unavailable,
    /// The file was replaced while it was read.
    Changed,
    /// The store returned fewer bytes than the file has.
    ShortRead,
    /// The URI or an option is invalid.
    Invalid,
    /// The work is to stop.
    Interrupted,
    /// An error of the operating system, with its number.
    System(i32),
    /// Another answer of the store.
    Other,
}

/// An error of a store: a sentence, and the URI without its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// Why.
    pub kind: StoreErrorKind,
    /// The URI as people may see it.
    pub uri: String,
    /// One sentence without secrets.
    pub text: String,
}

impl StoreError {
    /// An error about a URI.
    pub fn new(kind: StoreErrorKind, uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind, uri: uri.into(), text: text.into() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.uri, self.text)
    }
}

impl Error for StoreError {}

/// The error is the payload, so that its kind and URI can be asked for.
impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::NotFound => io::ErrorKind::NotFound,
            StoreErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            StoreErrorKind::Unavailable => io::ErrorKind::ConnectionRefused,
            StoreErrorKind::ShortRead => io::ErrorKind::UnexpectedEof,
            StoreErrorKind::Invalid => io::ErrorKind::InvalidInput,
            // `ErrorKind::Interrupted` means to try again.
            StoreErrorKind::Changed | StoreErrorKind::Interrupted | StoreErrorKind::System(_) | StoreErrorKind::Other => {
                io::ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}
