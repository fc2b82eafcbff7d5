//! `docs/tuning.md` names every variable of the configuration tables, and no other.

use super::docs::quoted;
use super::tree::{Finding, Tree};

const PAGE: &str = "docs/tuning.md";
/// What follows the name in a row of a table.
const UNITS: [&str; 6] = ["Count", "Bytes", "Microseconds", "Seconds", "Switch", "Choice"];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let page = tree.file(PAGE).map_or("", |file| &file.text);
    let named: Vec<&str> = quoted(page).into_iter().filter(|word| is_name(word)).collect();
    let defined = defined(tree);
    for (name, path, line) in defined.iter().filter(|(name, ..)| !named.contains(name)) {
        findings.push(Finding::new(path, *line, format!("{PAGE} does not say when to touch {name}")));
    }
    for name in named.iter().filter(|name| defined.iter().all(|(known, ..)| known != *name)) {
        let line = page.lines().position(|line| line.contains(*name)).map_or(1, |index| index + 1);
        findings.push(Finding::new(PAGE, line, format!("no table has a variable {name}")));
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with("RMA_") && word.chars().all(|c| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Every row of every table: name, file, line.
fn defined(tree: &Tree) -> Vec<(&str, &str, usize)> {
    let mut rows = Vec::new();
    let files = tree.rust_files();
    for file in files.filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/")) {
        for (index, line) in file.text.lines().enumerate() {
            let Some((_, row)) = line.split_once('"') else { continue };
            // A default that is text stands before the name.
            for (at, _) in row.match_indices("RMA_") {
                let Some((name, rest)) = row[at..].split_once("\", ") else { continue };
                let unit = rest.split(',').next().unwrap_or_default();
                if is_name(name) && UNITS.contains(&unit) {
                    rows.push((name, file.path.as_str(), index + 1));
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "variables! {\n    a: u64 = 1u64, \"RMA_A\", Count, 0..=1,\n    b: String = \"auto\", \"RMA_B\", Choice, (),\n}\nlet c = (\"RMA_C\", \"1\");\n";

    fn messages(page: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/a/src/config.rs", CONFIG), (PAGE, page)]);
        let mut findings = Vec::new();
        check(&tree, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_with_all_variables_passes() {
        assert_eq!(messages("| `RMA_A` | … |\n`RMA_B`, and `RMA_B=1` is no name\n"), [""; 0]);
    }

    #[test]
    fn names_on_one_side_only_are_found() {
        assert_eq!(
            messages("RMA_A without quotes\n`RMA_B` and `RMA_C`\n"),
            [
                "crates/a/src/config.rs:2: docs/tuning.md does not say when to touch RMA_A",
                "docs/tuning.md:2: no table has a variable RMA_C"
            ]
        );
    }
}
