//! URIs as text, in two forms: as people write them, and with the options of their store, as the Python package carries them.
//!
//! The second form has the options before the host, each quoted: `s3://!aws_region=eu@bucket/dir/file.log`. So they travel with the URI,
//! and code that splits and joins paths works on it. Everything here takes both forms, and shows no option.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{StoreError, StoreErrorKind};
use super::escapes::{decoded, escaped};

/// Hadoop's and Google's other names of the same stores.
const ALIASES: [(&str, &str); 4] = [("s3a", "s3"), ("s3n", "s3"), ("gcs", "gs"), ("azure", "az")];
/// Schemes in which a user is a key.
const KEYED: [&str; 3] = ["s3", "gs", "az"];
/// Schemes with the name of a container as the user.
const AZURE: [&str; 2] = ["abfs", "abfss"];
/// Settings that URIs once had, and the options for them.
const OPTION_OF: [(&str, &str); 3] = [("endpoint_override", "aws_endpoint"), ("scheme", "aws_endpoint"), ("region", "aws_region")];
/// Signs that are not quoted in the path of a URI.
const SAFE_IN_PATH: &str = " ~!$'()*+,;=:/";

/// Options of a store by the names of `object_store`, such as `aws_region`.
pub type StorageOptions = BTreeMap<String, String>;

/// The parts of a URI. User and query are as they are written, and the path is decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UriParts {
    /// In lower case, by the name that stores are known by: `s3` for `s3a`.
    pub scheme: String,
    /// Of HDFS; in Azure the container.
    pub user: String,
    /// The options of the store, and the keys of tiered storage.
    pub query: String,
    /// Bucket, container, account or name node.
    pub host: String,
    /// Without the slash in front.
    pub path: String,
}

/// The scheme of a URI of a store; `None` for a path of this machine and a `file:` URI. A drive has one letter, and is none.
pub fn scheme_of_uri(path: &Path) -> Option<&str> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let end = bytes.windows(3).position(|signs| signs == b"://").filter(|end| *end > 1)?;
    let scheme = bytes.get(..end).and_then(|scheme| std::str::from_utf8(scheme).ok())?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"+.-".contains(&sign));
    Some(scheme).filter(|scheme| is_scheme && !scheme.eq_ignore_ascii_case("file"))
}

/// A path or URI of a user in the form with options; a `file:` URI as a path of this machine.
///
/// # Errors
/// `Invalid` if a `file:` URI names another machine, and for a URI of a store with a key, a password or settings.
pub fn to_internal_uri(path: &Path) -> Result<PathBuf, StoreError> {
    if scheme_of_uri(path).is_some() {
        let text = path.to_string_lossy();
        let parts = UriParts::parse(&text);
        parts.ensure_bare(&text)?;
        return Ok(parts.to_uri().into());
    }
    let Some(rest) = path.to_str().and_then(after_file) else { return Ok(path.to_owned()) };
    let (host, rest) = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
        None => ("", rest),
    };
    if !matches!(host, "" | "localhost") {
        let text = "a file: URI must name a local file, as in file:///data/orders-0";
        return Err(StoreError::new(StoreErrorKind::Invalid, path.to_string_lossy(), text));
    }
    Ok(decoded(rest).into())
}

/// What comes after the scheme of a `file:` URI.
fn after_file(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_at_checked("file:".len())?;
    (scheme.eq_ignore_ascii_case("file:") && rest.starts_with('/')).then_some(rest)
}

impl UriParts {
    /// Split a URI of either form.
    pub fn parse(uri: &str) -> Self {
        let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
        let (authority, path) = cut(rest);
        let (front, host) = authority.rsplit_once('@').unwrap_or(("", &authority));
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let (user, own) = front.rsplit_once('!').filter(|(_, own)| are_options(own)).unwrap_or((front, ""));
        let query = if query.is_empty() { decoded(own) } else { query.to_owned() };
        Self { scheme: known_scheme(scheme), user: user.to_owned(), query, host: host.to_owned(), path: decoded(path) }
    }

    /// The options of the store, and the keys of tiered storage.
    pub fn options(&self) -> StorageOptions {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
    }

    /// The same with more options; one of the same name is replaced.
    #[must_use]
    pub fn with_options(self, options: &StorageOptions) -> Self {
        let is_kept = |pair: &&str| !pair.is_empty() && !options.contains_key(&decoded(pair.split('=').next().unwrap_or_default()));
        let own = self.query.split('&').filter(is_kept).map(str::to_owned);
        let new = options.iter().map(|(name, value)| format!("{}={}", quoted(name, ""), quoted(value, "")));
        let query = own.chain(new).collect::<Vec<_>>().join("&");
        Self { query, ..self }
    }

    /// The URI in the form with options.
    pub fn to_uri(&self) -> String {
        let has_options = !self.query.is_empty() || self.user.contains('!');
        let own = if has_options { format!("!{}", quoted(&self.query, "=&")) } else { String::new() };
        let at = if self.user.is_empty() && !has_options { "" } else { "@" };
        let Self { scheme, user, host, path, .. } = self;
        format!("{scheme}://{user}{own}{at}{host}/{}", quoted(path, SAFE_IN_PATH)).trim_end_matches('/').to_owned()
    }

    /// The URI as people may see it: without options and keys, its path decoded.
    pub fn shown(&self) -> String {
        let Self { scheme, host, path, .. } = self;
        if self.has_secret_in_host() {
            return format!("{scheme}://");
        }
        let container = self.user.split(':').next().filter(|name| AZURE.contains(&scheme.as_str()) && !name.is_empty());
        let at = container.map(|name| format!("{name}@")).unwrap_or_default();
        format!("{scheme}://{at}{host}/{path}").trim_end_matches('/').to_owned()
    }

    /// True for a key or a password that looks like a host: it is followed by a slash or `?` and not by `@`.
    fn has_secret_in_host(&self) -> bool {
        let is_port = |(_, port): (&str, &str)| port.parse::<u16>().is_ok();
        let own = self.scheme.rsplit('+').next().unwrap_or_default();
        !self.host.starts_with('[') && self.host.rsplit_once(':').is_some_and(|parts| KEYED.contains(&own) || !is_port(parts))
    }

    /// Checks that a URI of a user has no key, password or settings.
    ///
    /// # Errors
    /// `Invalid` otherwise, with the option to use.
    pub(super) fn ensure_bare(&self, text: &str) -> Result<(), StoreError> {
        let invalid = |text: String| Err(StoreError::new(StoreErrorKind::Invalid, self.shown(), text));
        let scheme = self.scheme.rsplit('+').next().unwrap_or_default();
        if self.user.contains(':') || (!self.user.is_empty() && KEYED.contains(&scheme)) || self.has_secret_in_host() {
            let names = if scheme == "s3" { "aws_access_key_id and aws_secret_access_key" } else { "the names of object_store" };
            return invalid(format!("a URI has no keys or passwords: use storage_options ({names})"));
        }
        match self.options().keys().next().filter(|_| text.contains('?')) {
            None => Ok(()),
            Some(name) => {
                let option = OPTION_OF.iter().find(|(setting, _)| setting == name);
                let option = option.map(|(setting, option)| format!(" ({option} for {setting})")).unwrap_or_default();
                invalid(format!("a URI has no settings: use storage_options{option}"))
            }
        }
    }
}

/// A path or URI as people may see it. A byte of a path that is not UTF-8 is `\xNN`.
pub fn redacted_uri(path: &Path) -> String {
    if scheme_of_uri(path).is_some() { UriParts::parse(&path.to_string_lossy()).shown() } else { escaped(path) }
}

/// The URI of a file in a directory of a store.
pub fn joined_text(directory: &str, name: &str) -> String {
    let directory = if directory.ends_with("://") { directory } else { directory.trim_end_matches('/') };
    format!("{directory}/{}", quoted(name, SAFE_IN_PATH))
}

/// Percent-encoded text.
fn quoted(text: &str, safe: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) || safe.as_bytes().contains(&byte) {
            quoted.push(char::from(byte));
        } else {
            quoted.push_str(&format!("%{byte:02X}"));
        }
    }
    quoted
}

/// The authority, and the path with a query. A password may have bare slashes, as keys of S3 have them; a query may follow the authority.
fn cut(rest: &str) -> (String, String) {
    let key = password_end(rest).map(|end| rest.split_at(end));
    let (front, rest) = key.map_or((String::new(), rest), |(front, rest)| (front.replace('/', "%2F"), rest));
    match rest.find(['/', '?']) {
        None => (format!("{front}{rest}"), String::new()),
        Some(at) => {
            let (authority, path) = rest.split_at(at);
            (format!("{front}{authority}"), path.strip_prefix('/').unwrap_or(path).to_owned())
        }
    }
}

/// Where user and password end, with the `@`. A port is no password.
fn password_end(rest: &str) -> Option<usize> {
    let colon = rest.find(['/', '@', '?', ':']).filter(|at| rest.as_bytes().get(*at) == Some(&b':'))?;
    let after = rest.get(colon + 1..)?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && after.as_bytes().get(digits) == Some(&b'/') {
        return None;
    }
    let at = after.find(['@', '?']).filter(|at| after.as_bytes().get(*at) == Some(&b'@'))?;
    Some(colon + 1 + at + 1)
}

/// True for quoted options: `name=value&name=value`.
fn are_options(text: &str) -> bool {
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.contains('='));
    text.is_empty() || text.strip_suffix('&').unwrap_or(text).split('&').all(is_pair)
}

fn known_scheme(scheme: &str) -> String {
    let scheme = scheme.to_ascii_lowercase();
    let (front, own) = scheme.rsplit_once('+').map_or(("", scheme.as_str()), |(front, own)| (front, own));
    let known = ALIASES.iter().find(|(alias, _)| *alias == own).map_or(own, |(_, known)| known);
    if front.is_empty() { known.to_owned() } else { format!("{front}+{known}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed_text(text: &str) -> Result<String, String> {
        to_internal_uri(Path::new(text)).map(|path| path.to_str().unwrap().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_uri_of_a_user_is_brought_into_one_form() {
        for (given, uri) in [
            ("/data/a b", "/data/a b"),
            ("data", "data"),
            ("C://x", "C://x"),
            ("file:///data/a%20b", "/data/a b"),
            ("FILE:/data/a", "/data/a"),
            ("file://localhost/data", "/data"),
            ("s3a://bucket/a b%25/", "s3://bucket/a b%25"),
            ("S3://bucket", "s3://bucket"),
            ("hdfs://kafka@node:8020/logs", "hdfs://kafka@node:8020/logs"),
            ("hdfs://[::1]:8020/logs", "hdfs://[::1]:8020/logs"),
            ("abfss://box@one.host/x", "abfss://box@one.host/x"),
            ("tiered+gcs://bucket/x", "tiered+gs://bucket/x"),
            ("s3://!aws_region=eu&aws_secret_access_key=a%2526b@bucket/x", "s3://!aws_region=eu&aws_secret_access_key=a%2526b@bucket/x"),
        ] {
            assert_eq!(placed_text(given).unwrap(), uri);
            assert_eq!(placed_text(uri).unwrap(), uri);
        }
        assert!(placed_text("file://other/data").unwrap_err().contains("must name a local file"));
    }

    #[test]
    fn keys_and_settings_are_errors_that_do_not_show_them() {
        for (uri, said) in [
            ("s3://AKIAKEY:hushed/with/slash@bucket/x", "s3://bucket/x: a URI has no keys or passwords"),
            ("s3://AKIAKEY@bucket/x", "aws_access_key_id"),
            ("gs://AKIAKEY@bucket/x", "names of object_store"),
            ("hdfs://kafka:hushed@node/x", "hdfs://node/x: a URI has no keys"),
            ("s3://AKIAKEY:hus?hed@bucket/x", "s3://: a URI has no keys"),
            ("s3://AKIAKEY:123/hushed@bucket/x", "s3://: a URI has no keys"),
            ("hdfs://kafka:hus?hed@node/x", "hdfs://: a URI has no keys"),
            ("s3://bucket?region=hushed", "storage_options (aws_region for region)"),
            ("s3://bucket/x?endpoint_override=localhost:1&region=hushed", "no settings"),
        ] {
            let error = placed_text(uri).unwrap_err();
            assert!(error.contains(said), "{error}");
            for text in [error, redacted_uri(Path::new(uri))] {
                assert!(!["hushed", "hus?", "hed@", "AKIAKEY"].iter().any(|secret| text.contains(secret)), "{text}");
            }
        }
    }

    #[test]
    fn options_travel_in_the_uri() {
        let options = [("aws_region", "eu"), ("aws_secret_access_key", "a&b@c/d")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let uri = UriParts::parse("s3://bucket/a b").with_options(&options.clone().into()).to_uri();
        assert_eq!(UriParts::parse(&uri).options(), options.into());
        assert_eq!((redacted_uri(Path::new(&uri)).as_str(), UriParts::parse(&uri).path.as_str()), ("s3://bucket/a b", "a b"));
        assert_eq!(UriParts::parse("abfss://box!timeout=5s@one.host/x").shown(), "abfss://box@one.host/x");
        assert_eq!(joined_text("s3://bucket/x/", "a%.log"), "s3://bucket/x/a%25.log");
    }
}
