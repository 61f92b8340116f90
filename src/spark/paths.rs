//! The paths of a query: those of `path` and `paths`, with the options of their store, and keys and layout of tiered storage.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::error::{QueryResult, SparkError};
use super::names::STORAGE;
use super::options::QueryOptions;
use crate::places::{local_paths, uris};
use crate::stores::{self, StorageOptions, UriParts};
use crate::tiered::{self, Layouts};

/// Settings of Hadoop, which Spark writes in lower case in options.
const SPELLINGS: [(&str, &str); 1] = [("fs.defaultfs", "fs.defaultFS")];

/// The paths as they are used inside: absolute, with the options of their store, and with keys and layout.
///
/// # Errors
/// `Value` if there is no path, or an option or a URI is invalid.
pub(super) fn paths_of(options: &QueryOptions) -> QueryResult<Vec<PathBuf>> {
    let mut paths: Vec<String> = options.get("path").map(str::to_owned).into_iter().collect();
    if let Some(text) = options.get("paths") {
        let several: Vec<String> =
            serde_json::from_str(text).map_err(|_| SparkError::value("option paths must be a JSON array of paths"))?;
        paths.extend(several);
    }
    if paths.is_empty() {
        return Err(SparkError::value("no path; pass one to load() or save(), or as option \"path\""));
    }
    let (keys, layout) = (keys_text(options)?, layout_text(options)?);
    let storage = storage_options(options);
    paths.iter().map(|path| reached(Path::new(path), &storage, keys.as_deref(), layout.as_deref())).collect()
}

/// The options of the store, by the names of `object_store`.
pub(super) fn storage_options(options: &QueryOptions) -> StorageOptions {
    let named = options.all().iter().filter_map(|(name, value)| Some((name.strip_prefix(STORAGE)?, value)));
    let spelt = |name: &str| SPELLINGS.iter().find(|(lower, _)| *lower == name).map_or(name, |(_, name)| *name).to_owned();
    named.map(|(name, value)| (spelt(name), value.clone())).collect()
}

fn reached(path: &Path, storage: &StorageOptions, keys: Option<&str>, layout: Option<&str>) -> QueryResult<PathBuf> {
    let mut path = stores::to_internal_uri(path).map_err(|error| SparkError::value(error.to_string()))?;
    if !storage.is_empty() && uris::is_stored(&path) {
        path = UriParts::parse(&path.to_string_lossy()).with_options(storage).to_uri().into();
    }
    if keys.is_none() && layout.is_none() {
        return Ok(path);
    }
    let path = uris::absolute(&path);
    let own = uris::upload_at(&path, uris::without_ring).ok().filter(|_| uris::is_uploaded(&path));
    let keys = keys.map_or_else(|| own.as_ref().map(|uri| uri.keys.text().to_string()).unwrap_or_default(), str::to_owned);
    let layout = layout.map_or_else(|| own.as_ref().map(|uri| uri.layouts.text().to_string()).unwrap_or_default(), str::to_owned);
    Ok(tiered::uri_text(&path.to_string_lossy(), &keys, &layout).into())
}

/// The text of the layout of tiered storage, as URIs carry it.
fn layout_text(options: &QueryOptions) -> QueryResult<Option<String>> {
    let Some(template) = options.get("layout") else { return Ok(None) };
    let layouts = Layouts::of_template(template).map_err(|error| SparkError::value(error.to_string()))?;
    Ok(Some(layouts.text().to_string()))
}

/// The text of the files of private keys, as URIs carry it.
fn keys_text(options: &QueryOptions) -> QueryResult<Option<String>> {
    let Some(text) = options.get("keys") else { return Ok(None) };
    // The error does not show the value, which may be a key.
    let parsed: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    let files = parsed.and_then(|keys| {
        keys.iter()
            .map(|(id, file)| Some((id.clone(), file.as_str().filter(|file| is_file_name(file) && !id.trim().is_empty())?.to_owned())))
            .collect::<Option<Vec<_>>>()
    });
    let Some(files) = files else {
        let text = "option keys must be JSON like {\"key1\": \"/secrets/key1.pem\"}: ids of keys, and files that the executors can read";
        return Err(SparkError::value(text));
    };
    let mut members = Map::new();
    for (id, file) in files {
        let path = stores::to_internal_uri(Path::new(&file)).map_err(|error| SparkError::value(error.to_string()))?;
        let path = if uris::is_stored(&path) { path } else { local_paths::absolute(&path) };
        members.insert(id, Value::Array(vec![Value::from(path.to_string_lossy().into_owned())]));
    }
    Ok(Some(if members.is_empty() { String::new() } else { URL_SAFE_NO_PAD.encode(Value::Object(members).to_string()) }))
}

/// False for a text that is a key, or a part of one, and must not be used as a path.
fn is_file_name(text: &str) -> bool {
    let letters: String = text.split_whitespace().collect();
    let bare = letters.trim_end_matches('=');
    let is_base64 = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte));
    let is_key = (letters.len() >= 64 && letters.starts_with("MI")) || (letters.len() >= 200 && !letters.starts_with('/'));
    let is_pem = text.contains("-----BEGIN") || text.contains("PRIVATE KEY-----");
    !(text.is_empty() || is_pem || is_base64 && is_key)
}

/// The file of the private key with an id, in the text of a key ring; `None` if the ring does not have the id.
///
/// The ids of the ring come second.
pub fn key_file(ring: &str, id: &str) -> (Option<String>, Vec<String>) {
    let decoded = URL_SAFE_NO_PAD.decode(ring).or_else(|_| URL_SAFE.decode(ring)).unwrap_or_default();
    let members: Map<String, Value> = serde_json::from_slice(&decoded).unwrap_or_default();
    let file = members.get(id).and_then(|file| file.get(0)).and_then(Value::as_str).map(str::to_owned);
    (file, members.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(given: &[(&str, &str)]) -> QueryResult<Vec<PathBuf>> {
        paths_of(&QueryOptions::new(given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))))
    }

    #[test]
    fn paths_have_options_and_keys() {
        assert_eq!(paths(&[("path", "file:///a%20b")]).unwrap(), [PathBuf::from("/a b")]);
        assert_eq!(paths(&[("paths", r#"["/a","/b"]"#)]).unwrap().len(), 2);
        let stored = paths(&[("path", "s3a://bucket/x"), ("storage.aws_region", "eu")]).unwrap();
        assert_eq!(stored, [PathBuf::from("s3://!aws_region=eu@bucket/x")]);
        let keyed = paths(&[("path", "/data"), ("keys", r#"{"key1":"/secrets/key1.pem"}"#)]).unwrap();
        let upload = uris::upload_at(&keyed[0], uris::without_ring).unwrap();
        assert_eq!(key_file(upload.keys.text(), "key1"), (Some("/secrets/key1.pem".to_owned()), vec!["key1".to_owned()]));
        assert_eq!(key_file(upload.keys.text(), "key2").0, None);
    }

    #[test]
    fn the_error_of_a_key_does_not_show_it() {
        for secret in ["-----BEGIN PRIVATE KEY-----\nabc", &format!("MI{}", "a".repeat(100))] {
            let error = paths(&[
                ("path", "/data"),
                ("keys", &Value::from([("key1", secret)].map(|(id, key)| format!("{id}{key}")).to_vec()).to_string()),
            ])
            .unwrap_err();
            assert!(!error.to_string().contains(secret));
            let error = paths(&[("path", "/data"), ("keys", &serde_json::json!({ "key1": secret }).to_string())]).unwrap_err();
            assert!(!error.to_string().contains(secret) && error.to_string().contains("option keys"), "{error}");
        }
        assert!(paths(&[]).is_err());
    }
}
