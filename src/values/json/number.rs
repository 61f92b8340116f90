//! The texts of numbers that have more digits than 64 bits or a double hold.

/// Digits of the largest number of 64 bits.
const DIGITS: usize = 19;

/// True if a text has so many digits in a row that they may be those of a number beyond 64 bits.
pub fn has_long_number(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(window) = rest.get(..DIGITS) {
        // No long row of digits begins at or before another byte.
        match window.iter().rposition(|byte| !byte.is_ascii_digit()) {
            Some(other) => rest = rest.get(other + 1..).unwrap_or_default(),
            None => return true,
        }
    }
    false
}

/// True if a value of JSON is a number.
pub fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// True if a number has neither a point nor an exponent.
pub fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_number_is_found_wherever_it_begins() {
        let nines = "9".repeat(DIGITS);
        for before in 0..2 * DIGITS {
            let text = format!("{}{nines},12", " ".repeat(before));
            assert!(has_long_number(&text), "{before}");
            assert!(!has_long_number(&text.replacen("99", "9.", 1)), "{before}");
        }
        assert!(!has_long_number(&"123456789 ".repeat(9)));
    }
}
