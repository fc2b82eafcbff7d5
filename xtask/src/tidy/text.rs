//! Plain text: no tabs, no space at line ends, one line end at the end of a file.

use super::tree::{Finding, Tree};

/// Endings of the files that people write here. Other formats have rules of their own.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".txt", ".sh", ".yml", ".ci/run", ".gitignore"];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files.iter().filter(|file| ENDINGS.iter().any(|ending| file.path.ends_with(ending))) {
        for (index, line) in file.text.split_terminator('\n').enumerate() {
            if line.contains('\t') {
                findings.push(Finding::new(&file.path, index + 1, "tab"));
            }
            if line.ends_with(char::is_whitespace) {
                findings.push(Finding::new(&file.path, index + 1, "white space at the end of the line"));
            }
        }
        let lines = file.text.lines().count();
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            findings.push(Finding::new(&file.path, lines, "the file does not end with one line end"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        messages_of(check, &[(path, text)])
    }

    #[test]
    fn clean_text_passes() {
        for text in ["", "a\n", "a\n\n  b\n"] {
            assert_eq!(messages("a.md", text), [""; 0], "{text:?}");
        }
        assert_eq!(messages("table.tsv", "a\tb \n\n"), [""; 0]);
    }

    #[test]
    fn white_space_out_of_place_is_found() {
        assert_eq!(messages("a.rs", "x\n\ty\n"), ["a.rs:2: tab"]);
        for text in ["x\ny \n", "x\ny\r\n"] {
            assert_eq!(messages("a.rs", text), ["a.rs:2: white space at the end of the line"], "{text:?}");
        }
        for text in ["x\ny", "x\n\n"] {
            assert_eq!(
                messages("a.toml", text),
                ["a.toml:2: the file does not end with one line end"],
                "{text:?}"
            );
        }
    }
}
