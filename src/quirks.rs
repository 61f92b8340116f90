//! Deviations from Kafka's formats that a reader accepts if it is asked to.
//!
//! Brokers and Kafka's clients refuse such bytes. Other writers made them, and nothing else is wrong with them.

use std::fmt;

/// One deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// LZ4 frames of magic 1 and 2 with any header checksum (COD-L8). In magic 0 every header checksum is accepted.
    Lz4HeaderChecksum,
    /// LZ4 frames whose blocks depend on each other (COD-L12).
    Lz4DependentBlocks,
}

impl Quirk {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lz4HeaderChecksum, Self::Lz4DependentBlocks];

    /// The name that users give.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4HeaderChecksum => "lz4-header-checksum",
            Self::Lz4DependentBlocks => "lz4-dependent-blocks",
        }
    }

    /// The quirk without which bytes break this rule.
    pub fn of_rule(rule: &str) -> Option<Self> {
        match rule {
            "COD-L8" => Some(Self::Lz4HeaderChecksum),
            "COD-L12" => Some(Self::Lz4DependentBlocks),
            _ => None,
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Lz4HeaderChecksum => 1,
            Self::Lz4DependentBlocks => 2,
        }
    }
}

/// A set of deviations. By default it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks(u8);

impl Quirks {
    /// The set of all.
    pub const ALL: Self = Self(3);

    /// True for the empty set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if the set has this one.
    pub fn has(self, quirk: Quirk) -> bool {
        self.0 & quirk.bit() != 0
    }

    /// The same set with this one.
    #[must_use]
    pub fn with(self, quirk: Quirk) -> Self {
        Self(self.0 | quirk.bit())
    }

    /// The ones in the set.
    pub fn iter(self) -> impl Iterator<Item = Quirk> {
        Quirk::ALL.into_iter().filter(move |quirk| self.has(*quirk))
    }

    /// The set with these names.
    ///
    /// # Errors
    /// The first name that is not known.
    pub fn named<N: AsRef<str>>(names: &[N]) -> Result<Self, &str> {
        names.iter().try_fold(Self::default(), |quirks, name| {
            let known = Quirk::ALL.into_iter().find(|quirk| quirk.name() == name.as_ref());
            known.map(|quirk| quirks.with(quirk)).ok_or(name.as_ref())
        })
    }
}

/// The names, with "and" between them.
impl fmt::Display for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, quirk) in self.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { " and " } else { "" }, quirk.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_its_names_say() {
        assert_eq!(Quirks::named(&["lz4-dependent-blocks", "lz4-header-checksum"]), Ok(Quirks::ALL));
        assert_eq!(Quirks::named(&["lz4-dependent-blocks", "lz5"]), Err("lz5"));
        let only = Quirks::default().with(Quirk::Lz4DependentBlocks);
        assert!(only.has(Quirk::Lz4DependentBlocks) && !only.has(Quirk::Lz4HeaderChecksum) && !only.is_empty());
        assert!(Quirk::ALL.into_iter().all(|quirk| Quirks::ALL.has(quirk)));
        assert_eq!(
            (only.to_string(), Quirks::ALL.to_string()),
            ("lz4-dependent-blocks".into(), "lz4-header-checksum and lz4-dependent-blocks".into())
        );
    }
}
