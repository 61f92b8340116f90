//! The name that a misspelt one is most similar to.

/// Two names must have so much in common.
const LEAST: f64 = 0.7;

/// Return the known name that is most similar, if it is similar enough.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let scored = known.iter().map(|known| (ratio(&name, &known.to_lowercase().chars().collect::<Vec<_>>()), *known));
    let mut best: Option<(f64, &str)> = None;
    for (score, known) in scored {
        if score >= LEAST && best.is_none_or(|(best, _)| score > best) {
            best = Some((score, known));
        }
    }
    best.map(|(_, known)| known)
}

/// The share of the letters that two texts have in common, in their order (Ratcliff and Obershelp).
fn ratio(one: &[char], other: &[char]) -> f64 {
    let letters = one.len() + other.len();
    if letters == 0 {
        return 1.0;
    }
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    2.0 * count(common(one, other)) / count(letters)
}

/// The number of letters in the longest common run, and in those before and after it.
fn common(one: &[char], other: &[char]) -> usize {
    let (mut at, mut beside, mut length) = (0, 0, 0);
    for first in 0..one.len() {
        for second in 0..other.len() {
            let run = one.iter().skip(first).zip(other.iter().skip(second)).take_while(|(left, right)| left == right).count();
            if run > length {
                (at, beside, length) = (first, second, run);
            }
        }
    }
    if length == 0 {
        return 0;
    }
    let part = |text: &[char], from: usize, to: usize| text.get(from..to).unwrap_or_default().to_vec();
    let before = common(&part(one, 0, at), &part(other, 0, beside));
    let after = common(&part(one, at + length, one.len()), &part(other, beside + length, other.len()));
    length + before + after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_one() {
        let known = ["startingOffsets", "endingOffsets", "mode"];
        assert_eq!(nearest("startingOffset", &known), Some("startingOffsets"));
        assert_eq!(nearest("STARTINGOFSETS", &known), Some("startingOffsets"));
        assert_eq!(nearest("xyz", &known), None);
    }
}
