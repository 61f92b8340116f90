use crate::model::RecordFormat;

/// What the caller says about the formats of some bytes. The bytes themselves do not say whether they are of Kafka 0.7 (MAP-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formats {
    /// Magic 0, 1 and 2 of Kafka 0.8 and later, distinguished entry by entry (MAP-3).
    #[default]
    Auto,
    /// The same, and the proposed magic 3. No checksum covers the magic: one flipped bit makes a batch of magic 2 look like one of magic 3.
    Every,
    /// One format and no other.
    Only(RecordFormat),
}

impl Formats {
    /// The format of an entry with this magic; `None` when it is not among these.
    #[inline]
    pub fn of_magic(self, magic: i8) -> Option<RecordFormat> {
        let said = match (self, magic) {
            (Self::Only(RecordFormat::V07), 0 | 1) => return Some(RecordFormat::V07),
            (_, 2) => RecordFormat::V2,
            (Self::Every | Self::Only(RecordFormat::V3), 3) => return Some(RecordFormat::V3),
            (_, 1) => RecordFormat::V1,
            (_, 0) => RecordFormat::V0,
            _ => return None,
        };
        (matches!(self, Self::Auto | Self::Every) || self == Self::Only(said)).then_some(said)
    }

    /// True when batches of the proposed magic 3 are read.
    #[inline]
    pub fn reads_proposed(self) -> bool {
        matches!(self, Self::Every | Self::Only(RecordFormat::V3))
    }

    /// True for Kafka 0.7, whose entries are framed in another way.
    #[inline]
    pub fn is_v07(self) -> bool {
        self == Self::Only(RecordFormat::V07)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_1_the_same_magic_is_another_format_in_0_7() {
        assert_eq!(Formats::Auto.of_magic(1), Some(RecordFormat::V1));
        assert_eq!(Formats::Only(RecordFormat::V07).of_magic(1), Some(RecordFormat::V07));
        assert_eq!(Formats::Only(RecordFormat::V07).of_magic(2), None);
    }

    #[test]
    fn map_3_auto_takes_magic_0_to_2_and_a_name_only_its_own() {
        let of_magics = |formats: Formats| [0, 1, 2, 3].map(|magic| formats.of_magic(magic));
        assert_eq!(of_magics(Formats::Auto), [Some(RecordFormat::V0), Some(RecordFormat::V1), Some(RecordFormat::V2), None]);
        assert_eq!(of_magics(Formats::Only(RecordFormat::V1)), [None, Some(RecordFormat::V1), None, None]);
        assert_eq!(of_magics(Formats::Only(RecordFormat::V3)), [None, None, None, Some(RecordFormat::V3)]);
        let [before @ .., last] = of_magics(Formats::Every);
        assert_eq!((before.as_slice(), last), (&of_magics(Formats::Auto)[..3], Some(RecordFormat::V3)));
    }
}
