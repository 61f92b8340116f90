//! Lengths and distances as symbols with extra bits (RFC 1951, 3.2.5), computed: the tables there double every fourth and every second row.

/// Symbols of literals, the end and lengths; the last two are never written.
pub(super) const LITERALS: usize = 288;
/// Symbols of distances; the last two are never written.
pub(super) const DISTANCES: usize = 32;
/// The symbol behind the last of a block.
pub(super) const END: usize = 256;
/// The shortest match there is.
pub(super) const LEAST: usize = 3;
/// The longest.
pub(super) const MOST: usize = 258;
/// How far a match reaches back.
pub(super) const WINDOW: usize = 1 << 15;

const LENGTHS: u16 = 257;
const LONGEST: u16 = 285;

/// The symbol of a length, given less `LEAST`, and how many of its lowest bits follow it.
#[inline(always)]
pub(super) fn of_length(length: u8) -> (u16, u8) {
    if length == u8::MAX {
        return (LONGEST, 0);
    }
    let extra = bits_behind_the_top(length.into()).saturating_sub(2);
    (LENGTHS + 4 * u16::from(extra) + u16::from(length >> extra), extra)
}

/// The symbol of a distance, given less one.
#[inline(always)]
pub(super) fn of_distance(distance: u16) -> u8 {
    let extra = bits_behind_the_top(distance).saturating_sub(1);
    let [top, _] = (distance >> extra).to_le_bytes();
    2 * extra + top
}

/// How many of the lowest bits of a length follow its symbol.
pub(super) fn extra_of_length(symbol: usize) -> u8 {
    match u8::try_from(symbol.saturating_sub(usize::from(LENGTHS))) {
        Ok(symbol @ 8..28) => symbol / 4 - 1,
        _ => 0,
    }
}

/// How many of the lowest bits of a distance follow its symbol.
#[inline(always)]
pub(super) fn extra_of_distance(symbol: u8) -> u8 {
    (symbol / 2).saturating_sub(1)
}

#[inline(always)]
fn bits_behind_the_top(number: u16) -> u8 {
    let [bits, ..] = (number | 1).ilog2().to_le_bytes();
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of RFC 1951: symbol, extra bits, first and last.
    const OF_LENGTHS: [(u16, u8, usize, usize); 29] = [
        (257, 0, 3, 3),
        (258, 0, 4, 4),
        (259, 0, 5, 5),
        (260, 0, 6, 6),
        (261, 0, 7, 7),
        (262, 0, 8, 8),
        (263, 0, 9, 9),
        (264, 0, 10, 10),
        (265, 1, 11, 12),
        (266, 1, 13, 14),
        (267, 1, 15, 16),
        (268, 1, 17, 18),
        (269, 2, 19, 22),
        (270, 2, 23, 26),
        (271, 2, 27, 30),
        (272, 2, 31, 34),
        (273, 3, 35, 42),
        (274, 3, 43, 50),
        (275, 3, 51, 58),
        (276, 3, 59, 66),
        (277, 4, 67, 82),
        (278, 4, 83, 98),
        (279, 4, 99, 114),
        (280, 4, 115, 130),
        (281, 5, 131, 162),
        (282, 5, 163, 194),
        (283, 5, 195, 226),
        (284, 5, 227, 257),
        (285, 0, 258, 258),
    ];
    const FIRST_DISTANCES: [usize; 30] = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12_289,
        16_385, 24_577,
    ];

    #[test]
    fn lengths_have_the_symbols_of_the_rfc() {
        for (symbol, extra, first, last) in OF_LENGTHS {
            for length in first..=last {
                let length = u8::try_from(length - LEAST).unwrap();
                assert_eq!(of_length(length), (symbol, extra));
                assert_eq!(usize::from(length & ((1 << extra) - 1)), usize::from(length) + LEAST - first);
            }
            assert_eq!(extra_of_length(symbol.into()), extra);
        }
        assert!((0..257).chain(286..300).all(|symbol| extra_of_length(symbol) == 0));
    }

    #[test]
    fn distances_have_the_symbols_of_the_rfc() {
        for distance in 1..=WINDOW {
            let symbol = of_distance(u16::try_from(distance - 1).unwrap());
            let first = FIRST_DISTANCES.partition_point(|first| *first <= distance) - 1;
            assert_eq!(usize::from(symbol), first);
            assert_eq!((distance - 1) & ((1 << extra_of_distance(symbol)) - 1), distance - FIRST_DISTANCES[first]);
        }
    }
}
