//! `unsafe` stands only in files that are listed, and every listed file has some.
//!
//! The list gives a reader of the project all the places where memory safety is a matter of proof.

use super::tree::{Finding, Tree};

/// Where the list lies: a path per line.
const LIST: &str = "xtask/unsafe-files.txt";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let list = tree.file(LIST).map_or("", |file| &file.text);
    let listed: Vec<(usize, &str)> = list
        .lines()
        .enumerate()
        .filter(|(_, path)| !path.is_empty() && !path.starts_with('#'))
        .map(|(index, path)| (index + 1, path))
        .collect();
    for file in tree.rust_files().filter(|file| listed.iter().all(|(_, path)| *path != file.path)) {
        if let Some(line) = first_unsafe(&file.code) {
            let message = format!("unsafe in a file that {LIST} does not list");
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    for (index, (line, path)) in listed.iter().enumerate() {
        if listed[..index].iter().any(|(_, earlier)| earlier == path) {
            findings.push(Finding::new(LIST, *line, format!("{path} is listed twice")));
        }
        match tree.file(path) {
            None => findings.push(Finding::new(LIST, *line, format!("there is no file {path}"))),
            Some(file) if first_unsafe(&file.code).is_none() => {
                findings.push(Finding::new(LIST, *line, format!("{path} has no unsafe: remove the entry")));
            }
            Some(_) => {}
        }
    }
}

/// The first line that holds the keyword.
fn first_unsafe(code: &str) -> Option<usize> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    code.lines()
        .position(|line| line.split(|c| !is_word(c)).any(|word| word == "unsafe"))
        .map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        messages_of(check, files)
    }

    #[test]
    fn every_form_of_unsafe_needs_an_entry() {
        for code in [
            "fn f() { unsafe {} }",
            "unsafe fn f() {}",
            "unsafe impl T for S {}",
            "pub unsafe trait T {}",
            "#[unsafe(no_mangle)]",
        ] {
            let code = format!("\n{code}\n");
            assert_eq!(
                messages(&[("a.rs", &code)]),
                ["a.rs:2: unsafe in a file that xtask/unsafe-files.txt does not list"],
                "{code}"
            );
            assert_eq!(messages(&[("a.rs", &code), (LIST, "# why\na.rs\n")]), [""; 0], "{code}");
        }
    }

    #[test]
    fn words_about_unsafe_do_not() {
        let code = "// unsafe\n#![forbid(unsafe_code)]\nlet s = \"unsafe\"; /* unsafe */\n";
        assert_eq!(messages(&[("a.rs", code)]), [""; 0]);
    }

    #[test]
    fn entries_that_do_not_hold_are_findings() {
        assert_eq!(
            messages(&[("a.rs", "// unsafe"), (LIST, "a.rs\nb.rs\n")]),
            [
                "xtask/unsafe-files.txt:1: a.rs has no unsafe: remove the entry",
                "xtask/unsafe-files.txt:2: there is no file b.rs"
            ]
        );
        assert_eq!(
            messages(&[("a.rs", "unsafe {}"), (LIST, "a.rs\na.rs\n")]),
            ["xtask/unsafe-files.txt:2: a.rs is listed twice"]
        );
    }
}
