//! The settings of a Spark session for Hadoop's file systems, as defaults of the options of the store of a URI.
//!
//! Sources: "Hadoop-AWS module" and "Hadoop Azure Support: ABFS" in Hadoop's documentation; `Constants` of S3A.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use super::error::{QueryResult, SparkError};
use super::options::QueryOptions;
use super::paths::storage_options;
use crate::places::uris;
use crate::stores::{self, StorageOptions, UriParts};

/// The settings by Hadoop's names.
type Settings = BTreeMap<String, String>;

/// The options that have paths.
const PATHS: [&str; 2] = ["path", "schemas.path"];
/// Options of S3 without `aws_`, of which an explicit one replaces all settings for the same purpose.
const KEYS: [&str; 7] =
    ["access_key_id", "secret_access_key", "session_token", "token", "skip_signature", "web_identity_token_file", "role_arn"];
const ENDPOINTS: [&str; 3] = ["endpoint", "endpoint_url", "endpoint_url_s3"];
const REGIONS: [&str; 2] = ["region", "default_region"];
const STYLE: &str = "virtual_hosted_style_request";
/// Words of the options of Azure that are credentials.
const AZURE_KEYS: [&str; 9] = ["key", "token", "client", "federated", "msi", "tenant", "signature", "cli", "fabric"];

/// Return the options of a query with the settings of the session in the URIs.
///
/// # Errors
/// `Value` if a URI has a key, a password or settings.
pub fn with_settings(options: &QueryOptions, settings: &BTreeMap<String, String>) -> QueryResult<QueryOptions> {
    let present: Settings =
        settings.iter().map(|(name, value)| (name.clone(), value.trim().to_owned())).filter(|(_, value)| !value.is_empty()).collect();
    let explicit: BTreeSet<String> = storage_options(options).into_keys().collect();
    let reached = |path: &str| {
        let defaults = defaults_of(path, &present, &explicit)?;
        if defaults.is_empty() {
            return Ok(path.to_owned());
        }
        let uri = stores::to_internal_uri(Path::new(path)).map_err(|error| SparkError::value(error.to_string()))?;
        Ok(UriParts::parse(&uri.to_string_lossy()).with_options(&defaults).to_uri())
    };
    let mut found = Vec::new();
    for name in options.names() {
        let value = options.get(name).unwrap_or_default();
        let value = if PATHS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            reached(value)?
        } else if name.eq_ignore_ascii_case("paths") {
            let paths: Vec<String> = serde_json::from_str(value).unwrap_or_default();
            let paths = paths.iter().map(|path| reached(path)).collect::<QueryResult<Vec<_>>>()?;
            serde_json::Value::from(paths).to_string()
        } else {
            value.to_owned()
        };
        found.push((name.to_owned(), value));
    }
    Ok(QueryOptions::new(found))
}

/// The options of the store of a path that the settings give. `explicit` options take precedence.
fn defaults_of(path: &str, settings: &Settings, explicit: &BTreeSet<String>) -> QueryResult<StorageOptions> {
    let path = Path::new(path);
    if !uris::is_stored(path) {
        return Ok(StorageOptions::new());
    }
    let uri = stores::to_internal_uri(path).map_err(|error| SparkError::value(error.to_string()))?;
    let place = UriParts::parse(&uri.to_string_lossy());
    Ok(match place.scheme.as_str() {
        "s3" => of_s3(&place, settings, explicit),
        "abfs" | "abfss" => of_azure(&place, settings, explicit),
        "hdfs" | "viewfs" => of_hdfs(&place, settings, explicit),
        _ => StorageOptions::new(),
    })
}

fn of_s3(place: &UriParts, settings: &Settings, explicit: &BTreeSet<String>) -> StorageOptions {
    // A setting of the bucket, or of all buckets.
    let setting = |name: &str| {
        let own = settings.get(&format!("fs.s3a.bucket.{}.{name}", place.host));
        own.or_else(|| settings.get(&format!("fs.s3a.{name}"))).cloned()
    };
    let names: BTreeSet<&str> = explicit.iter().map(|name| name.strip_prefix("aws_").unwrap_or(name)).collect();
    let has = |own: &[&str]| own.iter().any(|name| names.contains(name));
    let mut found = StorageOptions::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.insert(name.to_owned(), value);
        }
    };
    if let (Some(key), Some(secret), false) = (setting("access.key"), setting("secret.key"), has(&KEYS)) {
        put("aws_access_key_id", Some(key));
        put("aws_secret_access_key", Some(secret));
        put("aws_session_token", setting("session.token"));
    }
    let (mut endpoint, mut region) = (setting("endpoint"), setting("endpoint.region"));
    if let Some(own) = endpoint.as_deref().and_then(region_of_aws) {
        (endpoint, region) = (None, region.or(own));
    }
    if !has(&REGIONS) {
        put("aws_region", region);
    }
    if !has(&ENDPOINTS) {
        if let Some(text) = endpoint.as_ref().filter(|text| !text.contains("://")) {
            let scheme = if setting("connection.ssl.enabled").as_deref() == Some("false") { "http" } else { "https" };
            endpoint = Some(format!("{scheme}://{text}"));
        }
        if let Some(style) = setting("path.style.access").filter(|_| !names.contains(STYLE)) {
            let is_path = style.eq_ignore_ascii_case("true");
            let is_virtual = !is_path && has_names(endpoint.as_deref()) && !place.host.contains('.');
            put(&format!("aws_{STYLE}"), Some(is_virtual.to_string()));
            if is_virtual {
                // object_store expects the bucket in the endpoint then.
                endpoint = endpoint.map(|endpoint| endpoint.replacen("://", &format!("://{}.", place.host), 1));
            }
        }
        put("aws_endpoint", endpoint);
    }
    found
}

/// The region of an endpoint of AWS itself, perhaps none; `None` for any other endpoint. A client finds it by the region.
#[expect(clippy::option_option, reason = "an endpoint of AWS may have no region")]
fn region_of_aws(endpoint: &str) -> Option<Option<String>> {
    let bare = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://")).unwrap_or(endpoint);
    let middle = bare.strip_suffix('/').unwrap_or(bare).strip_suffix(".amazonaws.com")?.strip_prefix("s3")?;
    if middle.is_empty() {
        return Some(None);
    }
    let region = middle.strip_prefix(['.', '-'])?;
    let parts: Vec<&str> = region.split('-').collect();
    let (number, words) = parts.split_last()?;
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (words.len() > 1 && words.iter().all(is_word) && is_number).then(|| Some(region.to_owned()))
}

/// True if buckets can be names below the host of an endpoint: an address has none.
fn has_names(endpoint: Option<&str>) -> bool {
    let parts = UriParts::parse(endpoint.unwrap_or_default());
    let host = parts.host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = host.map_or(parts.host.as_str(), |(host, _)| host).trim_matches(['[', ']']);
    host.parse::<IpAddr>().is_err()
}

fn of_azure(place: &UriParts, settings: &Settings, explicit: &BTreeSet<String>) -> StorageOptions {
    if explicit.iter().any(|name| AZURE_KEYS.iter().any(|word| name.contains(word))) {
        return StorageOptions::new();
    }
    let mut hosts = vec![place.host.clone()];
    if let Some((account, domain)) = place.host.split_once('.') {
        let (service, cloud) = domain.split_once('.').unwrap_or((domain, ""));
        let others = ["dfs", "blob"].into_iter().filter(|endpoint| *endpoint != service);
        hosts.extend(others.map(|endpoint| format!("{account}.{endpoint}.{cloud}")));
    }
    let key = hosts.iter().find_map(|host| settings.get(&format!("fs.azure.account.key.{host}")));
    key.map(|key| ("azure_storage_account_key".to_owned(), key.clone())).into_iter().collect()
}

fn of_hdfs(place: &UriParts, settings: &Settings, explicit: &BTreeSet<String>) -> StorageOptions {
    let node = settings.get("fs.defaultFS").filter(|node| node.starts_with(&format!("{}://", place.scheme)));
    let node = node.filter(|_| place.host.is_empty() && !explicit.contains("fs.defaultFS"));
    node.map(|node| ("fs.defaultFS".to_owned(), node.clone())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults(path: &str, settings: &[(&str, &str)], explicit: &[&str]) -> Vec<(String, String)> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let explicit = explicit.iter().map(|name| (*name).to_owned()).collect();
        defaults_of(path, &settings, &explicit).unwrap().into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_of_s3a_are_options() {
        let keys = [("fs.s3a.access.key", "a"), ("fs.s3a.secret.key", "b"), ("fs.s3a.bucket.one.access.key", "c")];
        let found = defaults("s3a://one/x", &keys, &[]);
        assert_eq!(found, pairs(&[("aws_access_key_id", "c"), ("aws_secret_access_key", "b")]));
        assert_eq!(defaults("s3a://one/x", &keys, &["aws_access_key_id"]), []);
        let endpoint =
            [("fs.s3a.endpoint", "127.0.0.1:9000"), ("fs.s3a.connection.ssl.enabled", "false"), ("fs.s3a.path.style.access", "false")];
        let expected = pairs(&[("aws_endpoint", "http://127.0.0.1:9000"), ("aws_virtual_hosted_style_request", "false")]);
        assert_eq!(defaults("s3://one/x", &endpoint, &[]), expected);
        assert_eq!(
            defaults("s3://one/x", &[("fs.s3a.endpoint", "s3.eu-west-1.amazonaws.com")], &[]),
            pairs(&[("aws_region", "eu-west-1")])
        );
        let own = [("fs.s3a.endpoint", "https://store.example"), ("fs.s3a.path.style.access", "false")];
        let expected = pairs(&[("aws_endpoint", "https://one.store.example"), ("aws_virtual_hosted_style_request", "true")]);
        assert_eq!(defaults("s3://one/x", &own, &[]), expected);
        assert_eq!(defaults("/data", &keys, &[]), []);
    }

    #[test]
    fn settings_of_azure_and_hdfs_are_options() {
        let key = [("fs.azure.account.key.one.blob.core.windows.net", "k")];
        let found = defaults("abfss://box@one.dfs.core.windows.net/x", &key, &[]);
        assert_eq!(found, pairs(&[("azure_storage_account_key", "k")]));
        assert_eq!(defaults("abfss://box@one.dfs.core.windows.net/x", &key, &["azure_tenant_id"]), []);
        assert_eq!(defaults("hdfs:///x", &[("fs.defaultFS", "hdfs://node:8020")], &[]), pairs(&[("fs.defaultFS", "hdfs://node:8020")]));
        assert_eq!(defaults("hdfs://other/x", &[("fs.defaultFS", "hdfs://node:8020")], &[]), []);
    }
}
