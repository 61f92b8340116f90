//! Salvage gives what is intact, accounts for every byte, and finds nothing to salvage in what it gave.

use bytes::Bytes;
use logsegment::Error;
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::interrupt::Interrupt;
use logsegment::model::Formats;
use logsegment::salvage::{AllowedOffsets, OrderedLog, Passes, SalvageAccount, SalvageOptions, Salvaged, Salvager};
use logsegment::wire::Sink;

use super::choices::Choices;
use super::reading::options;
use super::slicing::ensure_tiling;

/// Four bytes of choices, then the input.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let formats = choices.formats();
    let [is_sorted, wants_records, opens_entries] = [(); 3].map(|()| choices.byte() % 2 == 1);
    let input = choices.0;
    let wanted =
        SalvageOptions { decode: options(formats), fit: AllowedOffsets::default(), lists_places: is_sorted, wants_records, opens_entries };
    match salvage(input, wanted.clone()) {
        Ok(salvaged) => ensure_salvaged(salvaged, input, &wanted),
        Err(error) => {
            assert!(formats == Formats::Auto && error.is_refused_format(), "memory does not fail: {error}");
            ensure_switch_helps(&error, input, SalvageOptions { decode: options(Formats::Every), ..wanted });
        }
    }
}

/// What came of one pass: the output, the records of damaged batches, and the account.
type Pass = (Vec<u8>, Vec<u8>, Salvaged);

fn ensure_salvaged((out, aside, mut found): Pass, input: &[u8], wanted: &SalvageOptions) {
    ensure_accounted(&found.account, input, &out);
    ensure_clean(&out, wanted);
    if wanted.wants_records {
        // Readable records of damaged batches are written as batches of magic 2.
        ensure_clean(&aside, &SalvageOptions { decode: options(Formats::Auto), ..wanted.clone() });
    }
    if wanted.lists_places && found.is_disordered && !found.has_too_many {
        let out = settle(input, &mut found, wanted);
        ensure_accounted(&found.account, input, &out);
        let (_, _, again) = salvage(&out, wanted.clone()).expect("memory does not fail");
        assert!(!again.is_disordered, "the settled log is out of order");
    }
}

/// Salvage refuses a valid batch of magic 3 that it may not read (MAP-3), since it would lose the batch. With the switch it keeps the batch.
fn ensure_switch_helps(error: &Error, input: &[u8], wanted: SalvageOptions) {
    let position = error.position().byte.expect("a refusal has a position");
    let salvaged = salvage(input, wanted.clone()).expect("memory does not fail");
    assert!(salvaged.2.account.kept.iter().any(|kept| kept.bytes.contains(&position)), "a refused batch is lost with the switch: {error}");
    ensure_salvaged(salvaged, input, &wanted);
}

fn salvage(input: &[u8], wanted: SalvageOptions) -> Result<Pass, Error> {
    let source = Source::memory(Bytes::copy_from_slice(input));
    let mut salvager = Salvager::new(source, wanted)?;
    let (mut out, mut aside) = (Sink::default(), Sink::default());
    while salvager.advance(&mut out, &mut aside)? {}
    Ok((out.bytes().to_vec(), aside.bytes().to_vec(), salvager.finish()))
}

fn settle(input: &[u8], found: &mut Salvaged, wanted: &SalvageOptions) -> Vec<u8> {
    let settled = OrderedLog::new(found, wanted);
    let source = || Source::memory(Bytes::copy_from_slice(input));
    let passes = Passes { sources: [source(), source(), source()], interrupt: Interrupt::default() };
    let mut out = Vec::new();
    let mut put = |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok(())
    };
    settled.write(passes, &mut put, &mut |_| Ok(())).expect("memory does not fail");
    out
}

/// Every byte of the input is kept or lost, once, and what is kept is the output.
fn ensure_accounted(account: &SalvageAccount, input: &[u8], out: &[u8]) {
    assert!(!account.is_cut, "few places are all listed");
    let kept = account.kept.iter().map(|kept| kept.bytes.clone());
    ensure_tiling(kept.clone().chain(account.lost.iter().map(|lost| lost.bytes.clone())).collect(), input.len() as u64);
    let bytes: Vec<u8> = kept.flat_map(|range| &input[range.start as usize..range.end as usize]).copied().collect();
    assert_eq!(bytes, out, "the output is not what the account calls kept");
    assert_eq!((account.kept_bytes, account.kept_bytes + account.lost_bytes), (out.len() as u64, input.len() as u64));
}

/// All of it is intact.
fn ensure_clean(out: &[u8], wanted: &SalvageOptions) {
    let wanted = SalvageOptions { decode: DecodeOptions { check_crc: true, ..wanted.decode.clone() }, ..wanted.clone() };
    let (again, _, found) = salvage(out, wanted).expect("memory does not fail");
    assert!(found.account.lost.is_empty(), "lost of what was salvaged: {:?}", found.account.lost);
    assert_eq!(again, out);
}
