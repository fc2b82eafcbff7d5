//! What the rules look at: the files of the repository and the packages of the workspace.

use super::mask::mask;
use crate::workspace::Workspace;
use std::fmt;
use std::path::Path;
use std::process::Command;

/// A file with text in it.
#[derive(Debug)]
pub(super) struct File {
    /// Path from the root of the repository.
    pub(super) path: String,
    /// The text as it is.
    pub(super) text: String,
    /// Rust code with comments and literals blanked; empty for other files.
    pub(super) code: String,
}

/// The repository.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Its files, in path order.
    pub(super) files: Vec<File>,
    /// Third-party packages, each with the workspace member that depends on it and that member's manifest.
    pub(super) dependencies: Vec<Dependency>,
}

/// One edge from a workspace member to a third-party package.
#[derive(Debug)]
pub(super) struct Dependency {
    /// The member.
    pub(super) member: String,
    /// The member's manifest.
    pub(super) manifest: String,
    /// The third-party package.
    pub(super) package: String,
}

/// A broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// Where: the file.
    pub(super) path: String,
    /// Where: the line, from 1.
    pub(super) line: usize,
    /// What is wrong, and what to do.
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

impl File {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { mask(text) } else { String::new() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether cargo builds it for integration tests only.
    pub(super) fn is_integration_test(&self) -> bool {
        self.path.contains("/tests/") && !self.path.contains("/src/")
    }

    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Tree {
    /// Reads every file of the repository that is text.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, String> {
        let mut paths = tracked(workspace.root()).map_or_else(|| walk(workspace), Ok)?;
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            // What is tracked but gone is a deletion that is not committed yet; what is not UTF-8 is not text.
            if let Ok(text) = std::fs::read_to_string(workspace.root().join(&path)) {
                files.push(File::new(&path, &text));
            }
        }
        let mut dependencies = Vec::new();
        for member in workspace.packages() {
            dependencies.extend(member.third_party.iter().map(|package| Dependency {
                member: member.name.clone(),
                manifest: member.manifest.clone(),
                package: package.clone(),
            }));
        }
        Ok(Self { files, dependencies })
    }

    pub(super) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The pages of Markdown.
    pub(super) fn pages(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or a directory of this path is part of the repository.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.files.iter().any(|file| {
                file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// A tree of these files, for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files.iter().map(|(path, text)| File::new(path, text)).collect(),
            dependencies: Vec::new(),
        }
    }
}

/// What a rule says of these files, for tests.
#[cfg(test)]
pub(super) fn messages_of(rule: fn(&Tree, &mut Vec<Finding>), files: &[(&str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    rule(&Tree::of(files), &mut findings);
    findings.iter().map(ToString::to_string).collect()
}

/// The files git knows or would add; nothing when there is no git or no repository (a source archive).
fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let list = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| list.split_terminator('\0').map(str::to_owned).collect())
}

/// Every file below the root that is not a build product.
fn walk(workspace: &Workspace) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    let mut directories = vec![workspace.root().to_owned()];
    while let Some(directory) = directories.pop() {
        let unreadable = |error| format!("{} cannot be read: {error}", directory.display());
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if entry.file_name() == ".git"
                || path == workspace.target()
                || path == workspace.root().join("target")
            {
                continue;
            }
            if entry.file_type().map_err(unreadable)?.is_dir() {
                directories.push(path);
            } else if let Some(path) = path.strip_prefix(workspace.root()).ok().and_then(Path::to_str) {
                files.push(path.to_owned());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_list_find_this_file() {
        let workspace = Workspace::find().unwrap();
        let walked = walk(&workspace).unwrap();
        assert!(walked.iter().any(|path| path == "xtask/src/tidy/tree.rs"));
        assert!(walked.iter().all(|path| !path.starts_with("target/") && !path.starts_with(".git/")));
        if let Some(tracked) = tracked(workspace.root()) {
            assert!(
                tracked.iter().all(|path| walked.contains(path) || !workspace.root().join(path).exists())
            );
        }
        let tree = Tree::read(&workspace).unwrap();
        assert!(tree.file("xtask/src/tidy/tree.rs").is_some_and(|file| file.code.contains("fn walk")));
        assert!(tree.dependencies.iter().any(|d| d.member == "xtask" && d.package == "clap"));
    }

    #[test]
    fn directories_are_part_of_a_tree() {
        let tree = Tree::of(&[("a/b/c.rs", "")]);
        for (path, found) in [("a", true), ("a/b/", true), ("a/b/c.rs", true), ("a/b/c", false), ("b", false)]
        {
            assert_eq!(tree.has(path), found, "{path}");
        }
    }
}
