//! Memory follows the bytes that are there, not the numbers that they claim: a counting allocator holds small hostile inputs.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::validate::{Depth, Validator};
use logsegment::wire::checksum::crc32c;

use crate::batches::{batch, sample, varint};

struct Counting;

thread_local! {
    // Per thread, since the tests of a binary run beside each other.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // The counters are gone while a thread ends; nobody asks then.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        PEAK.with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system allocator unchanged; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a call gives, and the most that it held beside what this thread had.
pub fn peak_during<R>(call: impl FnOnce() -> R) -> (R, isize) {
    let before = LIVE.get();
    PEAK.set(before);
    let made = call();
    (made, PEAK.get() - before)
}

fn peak_of(bytes: Vec<u8>) -> (isize, usize) {
    let bytes = Bytes::from(bytes);
    let (findings, peak) = peak_during(|| {
        let mut validator = Validator::new(Source::memory(bytes), DecodeOptions::default(), Depth::Full, false);
        while validator.advance().unwrap() {}
        validator.take_findings().len()
    });
    (peak, findings)
}

/// Puts a new value into a field behind the checksum, and the checksum right.
fn patched(mut batch: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    batch[at..at + field.len()].copy_from_slice(field);
    let crc = crc32c(&batch[21..]).to_be_bytes();
    batch[17..21].copy_from_slice(&crc);
    batch
}

const SMALL: isize = 4 << 20;

#[test]
fn a_count_of_two_billion_reserves_nothing() {
    let (peak, findings) = peak_of(patched(sample(0, 5), 57, &i32::MAX.to_be_bytes()));
    assert!(peak < SMALL && findings > 0, "{peak} bytes, {findings} findings");
}

#[test]
fn lengths_of_two_gigabytes_reserve_nothing() {
    for field in 0..4 {
        let mut body = vec![0, 0, 0];
        let huge = varint(i64::from(i32::MAX));
        match field {
            0 => body = huge,
            1 => body.extend(huge),
            2 => body.extend([varint(-1), huge].concat()),
            _ => body.extend([varint(-1), varint(-1), huge].concat()),
        }
        let record = if field == 0 { body } else { [varint(body.len() as i64), body].concat() };
        let (peak, findings) = peak_of(batch(0, 1, 0, &record));
        assert!(peak < SMALL && findings > 0, "field {field}: {peak} bytes, {findings} findings");
    }
}

#[test]
fn an_entry_that_claims_200_megabytes_reserves_nothing() {
    let mut bytes = sample(0, 5);
    bytes[8..12].copy_from_slice(&200_000_000_i32.to_be_bytes());
    let (peak, findings) = peak_of(bytes);
    assert!(peak < SMALL && findings > 0, "{peak} bytes, {findings} findings");
}

#[test]
fn findings_about_half_a_million_records_are_counted_not_kept() {
    let records: Vec<u8> = [12, 0, 0, 0, 1, 1, 0].repeat(500_000);
    let (peak, findings) = peak_of(batch(0, 500_000, 0, &records));
    assert!(peak < SMALL && (1..100).contains(&findings), "{peak} bytes, {findings} findings");
}
