//! Plain records to compressed ones, in the form that Kafka's clients and brokers write.

use super::{Packing, Plugins, gzip, lz4, snappy, zstd};
use crate::error::Result;
use crate::wire::Sink;

/// The packing contexts of one thread, kept between entries because making one costs more than a small batch.
///
/// Nothing is made before it is needed.
#[derive(Default)]
pub struct Packer {
    gzip: gzip::Compressor,
    snappy: snappy::Compressor,
    lz4: lz4::Compressor,
    zstd: zstd::Compressor,
    plugins: Plugins,
}

impl Packer {
    /// Packs with these plugins too.
    pub fn bring(&mut self, plugins: Plugins) {
        self.plugins = plugins;
    }

    /// Packs `plain` as one stream and writes it behind what `out` holds.
    ///
    /// # Errors
    /// `Internal` when a codec fails, as it does only without memory; what a plugin fails with.
    pub fn pack(&mut self, packing: Packing, plain: &[u8], out: &mut Sink) -> Result<()> {
        self.pack_in_two(packing, (plain, 0), out)
    }

    /// The same; the first `front` bytes are wanted alone now and then: where the codec packs block by block, one ends behind them.
    ///
    /// # Errors
    /// As `pack`.
    pub fn pack_in_two(&mut self, packing: Packing, (plain, front): (&[u8], usize), out: &mut Sink) -> Result<()> {
        match packing {
            Packing::Gzip { level } => self.gzip.compress(plain, level, out),
            Packing::Snappy => self.snappy.compress((plain, front), out),
            Packing::Lz4 { level, checksum } => {
                self.lz4.compress((plain, front), level, checksum, out);
                Ok(())
            }
            Packing::Zstd { level } if front == 0 => self.zstd.pack(plain, level, out),
            Packing::Zstd { level } => self.zstd.pack_in_two((plain, front), level, out),
            Packing::Plugin { id, level } => {
                let mut shown = Sink::default();
                shown.put(plain);
                self.plugins.pack(id, &mut shown, level, out)
            }
        }
    }

    /// The same for bytes that may be taken: a plugin is shown them without a copy.
    ///
    /// # Errors
    /// As `pack`.
    pub fn pack_own(&mut self, packing: Packing, (plain, front): (&mut Sink, usize), out: &mut Sink) -> Result<()> {
        match packing {
            Packing::Plugin { id, level } => self.plugins.pack(id, plain, level, out),
            built_in => self.pack_in_two(built_in, (plain.bytes(), front), out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{Outcome, unpack};
    use crate::codec::{ChecksumForm, Codec, HeaderChecksum, NO_ENTRIES};

    /// Text, noise and runs, longer than a block of LZ4 and a chunk of snappy.
    fn samples() -> Vec<Vec<u8>> {
        let text: Vec<u8> = (0..30_000).flat_map(|n: u32| format!("order {} of customer {}; ", n, n % 97).into_bytes()).collect();
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        });
        let noise: Vec<u8> = noise.take(200_000).collect();
        [vec![], b"a".to_vec(), b"hello".to_vec(), vec![0; 65_536], vec![7; 65_537], text[..32_768].to_vec(), text, noise].to_vec()
    }

    fn packings() -> Vec<(Packing, Codec)> {
        let lz4 = |level, checksum| Packing::Lz4 { level, checksum };
        let mut all = vec![
            (Packing::Snappy, Codec::Snappy),
            (lz4(None, ChecksumForm::Correct), Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES)),
            (lz4(None, ChecksumForm::Broken), Codec::Lz4(HeaderChecksum::Any, NO_ENTRIES)),
        ];
        all.extend((1..=9).map(|level| (Packing::Gzip { level }, Codec::Gzip)));
        all.extend([1, 3, 12, 17].map(|level| (lz4(Some(level), ChecksumForm::Correct), Codec::Lz4(HeaderChecksum::Correct, NO_ENTRIES))));
        all.extend([-131_072, -5, 1, 3, 19].map(|level| (Packing::Zstd { level }, Codec::Zstd)));
        all
    }

    #[test]
    fn what_is_packed_unpacks_to_the_same_bytes_with_contexts_that_go_round() {
        let (mut packer, mut out) = (Packer::default(), Sink::default());
        for plain in samples() {
            for (packing, codec) in packings() {
                out.clear();
                out.put(b"before");
                packer.pack(packing, &plain, &mut out).unwrap();
                assert!(out.bytes().starts_with(b"before"));
                assert_eq!(unpack(codec, out.from(6)), Outcome::plain(&plain), "{packing:?}, {} bytes", plain.len());
            }
        }
    }

    #[test]
    fn s_h5_in_two_parts_the_first_can_be_had_alone() {
        let (mut packer, mut out) = (Packer::default(), Sink::default());
        for plain in samples() {
            for front in [1, 1000, plain.len() / 2, plain.len()].map(|front| front.min(plain.len())) {
                for (packing, codec) in packings() {
                    out.clear();
                    packer.pack_in_two(packing, (&plain, front), &mut out).unwrap();
                    assert_eq!(unpack(codec, out.bytes()), Outcome::plain(&plain), "{packing:?}, {front} of {} bytes", plain.len());
                    if matches!(codec, Codec::Gzip) {
                        continue;
                    }
                    let (mut unpacker, mut got) = (crate::codec::Unpacker::default(), crate::codec::Plain::default());
                    let budget = crate::limits::Budget::for_entry(&crate::limits::Limits::default(), 1 << 20);
                    let mut is_enough = |plain: &crate::codec::Plain| plain.len() >= front;
                    unpacker.unpack_until(codec, out.bytes(), &mut got, &budget, &mut is_enough).unwrap();
                    // No more than a step of zstd more.
                    assert!((front..=front + 4096).contains(&got.len()), "{packing:?}, {front}: {}", got.len());
                }
            }
        }
    }

    #[test]
    fn levels_change_what_comes_out() {
        let mut state = 1_u32;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{} ", (state >> 16) % 5000 * 7919)
        });
        let plain = words.take(20_000).collect::<String>().into_bytes();
        let len = |packing| {
            let mut out = Sink::default();
            Packer::default().pack(packing, &plain, &mut out).map(|()| out.len())
        };
        let lz4 = |level| len(Packing::Lz4 { level, checksum: ChecksumForm::Correct }).unwrap();
        assert!(lz4(Some(12)) < lz4(Some(3)) && lz4(Some(3)) < lz4(None));
        assert_eq!(lz4(Some(12)), lz4(Some(17)));
        assert!(len(Packing::Gzip { level: 9 }).unwrap() < len(Packing::Gzip { level: 1 }).unwrap());
        assert!(len(Packing::Zstd { level: 19 }).unwrap() < len(Packing::Zstd { level: -5 }).unwrap());
    }

    #[test]
    fn contexts_move_between_threads() {
        fn assert_send<T: Send>() {}
        assert_send::<Packer>();
    }
}
