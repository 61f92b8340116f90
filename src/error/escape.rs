//! Text of others, as errors show it: on one line, of bounded length, and without anything that a terminal would obey.

/// The text that foreign code or a registry gave, ready to be shown. Escape sequences in it would reach terminals and logs otherwise.
pub fn escaped(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown = String::with_capacity(line.len().min(MOST));
    for piece in clipped(&line).split_inclusive(MARKS) {
        let plain = piece.trim_end_matches(MARKS);
        shown.extend(plain.escape_debug());
        shown.push_str(piece.strip_prefix(plain).unwrap_or_default());
    }
    shown
}

fn clipped(line: &str) -> &str {
    line.char_indices().nth(MOST).and_then(|(end, _)| line.get(..end)).unwrap_or(line)
}

/// Characters of a text that are shown: whoever puts a batch into an exception puts it into every log.
const MOST: usize = 300;
/// What `escape_debug` marks for the sake of Rust's literals, and nobody else's.
const MARKS: [char; 3] = ['\'', '"', '\\'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_nothing_else() {
        assert_eq!(escaped("\x1b[2J\x07\u{9b}31m\u{202e}gone"), r"\u{1b}[2J\u{7}\u{9b}31m\u{202e}gone");
        for text in ["No module named 'no'", r#"C:\new "file""#, "gr\u{f6}\u{df}er \u{e44}\u{e21}\u{e48}", ""] {
            assert_eq!(escaped(text), text);
        }
    }

    #[test]
    fn it_is_one_line_of_bounded_length() {
        assert_eq!(escaped(" two\r\n\tlines "), "two lines");
        assert_eq!(escaped(&"\u{e9}".repeat(1000)), "\u{e9}".repeat(MOST));
    }
}
