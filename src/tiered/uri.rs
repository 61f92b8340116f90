//! URIs of uploaded segments: `tiered+` before the URI of the objects, and keys and layout in options, which are never shown.
//!
//! `tiered+s3://!aws_region=eu&keys=...@bucket/prefix/...` reads the objects of `s3://bucket/prefix/...` as log directories,
//! `tiered+file:///data/...` those of a directory of this machine, and `tiered+file://here/...` those of a relative path.

use std::path::PathBuf;

use super::error::Result;
use super::keys::Keys;
use super::layout::Layouts;
use super::names::{cut_name, uncut_name};
use crate::stores::{Location, Place, StorageOptions, decoded, options_in};

const SCHEME: &str = "tiered+";
const FILE: &str = "file://";
/// The host of a path that is relative to the current directory.
const FROM_HERE: &str = "here";
const KEYS: &str = "keys";
const LAYOUT: &str = "layout";

/// A file or directory of uploaded segments.
#[derive(Clone, Debug)]
pub struct Uri {
    /// The object or the directory of objects.
    pub place: Place,
    /// Keys of encrypted segments.
    pub keys: Keys,
    /// The layouts of its objects.
    pub layouts: Layouts,
    /// The first offset that is not read of an upload that is not read to its end.
    pub before: Option<i64>,
}

impl Uri {
    /// True for a URI of uploaded segments.
    pub fn is_one(text: &str) -> bool {
        text.get(..SCHEME.len()).is_some_and(|front| front.eq_ignore_ascii_case(SCHEME))
    }

    /// Parse a URI; `keys` makes keys of the text in it.
    ///
    /// # Errors
    /// `Store` for a URI of objects that is invalid, `Layout` for a template that is invalid.
    pub fn parse(text: &str, keys: impl FnOnce(&str) -> Keys) -> Result<Self> {
        let rest = if Self::is_one(text) { text.get(SCHEME.len()..).unwrap_or_default() } else { text };
        let (place, options) = match rest.strip_prefix(FILE) {
            Some(rest) => {
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                let (host, options) = options_in(authority);
                let path = decoded(path);
                (Place::Local(PathBuf::from(if host == FROM_HERE { path } else { format!("/{path}") })), options)
            }
            None => {
                let mut location = Location::parse(rest, &StorageOptions::new())?;
                let options = [KEYS, LAYOUT].into_iter().filter_map(|name| location.options.remove_entry(name)).collect();
                (Place::Stored(location), options)
            }
        };
        let option = |name| options.get(name).map_or("", String::as_str);
        let layouts = Layouts::of_text(option(LAYOUT))?;
        let (name, before) = uncut_name(&place.name(), |name| layouts.object(name).is_some());
        let place = if before.is_some() { place.parent().join(&name) } else { place };
        Ok(Self { place, keys: keys(option(KEYS)), layouts, before })
    }

    /// Another file or directory with the same keys and layouts.
    #[must_use]
    pub fn at(&self, place: Place) -> Self {
        Self { place, keys: self.keys.clone(), layouts: self.layouts.clone(), before: None }
    }

    /// The same, read before an offset only.
    #[must_use]
    pub fn cut_before(self, before: Option<i64>) -> Self {
        Self { before, ..self }
    }
}

/// The URI of uploaded segments for a path or URI of their objects, with the texts of keys and layouts. A path that is relative stays
/// relative.
pub fn uri_text(objects: &str, keys: &str, layouts: &str) -> String {
    let bare = if Uri::is_one(objects) { objects.get(SCHEME.len()..).unwrap_or_default() } else { objects };
    let (scheme, rest) = match bare.split_once("://") {
        Some((scheme, rest)) => (scheme.to_owned(), rest.to_owned()),
        None if bare.starts_with('/') => ("file".to_owned(), quoted(bare, SAFE_IN_PATH)),
        None => ("file".to_owned(), format!("{FROM_HERE}/{}", quoted(bare, SAFE_IN_PATH))),
    };
    let (authority, path) = rest.split_once('/').map_or((rest.as_str(), None), |(authority, path)| (authority, Some(path)));
    let settings = [(KEYS, keys), (LAYOUT, layouts)].into_iter().filter(|(_, text)| !text.is_empty());
    let authority = with_settings(authority, settings.map(|(name, text)| format!("{name}={}", quoted(text, "=&"))));
    let path = path.map(|path| format!("/{path}")).unwrap_or_default();
    format!("{SCHEME}{scheme}://{authority}{path}")
}

/// The path or URI of the objects of a URI of uploaded segments, without keys and without the end of an upload that is read in part.
pub fn objects_text(uri: &str) -> String {
    let Some((scheme, rest)) = uri.get(SCHEME.len()..).and_then(|bare| bare.split_once("://")) else { return uri.to_owned() };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (above, name) = path.rsplit_once('/').map_or(("", path), |(above, name)| (above, name));
    let layouts = layouts_in(authority);
    let (name, _) = uncut_name(name, |name| layouts.object(&decoded(name)).is_some());
    let path = if above.is_empty() { name } else { format!("{above}/{name}") };
    if scheme.eq_ignore_ascii_case("file") {
        let (host, _) = options_in(authority);
        let path = decoded(&path);
        return if host == FROM_HERE { path } else { format!("/{path}") };
    }
    let authority = with_settings(authority, []);
    format!("{scheme}://{authority}/{path}").trim_end_matches('/').to_owned()
}

/// The layouts in an authority; the known ones for an invalid template, which whoever reads a file reports.
fn layouts_in(authority: &str) -> Layouts {
    let (_, options) = options_in(authority);
    options.get(LAYOUT).and_then(|text| Layouts::of_text(text).ok()).unwrap_or_default()
}

/// An authority with these settings in place of its own keys and layouts.
fn with_settings(authority: &str, settings: impl IntoIterator<Item = String>) -> String {
    let (front, query, host) = match authority.split_once('!') {
        Some((front, rest)) => rest.rsplit_once('@').map_or((front, "", rest), |(query, host)| (front, query, host)),
        None => authority.rsplit_once('@').map_or(("", "", authority), |(front, host)| (front, "", host)),
    };
    let is_own = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| name == KEYS || name == LAYOUT);
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !is_own(pair)).map(str::to_owned);
    let query: Vec<String> = kept.chain(settings).collect();
    match (front, query.is_empty()) {
        ("", true) => host.to_owned(),
        (front, true) => format!("{front}@{host}"),
        (front, false) => format!("{front}!{}@{host}", query.join("&")),
    }
}

/// The URI of a file in a directory of a store.
pub fn joined_text(directory: &str, name: &str) -> String {
    let directory = if directory.ends_with("://") { directory } else { directory.trim_end_matches('/') };
    format!("{directory}/{}", quoted(name, SAFE_IN_PATH))
}

/// The URI of a file that is read before an offset only.
pub fn cut_text(uri: &str, before: Option<i64>) -> String {
    let (directory, name) = uri.rsplit_once('/').unwrap_or(("", uri));
    format!("{directory}/{}", cut_name(name, before))
}

/// Signs that are not quoted in the path of a URI.
const SAFE_IN_PATH: &str = " ~!$'()*+,;=:/";

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::keys::tests::NoKeys;
    use super::*;

    #[test]
    fn keys_and_the_end_of_an_upload_are_taken_out() {
        let log = "00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA";
        let cut = format!("{log}-before-00000000000000001300.log");
        for (uri, place, text, before) in [
            ("tiered+file:///data/a%20b".to_owned(), "/data/a b".to_owned(), "", None),
            ("tiered+file://here/data".to_owned(), "data".to_owned(), "", None),
            (format!("tiered+file://!keys=abc@/data/{cut}"), format!("/data/{log}.log"), "abc", Some(1300)),
            (format!("TIERED+s3://!aws_region=eu&keys=abc@bucket/x/{cut}"), format!("s3://bucket/x/{log}.log"), "abc", Some(1300)),
        ] {
            let parsed = Uri::parse(&uri, |text| Keys::new(text, Arc::new(NoKeys))).unwrap();
            assert_eq!((parsed.place.to_string(), &**parsed.keys.text(), parsed.before), (place, text, before));
            if let Place::Stored(location) = &parsed.place {
                assert_eq!(location.options, [("aws_region".to_owned(), "eu".to_owned())].into());
            }
        }
        assert!(Uri::is_one("tiered+s3://b/x") && !Uri::is_one("s3://b/x"));
        assert!(Uri::parse("tiered+ftp://b/x", |text| Keys::new(text, Arc::new(NoKeys))).is_err());
    }

    #[test]
    fn a_uri_of_uploads_carries_their_layout() {
        let layouts = Layouts::of_template("{topic}/{partition}/{offset}_{id}.log").unwrap();
        for objects in ["s3://!aws_region=eu@bucket/orders/7", "/orders/7", "orders/7"] {
            let directory = uri_text(objects, "abc", layouts.text());
            let parsed = Uri::parse(&directory, |text| Keys::new(text, Arc::new(NoKeys))).unwrap();
            assert_eq!((parsed.layouts.template(), &**parsed.keys.text()), (Some("{topic}/{partition}/{offset}_{id}.log"), "abc"));
            assert_eq!(objects_text(&directory), objects);
            let cut = cut_text(&joined_text(&directory, "5_a b.log"), Some(9));
            let parsed = Uri::parse(&cut, |text| Keys::new(text, Arc::new(NoKeys))).unwrap();
            assert_eq!((parsed.place.name(), parsed.before), ("5_a b.log".to_owned(), Some(9)));
            assert!(objects_text(&cut).ends_with("/5_a b.log"), "{}", objects_text(&cut));
            assert_eq!(uri_text(&directory, "", ""), uri_text(objects, "", ""));
        }
        assert!(Uri::parse("tiered+s3://!layout=%2B@bucket/x", |text| Keys::new(text, Arc::new(NoKeys))).is_err());
    }

    #[test]
    fn the_uri_of_uploads_has_their_keys() {
        for (objects, keys, uri) in [
            ("/data/a b%", "", "tiered+file:///data/a b%25"),
            ("data", "abc", "tiered+file://!keys=abc@here/data"),
            ("s3://!aws_region=eu@bucket/x", "a%b", "tiered+s3://!aws_region=eu&keys=a%25b@bucket/x"),
            ("tiered+s3://!keys=old@bucket/x", "", "tiered+s3://bucket/x"),
            ("abfss://box@one.host/x", "abc", "tiered+abfss://box!keys=abc@one.host/x"),
        ] {
            assert_eq!(uri_text(objects, keys, ""), uri);
        }
        assert_eq!(joined_text("s3://bucket/x/", "a%.log"), "s3://bucket/x/a%25.log");
        assert_eq!(joined_text("tiered+file://", "data"), "tiered+file:///data");
    }

    #[test]
    fn the_objects_of_a_uri_of_uploads_have_no_keys() {
        let log = "00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA";
        let cut = cut_text(&format!("tiered+s3://!aws_region=eu&keys=a%25b@bucket/x/{log}.log"), Some(1300));
        assert_eq!(objects_text(&cut), format!("s3://!aws_region=eu@bucket/x/{log}.log"));
        for (uri, objects) in [
            ("tiered+file:///data/a%20b", "/data/a b"),
            ("tiered+file://!keys=abc@here/data", "data"),
            ("tiered+s3://!keys=abc@bucket", "s3://bucket"),
            ("tiered+abfss://box!keys=abc@one.host/x", "abfss://box@one.host/x"),
        ] {
            assert_eq!(objects_text(uri), objects);
        }
    }
}
