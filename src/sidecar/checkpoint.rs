use super::ParsedSidecar;
use super::epochs::EpochEntry;
use super::finding::{SidecarFinding, SidecarFindings, SidecarProblem};
use crate::wire::as_u64;

/// One line of `recovery-point-offset-checkpoint`, `replication-offset-checkpoint` and their like (SEG-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffset {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// What the file is about, for this partition.
    pub offset: i64,
}

const RULE: &str = "SEG-9";

/// Parses a `leader-epoch-checkpoint`.
pub fn parse_epochs(bytes: &[u8]) -> ParsedSidecar<EpochEntry> {
    let mut last: Option<EpochEntry> = None;
    parse_lines(bytes, |fields, findings, at, len| {
        let [epoch, start_offset] = fields else { return None };
        let entry = EpochEntry { epoch: epoch.parse().ok()?, start_offset: start_offset.parse().ok()? };
        if entry.epoch < 0 || entry.start_offset < 0 {
            let value = i64::from(entry.epoch).min(entry.start_offset);
            findings.push(SidecarProblem::Entry { rule: RULE, what: "negative epoch or offset", value, bound: 0 }, at, len);
        }
        if let Some(last) = last.filter(|last| entry.epoch <= last.epoch || entry.start_offset < last.start_offset) {
            let (value, bound) = (i64::from(entry.epoch), i64::from(last.epoch));
            findings.push(SidecarProblem::Entry { rule: RULE, what: "epoch or offset does not increase", value, bound }, at, len);
        }
        last = Some(entry);
        Some(entry)
    })
}

/// Writes a `leader-epoch-checkpoint`.
pub fn epochs_to_bytes(entries: &[EpochEntry]) -> Vec<u8> {
    let lines = entries.iter().map(|entry| format!("{} {}\n", entry.epoch, entry.start_offset));
    to_text(entries.len(), lines)
}

/// Parses a file of offsets by topic and partition. A broker reads an empty file as one without entries, and leaves one only
/// until it writes the file for the first time.
pub fn parse_offsets(bytes: &[u8]) -> ParsedSidecar<PartitionOffset> {
    if bytes.is_empty() {
        let mut findings = SidecarFindings::default();
        findings.push(SidecarProblem::Unreadable { rule: RULE, what: "the file is empty" }, 0, 0);
        return ParsedSidecar { entries: Vec::new(), findings: findings.finish() };
    }
    parse_lines(bytes, |fields, _, _, _| {
        let [topic, partition, offset] = fields else { return None };
        Some(PartitionOffset { topic: (*topic).to_owned(), partition: partition.parse().ok()?, offset: offset.parse().ok()? })
    })
}

/// Writes a file of offsets by topic and partition.
pub fn offsets_to_bytes(entries: &[PartitionOffset]) -> Vec<u8> {
    let lines = entries.iter().map(|entry| format!("{} {} {}\n", entry.topic, entry.partition, entry.offset));
    to_text(entries.len(), lines)
}

/// The value of a property of a `meta.properties`, the last one of its name.
pub fn property(bytes: &[u8], wanted: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with(['#', '!']));
    let mut values = lines.filter_map(|line| line.split_once(['=', ':'])).filter(|(name, _)| name.trim() == wanted);
    values.next_back().map(|(_, value)| value.trim().to_owned())
}

/// Checks the `meta.properties` of a log directory: a broker needs the version, and what the version has (SEG-21).
pub fn check_meta_properties(bytes: &[u8]) -> Vec<SidecarFinding> {
    let value = |wanted: &str| property(bytes, wanted);
    let is_number = |wanted: &str| value(wanted).is_some_and(|value| value.parse::<i32>().is_ok());
    let what = match value("version").as_deref() {
        _ if bytes.is_empty() => Some("the file is empty; a broker does not start with it"),
        Some("0") if !is_number("broker.id") => Some("version 0 has no number as broker.id; a broker does not start with it"),
        Some("1") if !is_number("node.id") => Some("version 1 has no number as node.id; a broker does not start with it"),
        Some("1") if value("cluster.id").is_none_or(|id| id.is_empty()) => {
            Some("version 1 has no cluster.id; a broker does not start with it")
        }
        Some("0" | "1") => None,
        _ => Some("the property version is not 0 or 1; a broker does not start with it"),
    };
    let mut findings = SidecarFindings::default();
    if let Some(what) = what {
        findings.push(SidecarProblem::Unreadable { rule: "SEG-21", what }, 0, as_u64(bytes.len()));
    }
    findings.finish()
}

/// Parses a `partition.metadata` and gives the topic id in its text form (SEG-10).
pub fn parse_topic_id(bytes: &[u8]) -> ParsedSidecar<String> {
    let rule = "SEG-10";
    let mut findings = SidecarFindings::default();
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("version: 0") {
        findings.push(SidecarProblem::Unreadable { rule, what: "the first line is not \"version: 0\"" }, 0, as_u64(bytes.len()));
    }
    let id = lines.next().and_then(|line| line.strip_prefix("topic_id: ")).map(str::trim_end).filter(|id| is_topic_id(id));
    if id.is_none() {
        let what = "the second line is not \"topic_id: \" and 22 characters of URL-safe base64";
        findings.push(SidecarProblem::Unreadable { rule, what }, 0, as_u64(bytes.len()));
    }
    ParsedSidecar { entries: id.into_iter().map(str::to_owned).collect(), findings: findings.finish() }
}

fn is_topic_id(id: &str) -> bool {
    id.len() == 22 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Version, number of entries, then a line for each (`CheckpointFile`).
fn parse_lines<T>(bytes: &[u8], mut entry: impl FnMut(&[&str], &mut SidecarFindings, u64, u64) -> Option<T>) -> ParsedSidecar<T> {
    let mut findings = SidecarFindings::default();
    let mut entries = Vec::new();
    let mut declared = None;
    let mut at = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line);
        let fields: Vec<&str> = text.split_whitespace().take(4).collect();
        let len = as_u64(line.len());
        match (index, fields.as_slice()) {
            (0, ["0"]) => {}
            (0, _) => findings.push(SidecarProblem::Unreadable { rule: RULE, what: "the first line is not version 0" }, at, len),
            (1, [count]) if count.parse::<u64>().is_ok() => declared = count.parse::<u64>().ok(),
            (1, _) => {
                findings.push(SidecarProblem::Unreadable { rule: RULE, what: "the second line is not the number of entries" }, at, len)
            }
            (_, []) => {}
            (_, fields) => match entry(fields, &mut findings, at, len) {
                Some(entry) => entries.push(entry),
                None => findings.push(SidecarProblem::Unreadable { rule: RULE, what: "a line is not an entry" }, at, len),
            },
        }
        at += len;
    }
    // Kafka 0.11 leaves the file empty where no batch had an epoch.
    if !bytes.is_empty() && declared != Some(as_u64(entries.len())) {
        findings.push(SidecarProblem::Unreadable { rule: RULE, what: "the number of entries is not that of the second line" }, 0, at);
    }
    ParsedSidecar { entries, findings: findings.finish() }
}

fn to_text(count: usize, lines: impl Iterator<Item = String>) -> Vec<u8> {
    let mut text = format!("0\n{count}\n");
    text.extend(lines);
    text.into_bytes()
}
