//! Types of a crate's library: each name is defined in one file.
//!
//! What a name stands for must not depend on the file that it is read in. Types in functions, implementations, macros and modules of
//! tests do not count, nor do programs and examples, which are crates of their own, and tools of the repository. A file for some
//! processors may stand in for the one beside it, and has the same names.

use super::mask::is_word;
use super::tree::{Finding, Tree};
use std::collections::BTreeMap;

/// Where the crates lie.
const CRATES: &str = "crates/";

/// How the name of a file ends that is for some processors.
const FOR_PROCESSORS: &str = "_x86_64.rs";

const KEYWORDS: &[&str] = &["struct", "enum", "union", "trait", "type"];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for file in tree.rust_files() {
        let Some((name, rest)) = file.path.split_once("/src/") else { continue };
        if !name.starts_with(CRATES) || !is_of_library(rest) {
            continue;
        }
        for (defined, line) in types(&file.code) {
            let other = *first.entry((name, defined)).or_insert(&file.path);
            if module(other) != module(&file.path) {
                let message = format!("{other} defines a type {defined} as well: rename one of them");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
}

/// The path of a file without what only says for which processors it is.
fn module(path: &str) -> &str {
    path.strip_suffix(FOR_PROCESSORS).or_else(|| path.strip_suffix(".rs")).unwrap_or(path)
}

/// Whether a path below the sources is of the library, and not compiled for tests only.
fn is_of_library(rest: &str) -> bool {
    !rest.split('/').any(is_for_tests) && !rest.starts_with("bin/")
}

fn is_for_tests(text: &str) -> bool {
    text.contains("test") || text.contains("loom")
}

/// Types that masked code defines in modules, each with its line, from 1.
fn types(code: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    // For each brace that is open, whether what it holds is a module.
    let mut open = Vec::new();
    let mut start = 0;
    for (at, byte) in code.bytes().enumerate().filter(|(_, byte)| b"{};".contains(byte)) {
        let (attributes, declaration) = split(&code[start..at]);
        let counts = open.iter().all(|is_module| *is_module) && !is_for_tests(attributes);
        let (keyword, rest) = word(declaration);
        let (name, _) = word(rest);
        if counts && KEYWORDS.contains(&keyword) && !name.is_empty() {
            found.push((name, code[..at - declaration.len()].matches('\n').count() + 1));
        }
        match byte {
            b'{' => open.push(counts && keyword == "mod"),
            b'}' => _ = open.pop(),
            _ => {}
        }
        start = at + 1;
    }
    found
}

/// The attributes of an item, and the item from its keyword on.
fn split(item: &str) -> (&str, &str) {
    let mut rest = item.trim_start();
    while rest.starts_with('#') {
        rest = skip(rest, b'[', b']').trim_start();
    }
    let attributes = &item[..item.len() - rest.len()];
    if let ("pub", after) = word(rest) {
        rest = if after.starts_with('(') { skip(after, b'(', b')').trim_start() } else { after };
    }
    if let ("unsafe", after) = word(rest) {
        rest = after;
    }
    (attributes, rest)
}

/// The first word, and what stands behind it.
fn word(text: &str) -> (&str, &str) {
    let len = text.bytes().take_while(|byte| is_word(*byte)).count();
    (&text[..len], text[len..].trim_start())
}

/// What stands behind the first brackets of these kinds.
fn skip(text: &str, opening: u8, closing: u8) -> &str {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == opening {
            depth += 1;
        } else if byte == closing && depth <= 1 {
            return &text[at + 1..];
        } else if byte == closing {
            depth -= 1;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    #[test]
    fn types_of_modules_are_found() {
        let code = "struct A;\n#[derive(B)]\npub enum B {\n}\n#[repr(C)] pub(in crate::a) union C {\n}\n\
                    pub unsafe trait D: E {\n    type F;\n}\nmod g {\n    type G<T> = [T; 2];\n}\n";
        assert_eq!(types(code), [("A", 1), ("B", 3), ("C", 5), ("D", 7), ("G", 11)]);
    }

    #[test]
    fn others_are_not() {
        for code in [
            "fn f() {\n    struct A;\n    mod m { struct A; }\n}\n",
            "impl A {\n    type B = C;\n}\n",
            "macro_rules! m {\n    () => { struct A; };\n}\n",
            "#[cfg(test)]\nmod tests {\n    struct A;\n    mod m { struct A; }\n}\n",
            "#[cfg(all(test, x))]\nstruct A;\n",
            "use a::{structs};\nlet structure;\n",
        ] {
            assert_eq!(types(code), [], "{code}");
        }
    }

    #[test]
    fn a_name_is_of_one_file() {
        let code = "//! struct B;\nstruct A;\n";
        let silent = [
            ("crates/k/src/a.rs", code),
            ("crates/k/src/b.rs", "//! A.\n#[cfg(x)]\nstruct B;\n#[cfg(y)]\nstruct B;\n"),
            ("crates/k/src/a_x86_64.rs", code),
            ("crates/k/src/bin/a.rs", code),
            ("crates/k/src/a/tests.rs", code),
            ("crates/k/examples/a.rs", code),
            ("crates/l/src/a.rs", code),
            ("tests/src/a.rs", code),
            ("tests/src/b.rs", code),
        ];
        assert_eq!(messages_of(check, &silent), [""; 0]);
        for other in ["crates/k/src/c.rs", "crates/k/src/c_x86_64.rs"] {
            let loud = [("crates/k/src/a.rs", code), (other, "//! C.\nfn f() {}\nenum A {}\n")];
            let message =
                format!("{other}:3: crates/k/src/a.rs defines a type A as well: rename one of them");
            assert_eq!(messages_of(check, &loud), [message]);
        }
    }
}
