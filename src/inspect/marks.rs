//! Findings into the tree: each at the field that it names, in the record that it names, as far as those are shown.

use super::node::{Mark, Node};
use crate::validate::Finding;

/// Marks the fields that findings are about; the root where none is named or shown.
pub(super) fn place(root: &mut Node, findings: &[Finding]) {
    for finding in findings {
        let mark = Mark { rule: finding.rule(), severity: finding.severity.name(), message: finding.kind.to_string() };
        let path = path_of(root, finding);
        mark_at(root, &path, mark);
    }
}

/// Marks of one field: every one is held against those that are there.
const MOST_MARKS: usize = 64;

/// Adds a mark to the node at the end of a path of indexes.
fn mark_at(node: &mut Node, path: &[usize], mark: Mark) {
    if let Some((first, rest)) = path.split_first()
        && let Some(child) = node.children.get_mut(*first)
    {
        return mark_at(child, rest, mark);
    }
    if node.marks.len() < MOST_MARKS && !node.marks.contains(&mark) {
        node.marks.push(mark);
    }
}

fn path_of(root: &Node, finding: &Finding) -> Vec<usize> {
    let Some(index) = finding.record_index else { return path_in_entry(root, finding) };
    let record = format!("record[{index}]");
    let field = finding.field.unwrap_or_default();
    for part in ["decompressed", "records"] {
        for names in [&[part, &record, field][..], &[part, "metadata", &record, field]] {
            let path = path_to(root, names);
            if path.len() + 1 >= names.len() {
                return path;
            }
        }
    }
    Vec::new()
}

fn path_in_entry(root: &Node, finding: &Finding) -> Vec<usize> {
    let named = match finding.field {
        // The decompression has reported it there already.
        _ if is_plugin(finding) => ["records", "value", "payload"],
        // Before magic 2 the length and the records of an entry have other names.
        Some("batchLength") => ["batchLength", "size", "length"],
        Some("records") => ["records", "value", "payload"],
        Some("maxTimestamp") => ["maxTimestamp", "maxTimestampDelta", ""],
        Some(name) => [name; 3],
        None if is_codec(finding) => ["records", "value", "payload"],
        None => return Vec::new(),
    };
    named.into_iter().map(|name| path_to(root, &[name])).find(|path| !path.is_empty()).unwrap_or_default()
}

fn is_codec(finding: &Finding) -> bool {
    finding.rule().starts_with("COD-")
}

fn is_plugin(finding: &Finding) -> bool {
    matches!(finding.rule(), "S-P6" | "S-P19" | "S-P20")
}

/// Indexes of the children of these names, each in the one before, as far as they are there.
fn path_to(root: &Node, names: &[&str]) -> Vec<usize> {
    let mut node = root;
    let mut path = Vec::new();
    for name in names {
        let Some((at, child)) = node.children.iter().enumerate().find(|(_, child)| child.name == *name) else { break };
        path.push(at);
        node = child;
    }
    path
}
