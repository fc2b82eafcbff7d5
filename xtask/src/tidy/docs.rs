//! Documents that can be wrong: links lead somewhere, named paths exist, and every third-party package has its reason.

use super::tree::{File, Finding, Tree};
use std::collections::BTreeMap;

/// The table of third-party packages: a row per package, its name first, the members that use it second.
const DEPENDENCIES: &str = "docs/dependencies.md";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    check_dependencies(tree, findings);
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (index, line) in file.text.lines().enumerate() {
            for link in links(line) {
                if let Some(message) = judge_link(tree, file, link) {
                    findings.push(Finding::new(&file.path, index + 1, message));
                }
            }
            for path in named_paths(tree, line).filter(|path| !tree.has(path)) {
                findings.push(Finding::new(&file.path, index + 1, format!("there is no {path}")));
            }
        }
    }
}

/// Each package is in the table with exactly the members that depend on it.
fn check_dependencies(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut rows = BTreeMap::new();
    let text = tree.file(DEPENDENCIES).map_or("", |file| &file.text);
    for (index, line) in text.lines().enumerate() {
        let mut cells = line.split('|').skip(1);
        let (Some(first), Some(second)) = (cells.next(), cells.next()) else { continue };
        let (packages, members) = (quoted(first), quoted(second));
        for package in packages {
            if rows.insert(package, (index + 1, members.clone())).is_some() {
                findings.push(Finding::new(DEPENDENCIES, index + 1, format!("{package} has an earlier row")));
            }
        }
    }
    for edge in &tree.dependencies {
        let is_listed = rows
            .get(edge.package.as_str())
            .is_some_and(|(_, members)| members.contains(&edge.member.as_str()));
        if !is_listed {
            let message =
                format!("{DEPENDENCIES} does not say what {} needs {} for", edge.member, edge.package);
            findings.push(Finding::new(&edge.manifest, 1, message));
        }
    }
    for (package, (line, members)) in &rows {
        for member in members {
            if !tree.dependencies.iter().any(|edge| edge.package == *package && edge.member == *member) {
                findings.push(Finding::new(
                    DEPENDENCIES,
                    *line,
                    format!("{member} does not depend on {package}"),
                ));
            }
        }
        if members.is_empty() {
            findings.push(Finding::new(
                DEPENDENCIES,
                *line,
                format!("no member is named that depends on {package}"),
            ));
        }
    }
}

/// The words in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split_once(')')).map(|(target, _)| target)
}

/// What is wrong with a link, if it is one within the repository.
fn judge_link(tree: &Tree, file: &File, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = if path.is_empty() { Some(file.path.clone()) } else { resolve(&file.path, path) };
    let Some(target) = target.filter(|target| tree.has(target)) else {
        return Some(format!("the link {link} leads nowhere"));
    };
    let heading = heading?;
    let is_there = tree
        .file(&target)
        .is_some_and(|file| file.text.lines().any(|line| anchor(line).as_deref() == Some(heading)));
    (!is_there).then(|| format!("the link {link} names a heading that {target} does not have"))
}

/// The path from the root that a relative link of a file means; nothing when it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The anchor of a heading, as forges make it.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

/// Paths in backquotes that start with a directory at the root of the repository.
fn named_paths<'a>(tree: &'a Tree, line: &'a str) -> impl Iterator<Item = &'a str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    quoted(line).into_iter().filter(move |word| {
        let is_path = word.chars().all(is_plain) && !word.starts_with(['.', '/']);
        is_path && word.split_once('/').is_some_and(|(first, _)| tree.has(first))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::Dependency;
    use super::*;

    fn tree_messages(tree: &Tree) -> Vec<String> {
        let mut findings = Vec::new();
        check(tree, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        tree_messages(&Tree::of(files))
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# The Title: a `b`\n[a](docs/x.md) [b](#the-title-a-b) [c](docs/x.md#one) [d](https://e.org/f#g) [e](docs/)\n";
        assert_eq!(messages(&[("README.md", text), ("docs/x.md", "## One\n[up](../README.md)\n")]), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for (link, message) in [
            ("docs/y.md", "the link docs/y.md leads nowhere"),
            ("../x.md", "the link ../x.md leads nowhere"),
            ("#two", "the link #two names a heading that README.md does not have"),
            ("docs/x.md#two", "the link docs/x.md#two names a heading that docs/x.md does not have"),
        ] {
            let text = format!("# One\n[a]({link})\n");
            let messages = messages(&[("README.md", &text), ("docs/x.md", "# One\n")]);
            assert_eq!(messages, [format!("README.md:2: {message}")]);
        }
    }

    #[test]
    fn named_paths_exist() {
        let files = |text| [("ARCHITECTURE.md", text), ("crates/a/src/lib.rs", "")];
        let good = "`crates/a/src/lib.rs` `crates/a` `a/b` `crates/*/x` `/proc/self` `put/get`\n";
        assert_eq!(messages(&files(good)), [""; 0]);
        assert_eq!(messages(&files("see `crates/b/src`\n")), ["ARCHITECTURE.md:1: there is no crates/b/src"]);
    }

    fn dependency_messages(table: &str, edges: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::of(&[(DEPENDENCIES, table)]);
        tree.dependencies.extend(edges.iter().map(|(member, package)| Dependency {
            member: (*member).to_owned(),
            manifest: format!("{member}/Cargo.toml"),
            package: (*package).to_owned(),
        }));
        tree_messages(&tree)
    }

    #[test]
    fn the_table_of_dependencies_is_the_truth() {
        let table = "| package | where | why |\n|---|---|---|\n| `mio` | `a`, `b` | waiting |\n| `slab` | `a` | x |\n";
        assert_eq!(dependency_messages(table, &[("a", "mio"), ("b", "mio"), ("a", "slab")]), [""; 0]);
        assert_eq!(
            dependency_messages(table, &[("a", "mio"), ("b", "mio"), ("b", "slab"), ("c", "png")]),
            [
                "b/Cargo.toml:1: docs/dependencies.md does not say what b needs slab for",
                "c/Cargo.toml:1: docs/dependencies.md does not say what c needs png for",
                "docs/dependencies.md:4: a does not depend on slab"
            ]
        );
        let twice = "| `mio` | `a` | x |\n| `mio` | `a` | y |\n| `png` | | z |\n";
        assert_eq!(
            dependency_messages(twice, &[("a", "mio")]),
            [
                "docs/dependencies.md:2: mio has an earlier row",
                "docs/dependencies.md:3: no member is named that depends on png"
            ]
        );
    }
}
