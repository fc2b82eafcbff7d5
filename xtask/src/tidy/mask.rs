//! Masking: Rust text with comments and literals blanked, so that rules about code can search for words, or with all but
//! the comments blanked.
//!
//! Every byte that is not code becomes a space, line ends stay, so positions and line numbers are those of the text.
//! Knows the lexical grammar only as far as it takes to tell code from comments and literals.

/// Blanks comments, and the contents of string and character literals, their quotes included.
pub(super) fn mask(text: &str) -> String {
    keep(text, |piece| matches!(piece, Piece::Code))
}

/// Blanks all but comments.
pub(super) fn comments(text: &str) -> String {
    keep(text, |piece| matches!(piece, Piece::Comment))
}

/// What a stretch of text is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece {
    /// A word, or one character that is not part of any.
    Code,
    /// A whole comment, without the line end after it.
    Comment,
    /// A whole literal, with its quotes.
    Literal,
}

/// The text in pieces, one after the other.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (Piece, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        if start == bytes.len() {
            return None;
        }
        let (piece, len) = match blank_len(text, start) {
            0 => (Piece::Code, word_len(bytes, start).max(1)),
            len if matches!(bytes[start..], [b'/', b'/' | b'*', ..]) => (Piece::Comment, len),
            len => (Piece::Literal, len),
        };
        at += len;
        // Comments, literals and words all end at character borders.
        Some((piece, &text[start..at]))
    })
}

fn keep(text: &str, is_kept: impl Fn(Piece) -> bool) -> String {
    let mut kept = String::with_capacity(text.len());
    for (piece, stretch) in pieces(text) {
        if is_kept(piece) {
            kept.push_str(stretch);
        } else {
            kept.extend(stretch.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        }
    }
    kept
}

/// Length of the identifier or number at `at`, so that `br` in `abr"` is not taken for a prefix.
fn word_len(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take_while(|byte| is_word(**byte)).count()
}

/// Whether a byte is part of an identifier or number.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Length of the comment or literal that starts at `at`; 0 when none does.
fn blank_len(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_len(rest),
        [b'"', ..] => quoted_len(rest, 0),
        [b'b' | b'c', b'"', ..] => quoted_len(rest, 1),
        [b'r', b'"' | b'#', ..] => raw_len(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] => raw_len(rest, 2),
        [b'b', b'\'', ..] => 1 + char_len(&text[at + 1..]),
        [b'\'', ..] => char_len(&text[at..]),
        _ => 0,
    }
}

fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// A literal in quotes, with escapes, after a prefix.
fn quoted_len(rest: &[u8], prefix: usize) -> usize {
    let mut at = prefix + 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw literal after a prefix that ends in `r`; 0 for a raw identifier.
fn raw_len(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let start = prefix + hashes;
    if rest.get(start) != Some(&b'"') {
        return 0;
    }
    let end: Vec<u8> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &rest[start + 1..];
    body.windows(end.len())
        .position(|window| window == end)
        .map_or(rest.len(), |at| start + 1 + at + end.len())
}

/// A character literal; 0 for a lifetime or a label.
fn char_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character may itself be a quote.
            chars.next();
            chars.find(|(_, c)| *c == '\'' || *c == '\n').map_or(text.len(), |(at, _)| at + 1)
        }
        Some((_, c)) if c != '\'' => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_not() {
        for (text, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x \\\" y\", z)", "f(        , z)"),
            ("br\"x\" b\"x\" c\"x\" 1", "                1"),
            ("r#\"a \" b\"# r#type", "           r#type"),
            ("('a', '\\'', '\"', b'\"', 'ä')", "(   ,     ,    ,     ,     )"),
            (
                "fn f<'a>(x: &'a str) -> &'static str { 'l: loop {} }",
                "fn f<'a>(x: &'a str) -> &'static str { 'l: loop {} }",
            ),
            ("'\\u{1F600}' + '\\\\' x", "            +      x"),
            ("abr\"x\" grün", "abr    grün"),
            ("\"two\nlines\"", "    \n      "),
        ] {
            assert_eq!(mask(text), code, "{text}");
        }
    }

    #[test]
    fn comments_are_found_and_literals_are_not() {
        for (text, kept) in [
            ("a // b\nc", "  // b\n "),
            ("a /* b\n */ e", "  /* b\n */  "),
            ("\"// x\" //! ä", "       //! ä"),
            ("a / b", "     "),
        ] {
            assert_eq!(comments(text), kept, "{text}");
        }
    }

    #[test]
    fn unfinished_text_ends_at_its_end() {
        for text in ["/* a", "\"a", "\"\\", "r#\"a", "'\\", "'", "b'", "r", "'a", "/"] {
            assert_eq!(mask(text).len(), text.len(), "{text}");
            assert_eq!(comments(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn positions_stay() {
        let text = include_str!("mask.rs");
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.lines().count(), text.lines().count());
        assert!(masked.contains("fn positions_stay()") && !masked.contains("Masking"));
        assert_eq!(comments(text).len(), text.len());
    }
}
