//! Names of objects and of their directories (TS-1 to TS-5, TS-60, TS-61).

use crate::stores::StoragePlace;

/// Letters of an id: 16 bytes as base64url without padding. They may contain a `-`, so a name is split by length, never at a `-` (TS-4).
pub(super) const ID_LEN: usize = 22;
/// Digits of an offset in a name.
const OFFSET_LEN: usize = 20;
/// Before the offset in the name of an upload that is not read to its end.
const BEFORE: &str = "-before-";
pub(super) const MOST_TOPIC: usize = 249;

pub(super) const LOG: &str = "log";
pub(super) const MANIFEST: &str = "rsm-manifest";
/// All indexes of a segment, joined.
pub(super) const INDEXES: &str = "indexes";
/// Suffixes of `LocalTieredStorage`, and of Aiven's plug-in before October 2023 (TS-52, TS-61).
pub(super) const EPOCH_SUFFIXES: [&str; 2] = ["leader_epoch_checkpoint", "leader-epoch-checkpoint"];
/// Suffixes of the producer snapshot at the end of a segment.
pub(super) const SNAPSHOT_SUFFIXES: [&str; 2] = ["snapshot", "producer_snapshot"];
/// The file of Pinterest's uploader next to the segments of a partition, which have the names of a broker (TS-83).
pub(super) const WATERMARK: &str = "offset.wm";
/// The file with the leader epochs of a partition.
pub(super) const CHECKPOINT: &str = "leader-epoch-checkpoint";

/// The name of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// The first offset of the segment.
    pub base_offset: i64,
    /// The id of the upload.
    pub segment_id: String,
    /// `log`, `rsm-manifest` and so on.
    pub suffix: String,
    /// The common part of the names of one upload.
    pub stem: String,
}

impl ObjectName {
    /// Parse a name; `None` if it is not the name of an uploaded object.
    pub fn parse(name: &str) -> Option<Self> {
        let (stem, suffix) = name.split_once('.')?;
        let (offset, id) = stem.split_at_checked(OFFSET_LEN)?;
        let segment_id = id.strip_prefix('-').filter(|id| is_id(id))?;
        let is_suffix = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
        let base_offset = digits(offset)?.parse().ok().filter(|_| is_suffix)?;
        Some(Self { base_offset, segment_id: segment_id.to_owned(), suffix: suffix.to_owned(), stem: stem.to_owned() })
    }

    /// Parse the name of a segment that has the name of a broker; `None` for any other name.
    pub(super) fn of_broker(name: &str) -> Option<Self> {
        let (stem, suffix) = name.split_once('.').filter(|(_, suffix)| *suffix == LOG || *suffix == "kafka")?;
        let base_offset = broker_stem(stem)?;
        Some(Self { base_offset, segment_id: String::new(), suffix: suffix.to_owned(), stem: stem.to_owned() })
    }

    /// True for the log or the manifest of an upload, which mark a directory of uploads.
    pub fn is_upload(&self) -> bool {
        self.suffix == LOG || self.suffix == MANIFEST
    }
}

/// The name of a file of an upload that is read before an offset only.
pub(super) fn cut_name(name: &str, before: Option<i64>) -> String {
    match (before, name.rsplit_once('.')) {
        (Some(before), Some((stem, suffix))) => format!("{stem}{BEFORE}{before:020}.{suffix}"),
        _ => name.to_owned(),
    }
}

/// The name of the object of a file, and the offset before which it is read. `is_object` is true for the names of objects.
pub(super) fn uncut_name(name: &str, is_object: impl Fn(&str) -> bool) -> (String, Option<i64>) {
    let uncut = || {
        let (stem, suffix) = name.rsplit_once('.')?;
        let (stem, before) = split_cut(stem)?;
        let name = format!("{stem}.{suffix}");
        is_object(&name).then_some((name, Some(before)))
    };
    uncut().unwrap_or_else(|| (name.to_owned(), None))
}

/// The stem of an object, and the offset before which it is read; `None` for a stem without such an offset.
pub(super) fn split_cut(stem: &str) -> Option<(&str, i64)> {
    let (stem, before) = stem.rsplit_once(BEFORE)?;
    Some((stem, broker_stem(before)?))
}

/// The offset in twenty digits, as a broker names the files of a segment.
pub(super) fn broker_stem(text: &str) -> Option<i64> {
    digits(text).filter(|digits| digits.len() == OFFSET_LEN)?.parse().ok()
}

/// Topic and partition of the name that a broker gives a directory; `None` for any other name.
pub(super) fn broker_partition(name: &str) -> Option<(String, i32)> {
    let (topic, number) = name.rsplit_once('-')?;
    partition(number).filter(|_| is_topic(topic)).map(|partition| (topic.to_owned(), partition))
}

/// The offset in the name of a producer snapshot.
pub(super) fn snapshot_offset(name: &str) -> Option<i64> {
    broker_stem(name.strip_suffix(".snapshot")?)
}

/// Topic, topic id and partition of a directory of uploads; `None` for what is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionName {
    /// The topic.
    pub topic: Option<String>,
    /// Its id.
    pub topic_id: Option<String>,
    /// The partition.
    pub partition: Option<i32>,
}

impl PartitionName {
    /// The parts of the last one or two names of a directory.
    pub fn of(directory: &StoragePlace) -> Self {
        let (name, above) = (directory.name(), directory.parent().name());
        if let (Some((topic, id)), Some(partition)) = (topic_and_id(&above), partition(&name)) {
            return Self { topic: Some(topic.to_owned()), topic_id: Some(id.to_owned()), partition: Some(partition) };
        }
        let local = topic_and_id(&name).and_then(|(front, id)| {
            let (topic, number) = front.rsplit_once('-')?;
            Some((topic, partition(number)?, id)).filter(|_| is_topic(topic))
        });
        local.map_or_else(Self::default, |(topic, partition, id)| Self {
            topic: Some(topic.to_owned()),
            topic_id: Some(id.to_owned()),
            partition: Some(partition),
        })
    }
}

/// True for a partition's directory of Aiven's plug-in, where a segment without a manifest is unfinished (TS-8).
pub(super) fn is_of_aiven(directory: &StoragePlace) -> bool {
    digits(&directory.name()).is_some() && topic_and_id(&directory.parent().name()).is_some()
}

/// True for a name that Kafka allows a topic.
pub(super) fn is_topic(name: &str) -> bool {
    (1..=MOST_TOPIC).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn topic_and_id(name: &str) -> Option<(&str, &str)> {
    let (front, id) = name.split_at_checked(name.len().checked_sub(ID_LEN)?)?;
    front.strip_suffix('-').filter(|topic| is_topic(topic) && is_id(id)).map(|topic| (topic, id))
}

/// True for 16 bytes as base64url.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == ID_LEN && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn partition(text: &str) -> Option<i32> {
    digits(text)?.parse().ok()
}

pub(super) fn digits(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(directory: &str) -> (Option<String>, Option<String>, Option<i32>) {
        let name = PartitionName::of(&StoragePlace::Local(directory.into()));
        (name.topic, name.topic_id, name.partition)
    }

    fn known(topic: &str, id: &str, partition: i32) -> (Option<String>, Option<String>, Option<i32>) {
        (Some(topic.to_owned()), Some(id.to_owned()), Some(partition))
    }

    /// TS-3, TS-4: the values of Aiven's ObjectKeyFactoryTest.
    #[test]
    fn names_are_split_by_length() {
        let name = ObjectName::parse("00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.log").unwrap();
        assert_eq!((name.base_offset, name.segment_id.as_str(), name.suffix.as_str()), (1234, "AAAAAAAAAAAAAAAAAAAAAA", "log"));
        assert_eq!(name.stem, "00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(named("prefix/topic-AAAAAAAAAAAAAAAAAAAAAQ/7"), known("topic", "AAAAAAAAAAAAAAAAAAAAAQ", 7));
        assert_eq!(named("x/a-b--AAAAAAAAAAAAAAAAAAA-Q/0"), known("a-b", "-AAAAAAAAAAAAAAAAAAA-Q", 0));
        assert_eq!(named("kafka-tiered-storage/a-1-3-AAAAAAAAAAAAAAAAAAAAAQ"), known("a-1", "AAAAAAAAAAAAAAAAAAAAAQ", 3));
        assert_eq!(named("cluster/orders-7"), (None, None, None));
        assert!(is_of_aiven(&StoragePlace::Local("x/a-b--AAAAAAAAAAAAAAAAAAA-Q/0".into())));
        assert!(!is_of_aiven(&StoragePlace::Local("a-1-3-AAAAAAAAAAAAAAAAAAAAAQ".into())));
        for other in
            ["00000000000000001234.log", "0000000000000000123-AAAAAAAAAAAAAAAAAAAAAA.log", "00000000000000001234-AAA.log", ".log", ""]
        {
            assert_eq!(ObjectName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_end_of_an_upload_is_in_its_name() {
        let name = "00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.log";
        let (cut, is_object) = (cut_name(name, Some(1300)), |name: &str| ObjectName::parse(name).is_some());
        assert_eq!(cut, "00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA-before-00000000000000001300.log");
        assert_eq!(uncut_name(&cut, is_object), (name.to_owned(), Some(1300)));
        for whole in [name, "orders-before-00000000000000001300.log", "00000000000000001300.snapshot"] {
            assert_eq!((uncut_name(whole, is_object), cut_name(whole, None)), ((whole.to_owned(), None), whole.to_owned()));
        }
        assert_eq!((snapshot_offset("00000000000000001300.snapshot"), snapshot_offset("1300.snapshot")), (Some(1300), None));
        let offset_of = |name| ObjectName::of_broker(name).map(|name| name.base_offset);
        assert_eq!((offset_of("00000000000000001300.kafka"), offset_of(name)), (Some(1300), None));
    }
}
