//! What a plan asks Java: which topics match a pattern, the data keys of uploads, and schemas that Python finds.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind};
use crate::jvm::fields::{FieldsWriter, TaskFields};
use crate::jvm::plan_talk::Asker;
use crate::places::uris;
use crate::spark::{QueryResult, SparkError, TopicMatcher, key_file};
use crate::stores::{StoreError, StoreErrorKind, StoredFile, redacted_uri};
use crate::tiered::{DataKey, Encryption, TieredError, TieredResult, UnwrapKey};

const PATTERN: i64 = 1;
const DATA_KEY: i64 = 2;
const SCHEMAS: i64 = 3;
/// Bytes of the file of a private key that are read.
const MOST_KEY: u64 = 1 << 20;

/// Asks Java, and remembers data keys: a look-up opens the objects of a segment several times.
pub struct Questions {
    asker: Arc<Asker>,
    keys: Mutex<HashMap<(String, Vec<u8>), DataKey>>,
}

impl Questions {
    /// Questions to this asker.
    pub fn new(asker: &Arc<Asker>) -> Arc<Self> {
        Arc::new(Self { asker: Arc::clone(asker), keys: Mutex::default() })
    }

    /// The schemas of values and of keys, as Python finds them.
    ///
    /// # Errors
    /// `Value` with the text of Java if there is no Python, or Python failed.
    pub fn schemas(&self) -> QueryResult<Vec<u8>> {
        self.asked(FieldsWriter::default().long(SCHEMAS), |fields| Ok(fields.bytes()?.to_vec()))
    }

    /// Ask, and parse the answer: a flag and what it stands for, or without the flag the text of an error.
    fn asked<T>(&self, question: &mut FieldsWriter, parse: impl FnOnce(&mut TaskFields<'_>) -> crate::error::Result<T>) -> QueryResult<T> {
        let answer = self.asker.ask(std::mem::take(question).into_bytes()).ok_or_else(|| Error::from(ErrorKind::Interrupted))?;
        let mut fields = TaskFields::new(&answer);
        if fields.flag()? {
            return Ok(parse(&mut fields)?);
        }
        Err(SparkError::Value(fields.text()?))
    }

    fn data_key(&self, file: &str, key: &[u8], encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
        let known = (file.to_owned(), encryption.wrapped_key.clone());
        if let Some(key) = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&known) {
            return Ok(key.clone());
        }
        let mut question = FieldsWriter::default();
        question.long(DATA_KEY).bytes(key).bytes(&encryption.wrapped_key);
        let answer = self.asked(&mut question, |fields| Ok((fields.long()?, fields.bytes()?.to_vec())));
        let id = &encryption.key_id;
        let (state, data) = answer.map_err(|error| match error {
            SparkError::Core(error) => TieredError::Log(error),
            other => TieredError::Key(other.to_string()),
        })?;
        if state == 1 {
            return Err(TieredError::Key(format!("the key '{id}' is not an RSA private key (PKCS#8 in PEM or DER, without a password)")));
        }
        let found = DataKey::new(&data).filter(|_| state == 0).ok_or_else(|| {
            TieredError::Key(format!("{name} is encrypted under the key '{id}': the given key of this id does not decrypt it"))
        })?;
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(known, found.clone());
        Ok(found)
    }
}

impl TopicMatcher for Questions {
    fn matches(&self, pattern: &str, topics: &[String]) -> QueryResult<Vec<bool>> {
        let mut question = FieldsWriter::default();
        question.long(PATTERN).text(pattern).list(topics, |out, topic| {
            out.text(topic);
        });
        self.asked(&mut question, |fields| fields.list(TaskFields::flag))
    }
}

/// The private keys of a URI of tiered storage, with which Java decrypts data keys.
pub struct JavaKeys {
    /// The text of the ring.
    pub text: String,
    /// Who decrypts.
    pub questions: Arc<Questions>,
}

impl UnwrapKey for JavaKeys {
    fn unwrap_key(&self, encryption: &Encryption, name: &str) -> TieredResult<DataKey> {
        let id = &encryption.key_id;
        let (file, ids) = key_file(&self.text, id);
        let Some(file) = file else {
            let there = if ids.is_empty() { "no keys were given".to_owned() } else { format!("the given keys are {}", ids.join(", ")) };
            return Err(TieredError::Key(format!("{name} is encrypted under the key '{id}': {there}")));
        };
        let key = key_bytes(Path::new(&file))?;
        self.questions.data_key(&file, &key, encryption, name)
    }
}

fn key_bytes(path: &Path) -> TieredResult<Vec<u8>> {
    if uris::is_stored(path) {
        let location = uris::located(path).ok_or_else(|| TieredError::Key("the file of a key cannot be an upload".to_owned()))?;
        return Ok(StoredFile::read_small(&location?, MOST_KEY, &crate::interrupt::Interrupt::default())?.to_vec());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_KEY).read_to_end(&mut bytes));
    read.map_err(|error| {
        let kind = error.raw_os_error().map_or(StoreErrorKind::Other, StoreErrorKind::System);
        let kind = if error.kind() == std::io::ErrorKind::NotFound { StoreErrorKind::NotFound } else { kind };
        StoreError::new(kind, redacted_uri(path), crate::stores::system_text(&error))
    })?;
    Ok(bytes)
}
