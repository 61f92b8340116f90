//! Where an entry of Kafka 0.8 or later may start: a few of its bytes can have values that are at nearly no place of other data.
//!
//! Places are looked at in blocks, each condition for the whole block at once, so that the compiler can use wide registers for it.

/// Bytes from its start on that tell a candidate.
const SEEN: usize = 27;
/// Places of a block.
const BLOCK: usize = 64;
/// A block, and what its last places are told by.
const WINDOW: usize = BLOCK + SEEN - 1;
/// Where the base offset begins.
const SIGN: usize = 0;
/// Where the size begins, the most significant byte first.
const SIZE: usize = 8;
/// Where the magic is.
const MAGIC: usize = 16;
/// Where the attributes of a message are.
const MESSAGE_ATTRIBUTES: usize = 17;
/// Where the length of the key of magic 0 and of magic 1 begins.
const KEY_LEN: [usize; 2] = [18, 26];
/// Where the attributes of a batch are.
const BATCH_ATTRIBUTES: usize = 21;
/// The attributes of a batch end with the codec.
const CODEC: u8 = 0x07;
/// The last codec, that of plugins; only with it the upper byte of the attributes is an id.
const PLUGIN: u8 = 5;
/// The id of a plugin in the upper byte.
const PLUGIN_ID: u8 = 0x0f;
/// Bits of the upper byte that nobody writes.
const UNUSED: u8 = 0xe0;
/// Bits of a message's attributes that nobody writes.
const UNUSED_OF_MESSAGES: u8 = 0xf0;
/// The first byte of the length of a null.
const NULL: u8 = 0xff;

/// The first place in `bytes` where an entry may start whose magic is one of `magics` (the first and the last) and whose size begins with at
/// most `top`. Of a place too near to the end only the magic is looked at.
pub fn next(bytes: &[u8], magics: (u8, u8), top: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
        if has_magic_and_size(window, magics, top) {
            let found = candidates(window, magics, top).iter().position(|is_candidate| *is_candidate);
            if let Some(found) = found {
                return Some(at + found);
            }
        }
        at += BLOCK;
    }
    let magics_left = bytes.get(at.saturating_add(MAGIC)..)?;
    magics_left.iter().position(|magic| is_within(*magic, magics)).map(|found| at + found)
}

/// Whether any place of the block has the first two signs; most blocks of other data have none that has.
#[inline]
#[expect(clippy::indexing_slicing, reason = "a position and the SEEN bytes after it are in the window")]
fn has_magic_and_size(window: &[u8; WINDOW], magics: (u8, u8), top: u8) -> bool {
    let mut any = false;
    for place in 0..BLOCK {
        any |= is_within(window[place + MAGIC], magics) & (window[place + SIZE] <= top);
    }
    any
}

/// Which places of the block have all signs. No condition is left out because another is not met: all are computed side by side.
#[inline]
#[expect(clippy::indexing_slicing, reason = "a position and the SEEN bytes after it are in the window")]
fn candidates(window: &[u8; WINDOW], magics: (u8, u8), top: u8) -> [bool; BLOCK] {
    std::array::from_fn(|place| {
        let byte = |at: usize| window[place + at];
        let is_small = |length: u8| length <= top;
        let magic = byte(MAGIC);
        let has_key = |at: usize| is_small(byte(at)) | (byte(at) == NULL);
        let is_message = (byte(MESSAGE_ATTRIBUTES) & UNUSED_OF_MESSAGES == 0)
            & (((magic == 0) & has_key(KEY_LEN[0])) | ((magic == 1) & has_key(KEY_LEN[1])));
        let (upper, codec) = (byte(BATCH_ATTRIBUTES), byte(BATCH_ATTRIBUTES + 1) & CODEC);
        let is_batch = (magic >= 2) & (upper & UNUSED == 0) & (codec <= PLUGIN) & ((upper & PLUGIN_ID == 0) | (codec == PLUGIN));
        // Zeros are what damage is made of.
        let is_sized = is_small(byte(SIZE)) & (byte(SIZE) | byte(SIZE + 1) | byte(SIZE + 2) | byte(SIZE + 3) != 0);
        is_within(magic, magics) & is_sized & (byte(SIGN) < 0x80) & (is_message | is_batch)
    })
}

#[inline(always)]
fn is_within(magic: u8, magics: (u8, u8)) -> bool {
    (magics.0 <= magic) & (magic <= magics.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: (u8, u8) = (0, 2);

    /// The conditions for one place, said once more.
    fn is_candidate(place: &[u8], magics: (u8, u8), top: u8) -> bool {
        let attributes = u16::from_be_bytes([place[21], place[22]]);
        let has_key = |length: u8| length <= top || length == 255;
        let has_fine_bits = match place[16] {
            0 => place[17] < 16 && has_key(place[18]),
            1 => place[17] < 16 && has_key(place[26]),
            _ => attributes < 0x2000 && attributes & 7 < 6 && (attributes & 7 == 5 || attributes & 0x0f00 == 0),
        };
        is_within(place[16], magics) && place[0] < 128 && place[8] <= top && place[8..12] != [0; 4] && has_fine_bits
    }

    /// Bytes that are candidates often enough.
    fn noise(len: usize, mut seed: u32) -> Vec<u8> {
        let step = move |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [high, next, ..] = seed.to_be_bytes();
            if high < 200 { next & 7 } else { next }
        };
        (0..len).map(step).collect()
    }

    #[test]
    fn the_same_places_as_one_by_one() {
        for (seed, magics, top) in [(1, ANY, 16), (2, (2, 2), 16), (3, (0, 3), 0), (4, (1, 1), 255)] {
            let bytes = noise(20_000, seed);
            let mut found = Vec::new();
            let mut from = 0;
            while let Some(at) = next(&bytes[from..], magics, top) {
                found.push(from + at);
                from += at + 1;
            }
            let end = bytes.len() - WINDOW;
            let expected: Vec<_> = (0..end).filter(|at| is_candidate(&bytes[*at..], magics, top)).collect();
            found.retain(|at| *at < end);
            assert!(expected.len() > 50, "{}", expected.len());
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn near_the_end_the_magic_alone_decides() {
        let mut bytes = [0xff; 40];
        bytes[30] = 2;
        assert_eq!(next(&bytes, ANY, 16), Some(14));
        assert_eq!(next(&bytes[..30], ANY, 16), None);
        assert_eq!(next(&[0; 10], ANY, 16), None);
    }

    #[test]
    fn zeros_are_no_candidates() {
        assert_eq!(next(&[0; 4096], ANY, 16).map(|at| at >= 4096 - WINDOW), Some(true));
    }
}
