//! Files that implement the methods of a `Window`: at most four in a crate.
//!
//! A call of the chapter is found in one of them. What it needs besides are functions that take the window, in files of their own subjects.
//! Implementations of traits do not count.

use super::mask::is_word;
use super::tree::{Finding, Tree};
use std::collections::BTreeMap;

const TYPE: &str = "Window";
/// Most files of a crate.
const LIMIT: usize = 4;

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut crates: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in tree.rust_files().filter(|file| implements(&file.code)) {
        if let Some((name, rest)) = file.path.split_once("/src/") {
            crates.entry(name).or_default().push(rest);
        }
    }
    for (name, files) in crates.iter().filter(|(_, files)| files.len() > LIMIT) {
        let message = format!(
            "methods of {TYPE} are in {} files, at most {LIMIT} are allowed: {}",
            files.len(),
            files.join(", ")
        );
        findings.push(Finding::new(&format!("{name}/src"), 1, message));
    }
}

/// Whether masked code has methods of the type, of its own and not of a trait.
fn implements(code: &str) -> bool {
    let items = code.match_indices("impl").filter(|(at, _)| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    });
    items.map(|(at, word)| &code[at + word.len()..]).any(|rest| {
        let named = skip_parameters(rest).trim_start();
        let path = &named[..named.bytes().take_while(|byte| is_word(*byte) || *byte == b':').count()];
        let after = skip_parameters(&named[path.len()..]).trim_start();
        let is_inherent = after.starts_with('{') || after.starts_with("where");
        !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric())
            && path.rsplit("::").next() == Some(TYPE)
            && is_inherent
    })
}

/// What stands behind parameters in angle brackets, if there are some.
fn skip_parameters(code: &str) -> &str {
    if !code.starts_with('<') {
        return code;
    }
    let mut open = 0usize;
    let mut before = b' ';
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'<' => open += 1,
            // An arrow closes nothing.
            b'>' if before != b'-' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &code[at + 1..];
        }
        before = byte;
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    #[test]
    fn methods_are_told_from_all_else() {
        for code in [
            "impl Window {",
            "impl<T: Element, E: From<Error>> Window<'_, T, E> {",
            "impl<F: Fn(u8) -> u8> super::Window<F>\nwhere F: Copy {",
            "macro_rules! m { () => {\n        impl Window {\n",
        ] {
            assert!(implements(code), "{code}");
        }
        for code in [
            "impl fmt::Debug for Window {",
            "impl<T> Drop for Window<'_, T> {",
            "impl WindowState {",
            "impl DirectPath<'_> {",
            "impl Trait<Window> for X {",
            "fn f() -> impl Window {",
            "implWindow {",
            "impl<T Window {",
        ] {
            assert!(!implements(code), "{code}");
        }
    }

    #[test]
    fn a_crate_has_them_in_four_files() {
        let code = "//! A.\nimpl Window {\n}\nimpl Window {\n}\n";
        let mut files = vec![
            ("k/src/window/a.rs", code),
            ("k/src/window/b.rs", code),
            ("k/src/c.rs", code),
            ("k/src/d.rs", code),
            ("l/src/a.rs", code),
            ("l/tests/a.rs", code),
            ("k/src/e.rs", "//! impl Window {\nimpl Drop for Window {\n}\n"),
        ];
        assert_eq!(messages_of(check, &files), [""; 0]);
        files.push(("k/src/f.rs", code));
        assert_eq!(
            messages_of(check, &files),
            ["k/src:1: methods of Window are in 5 files, at most 4 are allowed: \
              window/a.rs, window/b.rs, c.rs, d.rs, f.rs"]
        );
    }
}
