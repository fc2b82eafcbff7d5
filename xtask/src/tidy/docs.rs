//! Documents that can be wrong: links lead somewhere, and paths that are named exist.

use super::tree::{File, Finding, Tree};

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
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

/// The words in backquotes.
pub(super) fn quoted(text: &str) -> Vec<&str> {
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
    use super::super::tree::messages_of;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        messages_of(check, files)
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
}
