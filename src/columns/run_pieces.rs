//! The runs of a source, and what becomes of the pieces between them: an error, or a finding.

use super::stream_options::{OnError, StreamOptions};
use crate::decode::{ChecksumVerifier, Decoder, Unreadable, UploadCheck};
use crate::error::{Error, ErrorKind, Result};
use crate::framing::{Damage, Frame, FrameEvent, Run, Runs, Source, Step, Tail, step};
use crate::validate::{Finding, Findings};
use crate::wire::as_u64;

/// Bytes of entries that are cut off a source at a time.
pub const RUN_LEN: usize = 1 << 20;

/// Pieces between two questions whether to go on; a piece is one entry or a run of them, microseconds to a few milliseconds.
pub const ASK_EVERY: u32 = 16;

/// The runs of a source, recovering when damage is to be skipped.
pub fn runs_of(source: Source, options: &StreamOptions, run_len: usize) -> Runs {
    let verifier = ChecksumVerifier::of(&options.decode);
    let runs = Runs::new(source, options.decode.limits, run_len)
        .of(options.decode.formats)
        .with_source_check(UploadCheck::of(&options.decode))
        .checking_oversized(Box::new(verifier));
    match options.on_error {
        OnError::Raise => runs,
        OnError::Skip => runs.with_recovery(Box::new(verifier)).with_interrupt(options.interrupt.clone()),
    }
}

/// Fails with the error, or turns it into a finding.
pub(super) fn step_over(options: &StreamOptions, findings: &mut Findings, error: Error, position: u64, len: usize) -> Result<()> {
    let raises = if error.is_unreadable() { options.decode.unreadable == Unreadable::Raise } else { options.on_error == OnError::Raise };
    if raises || !error.is_about_data() {
        return Err(error);
    }
    findings.push(Finding::of_damage(&Damage { error, bytes: position..position + as_u64(len) }).unless_raised(options.decode.unreadable));
    Ok(())
}

/// Check the first run of a stream with `Decoder::ensure_decided_before`.
///
/// # Errors
/// `Undecided`, unless damage is skipped.
pub(super) fn check_first_run(options: &StreamOptions, findings: &mut Findings, has_begun: &mut bool, run: &Run) -> Result<()> {
    if std::mem::replace(has_begun, true) {
        return Ok(());
    }
    let entries = run.entries_from(0);
    let Step::Entry { len, magic } = step(entries, options.decode.formats, &options.decode.limits) else { return Ok(()) };
    let frame = Frame { position: run.position, magic, bytes: entries.get(..len).unwrap_or_default() };
    match Decoder::ensure_decided_before(&options.decode, frame) {
        Ok(()) => Ok(()),
        Err(error) => step_over(options, findings, error, run.position, len),
    }
}

/// Remembers what framing left out.
///
/// # Errors
/// The error of a batch that cannot be read here, unless such batches are skipped.
pub(super) fn leave_out(options: &StreamOptions, findings: &mut Findings, piece: &FrameEvent) -> Result<()> {
    if let FrameEvent::Damage(Damage { error, .. }) = piece
        && error.is_unreadable()
        && options.decode.unreadable == Unreadable::Raise
    {
        return Err(error.clone());
    }
    findings.extend(Finding::of_piece(piece).map(|finding| finding.unless_raised(options.decode.unreadable)));
    Ok(())
}

/// The finding that the end of the source makes.
///
/// # Errors
/// `Truncated` for a torn tail when tails are strict.
pub(super) fn tail_finding(tail: Option<Tail>, options: &StreamOptions, findings: &mut Findings) -> Result<()> {
    let tail = tail.unwrap_or(Tail::Complete);
    if let (Tail::Torn { position, needed, available }, true) = (tail, options.is_tail_strict) {
        return Err(Error::from(ErrorKind::Truncated { rule: "L8-14", needed, available }).at_byte(position));
    }
    findings.extend(Finding::of_tail(tail));
    Ok(())
}
