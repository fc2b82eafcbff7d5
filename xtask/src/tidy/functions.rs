//! Functions in masked code: their names, and the lines they span.
//!
//! Counts brackets, knows no grammar beyond that. A function type (`fn(u8)`) has no name and is not a function here.

use super::mask::is_word;

/// A function with its lines, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name, without path; `$name` in a macro.
    pub(super) name: String,
    /// The line of `fn`.
    pub(super) line: usize,
    /// Lines from `fn` to the end of the body; 0 for a declaration without body.
    pub(super) lines: usize,
}

/// All functions, nested ones included, in text order.
pub(super) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if at > 0 && is_word(code.as_bytes()[at - 1]) {
            continue;
        }
        let rest = code[at + 3..].trim_start();
        let name: String =
            rest.chars().take_while(|c| *c == '$' || *c == '_' || c.is_alphanumeric()).collect();
        if name.is_empty() {
            continue;
        }
        let start = code.len() - rest.len();
        let lines = body_end(code, start).map_or(0, |end| newlines(&code[at..end]) + 1);
        found.push(Function { name, line: newlines(&code[..at]) + 1, lines });
    }
    found
}

/// Offset of the brace that ends the body of a function whose name starts at `start`; nothing without a body.
fn body_end(code: &str, start: usize) -> Option<usize> {
    // Brackets that are open; a body's brace is the first one outside all others.
    let mut open = 0usize;
    let mut is_in_body = false;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => open += 1,
            b'{' => {
                is_in_body |= open == 0;
                open += 1;
            }
            b')' | b']' | b'}' => {
                open = open.checked_sub(1)?;
                if is_in_body && open == 0 {
                    return Some(at);
                }
            }
            b';' if open == 0 => return None,
            _ => {}
        }
    }
    None
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(code: &str) -> Vec<(String, usize, usize)> {
        functions(code).into_iter().map(|f| (f.name, f.line, f.lines)).collect()
    }

    #[test]
    fn bodies_are_measured() {
        let code = "struct S;\nfn a() {}\npub(crate) const fn b<T>(\n    f: fn(u8) -> u8,\n) -> [u8; 3]\nwhere\n    T: X,\n{\n    if x { y }\n}\n";
        assert_eq!(spans(code), [("a".to_owned(), 2, 1), ("b".to_owned(), 3, 8)]);
    }

    #[test]
    fn declarations_and_types_have_no_body() {
        let code = "trait T {\n    fn a(&self) -> [u8; 2];\n    fn b(&self) {\n    }\n}\ntype F = fn (u8);\n";
        assert_eq!(spans(code), [("a".to_owned(), 2, 0), ("b".to_owned(), 3, 2)]);
    }

    #[test]
    fn nested_functions_and_macros_count() {
        let code =
            "fn a() {\n    fn b() {\n    }\n}\nmacro_rules! m { ($n:ident) => {\n    fn $n() {\n    }\n} }\n";
        assert_eq!(spans(code), [("a".to_owned(), 1, 4), ("b".to_owned(), 2, 2), ("$n".to_owned(), 6, 2)]);
    }

    #[test]
    fn words_that_end_in_fn_are_not_functions() {
        assert_eq!(spans("let often = my_fn ;\nFn (x)"), []);
    }
}
