//! The leaves of an inspection cover its bytes.

use logsegment::inspect::{Inspection, Node};

/// Fails unless the leaves of each area begin at its start and follow each other without a hole to its end.
pub fn ensure_tiled(inspection: &Inspection) {
    let (input, decompressed): (Vec<&Node>, Vec<&Node>) = inspection.root.children.iter().partition(|node| node.area == 0);
    let mut at = inspection.root.start;
    for leaf in input.into_iter().flat_map(Node::leaves) {
        assert_eq!(leaf.start, at, "{}", leaf.name);
        at += leaf.len;
    }
    assert_eq!(at, inspection.root.start + inspection.root.len);
    for part in decompressed {
        assert_eq!(part.leaves().iter().map(|leaf| leaf.len).sum::<u64>(), part.len);
        assert_eq!(part.len, inspection.areas[part.area].bytes.len() as u64);
    }
}
