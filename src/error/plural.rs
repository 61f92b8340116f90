//! Numbers with their nouns, as texts for people have them.

use std::fmt;

/// `1 byte`, `2 bytes`, `3 entries`, `4 batches`.
pub fn plural(number: impl TryInto<i128>, noun: &'static str) -> Plural {
    Plural { number: number.try_into().unwrap_or(i128::MAX), noun }
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts, ready to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Plural {
    number: i128,
    noun: &'static str,
}

impl fmt::Display for Plural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, noun } = self;
        match noun.strip_suffix('y') {
            _ if *number == 1 => write!(f, "1 {noun}"),
            Some(stem) => write!(f, "{number} {stem}ies"),
            None if noun.ends_with("ch") => write!(f, "{number} {noun}es"),
            None => write!(f, "{number} {noun}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_all_others_are_many() {
        let texts = [(1_u64, "byte"), (0, "byte"), (2, "zero byte"), (1, "entry"), (3, "entry"), (4, "batch")];
        let texts = texts.map(|(number, noun)| plural(number, noun).to_string());
        assert_eq!(texts, ["1 byte", "0 bytes", "2 zero bytes", "1 entry", "3 entries", "4 batches"]);
        assert_eq!(plural(-1_i64, "byte").to_string(), "-1 bytes");
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        let texts = [0, 999, 1000, 40_000, 268_435_456].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "40,000", "268,435,456"]);
    }
}
