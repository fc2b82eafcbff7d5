//! The table of smallest sizes names only variables that some crate reads.

use super::tree::{Finding, Tree};
use crate::smallest;

const TABLE: &str = "xtask/src/smallest.rs";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    check_names(tree, smallest::VARIABLES.iter().map(|(name, _)| *name), findings);
}

fn check_names<'a>(tree: &Tree, names: impl Iterator<Item = &'a str>, findings: &mut Vec<Finding>) {
    let table = tree.file(TABLE).map_or("", |file| &file.text);
    for name in names {
        let quoted = format!("\"{name}\"");
        let is_read = tree.rust_files().any(|file| {
            file.path.starts_with("crates/") && file.path.contains("/src/") && file.text.contains(&quoted)
        });
        if !is_read {
            let line = table.lines().position(|line| line.contains(&quoted)).map_or(1, |index| index + 1);
            findings.push(Finding::new(TABLE, line, format!("no crate has a variable {name}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_nobody_reads_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/config.rs", "x: u64 = 1, \"RMA_X\", Count"),
            ("tests/y.rs", "\"RMA_Y\""),
            (TABLE, "\n(\"RMA_X\", 1)\n(\"RMA_Y\", 1)\n"),
        ]);
        let mut findings = Vec::new();
        check_names(&tree, ["RMA_X", "RMA_Y"].into_iter(), &mut findings);
        assert_eq!(findings, [Finding::new(TABLE, 3, "no crate has a variable RMA_Y")]);
    }
}
