//! One codec: any stream is unpacked or refused, alike however it is asked for, and what is packed is unpacked to the same.

use logsegment::codec::{Codec, Packer, Packing, Plain, Unpacker};
use logsegment::limits::Budget;
use logsegment::model::CompressionType;
use logsegment::wire::Sink;

use super::reading::LIMITS;

/// Levels that make different compressors work.
const LEVELS: [i32; 5] = [1, 3, 6, 9, 12];

/// All that must hold of any bytes, as a stream of this codec and as what is to be packed.
pub fn check(bytes: &[u8], kind: CompressionType, codecs: &[Codec]) {
    let mut unpacker = Unpacker::default();
    codecs.iter().for_each(|codec| unpack(&mut unpacker, bytes, *codec));
    let Some(codec) = codecs.first() else { return };
    let level = bytes.first().map(|byte| LEVELS[usize::from(byte % 5)]);
    for packing in [Packing::new(kind, None), Packing::new(kind, level)].into_iter().flatten().flatten() {
        let (mut packed, mut plain) = (Sink::default(), Plain::default());
        Packer::default().pack(packing, bytes, &mut packed).expect("any bytes can be packed");
        let budget = Budget::for_entry(&LIMITS, packed.len());
        unpacker.unpack(*codec, packed.bytes(), &mut plain, &budget, None).expect("what we packed");
        assert_eq!(plain.bytes(), bytes, "packed with {packing:?}");
    }
}

fn unpack(unpacker: &mut Unpacker, bytes: &[u8], codec: Codec) {
    let budget = Budget::for_entry(&LIMITS, bytes.len());
    // What was in the storage before must not be seen, not even behind an error.
    let (mut one, mut other) = (Plain::from_vec(vec![0; 1 << 12]), Plain::from_vec(vec![0xaa; 1 << 16]));
    let whole = unpacker.unpack_what_is_good(codec, bytes, &mut one, &budget, None);
    let mut remarks = Vec::new();
    let remarked = unpacker.unpack_what_is_good(codec, bytes, &mut other, &budget, Some(&mut remarks));
    assert_eq!(whole.is_ok(), remarked.is_ok(), "who looks for remarks reads something else: {whole:?}, {remarked:?}");
    assert!(one.len() as u64 <= LIMITS.max_decompressed_bytes, "{} bytes are more than the limit", one.len());
    if whole.is_err() {
        assert!(unpacker.unpack(codec, bytes, &mut other, &budget, None).is_err() && other.is_empty());
        return;
    }
    assert_eq!(one.bytes(), other.bytes(), "what was in the storage before is seen");
    let wanted = one.len() / 2;
    unpacker.unpack_until(codec, bytes, &mut other, &budget, &mut |plain| plain.len() >= wanted).expect("a part of a good stream");
    assert!(other.len() >= wanted && one.bytes().starts_with(other.bytes()), "a part is not the front of the whole");
}
