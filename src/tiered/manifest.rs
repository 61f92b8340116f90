//! Manifests of Aiven's plug-in (TS-10 to TS-23): JSON goes in, a checked `Manifest` comes out. Unknown members are ignored.

use std::collections::BTreeMap;

use base64::Engine;
use serde_json::{Map, Value};

use super::chunk_table::ChunkTable;
use super::cipher::SEAL_LEN;
use super::encryption::Encryption;
use super::error::{TieredError, TieredResult};
use super::members::{BASE64, number, shown};
use super::names::is_topic;
use crate::model::UploadOffsets;

/// An index of a segment, in the order of the object that holds all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Index {
    Offset,
    Timestamp,
    ProducerSnapshot,
    LeaderEpoch,
    Transaction,
}

impl Index {
    pub(super) const ALL: [Self; 5] = [Self::Offset, Self::Timestamp, Self::ProducerSnapshot, Self::LeaderEpoch, Self::Transaction];

    /// The member of `segmentIndexes`.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Offset => "offset",
            Self::Timestamp => "timestamp",
            Self::ProducerSnapshot => "producerSnapshot",
            Self::LeaderEpoch => "leaderEpoch",
            Self::Transaction => "transaction",
        }
    }

    /// The suffix of the file of a log directory that it is.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Offset => "index",
            Self::Timestamp => "timeindex",
            Self::ProducerSnapshot => "snapshot",
            Self::LeaderEpoch => "leader-epoch-checkpoint",
            Self::Transaction => "txnindex",
        }
    }

    /// The index of a file next to a log.
    pub(super) fn of_suffix(suffix: &str) -> Option<Self> {
        [Self::Offset, Self::Timestamp, Self::Transaction].into_iter().find(|index| index.suffix() == suffix)
    }
}

/// A range of bytes in the object of the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexRange {
    pub(super) position: u64,
    pub(super) size: u64,
}

/// The manifest of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Where the bytes of the segment are.
    pub(super) chunks: ChunkTable,
    /// Each chunk is a zstd frame.
    pub(super) is_compressed: bool,
    /// `None` if nothing is encrypted.
    pub encryption: Option<Encryption>,
    /// Ranges of the indexes in their object; `None` in manifests before October 2023 (TS-52).
    pub(super) parts: Option<BTreeMap<Index, IndexRange>>,
    /// What the manifest says about the segment, if it does.
    pub(super) segment: Option<SegmentMetadata>,
}

/// `RemoteLogSegmentMetadata` (TS-22, TS-23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentMetadata {
    pub(super) topic: String,
    pub(super) topic_id: String,
    pub(super) partition: i32,
    pub(super) start_offset: i64,
    pub(super) end_offset: i64,
    /// The largest of its records, ms; `None` if the manifest does not have it.
    pub(super) max_timestamp: Option<i64>,
    /// The time of the upload, ms.
    pub(super) event_timestamp: i64,
    /// Leader epochs with their first offsets in the segment, by offset: offset and epoch.
    pub(super) epochs: Vec<(i64, i32)>,
}

impl Manifest {
    /// Parse a manifest.
    ///
    /// # Errors
    /// `Manifest` if it is invalid, of another version, or its parts contradict each other.
    ///
    /// Source: `SegmentManifestV1` of Aiven's plug-in.
    pub fn parse(data: &[u8]) -> TieredResult<Self> {
        let members: Value =
            serde_json::from_slice(data).map_err(|error| TieredError::manifest("TS-10", format!("the manifest is not JSON: {error}")))?;
        let Some(members) = members.as_object().filter(|members| members.get("version").and_then(Value::as_str) == Some("1")) else {
            let version = shown(members.get("version"));
            return Err(TieredError::manifest("TS-10", format!("the manifest must be of version \"1\", not {version}")));
        };
        let Some(is_compressed) = members.get("compression").and_then(Value::as_bool) else {
            let text = format!("compression must be true or false, not {}", shown(members.get("compression")));
            return Err(TieredError::manifest("TS-13", text));
        };
        let segment = segment_metadata(members.get("remoteLogSegmentMetadata"))?;
        let encryption = given(members, "encryption").map(Encryption::parse).transpose()?;
        let chunks = ChunkTable::parse(members.get("chunkIndex").unwrap_or(&Value::Null))?;
        chunks.ensure_stored(if encryption.is_some() { SEAL_LEN } else { 0 })?;
        let parts = given(members, "segmentIndexes").map(parts).transpose()?;
        Ok(Self { chunks, is_compressed, encryption, parts, segment })
    }

    /// True if the object of the log is the log itself (TS-26).
    pub(super) fn is_untransformed(&self) -> bool {
        !self.is_compressed && self.encryption.is_none()
    }

    /// The first and last offset of a segment with this base offset in its name.
    pub(super) fn offsets(&self, base_offset: i64) -> UploadOffsets {
        match &self.segment {
            Some(segment) => UploadOffsets { start: segment.start_offset, end: Some(segment.end_offset) },
            None => UploadOffsets { start: base_offset, end: None },
        }
    }
}

impl Encryption {
    fn parse(members: &Value) -> TieredResult<Self> {
        let Some(members) = members.as_object() else { return Err(TieredError::manifest("TS-21", "encryption must be an object")) };
        let aad = members.get("aad").and_then(Value::as_str).and_then(|text| BASE64.decode(text).ok()).filter(|aad| !aad.is_empty());
        let aad = aad.ok_or_else(|| TieredError::manifest("TS-21", "encryption.aad must be base64"))?;
        let (key_id, wrapped_key) = parse_data_key(members.get("dataKey"))?;
        Ok(Self { key_id, wrapped_key, aad })
    }
}

/// Splits the id of a key pair and a data key (TS-29).
///
/// Source: `EncryptedDataKey` of Aiven's plug-in.
fn parse_data_key(text: Option<&Value>) -> TieredResult<(String, Vec<u8>)> {
    let split = || {
        let (key_id, wrapped) = text?.as_str()?.split_once(':')?;
        let wrapped = BASE64.decode(wrapped).ok().filter(|wrapped| !wrapped.is_empty() && !key_id.trim().is_empty())?;
        Some((key_id.to_owned(), wrapped))
    };
    let text = "encryption.dataKey must be the id of a key, a colon and the wrapped key in base64";
    split().ok_or_else(|| TieredError::manifest("TS-29", text))
}

fn parts(members: &Value) -> TieredResult<BTreeMap<Index, IndexRange>> {
    let Some(members) = members.as_object() else { return Err(TieredError::manifest("TS-35", "segmentIndexes must be an object")) };
    let mut parts = BTreeMap::new();
    for index in Index::ALL {
        let part = given(members, index.member());
        if part.is_none() && index == Index::Transaction {
            continue;
        }
        let Some(part) = part.and_then(Value::as_object) else {
            return Err(TieredError::manifest("TS-36", format!("segmentIndexes.{} must have position and size", index.member())));
        };
        let number = |name: &str| number(part, name, 0, MOST_INT, "TS-35");
        parts.insert(index, IndexRange { position: number("position")?, size: number("size")? });
    }
    Ok(parts)
}

const MOST_INT: u64 = 0x7fff_ffff;
const MOST_LONG: u64 = 0x7fff_ffff_ffff_ffff;

fn segment_metadata(members: Option<&Value>) -> TieredResult<Option<SegmentMetadata>> {
    const RULE: &str = "TS-23";
    let Some(members) = members.and_then(Value::as_object) else { return Ok(None) };
    let lacks = |name: &str| TieredError::manifest(RULE, format!("remoteLogSegmentMetadata lacks {name}"));
    let object =
        |members: &Map<String, Value>, name: &str| members.get(name).and_then(Value::as_object).cloned().ok_or_else(|| lacks(name));
    let ids = object(members, "remoteLogSegmentId")?;
    let id_and_name = object(&ids, "topicIdPartition")?;
    let partition = object(&id_and_name, "topicPartition")?;
    let topic = partition.get("topic").ok_or_else(|| lacks("topic"))?;
    // It becomes the name of a directory.
    let topic = topic.as_str().filter(|name| is_topic(name) && !matches!(*name, "." | ".."));
    let topic = topic.ok_or_else(|| TieredError::manifest(RULE, "remoteLogSegmentMetadata names a topic that Kafka does not allow"))?;
    let topic_id = id_and_name.get("topicId").and_then(Value::as_str).ok_or_else(|| lacks("topicId"))?;
    ids.get("id").ok_or_else(|| lacks("id"))?;
    let offset = |name: &str| number(members, name, 0, MOST_LONG, RULE).map(|offset| i64::try_from(offset).unwrap_or(i64::MAX));
    let event_timestamp = match members.get("eventTimestampMs").and_then(Value::as_i64) {
        Some(-1) => -1,
        _ => offset("eventTimestampMs")?,
    };
    let mut epochs = Vec::new();
    for (epoch, first) in &object(members, "segmentLeaderEpochs")? {
        let first = first.as_i64().ok_or_else(|| lacks("an offset in segmentLeaderEpochs"))?;
        epochs.push((first, epoch.parse().map_err(|_| lacks("an epoch in segmentLeaderEpochs"))?));
    }
    epochs.sort_unstable();
    Ok(Some(SegmentMetadata {
        topic: topic.to_owned(),
        topic_id: topic_id.to_owned(),
        partition: i32::try_from(number(&partition, "partition", 0, MOST_INT, RULE)?).unwrap_or(i32::MAX),
        start_offset: offset("startOffset")?,
        end_offset: offset("endOffset")?,
        max_timestamp: members.get("maxTimestampMs").and_then(Value::as_i64).filter(|time| *time >= 0),
        event_timestamp,
        epochs,
    }))
}

/// A member that is there and not null.
fn given<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The manifest of Aiven's SegmentManifestV1SerdeTest, with encryption.
    fn aiven() -> Value {
        let part = |at: u64| json!({"position": at, "size": 1});
        json!({
            "version": "1",
            "chunkIndex": {"type": "fixed", "originalChunkSize": 100, "originalFileSize": 1000,
                "transformedChunkSize": 110, "finalTransformedChunkSize": 110},
            "segmentIndexes": {"offset": part(0), "timestamp": part(1), "producerSnapshot": part(2), "leaderEpoch": part(3),
                "transaction": part(4)},
            "compression": false,
            "encryption": {"dataKey": "id:AAECAw==", "aad": "CgsMDQ=="},
            "remoteLogSegmentMetadata": {
                "remoteLogSegmentId": {
                    "topicIdPartition": {"topicId": "lZ6vvmajTWKDBUTV6SQAtQ", "topicPartition": {"topic": "topic1", "partition": 42}},
                    "id": "adh9f8BMS4anaUnD8KWfWg"},
                "startOffset": 0, "endOffset": 1000, "maxTimestampMs": 1_000_000_000, "brokerId": 2, "eventTimestampMs": 2_000_000_000,
                "segmentLeaderEpochs": {"0": 100, "1": 200, "2": 300}},
        })
    }

    fn parsed(manifest: &Value) -> TieredResult<Manifest> {
        Manifest::parse(manifest.to_string().as_bytes())
    }

    fn rule_of(manifest: &Value) -> &'static str {
        let Err(TieredError::Manifest(error)) = parsed(manifest) else { panic!("no such error") };
        error.rule
    }

    #[test]
    fn a_manifest() {
        let manifest = parsed(&aiven()).unwrap();
        let segment = manifest.segment.as_ref().unwrap();
        assert_eq!((segment.topic.as_str(), segment.partition), ("topic1", 42));
        assert_eq!(manifest.offsets(7), UploadOffsets { start: 0, end: Some(1000) });
        assert_eq!(segment.epochs, [(100, 0), (200, 1), (300, 2)]);
        let encryption = manifest.encryption.as_ref().unwrap();
        assert_eq!(
            (encryption.key_id.as_str(), &encryption.wrapped_key[..], &encryption.aad[..]),
            ("id", &[0, 1, 2, 3][..], &[10, 11, 12, 13][..])
        );
        let positions: Vec<u64> = manifest.parts.as_ref().unwrap().values().map(|part| part.position).collect();
        assert_eq!(positions, [0, 1, 2, 3, 4]);
        let mut plain = aiven();
        plain["unknown"] = json!(1);
        plain["encryption"] = Value::Null;
        plain["segmentIndexes"]["transaction"] = Value::Null;
        plain["remoteLogSegmentMetadata"] = Value::Null;
        let plain = parsed(&plain).unwrap();
        assert!(plain.is_untransformed() && !plain.parts.as_ref().unwrap().contains_key(&Index::Transaction));
        assert_eq!(plain.offsets(7), UploadOffsets { start: 7, end: None });
    }

    #[test]
    fn invalid_manifests_name_their_rule() {
        for (path, wrong, rule) in [
            ("/version", json!(1), "TS-10"),
            ("/compression", json!(1), "TS-13"),
            ("/chunkIndex", json!(null), "TS-11"),
            ("/segmentIndexes/offset", json!(null), "TS-36"),
            ("/segmentIndexes/offset/size", json!(-1), "TS-35"),
            ("/encryption", json!([]), "TS-21"),
            ("/encryption/aad", json!("?"), "TS-21"),
            ("/chunkIndex/transformedChunkSize", json!(28), "TS-16"),
            ("/remoteLogSegmentMetadata/startOffset", json!("0"), "TS-23"),
            ("/remoteLogSegmentMetadata/remoteLogSegmentId", json!(null), "TS-23"),
            ("/remoteLogSegmentMetadata/segmentLeaderEpochs/0", json!(1.5), "TS-23"),
        ] {
            let mut manifest = aiven();
            *manifest.pointer_mut(path).unwrap() = wrong;
            assert_eq!(rule_of(&manifest), rule, "{path}");
        }
        for wrong in [&b""[..], b"[]", b"{}", &vec![b'['; 1_000_000]] {
            assert!(matches!(Manifest::parse(wrong), Err(TieredError::Manifest(_))));
        }
    }

    #[test]
    fn a_manifest_cannot_name_a_directory_elsewhere() {
        for topic in [json!("../../elsewhere"), json!("/tmp/elsewhere"), json!(".."), json!(""), json!("a/b"), json!(5)] {
            let mut manifest = aiven();
            *manifest.pointer_mut("/remoteLogSegmentMetadata/remoteLogSegmentId/topicIdPartition/topicPartition/topic").unwrap() = topic;
            assert!(parsed(&manifest).unwrap_err().to_string().contains("topic"));
        }
    }

    /// TS-29: the values of Aiven's EncryptedDataKeyTest.
    #[test]
    fn data_keys() {
        assert_eq!(parse_data_key(Some(&json!("id:AAECAw=="))).unwrap(), ("id".to_owned(), vec![0, 1, 2, 3]));
        for wrong in ["AAECAw==", "xx::AAECAw==", "xx:AAECAw==:xx", "id:INVALIDBASE64", "id:", ":", ":AAECAw==", "  :AAECAw=="] {
            assert!(parse_data_key(Some(&json!(wrong))).unwrap_err().to_string().contains("dataKey"), "{wrong}");
        }
        assert!(parse_data_key(None).is_err());
    }
}
