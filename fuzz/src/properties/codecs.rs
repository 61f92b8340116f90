//! One codec: any stream is decompressed or refused, in every way of asking alike, and compressed input is restored.

use logsegment::codec::{Codec, Compression, Compressor, Decompressed, Decompressor};
use logsegment::limits::Budget;
use logsegment::model::CompressionType;
use logsegment::wire::Sink;

use super::reading::LIMITS;

/// Levels that make different compressors work.
const LEVELS: [i32; 5] = [1, 3, 6, 9, 12];

/// All that must hold of any bytes, as a stream of this codec and as input to compress.
pub fn check(bytes: &[u8], kind: CompressionType, codecs: &[Codec]) {
    let mut decompressor = Decompressor::default();
    codecs.iter().for_each(|codec| decompress(&mut decompressor, bytes, *codec));
    let Some(codec) = codecs.first() else { return };
    let level = bytes.first().map(|byte| LEVELS[usize::from(byte % 5)]);
    for compression in [Compression::new(kind, None), Compression::new(kind, level)].into_iter().flatten().flatten() {
        let (mut compressed, mut decompressed) = (Sink::default(), Decompressed::default());
        Compressor::default().compress(compression, bytes, &mut compressed).expect("any bytes can be compressed");
        let budget = Budget::for_entry(&LIMITS, compressed.len());
        decompressor.decompress(*codec, compressed.bytes(), &mut decompressed, &budget, None).expect("our own stream");
        assert_eq!(decompressed.bytes(), bytes, "compressed with {compression:?}");
    }
}

fn decompress(decompressor: &mut Decompressor, bytes: &[u8], codec: Codec) {
    let budget = Budget::for_entry(&LIMITS, bytes.len());
    // What was in the storage before must not be seen, not even behind an error.
    let (mut one, mut other) = (Decompressed::from_vec(vec![0; 1 << 12]), Decompressed::from_vec(vec![0xaa; 1 << 16]));
    let whole = decompressor.decompress_valid_part(codec, bytes, &mut one, &budget, None);
    let mut findings = Vec::new();
    let reported = decompressor.decompress_valid_part(codec, bytes, &mut other, &budget, Some(&mut findings));
    assert_eq!(whole.is_ok(), reported.is_ok(), "findings change the result: {whole:?}, {reported:?}");
    assert!(one.len() as u64 <= LIMITS.max_decompressed_bytes, "{} bytes are more than the limit", one.len());
    if whole.is_err() {
        assert!(decompressor.decompress(codec, bytes, &mut other, &budget, None).is_err() && other.is_empty());
        return;
    }
    assert_eq!(one.bytes(), other.bytes(), "what was in the storage before is seen");
    let wanted = one.len() / 2;
    decompressor
        .decompress_until(codec, bytes, &mut other, &budget, &mut |decompressed| decompressed.len() >= wanted)
        .expect("a part of a good stream");
    assert!(other.len() >= wanted && one.bytes().starts_with(other.bytes()), "a part is not the front of the whole");
}
