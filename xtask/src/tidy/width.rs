//! Width of lines of code, above all where rustfmt keeps its hands off: it formats no body of a macro with braces.
//!
//! Comments are not measured: prose may run on. Nor are long literals, which nothing can break; but the code around them is.

use super::mask::{Piece, is_word, pieces};
use super::tree::{Finding, Tree};
use std::ops::RangeInclusive;

/// Most columns of a line of code. rustfmt stays below, except where it gives up: then it leaves a line as it is.
const LIMIT: usize = 120;
/// Most columns in a macro with braces: what rustfmt.toml allows, as nothing else holds such a line to it.
const LIMIT_IN_MACROS: usize = 110;
/// A literal with more columns than this is prose or data, and does not count.
const LONG_LITERAL: usize = 40;

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.rust_files() {
        let macros = macros(&file.code);
        for (index, line) in measured(&file.text).lines().enumerate() {
            let is_in_macro = || macros.iter().any(|lines| lines.contains(&index));
            let columns = line.trim_end().chars().count();
            if columns > LIMIT || columns > LIMIT_IN_MACROS && is_in_macro() {
                let (place, limit) =
                    if is_in_macro() { ("in a macro", LIMIT_IN_MACROS) } else { ("of code", LIMIT) };
                let message = format!("a line {place} has {columns} columns, at most {limit} are allowed");
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
}

/// The text without comments and long literals, with all its line ends.
fn measured(text: &str) -> String {
    let mut measured = String::with_capacity(text.len());
    for (piece, stretch) in pieces(text) {
        let is_measured = match piece {
            Piece::Code => true,
            Piece::Comment => false,
            Piece::Literal => stretch.chars().count() <= LONG_LITERAL,
        };
        if is_measured {
            measured.push_str(stretch);
        } else {
            measured.extend(stretch.chars().filter(|c| *c == '\n'));
        }
    }
    measured
}

/// The lines, from 0, of macros with braces, definitions included: those of both braces and all between. Those that are not
/// closed end where the text does.
fn macros(code: &str) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    // The first line of the macro outside all others, and the braces that are open within it.
    let mut start = 0;
    let mut open = 0usize;
    let mut line = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'\n' => line += 1,
            b'{' if open > 0 => open += 1,
            b'{' if is_after_macro_name(&code[..at]) => (start, open) = (line, 1),
            b'}' if open > 0 => {
                open -= 1;
                if open == 0 {
                    found.push(start..=line);
                }
            }
            _ => {}
        }
    }
    if open > 0 {
        found.push(start..=line);
    }
    found
}

/// Whether `name!` or `macro_rules! name` is what the code ends with.
fn is_after_macro_name(code: &str) -> bool {
    let is_call = |code: &str| {
        code.trim_end().strip_suffix('!').is_some_and(|name| name.bytes().next_back().is_some_and(is_word))
    };
    is_call(code) || is_call(code.trim_end().trim_end_matches(|c: char| c == '_' || c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        messages_of(check, &[("a.rs", text)])
    }

    /// A line of so many columns.
    fn line(columns: usize) -> String {
        "x".repeat(columns)
    }

    #[test]
    fn lines_at_the_limit_pass_and_one_more_does_not() {
        assert_eq!(messages(&format!("{}\n", line(120))), [""; 0]);
        assert_eq!(
            messages(&format!("\n{}\n", line(121))),
            ["a.rs:2: a line of code has 121 columns, at most 120 are allowed"]
        );
        assert_eq!(messages(&format!("{}\n", "ä".repeat(120))), [""; 0]);
        assert_eq!(messages_of(check, &[("a.md", &line(200))]), [""; 0]);
    }

    #[test]
    fn macros_are_held_to_less() {
        for opening in ["forms! {", "a::b! {", "macro_rules! m {", "let x = m! { { } {"] {
            let of = |columns| messages(&format!("{opening}\n{}\n}}}}\n{}\n", line(columns), line(111)));
            assert_eq!(of(110), [""; 0], "{opening}");
            assert_eq!(
                of(111)[0],
                "a.rs:2: a line in a macro has 111 columns, at most 110 are allowed",
                "{opening}"
            );
        }
        for opening in ["fn f() {", "if a != {", "m! (", "if !x {", "m! {}", "m! { a { } }", "\"m! {\""] {
            assert_eq!(messages(&format!("{opening}\n{}\n", line(111))), [""; 0], "{opening}");
        }
        assert_eq!(messages(&format!("m! {{ {} }}\n", line(105))).len(), 1);
    }

    #[test]
    fn macros_end_with_their_braces() {
        assert_eq!(macros("a\nm! {\n n! { }\n}\nb\nm! { }\nm! {\n"), [1..=3, 5..=5, 6..=7]);
        assert_eq!(messages(&format!("m! {{\n}}\n{}\n", line(111))), [""; 0]);
    }

    #[test]
    fn comments_and_long_literals_do_not_count() {
        let long = line(LONG_LITERAL);
        for text in [
            format!("m! {{\n/// {}\n}}\n", line(200)),
            format!("{} // {}\n", line(120), line(100)),
            format!("{}\"{long}\"\n", line(120)),
            format!("\"{}\n{}\"\n", line(200), line(200)),
        ] {
            assert_eq!(messages(&text), [""; 0], "{text}");
        }
        for text in [format!("{}\"{long}\"\n", line(121)), format!("{}\"x\"\n", line(118))] {
            assert_eq!(
                messages(&text),
                ["a.rs:1: a line of code has 121 columns, at most 120 are allowed"],
                "{text}"
            );
        }
    }
}
