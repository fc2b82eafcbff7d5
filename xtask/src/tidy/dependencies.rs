//! Third-party packages: each has its reason in a document, and each that a manifest names is used.

use super::docs::quoted;
use super::tree::{Dependency, Finding, Tree};
use std::collections::BTreeMap;

/// A row per package: its name first, the members that depend on it second.
const TABLE: &str = "docs/dependencies.md";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    check_table(tree, findings);
    for edge in tree.dependencies.iter().filter(|edge| !is_used(tree, edge)) {
        let message = format!("no code of {} names {}: remove the dependency", edge.member, edge.package);
        findings.push(Finding::new(&edge.manifest, 1, message));
    }
}

/// Whether the member's code, macros of it included, names the package.
fn is_used(tree: &Tree, edge: &Dependency) -> bool {
    let directory = edge.manifest.strip_suffix("Cargo.toml").unwrap_or_default();
    let name = edge.package.replace('-', "_");
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let mut files = tree.rust_files().filter(|file| file.path.starts_with(directory));
    files.any(|file| file.code.split(|c| !is_word(c)).any(|word| word == name))
}

/// Each package is in the table with exactly the members that depend on it.
fn check_table(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut rows = BTreeMap::new();
    let text = tree.file(TABLE).map_or("", |file| &file.text);
    for (index, line) in text.lines().enumerate() {
        let mut cells = line.split('|').skip(1);
        let (Some(first), Some(second)) = (cells.next(), cells.next()) else { continue };
        let (packages, members) = (quoted(first), quoted(second));
        for package in packages {
            if rows.insert(package, (index + 1, members.clone())).is_some() {
                findings.push(Finding::new(TABLE, index + 1, format!("{package} has an earlier row")));
            }
        }
    }
    for edge in &tree.dependencies {
        let is_listed = rows
            .get(edge.package.as_str())
            .is_some_and(|(_, members)| members.contains(&edge.member.as_str()));
        if !is_listed {
            let message = format!("{TABLE} does not say what {} needs {} for", edge.member, edge.package);
            findings.push(Finding::new(&edge.manifest, 1, message));
        }
    }
    for (package, (line, members)) in &rows {
        for member in members {
            if !tree.dependencies.iter().any(|edge| edge.package == *package && edge.member == *member) {
                findings.push(Finding::new(TABLE, *line, format!("{member} does not depend on {package}")));
            }
        }
        if members.is_empty() {
            findings.push(Finding::new(
                TABLE,
                *line,
                format!("no member is named that depends on {package}"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use mio::Poll;\nslab::Slab::new();\n#[my::png]\n";

    fn messages(table: &str, edges: &[(&str, &str)]) -> Vec<String> {
        let code = ["a/src/lib.rs", "b/src/lib.rs", "c/src/lib.rs"].map(|path| (path, CODE));
        let mut tree = Tree::of(&[&[(TABLE, table)][..], &code].concat());
        tree.dependencies.extend(edges.iter().map(|(member, package)| Dependency {
            member: (*member).to_owned(),
            manifest: format!("{member}/Cargo.toml"),
            package: (*package).to_owned(),
        }));
        let mut findings = Vec::new();
        check(&tree, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_table_of_dependencies_is_the_truth() {
        let table = "| package | where | why |\n|---|---|---|\n| `mio` | `a`, `b` | waiting |\n| `slab` | `a` | x |\n";
        assert_eq!(messages(table, &[("a", "mio"), ("b", "mio"), ("a", "slab")]), [""; 0]);
        assert_eq!(
            messages(table, &[("a", "mio"), ("b", "mio"), ("b", "slab"), ("c", "png")]),
            [
                "b/Cargo.toml:1: docs/dependencies.md does not say what b needs slab for",
                "c/Cargo.toml:1: docs/dependencies.md does not say what c needs png for",
                "docs/dependencies.md:4: a does not depend on slab"
            ]
        );
        let twice = "| `mio` | `a` | x |\n| `mio` | `a` | y |\n| `png` | | z |\n";
        assert_eq!(
            messages(twice, &[("a", "mio")]),
            [
                "docs/dependencies.md:2: mio has an earlier row",
                "docs/dependencies.md:3: no member is named that depends on png"
            ]
        );
    }

    #[test]
    fn dependencies_that_no_code_names_are_found() {
        let table = "| `crossbeam-channel` | `a` | x |\n";
        assert_eq!(
            messages(table, &[("a", "crossbeam-channel")]),
            ["a/Cargo.toml:1: no code of a names crossbeam-channel: remove the dependency"]
        );
        let mut tree = Tree::of(&[("a/src/lib.rs", "use crossbeam_channel::bounded;")]);
        let edge = |member: &str| Dependency {
            member: member.to_owned(),
            manifest: format!("{member}/Cargo.toml"),
            package: "crossbeam-channel".to_owned(),
        };
        assert!(is_used(&tree, &edge("a")) && !is_used(&tree, &edge("b")));
        tree.files[0] = super::super::tree::File::new("a/src/lib.rs", "// crossbeam_channel");
        assert!(!is_used(&tree, &edge("a")));
    }
}
