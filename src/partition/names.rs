//! Names of segments and of the directories of partitions, as Kafka gives them (`LogFileUtils`, `LocalLog.parseTopicPartitionName`).

use crate::error::grouped;

/// Topic and number of a partition.
pub type PartitionKey = (String, i32);

/// Digits of an offset in a name.
const OFFSET_LEN: usize = 20;
/// Letters of the id of an upload.
const ID_LEN: usize = 22;
/// The file of Pinterest's uploader next to the segments of a partition, which have the names of a broker (TS-83).
pub const WATERMARK: &str = "offset.wm";
/// Hexadecimal digits in the mark of a partition that is no longer one.
const MARK_LEN: usize = 32;
const MOST_TOPIC: usize = 249;
/// The end of the name of a file that is read in place of a segment, and of the files next to it.
pub const SWAP: &str = ".swap";

/// The name of a segment, or of the file of a swap that is read in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentName<'a> {
    /// The first offset, a position for Kafka 0.7.
    pub base_offset: i64,
    /// The id that tiered storage adds, and perhaps the end of an upload that is read in part.
    pub id: Option<&'a str>,
    /// The file of a swap.
    pub is_swap: bool,
}

impl<'a> SegmentName<'a> {
    /// Parse a name; `None` for any other name.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (stem, is_swap) = name.strip_suffix(SWAP).map_or((name, false), |stem| (stem, true));
        let stem = stem.strip_suffix(".log").or_else(|| stem.strip_suffix(".kafka"))?;
        let (offset, rest) = stem.split_at_checked(OFFSET_LEN)?;
        let id = rest.strip_prefix('-').filter(|id| !id.is_empty() && id.bytes().all(is_of_id));
        let base_offset = digits(offset)?.parse().ok().filter(|_| rest.is_empty() || id.is_some())?;
        Some(Self { base_offset, id, is_swap })
    }
}

/// The suffix of the name of an object of an upload: `log`, `rsm-manifest` and so on; `None` for any other name.
pub fn object_suffix(name: &str) -> Option<&str> {
    let (stem, suffix) = name.split_once('.')?;
    let (offset, id) = stem.split_at_checked(OFFSET_LEN)?;
    let is_suffix = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    (is_suffix && digits(offset).is_some() && id.strip_prefix('-').is_some_and(is_id)).then_some(suffix)
}

/// True for the log and the manifest of an upload, which mark a directory of uploads.
pub fn is_upload(name: &str) -> bool {
    object_suffix(name).is_some_and(|suffix| suffix == "log" || suffix == "rsm-manifest")
}

/// Topic and partition from the last one or two names of a directory of uploads; `None` if they do not have them.
///
/// Aiven's plug-in has a directory for each topic (TS-1), `LocalTieredStorage` of Kafka puts the id of the topic after the partition (TS-60).
pub fn uploaded_partition_of(directory: &str) -> Option<(&str, i32)> {
    let (above, name) = directory.trim_end_matches('/').rsplit_once('/').unwrap_or(("", directory));
    let above = above.rsplit_once('/').map_or(above, |(_, above)| above);
    let of_aiven = || {
        let number = digits(name)?.parse().ok()?;
        without_id(above).filter(|topic| is_topic(topic)).map(|topic| (topic, number))
    };
    let local = || {
        let (topic, number) = without_id(name)?.rsplit_once('-')?;
        Some((topic, digits(number)?.parse().ok()?)).filter(|(topic, _)| is_topic(topic))
    };
    of_aiven().or_else(local)
}

/// The name before the id of a topic.
fn without_id(name: &str) -> Option<&str> {
    let (front, id) = name.split_at_checked(name.len().checked_sub(ID_LEN)?)?;
    front.strip_suffix('-').filter(|_| is_id(id))
}

/// Topic and partition from the name of a directory, also of one that a broker marked; `None` for any other name.
pub fn partition_of(directory: &str) -> Option<(&str, i32)> {
    let name = unmarked(directory).unwrap_or(directory);
    let (topic, number) = name.rsplit_once('-')?;
    let number = digits(number)?.parse().ok()?;
    is_topic(topic).then_some((topic, number))
}

/// True for a directory that a walk through a tree leaves out: a partition that is being deleted, moved to another disk, or abandoned.
pub fn is_skipped(directory: &str) -> bool {
    directory == "lost+found" || unmarked(directory).is_some_and(|name| partition_of(name).is_some())
}

/// True for a name that Kafka allows a topic.
pub fn is_topic(name: &str) -> bool {
    (1..=MOST_TOPIC).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The name of a partition before the mark of its directory.
fn unmarked(directory: &str) -> Option<&str> {
    let (name, mark) = directory.rsplit_once('.')?;
    let (id, word) = mark.split_at_checked(MARK_LEN)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (is_id && ["-delete", "-future", "-stray"].contains(&word)).then_some(name)
}

fn is_id(text: &str) -> bool {
    text.len() == ID_LEN && text.bytes().all(is_of_id)
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

fn digits(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `a, b, c`, or of more than `most` the first: `a, b and 7 more`.
pub(super) fn listed(names: impl Iterator<Item = String>, most: usize) -> String {
    let names: Vec<_> = names.collect();
    let left = names.len().saturating_sub(most);
    let more = if left > 0 { format!(" and {} more", grouped(u64::try_from(left).unwrap_or(u64::MAX))) } else { String::new() };
    format!("{}{more}", names.get(..most).unwrap_or(&names).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_known_by_their_names() {
        let id = "AAAAAAAAAAAAAAAAAAAAAA";
        let parse = |name| SegmentName::parse(name).map(|name| (name.base_offset, name.id, name.is_swap));
        assert_eq!(parse("00000000000000001234.log"), Some((1234, None, false)));
        assert_eq!(parse("00000000000000001234.kafka"), Some((1234, None, false)));
        assert_eq!(parse("00000000000000001234.log.swap"), Some((1234, None, true)));
        let upload = format!("00000000000000001234-{id}.log");
        assert_eq!(parse(&upload), Some((1234, Some(id), false)));
        assert!(is_upload(&upload) && is_upload(&upload.replace(".log", ".rsm-manifest")) && !is_upload(&upload.replace(".log", ".kafka")));
        assert_eq!(object_suffix(&upload.replace(".log", ".indexes")), Some("indexes"));
        let cut = format!("00000000000000001234-{id}-before-00000000000000001300.log");
        assert!(SegmentName::parse(&cut).is_some() && !is_upload(&cut));
        for other in
            ["1234.log", "00000000000000001234", "00000000000000001234-.log", "99999999999999999999.log", "00000000000000001234.index"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn partitions_are_known_by_the_names_of_their_directories() {
        let mark = "0123456789abcdef0123456789abcdef";
        assert_eq!(partition_of("orders-0"), Some(("orders", 0)));
        assert_eq!(partition_of("a-b-2147483647"), Some(("a-b", i32::MAX)));
        assert_eq!(partition_of(&format!("orders-7.{mark}-future")), Some(("orders", 7)));
        for other in ["orders", "orders-", "-0", "orders-2147483648", "orders/-1", "orders-0.x-delete"] {
            assert_eq!(partition_of(other), None, "{other}");
        }
        let id = "AAAAAAAAAAAAAAAAAAAAAQ";
        assert_eq!(uploaded_partition_of(&format!("prefix/topic-{id}/7")), Some(("topic", 7)));
        assert_eq!(uploaded_partition_of(&format!("store/a-1-3-{id}/")), Some(("a-1", 3)));
        assert_eq!((uploaded_partition_of("cluster/orders-7"), uploaded_partition_of(&format!("{id}/7"))), (None, None));
        assert!(is_skipped("lost+found") && is_skipped(&format!("orders-7.{mark}-delete")));
        assert!(!is_skipped("orders-7") && !is_skipped(&format!("{mark}-delete")));
    }
}
