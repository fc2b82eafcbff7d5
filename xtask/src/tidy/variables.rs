//! The table of smallest sizes and the configuration tables of the crates name the same variables.

use super::tree::{Finding, Tree};
use crate::smallest;

const TABLE: &str = "xtask/src/smallest.rs";

/// A row of a configuration table that counts something.
#[derive(Debug)]
struct Variable<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let named = smallest::VARIABLES.iter().map(|(name, _)| *name).chain(smallest::LEFT_ALONE.iter().copied());
    compare(tree, &named.collect::<Vec<_>>(), findings);
    check_mark(tree, smallest::MARK.0, findings);
}

/// Tests that set sizes themselves never see the environment; one that reads the mark shows that the environment is read.
fn check_mark(tree: &Tree, mark: &str, findings: &mut Vec<Finding>) {
    if !tree.rust_files().any(|file| !file.path.starts_with("xtask/") && file.text.contains(mark)) {
        let message = format!("no test looks at {mark}: the second pass would only repeat the first");
        findings.push(Finding::new(TABLE, 1, message));
    }
}

fn compare(tree: &Tree, named: &[&str], findings: &mut Vec<Finding>) {
    let defined = counted(tree);
    let table = tree.file(TABLE).map_or("", |file| &file.text);
    for name in named.iter().filter(|name| defined.iter().all(|variable| variable.name != **name)) {
        let quoted = format!("\"{name}\"");
        let line = table.lines().position(|line| line.contains(&quoted)).map_or(1, |index| index + 1);
        findings.push(Finding::new(
            TABLE,
            line,
            format!("no crate has a variable {name} that counts something"),
        ));
    }
    for variable in defined.iter().filter(|variable| !named.contains(&variable.name)) {
        let message = format!("{TABLE} does not say what the smallest {} is", variable.name);
        findings.push(Finding::new(variable.path, variable.line, message));
    }
}

/// The variables with a count or a number of bytes: rows in which the unit follows the name.
fn counted(tree: &Tree) -> Vec<Variable<'_>> {
    let mut found = Vec::new();
    for file in
        tree.rust_files().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"))
    {
        for (index, text) in file.text.lines().enumerate() {
            let Some((_, row)) = text.split_once("\"RMA_") else { continue };
            let Some((name, rest)) = row.split_once('"') else { continue };
            if rest.starts_with(", Count,") || rest.starts_with(", Bytes,") {
                let start = text.len() - row.len() - "RMA_".len();
                let name = &text[start..start + "RMA_".len() + name.len()];
                found.push(Variable { name, path: &file.path, line: index + 1 });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "variables! {\n    a: u64 = 1u64, \"RMA_A\", Count, 0..=1,\n    b: u64 = 1u64, \"RMA_B\", Bytes, 0..=1,\n    c: u64 = 1u64, \"RMA_C\", Seconds, 0..=1,\n}\nlet d = \"RMA_D\";\n";

    fn messages(named: &[&str]) -> Vec<String> {
        let table = "\n(\"RMA_A\", 1)\n(\"RMA_D\", 1)\n";
        let tree = Tree::of(&[
            ("crates/a/src/config.rs", CONFIG),
            (TABLE, table),
            ("tests/x.rs", "\"RMA_X\", Count,"),
        ]);
        let mut findings = Vec::new();
        compare(&tree, named, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tables_that_agree_pass() {
        assert_eq!(messages(&["RMA_B", "RMA_A"]), [""; 0]);
    }

    #[test]
    fn a_mark_that_is_not_looked_at_is_found() {
        for (path, count) in [("xtask/src/smallest.rs", 1), ("tests/src/world.rs", 0)] {
            let mut findings = Vec::new();
            check_mark(&Tree::of(&[(path, "(\"RMA_SMALL\", \"1\")")]), "RMA_SMALL", &mut findings);
            assert_eq!(findings.len(), count, "{path}");
        }
    }

    #[test]
    fn names_on_one_side_only_are_found() {
        assert_eq!(
            messages(&["RMA_A", "RMA_D"]),
            [
                "xtask/src/smallest.rs:3: no crate has a variable RMA_D that counts something",
                "crates/a/src/config.rs:3: xtask/src/smallest.rs does not say what the smallest RMA_B is"
            ]
        );
    }
}
