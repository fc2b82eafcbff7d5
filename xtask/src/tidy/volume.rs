//! How much there is to read: the words of all pages below `docs/`, together.
//!
//! A page that grows costs words of another one. A word has a letter or a digit, so the lines of tables do not count; nor do
//! fenced code and the tables that `cargo xtask bench --docs` writes.

use super::tree::{Finding, Tree};
use crate::bench::{BUDGET_MARKS, SWEEP_MARKS};

const FOLDER: &str = "docs";
/// Most words of all pages together.
pub(super) const LIMIT: usize = 20_000;
/// What stands around generated tables.
const GENERATED: [(&str, &str); 2] = [BUDGET_MARKS, SWEEP_MARKS];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let pages = tree.files.iter().filter(|file| is_page(&file.path));
    let mut sizes: Vec<(usize, &str)> = pages.map(|file| (words(&file.text), file.path.as_str())).collect();
    let total: usize = sizes.iter().map(|(words, _)| words).sum();
    if total <= LIMIT {
        return;
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let longest: Vec<String> = sizes.iter().take(3).map(|(words, path)| format!("{path} {words}")).collect();
    let message = format!(
        "{total} words outside code and generated tables, at most {LIMIT} are allowed; the longest pages: {}",
        longest.join(", ")
    );
    findings.push(Finding::new(FOLDER, 1, message));
}

fn is_page(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/') && rest.ends_with(".md"))
}

/// The words of a page outside of code and generated tables.
fn words(page: &str) -> usize {
    let mut end_of_table = None;
    let mut is_code = false;
    let mut count = 0;
    for line in page.lines() {
        if let Some(end) = end_of_table {
            end_of_table = (!line.contains(end)).then_some(end);
        } else if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if let Some((_, end)) = GENERATED.iter().find(|(begin, _)| !is_code && line.contains(begin)) {
            end_of_table = Some(*end);
        } else if !is_code {
            count += line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    #[test]
    fn code_and_generated_tables_do_not_count() {
        assert_eq!(words("# One two\n\n| three | **four** |\n| --- | - |\n"), 4);
        assert_eq!(words("one\n```sh\nmany words here\n```\n  ```\nmore\n  ```\ntwo\n"), 2);
        for (begin, end) in GENERATED {
            let page = format!("one\n{begin}X -->\n| 1 | 2 |\n\ntext\n{end}\ntwo\n");
            assert_eq!(words(&page), 2, "{begin}");
        }
    }

    #[test]
    fn all_pages_together_have_a_limit() {
        let half = "word ".repeat(LIMIT / 2);
        let pages = |more| {
            let second = format!("{half}{more}");
            messages_of(
                check,
                &[("docs/a.md", &half), ("docs/b/c.md", &second), ("d.md", &half), ("docs/e.svg", &half)],
            )
        };
        assert_eq!(pages(""), [""; 0]);
        assert_eq!(
            pages("one"),
            [format!(
                "docs:1: {} words outside code and generated tables, at most {LIMIT} are allowed; \
                 the longest pages: docs/b/c.md {}, docs/a.md {}",
                LIMIT + 1,
                LIMIT / 2 + 1,
                LIMIT / 2
            )]
        );
    }
}
