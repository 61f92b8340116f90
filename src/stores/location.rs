//! Where a file is: scheme, bucket or host, and key, with the options of the store.

use std::fmt;

use super::error::{StoreError, StoreErrorKind};
use super::uri::{StorageOptions, UriParts};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// `s3`, `s3a` and `s3n`.
    S3,
    /// `gs` and `gcs`.
    Gs,
    /// `az` and `azure`: a container of the account that the options name.
    Az,
    /// `abfs` and `abfss`: `CONTAINER@ACCOUNT.dfs.core.windows.net`.
    Abfs,
    /// `hdfs` and `viewfs`.
    Hdfs,
}

/// A file or directory of a store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The protocol.
    pub scheme: Scheme,
    /// The scheme as it is shown: `s3a` is `s3`.
    name: &'static str,
    /// Bucket, `CONTAINER@ACCOUNT.HOST`, or name node.
    pub authority: String,
    /// The path in it, decoded, without slashes at its ends.
    pub key: String,
    /// Explicit options. Environment and configuration files come after them.
    pub options: StorageOptions,
}

/// Words of the names of options whose values are shown in messages.
const SHOWN_OPTIONS: [&str; 8] = ["region", "endpoint", "bucket", "account_name", "container", "timeout", "allow", "virtual"];

impl Location {
    /// Parse a URI.
    ///
    /// # Errors
    /// `Invalid` for another scheme, a URI without a bucket, and one with a key, a password or settings.
    pub fn parse(uri: &str, options: &StorageOptions) -> Result<Self, StoreError> {
        let parts = UriParts::parse(uri);
        parts.ensure_bare(uri)?;
        Self::of(parts, options)
    }

    /// The location at a URI.
    ///
    /// # Errors
    /// `Invalid` for another scheme, and for a URI without a bucket.
    pub fn of(parts: UriParts, options: &StorageOptions) -> Result<Self, StoreError> {
        let invalid = |text: &str| StoreError::new(StoreErrorKind::Invalid, parts.shown(), text);
        let Some((scheme, name)) = scheme_of(&parts.scheme) else {
            return Err(invalid("unknown scheme; known are s3, s3a, gs, az, abfs, abfss, hdfs and file"));
        };
        if parts.host.is_empty() && scheme != Scheme::Hdfs {
            return Err(invalid("the URI has no bucket or container"));
        }
        let authority = if parts.user.is_empty() { parts.host.clone() } else { format!("{}@{}", parts.user, parts.host) };
        let options = options.clone().into_iter().chain(parts.options()).collect();
        Ok(Self { scheme, name, authority, key: parts.path.trim_matches('/').to_owned(), options })
    }

    /// The same store at another key.
    #[must_use]
    pub fn at(&self, key: &str) -> Self {
        Self { key: key.trim_matches('/').to_owned(), ..self.clone() }
    }

    /// The store without a key: two locations with the same root are in the same store.
    pub fn root(&self) -> String {
        format!("{}://{}", self.name, self.authority)
    }

    /// Values of options that no message may have.
    pub(super) fn secrets(&self) -> Vec<String> {
        let is_secret = |name: &str| !SHOWN_OPTIONS.iter().any(|word| name.contains(word));
        self.options.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.clone()).collect()
    }
}

/// The URI without options.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root())?;
        if self.key.is_empty() { Ok(()) } else { write!(f, "/{}", self.key) }
    }
}

/// The same, in quotes.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

fn scheme_of(name: &str) -> Option<(Scheme, &'static str)> {
    Some(match name {
        "s3" => (Scheme::S3, "s3"),
        "gs" => (Scheme::Gs, "gs"),
        "az" => (Scheme::Az, "az"),
        "abfs" => (Scheme::Abfs, "abfs"),
        "abfss" => (Scheme::Abfs, "abfss"),
        "hdfs" => (Scheme::Hdfs, "hdfs"),
        "viewfs" => (Scheme::Hdfs, "viewfs"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(uri: &str) -> Result<Location, StoreError> {
        Location::parse(uri, &StorageOptions::new())
    }

    #[test]
    fn names_of_one_store_are_one() {
        for uri in ["s3://bucket/a%20b/c", "s3a://bucket/a b/c/", "S3N://bucket//a b/c"] {
            assert_eq!(parsed(uri).unwrap().to_string(), "s3://bucket/a b/c");
        }
        assert_eq!(parsed("abfss://box@one.dfs.core.windows.net/x").unwrap().authority, "box@one.dfs.core.windows.net");
        assert_eq!(parsed("hdfs://kafka@node:8020/logs").unwrap().root(), "hdfs://kafka@node:8020");
        assert_eq!(parsed("hdfs:///logs").unwrap().key, "logs");
    }

    #[test]
    fn keys_and_settings_are_errors_without_them() {
        for uri in [
            "s3://AKIAKEY:hushed/with/slash@bucket/x",
            "s3://AKIAKEY@bucket/x",
            "gs://AKIAKEY@bucket/x",
            "hdfs://kafka:hushed@node/x",
            "s3://bucket/x?endpoint_override=localhost:1&region=hushed",
        ] {
            let error = parsed(uri).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "{uri}");
            assert!(!error.to_string().contains("hushed") && !error.to_string().contains("AKIAKEY"), "{error}");
        }
        assert!(parsed("ftp://host/x").is_err() && parsed("s3:///x").is_err() && parsed("bucket/x").is_err());
    }

    #[test]
    fn options_travel_in_the_authority() {
        let location = parsed("s3://!aws_secret_access_key=a%2526b%2540c&aws_region=eu@bucket/x").unwrap();
        let options = [("aws_region", "eu"), ("aws_secret_access_key", "a&b@c")];
        assert_eq!(location.options, options.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!((location.authority.as_str(), location.to_string().as_str()), ("bucket", "s3://bucket/x"));
        assert_eq!(parsed("abfss://box!timeout=5s@one.host/x").unwrap().authority, "box@one.host");
    }

    #[test]
    fn a_location_shows_no_option() {
        let options = StorageOptions::from([("aws_secret_access_key".to_owned(), "hidden-key".to_owned())]);
        let location = Location::parse("s3://bucket/x", &options).unwrap();
        assert_eq!(format!("{location} {location:?}"), "s3://bucket/x \"s3://bucket/x\"");
        assert_eq!(location.secrets(), ["hidden-key"]);
    }
}
