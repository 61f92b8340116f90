use super::ParsedSidecar;
use super::finding::{SidecarFindings, SidecarProblem};
use crate::wire::as_u64;

/// Parses an index of entries of `N` bytes: `read` gives an entry, `contradiction` what is wrong with it after the entry before it.
pub fn parse<T: Copy, const N: usize>(
    bytes: &[u8],
    read: impl Fn(&[u8; N]) -> T,
    contradiction: impl Fn(T, Option<&T>) -> Option<SidecarProblem>,
) -> ParsedSidecar<T> {
    let mut findings = SidecarFindings::default();
    let mut parsed: Vec<T> = Vec::new();
    for (at, bytes) in entries(bytes, &mut findings) {
        let entry = read(bytes);
        if let Some(problem) = contradiction(entry, parsed.last()) {
            findings.push(problem, at, as_u64(N));
        }
        parsed.push(entry);
    }
    ParsedSidecar { entries: parsed, findings: findings.finish() }
}

/// Cuts the bytes of an index into entries of `N` bytes and leaves out a tail of zeros and a piece of an entry (SEG-5).
///
/// A zero entry is none, unless it is first and alone: a preallocated file that nothing was appended to is all zeros.
fn entries<'a, const N: usize>(bytes: &'a [u8], findings: &mut SidecarFindings) -> impl Iterator<Item = (u64, &'a [u8; N])> + use<'a, N> {
    let (whole, rest) = bytes.as_chunks::<N>();
    let used = whole.len() - whole.iter().rev().take_while(|entry| entry.iter().all(|byte| *byte == 0)).count();
    let used = if whole.len() == 1 { 1 } else { used };
    let zeros = whole.len() - used;
    if zeros > 0 {
        findings.push(SidecarProblem::ZeroTail { bytes: as_u64(zeros * N + rest.len()) }, as_u64(used * N), as_u64(zeros * N + rest.len()));
    }
    if !rest.is_empty() && (zeros == 0 || rest.iter().any(|byte| *byte != 0)) {
        findings.push(SidecarProblem::CutEntry { bytes: as_u64(rest.len()) }, as_u64(whole.len() * N), as_u64(rest.len()));
    }
    whole.iter().take(used).enumerate().map(|(index, entry)| (as_u64(index * N), entry))
}

/// The bytes of the leading entries of `N` bytes that a condition keeps.
pub fn len_while<const N: usize>(bytes: &[u8], keep: impl FnMut(&&[u8; N]) -> bool) -> usize {
    bytes.as_chunks::<N>().0.iter().take_while(keep).count() * N
}

/// The offset as an index stores it; `None` when it does not fit.
pub fn relative(offset: i64, base_offset: i64) -> Option<i32> {
    offset.checked_sub(base_offset).and_then(|relative| i32::try_from(relative).ok()).filter(|relative| *relative >= 0)
}
