//! URIs of uploaded segments: `tiered+` before the URI of the objects, and keys and layout in options, which are never shown.
//!
//! `tiered+s3://!aws_region=eu&keys=...@bucket/prefix/...` reads the objects of `s3://bucket/prefix/...` as log directories,
//! `tiered+file:///data/...` those of a directory of this machine, and `tiered+file://here/...` those of a relative path.

use std::path::{Path, PathBuf};

use super::error::TieredResult;
use super::keys::Keys;
use super::layout::Layouts;
use super::names::{cut_name, uncut_name};
use crate::stores::{Location, StorageOptions, StoragePlace, UriParts, scheme_of_uri};

const SCHEME: &str = "tiered+";
const FILE: &str = "file";
/// The host of a path that is relative to the current directory.
const FROM_HERE: &str = "here";
const KEYS: &str = "keys";
const LAYOUT: &str = "layout";

/// A file or directory of uploaded segments.
#[derive(Clone, Debug)]
pub struct Uri {
    /// The object or the directory of objects.
    pub place: StoragePlace,
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
    pub fn parse(text: &str, keys: impl FnOnce(&str) -> Keys) -> TieredResult<Self> {
        let parts = objects_of(UriParts::parse(text));
        let options = parts.options();
        let place = match file_of(&parts) {
            Some(path) => StoragePlace::Local(path),
            None => StoragePlace::Stored(Location::of(without_settings(parts), &StorageOptions::new())?),
        };
        let option = |name| options.get(name).map_or("", String::as_str);
        let layouts = Layouts::of_text(option(LAYOUT))?;
        let (name, before) = uncut_name(&place.name(), |name| layouts.object(name).is_some());
        let place = if before.is_some() { place.parent().join(&name) } else { place };
        Ok(Self { place, keys: keys(option(KEYS)), layouts, before })
    }

    /// Another file or directory with the same keys and layouts.
    #[must_use]
    pub fn at(&self, place: StoragePlace) -> Self {
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
    let parts = match (scheme_of_uri(Path::new(objects)), objects.strip_prefix('/')) {
        (Some(_), _) => objects_of(UriParts::parse(objects)),
        (None, Some(path)) => UriParts { scheme: FILE.to_owned(), path: path.to_owned(), ..UriParts::default() },
        (None, None) => UriParts { scheme: FILE.to_owned(), host: FROM_HERE.to_owned(), path: objects.to_owned(), ..UriParts::default() },
    };
    let parts = without_settings(parts);
    let settings = [(KEYS, keys), (LAYOUT, layouts)].into_iter().filter(|(_, text)| !text.is_empty());
    let settings = settings.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    UriParts { scheme: format!("{SCHEME}{}", parts.scheme), ..parts }.with_options(&settings).to_uri()
}

/// The path or URI of the objects of a URI of uploaded segments, without keys and without the end of an upload that is read in part.
pub fn objects_text(uri: &str) -> String {
    let parts = objects_of(UriParts::parse(uri));
    // Whoever reads the file reports an invalid template.
    let layouts = parts.options().get(LAYOUT).and_then(|text| Layouts::of_text(text).ok()).unwrap_or_default();
    let (above, name) = parts.path.rsplit_once('/').map_or(("", parts.path.as_str()), |(above, name)| (above, name));
    let (name, _) = uncut_name(name, |name| layouts.object(name).is_some());
    let path = if above.is_empty() { name } else { format!("{above}/{name}") };
    let parts = without_settings(UriParts { path, ..parts });
    file_of(&parts).map_or_else(|| parts.to_uri(), |path| path.to_string_lossy().into_owned())
}

/// A URI of uploads on this machine that means the same in every directory; any other one as it is.
pub fn absolute_text(uri: &str, absolute: impl FnOnce(&Path) -> PathBuf) -> String {
    let parts = UriParts::parse(uri);
    if parts.host != FROM_HERE || parts.scheme.strip_prefix(SCHEME) != Some(FILE) {
        return uri.to_owned();
    }
    let path = absolute(Path::new(&parts.path)).to_string_lossy().trim_start_matches('/').to_owned();
    UriParts { host: String::new(), path, ..parts }.to_uri()
}

/// The parts of the URI of objects, for those of a URI of uploads.
fn objects_of(parts: UriParts) -> UriParts {
    let scheme = parts.scheme.strip_prefix(SCHEME).unwrap_or(&parts.scheme).to_owned();
    UriParts { scheme, ..parts }
}

/// The path of objects of this machine.
fn file_of(parts: &UriParts) -> Option<PathBuf> {
    let path = if parts.host == FROM_HERE { parts.path.clone() } else { format!("/{}", parts.path) };
    (parts.scheme == FILE).then(|| path.into())
}

/// The parts without keys and layouts.
fn without_settings(parts: UriParts) -> UriParts {
    let is_setting = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| name == KEYS || name == LAYOUT);
    let kept = parts.query.split('&').filter(|pair| !pair.is_empty() && !is_setting(pair));
    let query = kept.collect::<Vec<_>>().join("&");
    UriParts { query, ..parts }
}

/// The URI of a file that is read before an offset only.
pub fn cut_text(uri: &str, before: Option<i64>) -> String {
    let (directory, name) = uri.rsplit_once('/').unwrap_or(("", uri));
    format!("{directory}/{}", cut_name(name, before))
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
            if let StoragePlace::Stored(location) = &parsed.place {
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
            let cut = cut_text(&crate::stores::joined_text(&directory, "5_a b.log"), Some(9));
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
            ("s3://!aws_region=eu@bucket/x", "a%b", "tiered+s3://!aws_region=eu&keys=a%2525b@bucket/x"),
            ("tiered+s3://!keys=old@bucket/x", "", "tiered+s3://bucket/x"),
            ("abfss://box@one.host/x", "abc", "tiered+abfss://box!keys=abc@one.host/x"),
        ] {
            assert_eq!(uri_text(objects, keys, ""), uri);
        }
        let absolute = |uri: &str| absolute_text(uri, |path| Path::new("/data").join(path));
        assert_eq!(absolute("tiered+file://!keys=abc@here/a%25"), "tiered+file://!keys=abc@/data/a%25");
        assert_eq!(absolute("tiered+s3://here/x"), "tiered+s3://here/x");
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
