//! A store from its URI and options.
//!
//! Explicit options come first, then the environment, as `object_store` reads it, and then the profile of `~/.aws`.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdfs_native::{Client, ClientBuilder};
use hdfs_native_object_store::HdfsObjectStore;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, resolve_bucket_region};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::client::{Certificate, ClientConfigKey, CredentialProvider};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, Error as ObjectError, ObjectStore, RetryConfig};

use super::aws::{PLACES, Profile, profile};
use super::error::{StoreError, StoreErrorKind};
use super::hdfs::Hdfs;
use super::location::{Location, Scheme};
use super::process::{handle, wait};
use super::uri::StorageOptions;
use crate::interrupt::Interrupt;

/// An open store.
#[derive(Clone)]
pub struct Store {
    pub(super) client: Arc<dyn ObjectStore>,
    /// It renames files, and directories exist by themselves.
    pub(super) hdfs: Option<Hdfs>,
    secrets: Arc<[String]>,
}

/// Stores that are kept open, with their connections.
const MOST_KEPT: usize = 64;
/// How long a request that fails is repeated.
const RETRIED_FOR: Duration = Duration::from_secs(60);
/// How often.
const MOST_RETRIES: usize = 8;
/// How often a name node is asked that does not respond, unless Hadoop's configuration says it.
const HDFS_ATTEMPTS: u32 = 4;
/// How long a store may be silent.
const SILENT_FOR: Duration = Duration::from_secs(30);
/// How long credentials are looked for.
const CREDENTIALS_WITHIN: Duration = Duration::from_secs(4);

/// The process, the root of the store, its options, and the environment.
type StoreKey = (u32, String, StorageOptions, StorageOptions);
/// Words in the names of variables whose values no message may have.
const SECRET_WORDS: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
/// Beginnings of the names of variables that clients read.
const VARIABLES: [&str; 9] = ["AWS_", "AZURE_", "AZURITE_", "GCE_METADATA_", "GOOGLE_", "HADOOP_", "HOME", "IDENTITY_", "SERVICE_ACCOUNT"];
/// Options with credentials, or with their file.
const GOOGLE_KEYS: [GoogleConfigKey; 4] = [
    GoogleConfigKey::ServiceAccount,
    GoogleConfigKey::ServiceAccountKey,
    GoogleConfigKey::ApplicationCredentials,
    GoogleConfigKey::BearerToken,
];
const AZURE_KEYS: [AzureConfigKey; 6] = [
    AzureConfigKey::AccessKey,
    AzureConfigKey::SasKey,
    AzureConfigKey::Token,
    AzureConfigKey::ClientSecret,
    AzureConfigKey::FederatedTokenFile,
    AzureConfigKey::FabricSessionToken,
];
/// The places where credentials were looked for, for an error.
const GOOGLE_PLACES: &str = "storage options, GOOGLE_SERVICE_ACCOUNT, GOOGLE_SERVICE_ACCOUNT_KEY, GOOGLE_APPLICATION_CREDENTIALS, the file of \
    gcloud, the machine's metadata";
const AZURE_PLACES: &str = "storage options, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID with AZURE_CLIENT_SECRET or \
    AZURE_FEDERATED_TOKEN_FILE, the managed identity";
static KEPT: Mutex<Option<HashMap<StoreKey, Store>>> = Mutex::new(None);

/// Open the store of a location; the same one again while this process runs.
///
/// # Errors
/// `Invalid` for an option, `PermissionDenied` without credentials, and those of the store.
pub fn open(location: &Location, interrupt: &Interrupt) -> Result<Store, StoreError> {
    let key = (std::process::id(), location.root(), location.options.clone(), environment());
    if let Some(store) = kept(|stores| stores.get(&key).cloned()) {
        return Ok(store);
    }
    handle(&location.to_string())?;
    let (opened, uri) = (location.clone(), location.to_string());
    let store = wait(&uri, interrupt, async move { StoreOpening(&opened).open().await })?;
    kept(|stores| {
        if stores.len() >= MOST_KEPT {
            stores.clear();
        }
        stores.insert(key, store.clone());
    });
    Ok(store)
}

fn environment() -> StorageOptions {
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| VARIABLES.iter().any(|front| name.starts_with(front))).collect()
}

fn kept<T>(look: impl FnOnce(&mut HashMap<StoreKey, Store>) -> T) -> T {
    look(KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl Store {
    /// A store over this client.
    pub(super) fn new(client: Arc<dyn ObjectStore>, hdfs: Option<Hdfs>, location: &Location) -> Self {
        let of_environment = environment().into_iter().filter(|(name, _)| SECRET_WORDS.iter().any(|word| name.contains(word)));
        let secrets = location.secrets().into_iter().chain(of_environment.map(|(_, value)| value)).collect();
        Self { client, hdfs, secrets }
    }

    /// The error of a client about a location.
    pub(super) fn error(&self, error: &ObjectError, location: &Location) -> StoreError {
        StoreError::of(error, &location.to_string(), &self.secrets)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store(..)")
    }
}

/// The path of a location in its store.
///
/// # Errors
/// `Invalid` for a key that no client addresses, such as one with an empty part.
pub(super) fn path_of(location: &Location) -> Result<Path, StoreError> {
    Path::parse(&location.key).map_err(|error| StoreError::new(StoreErrorKind::Invalid, location.to_string(), error.to_string()))
}

struct StoreOpening<'a>(&'a Location);

impl StoreOpening<'_> {
    async fn open(&self) -> Result<Store, StoreError> {
        let client: Arc<dyn ObjectStore> = match self.0.scheme {
            Scheme::S3 => Arc::new(self.s3().await?),
            Scheme::Gs => Arc::new(self.gcs().await?),
            Scheme::Az | Scheme::Abfs => Arc::new(self.azure().await?),
            Scheme::Hdfs => {
                let client = self.hdfs()?;
                return Ok(Store::new(Arc::new(HdfsObjectStore::new(client.clone())), Some(Hdfs(client)), self.0));
            }
        };
        Ok(Store::new(client, None, self.0))
    }

    async fn s3(&self) -> Result<AmazonS3, StoreError> {
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(&self.0.authority);
        for (key, value) in self.keys::<AmazonS3ConfigKey>()? {
            builder = builder.with_config(key, value);
        }
        let value = |builder: &AmazonS3Builder, key: AmazonS3ConfigKey| builder.get_config_value(&key).filter(|value| !value.is_empty());
        let endpoint = value(&builder, AmazonS3ConfigKey::S3Endpoint).or_else(|| value(&builder, AmazonS3ConfigKey::Endpoint));
        let has_keys = value(&builder, AmazonS3ConfigKey::AccessKeyId).is_some();
        let skips_signature = value(&builder, AmazonS3ConfigKey::SkipSignature).is_some_and(|value| is_true(&value));
        // With keys only the region of the profile matters.
        let profile = match profile(&|name| std::env::var(name).ok(), &self.uri()) {
            Err(_) if has_keys || skips_signature => Profile::default(),
            found => found?,
        };
        let known = [AmazonS3ConfigKey::Region, AmazonS3ConfigKey::DefaultRegion].into_iter().find_map(|key| value(&builder, key));
        let client_options = self.client_options(endpoint.as_deref())?;
        let region = match known.or(profile.region) {
            Some(region) => region,
            None if endpoint.is_some() => "us-east-1".to_owned(),
            None => resolve_bucket_region(&self.0.authority, &client_options).await.map_err(|error| self.error(&error))?,
        };
        builder = builder.with_region(region);
        if let Some((id, secret, token)) = profile.keys.clone().filter(|_| !has_keys) {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            builder = if let Some(token) = token { builder.with_token(token) } else { builder };
        }
        let store = builder.with_client_options(client_options).with_retry(retries()).build().map_err(|error| self.error(&error))?;
        if !has_keys && profile.keys.is_none() && !skips_signature {
            self.ensure_credentials(&**store.credentials(), PLACES).await?;
        }
        Ok(store)
    }

    /// Asks for credentials now: the places that are left answer late, or never.
    async fn ensure_credentials<C>(&self, credentials: &dyn CredentialProvider<Credential = C>, places: &str) -> Result<(), StoreError> {
        match tokio::time::timeout(CREDENTIALS_WITHIN, credentials.get_credential()).await {
            Ok(Ok(_)) => Ok(()),
            _ => {
                let text = format!("no credentials; looked in {places}; for a public bucket set skip_signature=true");
                Err(StoreError::new(StoreErrorKind::PermissionDenied, self.uri(), text))
            }
        }
    }

    async fn gcs(&self) -> Result<GoogleCloudStorage, StoreError> {
        let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&self.0.authority);
        for (key, value) in self.keys::<GoogleConfigKey>()? {
            builder = builder.with_config(key, value);
        }
        let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
        if let Some(endpoint) = &endpoint {
            builder = builder.with_config(GoogleConfigKey::BaseUrl, endpoint.trim_end_matches('/'));
        }
        let skips_signature = builder.get_config_value(&GoogleConfigKey::SkipSignature).is_some_and(|value| is_true(&value));
        let given: Vec<_> = GOOGLE_KEYS.into_iter().filter(|key| builder.get_config_value(key).is_some()).collect();
        builder = builder.with_client_options(self.client_options(endpoint.as_deref())?).with_retry(retries());
        let store = builder.build().map_err(|error| self.unusable(&error, &given))?;
        if given.is_empty() && !skips_signature {
            self.ensure_credentials(&**store.credentials(), GOOGLE_PLACES).await?;
        }
        Ok(store)
    }

    async fn azure(&self) -> Result<MicrosoftAzure, StoreError> {
        let mut builder = MicrosoftAzureBuilder::from_env();
        builder =
            if self.0.scheme == Scheme::Az { builder.with_container_name(&self.0.authority) } else { builder.with_url(self.0.root()) };
        for (key, value) in self.keys::<AzureConfigKey>()? {
            builder = builder.with_config(key, value);
        }
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        if let Some(endpoint) = &endpoint {
            builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
        }
        let is_set = |key: &AzureConfigKey| builder.get_config_value(key).is_some_and(|value| is_true(&value));
        let needs_none = [AzureConfigKey::SkipSignature, AzureConfigKey::UseEmulator, AzureConfigKey::UseAzureCli].iter().any(is_set);
        let given: Vec<_> = AZURE_KEYS.into_iter().filter(|key| builder.get_config_value(key).is_some()).collect();
        builder = builder.with_client_options(self.client_options(endpoint.as_deref())?).with_retry(retries());
        let store = builder.build().map_err(|error| self.unusable(&error, &given))?;
        if given.is_empty() && !needs_none {
            self.ensure_credentials(&**store.credentials(), AZURE_PLACES).await?;
        }
        Ok(store)
    }

    /// The error of options with which no client can be made.
    fn unusable<K: AsRef<str>>(&self, error: &ObjectError, given: &[K]) -> StoreError {
        let found = self.error(error);
        let names: Vec<&str> = given.iter().map(AsRef::as_ref).collect();
        let advice = if names.is_empty() { String::new() } else { format!("; the options for credentials are {}", names.join(", ")) };
        StoreError::new(StoreErrorKind::Invalid, self.uri(), format!("invalid options of the store: {}{advice}", found.text))
    }

    fn hdfs(&self) -> Result<Client, StoreError> {
        let (user, host) = self.0.authority.rsplit_once('@').map_or((None, self.0.authority.as_str()), |(user, host)| (Some(user), host));
        let scheme = self.0.root();
        let scheme = scheme.split("://").next().unwrap_or_default();
        let mut config = self.0.options.clone();
        if std::env::var_os("HADOOP_CONF_DIR").is_none() {
            config.entry("dfs.client.failover.max.attempts".to_owned()).or_insert_with(|| HDFS_ATTEMPTS.to_string());
        }
        let mut builder = ClientBuilder::new().with_config(config).with_io_runtime(handle(&self.uri())?);
        // Without a host it is `fs.defaultFS` of Hadoop's configuration.
        builder = if host.is_empty() { builder } else { builder.with_url(format!("{scheme}://{host}")) };
        builder = if let Some(user) = user { builder.with_user(user) } else { builder };
        builder.build().map_err(|error| StoreError::new(StoreErrorKind::Invalid, self.uri(), error.to_string()))
    }

    /// The explicit options by the keys of a client.
    fn keys<K: FromStr>(&self) -> Result<Vec<(K, String)>, StoreError> {
        let key = |(name, value): (&String, &String)| {
            let key = name.to_ascii_lowercase().parse::<K>();
            let text = || format!("unknown storage option {name:?}; the names are those of object_store, such as aws_region");
            key.map(|key| (key, value.clone())).map_err(|_| StoreError::new(StoreErrorKind::Invalid, self.uri(), text()))
        };
        self.0.options.iter().map(key).collect()
    }

    /// What all HTTP clients have: the options for them, certificates of `AWS_CA_BUNDLE`, and http for an endpoint that has it.
    fn client_options(&self, endpoint: Option<&str>) -> Result<ClientOptions, StoreError> {
        let mut options = ClientOptions::new()
            .with_connect_timeout(Duration::from_secs(5))
            .with_read_timeout(SILENT_FOR)
            .with_timeout_disabled()
            .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")));
        for (name, value) in &self.0.options {
            if let Ok(key) = name.to_ascii_lowercase().trim_start_matches("aws_").parse::<ClientConfigKey>() {
                options = options.with_config(key, value);
            }
        }
        let Some(path) = std::env::var_os("AWS_CA_BUNDLE").filter(|path| !path.is_empty()) else { return Ok(options) };
        let invalid = |text: String| StoreError::new(StoreErrorKind::Invalid, self.uri(), format!("AWS_CA_BUNDLE: {text}"));
        let bundle = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&bundle).map_err(|error| invalid(error.to_string()))?;
        Ok(certificates.into_iter().fold(options, ClientOptions::with_root_certificate))
    }

    fn uri(&self) -> String {
        self.0.to_string()
    }

    fn error(&self, error: &ObjectError) -> StoreError {
        StoreError::of(error, &self.uri(), &self.0.secrets())
    }
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(5), base: 2. };
    RetryConfig { backoff, max_retries: MOST_RETRIES, retry_timeout: RETRIED_FOR }
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes" | "y")
}
