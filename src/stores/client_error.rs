//! What the errors of clients mean: a kind, and one sentence without secrets.

use std::error::Error;
use std::io;

use hdfs_native::HdfsError;
use object_store::Error as ObjectError;
use object_store::client::{HttpError, HttpErrorKind};

use super::error::{StoreError, StoreErrorKind};

/// Before the status in the text of `object_store` about an answer.
const STATUS: &str = "Server returned non-2xx status code: ";
/// Letters of the answer of a store that are shown.
const MOST_LETTERS: usize = 400;
/// A shorter value of an option is not replaced in messages: it would match words.
const LEAST_SECRET: usize = 6;

impl StoreError {
    /// The error of a client, without the values of these secrets.
    pub(super) fn of(error: &ObjectError, uri: &str, secrets: &[String]) -> Self {
        let answer = sentence(error, secrets);
        let (kind, text) = match kind_of(error) {
            StoreErrorKind::NotFound => (StoreErrorKind::NotFound, "no such file or directory".to_owned()),
            StoreErrorKind::PermissionDenied => (StoreErrorKind::PermissionDenied, format!("the store refused the request: {answer}")),
            StoreErrorKind::Unavailable => (StoreErrorKind::Unavailable, format!("the store does not respond: {answer}")),
            StoreErrorKind::Changed => (StoreErrorKind::Changed, "the file was replaced while it was read".to_owned()),
            kind => (kind, answer),
        };
        Self::new(kind, uri, text)
    }
}

fn kind_of(error: &ObjectError) -> StoreErrorKind {
    match error {
        ObjectError::NotFound { .. } => StoreErrorKind::NotFound,
        ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => StoreErrorKind::PermissionDenied,
        ObjectError::Precondition { .. } | ObjectError::NotModified { .. } => StoreErrorKind::Changed,
        ObjectError::UnknownConfigurationKey { .. } | ObjectError::InvalidPath { .. } => StoreErrorKind::Invalid,
        ObjectError::Generic { .. } => causes(error).find_map(kind_of_hdfs).unwrap_or_else(|| match status(error) {
            Some(401 | 403) => StoreErrorKind::PermissionDenied,
            Some(404) => StoreErrorKind::NotFound,
            None if is_unavailable(error) => StoreErrorKind::Unavailable,
            _ => StoreErrorKind::Other,
        }),
        _ => StoreErrorKind::Other,
    }
}

/// The HTTP status of the answer, from the text of the error: `object_store` does not expose the status of a listing.
fn status(error: &ObjectError) -> Option<u16> {
    causes(error).find_map(|cause| cause.to_string().strip_prefix(STATUS)?.get(..3)?.parse().ok())
}

/// True if the request itself failed: no connection, no answer in time, an answer that ended early.
fn is_unavailable(error: &ObjectError) -> bool {
    causes(error).any(|cause| {
        let of_http = cause.downcast_ref::<HttpError>().map(HttpError::kind);
        let of_io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        // Of the request for the region of a bucket.
        let of_client = cause.downcast_ref::<reqwest::Error>().is_some_and(|error| error.is_connect() || error.is_timeout());
        of_client
            || matches!(
                of_http,
                Some(HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Timeout | HttpErrorKind::Interrupted)
            )
            || matches!(of_io, Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::TimedOut))
    })
}

/// The text of an XML element.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        error.source()
    })
}

/// The innermost cause, on one line. It names the problem; the outer ones repeat the request with its query.
fn sentence(error: &ObjectError, secrets: &[String]) -> String {
    let mut text = causes(error).last().map(ToString::to_string).unwrap_or_default();
    // Other elements of an answer of S3 repeat keys and tokens.
    if let (Some(code), Some(message)) = (element(&text, "Code"), element(&text, "Message")) {
        text = format!("{code}: {message}");
    }
    for secret in secrets.iter().filter(|secret| secret.len() >= LEAST_SECRET) {
        text = text.replace(secret.as_str(), "***");
    }
    // A name node adds a stack trace.
    let text = text.split_once("\n\tat ").map_or(text.as_str(), |(text, _)| text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_LETTERS) {
        Some((at, _)) => format!("{}...", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// The kind of an error of HDFS that is among the causes of another one.
pub(super) fn kind_of_hdfs(error: &(dyn Error + 'static)) -> Option<StoreErrorKind> {
    let error = error.downcast_ref::<HdfsError>()?;
    Some(match error {
        HdfsError::FileNotFound(_) => StoreErrorKind::NotFound,
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) if class.ends_with("FileNotFoundException") => {
            StoreErrorKind::NotFound
        }
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) if class.ends_with("AccessControlException") => {
            StoreErrorKind::PermissionDenied
        }
        HdfsError::SASLError(_) | HdfsError::NoSASLMechanism => StoreErrorKind::PermissionDenied,
        HdfsError::IOError(_) => StoreErrorKind::Unavailable,
        HdfsError::InvalidPath(_) | HdfsError::InvalidArgument(_) | HdfsError::UrlParseError(_) => StoreErrorKind::Invalid,
        _ => StoreErrorKind::Other,
    })
}
