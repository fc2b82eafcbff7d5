//! Shape of Rust files: the opening prose, `lib.rs` and `mod.rs` without logic, and no unfinished or debugging macros.

use super::functions::functions;
use super::tree::{File, Finding, Tree};

/// Macros that may not stay.
const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.rust_files() {
        check_opening(file, findings);
        check_macros(file, findings);
        // What several integration tests share has to be a mod.rs: cargo takes any other file there for a test.
        if matches!(file.name(), "lib.rs" | "mod.rs") && !file.is_integration_test() {
            check_no_logic(file, findings);
            check_no_globs(file, findings);
        }
    }
}

/// The first line tells the reader what the file is.
fn check_opening(file: &File, findings: &mut Vec<Finding>) {
    let is_prose =
        file.text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > "//! ".len());
    if !is_prose {
        findings.push(Finding::new(&file.path, 1, "the file does not open with //! and what it is"));
    }
}

fn check_macros(file: &File, findings: &mut Vec<Finding>) {
    for (index, line) in file.code.lines().enumerate() {
        for name in MACROS {
            let call = format!("{name}!");
            let is_called = line.match_indices(&call).any(|(at, _)| {
                !line[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric())
                    && !line[at + call.len()..].starts_with('=')
            });
            if is_called {
                findings.push(Finding::new(&file.path, index + 1, format!("{call} may not stay")));
            }
        }
    }
}

/// Declarations of trait methods are allowed, bodies are not.
fn check_no_logic(file: &File, findings: &mut Vec<Finding>) {
    for function in functions(&file.code).iter().filter(|function| function.lines > 0) {
        let message = format!(
            "function {} has a body: {} holds prose, modules and re-exports",
            function.name,
            file.name()
        );
        findings.push(Finding::new(&file.path, function.line, message));
    }
}

fn check_no_globs(file: &File, findings: &mut Vec<Finding>) {
    let mut start = 0;
    for (index, line) in file.code.split_inclusive('\n').enumerate() {
        let statement = file.code[start..].split(';').next().unwrap_or_default();
        if is_public_use(line) && statement.contains('*') {
            let message = format!("{} re-exports by name, not by *", file.name());
            findings.push(Finding::new(&file.path, index + 1, message));
        }
        start += line.len();
    }
}

fn is_public_use(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("pub") else { return false };
    let rest = match rest.strip_prefix('(') {
        Some(restricted) => restricted.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    rest.starts_with(" use ")
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        messages_of(check, &[(path, text)])
    }

    #[test]
    fn files_open_with_prose() {
        assert_eq!(messages("a.rs", "//! What it is.\n"), [""; 0]);
        for text in ["", "\n//! Late.\n", "// Plain.\n", "//!\n", "//! \n", "/// Of an item.\n"] {
            let messages = messages("a.rs", text);
            assert_eq!(messages, ["a.rs:1: the file does not open with //! and what it is"], "{text:?}");
        }
    }

    #[test]
    fn unfinished_code_does_not_stay() {
        for name in MACROS {
            for call in [format!("{name}!()"), format!("x(std::{name}!(y, \"later\"))")] {
                let messages = messages("a.rs", &format!("//! A.\n{call}\n"));
                assert_eq!(messages, [format!("a.rs:2: {name}! may not stay")], "{call}");
            }
            let harmless =
                format!("//! A {name}!() in prose.\nlet x = \"{name}!\"; my_{name}!(); {name} != 1;\n");
            assert_eq!(messages("a.rs", &harmless), [""; 0]);
        }
    }

    #[test]
    fn module_files_hold_no_logic() {
        let code = "//! A.\npub trait T {\n    fn declared(&self);\n}\nfn f() {\n}\n";
        for name in ["lib.rs", "mod.rs"] {
            assert_eq!(
                messages(&format!("src/{name}"), code),
                [format!("src/{name}:5: function f has a body: {name} holds prose, modules and re-exports")]
            );
        }
        assert_eq!(messages("src/other.rs", code), [""; 0]);
        assert_eq!(messages("crates/a/tests/common/mod.rs", code), [""; 0]);
        assert_eq!(messages("src/lib.rs", "//! ```\n//! fn f() {}\n//! ```\nmod a;\n"), [""; 0]);
    }

    #[test]
    fn module_files_re_export_by_name() {
        for code in ["pub use a::*;", "pub(crate) use a::{\n    b,\n    c::*,\n};", "    pub use *;"] {
            let messages = messages("mod.rs", &format!("//! A.\n{code}\n"));
            assert_eq!(messages, ["mod.rs:2: mod.rs re-exports by name, not by *"], "{code}");
        }
        let good = "//! A.\nuse a::*;\npub use a::{b, c};\npub const X: *const u8 = b;\npub mod pub_use;\n";
        assert_eq!(messages("mod.rs", good), [""; 0]);
        assert_eq!(messages("a.rs", "//! A.\npub use a::*;\n"), [""; 0]);
    }
}
