//! Rust benches: `cargo bench --features arrow`. Cases are named `<verb>/<format>/<codec>/<shape>`.
//!
//! They run on batches made here; the comparison with peers on Kafka's own bytes is in benches/peers.
#![allow(missing_docs, clippy::unwrap_used, clippy::as_conversions, reason = "benches")]

use bytes::Bytes;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use logsegment::columns::batches::BatchRows;
use logsegment::columns::{BatchSource, BinaryKind, OnError, Projection, StreamOptions, stream};
use logsegment::decode::DecodeOptions;
use logsegment::framing::Source;
use logsegment::validate::{Depth, Validator};

#[path = "../../tests/rust/batches.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod batches;

fn main() {
    divan::main();
}

/// Shapes: records of a batch and bytes of a value.
const SHAPES: [(&str, i32, usize); 2] = [("small", 110, 120), ("large", 250, 4096)];
const SEGMENT: usize = 16 << 20;

fn batch(base_offset: i64, count: i32, value_len: usize) -> Vec<u8> {
    let record = |index: i64| batches::record(index, Some(&[b'k'; 16]), Some(&vec![index as u8; value_len]), &[]);
    batches::batch(base_offset, count, 0, &(0..i64::from(count)).flat_map(record).collect::<Vec<_>>())
}

fn segment(shape: &str) -> (Bytes, usize) {
    let (_, count, value_len) = *SHAPES.iter().find(|(name, ..)| *name == shape).unwrap();
    let mut bytes = Vec::new();
    let mut records = 0;
    while bytes.len() < SEGMENT {
        bytes.extend(batch(records as i64, count, value_len));
        records += count as usize;
    }
    (Bytes::from(bytes), records)
}

fn options(binary: BinaryKind) -> StreamOptions {
    let names = ["key", "value", "offset", "timestampMs"].map(str::to_owned);
    StreamOptions {
        decode: DecodeOptions::default(),
        projection: Projection::named(Some(&names), binary).unwrap(),
        topic: None,
        partition: None,
        on_error: OnError::Raise,
        is_tail_strict: false,
        batch_size: 1 << 16,
        batch_bytes: 1 << 20,
        keys: None,
        threads: 1,
        interrupt: logsegment::interrupt::Interrupt::default(),
    }
}

fn drain(mut source: Box<dyn BatchSource>) -> usize {
    let mut rows = 0;
    while let Some(batch) = source.next_batch().unwrap() {
        rows += black_box(batch).num_rows();
    }
    rows
}

#[divan::bench(name = "decode/v2/none", args = ["small", "large"])]
fn decode(bencher: Bencher<'_, '_>, shape: &str) {
    run(bencher, shape, BinaryKind::Binary);
}

#[divan::bench(name = "decode_view/v2/none", args = ["small", "large"])]
fn decode_view(bencher: Bencher<'_, '_>, shape: &str) {
    run(bencher, shape, BinaryKind::BinaryView);
}

fn run(bencher: Bencher<'_, '_>, shape: &str, binary: BinaryKind) {
    let (bytes, records) = segment(shape);
    assert_eq!(drain(stream::open(Source::memory(bytes.clone()), options(binary))), records);
    bencher.counter(BytesCount::new(bytes.len())).bench(|| drain(stream::open(Source::memory(bytes.clone()), options(binary))));
}

#[divan::bench(name = "batches/v2/none", args = ["small", "large"])]
fn batch_rows(bencher: Bencher<'_, '_>, shape: &str) {
    let (bytes, _) = segment(shape);
    let options = || {
        let mut options = options(BinaryKind::Binary);
        options.decode.check_crc = false;
        options
    };
    bencher.counter(BytesCount::new(bytes.len())).bench(|| drain(Box::new(BatchRows::new(Source::memory(bytes.clone()), options()))));
}

#[divan::bench(name = "validate/v2/none", args = ["small", "large"])]
fn validate(bencher: Bencher<'_, '_>, shape: &str) {
    let (bytes, _) = segment(shape);
    bencher.counter(BytesCount::new(bytes.len())).bench(|| {
        let mut validator = Validator::new(Source::memory(bytes.clone()), DecodeOptions::default(), Depth::Full, false);
        while validator.advance().unwrap() {}
        assert!(validator.take_findings().is_empty());
    });
}
