//! Merges the findings of bytes with the losses that stores report. Other bytes are in the place of lost ones, so findings about them
//! are dropped; the loss covers their bytes.

use std::ops::Range;

use super::{Finding, FindingKind};

/// The rule of lost bytes.
pub const RULE: &str = "TS-45";

/// A finding as a reader keeps it, also one that a store reported.
pub trait NamedFinding {
    /// The id of the rule.
    fn rule(&self) -> &str;
    /// The bytes that it is about.
    fn bytes(&self) -> Range<u64>;
    /// The file, of a finding about a file as a whole.
    fn file(&self) -> &str;
    /// Make it about these bytes too, and about all bytes between them and its own.
    fn widen(&mut self, bytes: Range<u64>);
}

/// Merges findings in the order of the input. A loss comes before the findings after its bytes, and replaces findings that only describe
/// bytes of the loss. Other notes of stores come last.
pub fn merged<N: NamedFinding + for<'a> From<&'a Finding>>(findings: &[Finding], notes: Vec<N>) -> Vec<N> {
    let (mut losses, others): (Vec<_>, Vec<_>) = notes.into_iter().partition(|note| note.rule() == RULE);
    let files: Vec<_> = losses.iter().map(|loss| loss.file().to_owned()).collect();
    losses.sort_by_cached_key(|loss| (files.iter().position(|file| file == loss.file()), loss.bytes().start));
    let kept: Vec<_> = findings.iter().filter(|finding| !is_in_lost_range(finding, &mut losses)).collect();
    let mut merged = Vec::with_capacity(kept.len() + losses.len() + others.len());
    for finding in kept {
        let (before, after): (Vec<_>, _) = losses.into_iter().partition(|loss| comes_before(loss, finding));
        losses = after;
        merged.extend(before);
        merged.push(finding.into());
    }
    merged.extend(losses);
    merged.extend(others);
    merged
}

/// True for bytes of which some were lost.
pub fn is_among(bytes: &Range<u64>, notes: &[impl NamedFinding]) -> bool {
    notes.iter().any(|note| note.rule() == RULE && overlaps(&note.bytes(), bytes))
}

/// True if bytes of the finding are lost, as no valid entry is. The loss then covers the bytes of the finding too.
fn is_in_lost_range(finding: &Finding, losses: &mut [impl NamedFinding]) -> bool {
    let bytes = finding.position..finding.position.saturating_add(finding.length);
    let mut own = losses.iter_mut().filter(|loss| overlaps(&loss.bytes(), &bytes) && is_in_log(&**loss, finding)).peekable();
    let Some(first) = own.peek_mut() else { return false };
    first.widen(bytes.start..bytes.start);
    while let Some(loss) = own.next() {
        let end = own.peek().map_or(bytes.end, |next| next.bytes().start);
        loss.widen(end..end);
    }
    true
}

/// Findings of sidecar files come after all findings of a log.
fn comes_before(loss: &impl NamedFinding, finding: &Finding) -> bool {
    is_in_sidecar(finding) || (loss.bytes().start <= finding.position && is_in_log(loss, finding))
}

fn is_in_log(loss: &impl NamedFinding, finding: &Finding) -> bool {
    !is_in_sidecar(finding) && finding.file.as_deref().is_none_or(|file| loss.file() == file)
}

fn is_in_sidecar(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::Sidecar(_))
}

fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
