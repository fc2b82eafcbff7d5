//! Programs as their first comments describe them, and the list of calls that some of them still miss.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// A program of `tests/c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its file without the ending.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// On how many ranks it is to be run, one job each.
    pub ranks: Vec<u32>,
    /// How it ends.
    pub expect: Expect,
    /// Whether it is one of the few for a quick pass under a memory checker.
    pub is_quick: bool,
    /// Whether all its ranks must be on one node.
    pub needs_one_node: bool,
    excuses: Vec<Excuse>,
}

/// How a job of a program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// With status 0, "no errors" and no complaint.
    NoErrors,
    /// With this status.
    Exit(i32),
    /// With any other status than 0, and a complaint that has these words.
    Death(String),
}

/// Another library that a program is not run with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excuse {
    /// Its name; `None` means any.
    library: Option<String>,
    /// Only on so many ranks; empty means any number.
    ranks: Vec<u32>,
}

impl Source {
    /// Reads the first comment.
    ///
    /// # Errors
    /// A line that is not as it must be, and why.
    fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let comment =
            text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map(|(comment, _)| comment);
        let comment = comment.ok_or("a program begins with a comment")?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a name is text")?;
        let mut source = Self {
            name: name.to_owned(),
            path: path.to_owned(),
            ranks: Vec::new(),
            expect: Expect::NoErrors,
            is_quick: false,
            needs_one_node: false,
            excuses: Vec::new(),
        };
        for line in comment.lines().map(|line| line.trim().trim_start_matches('*').trim()) {
            match line.split_once(": ") {
                Some(("ranks", list)) => source.ranks = numbers(list)?,
                Some(("expect", words)) => source.expect = Expect::parse(words)?,
                Some(("peers", words)) => source.excuses.push(Excuse::parse(words)?),
                Some(("memcheck", "yes")) => source.is_quick = true,
                Some(("nodes", "one")) => source.needs_one_node = true,
                Some((name @ ("memcheck" | "nodes"), other)) => {
                    return Err(format!("{name}: {other} means nothing"));
                }
                _ => {}
            }
        }
        match source.ranks.is_empty() {
            true => Err("the comment does not say on how many ranks".to_owned()),
            false => Ok(source),
        }
    }

    /// Whether it is run with this library on any number of ranks.
    pub fn is_for_any(&self, library: &str) -> bool {
        self.ranks.iter().any(|ranks| self.is_for(library, *ranks))
    }

    /// Whether it is run with this library on so many ranks.
    pub fn is_for(&self, library: &str, ranks: u32) -> bool {
        !self.excuses.iter().any(|excuse| {
            excuse.library.as_deref().is_none_or(|name| name == library)
                && (excuse.ranks.is_empty() || excuse.ranks.contains(&ranks))
        })
    }
}

impl Expect {
    fn parse(words: &str) -> Result<Self, String> {
        match words.split_once(' ') {
            Some(("exit", status)) => {
                status.parse().map(Self::Exit).map_err(|error| format!("expect: {words}: {error}"))
            }
            Some(("death", complaint)) => Ok(Self::Death(complaint.to_owned())),
            _ => Err(format!("expect: {words} means nothing")),
        }
    }
}

impl Excuse {
    /// `none, why`, `not NAME, why` or `not NAME on NUMBERS, why`.
    fn parse(words: &str) -> Result<Self, String> {
        let (which, why) = words.split_once(", ").ok_or_else(|| format!("peers: {words} has no reason"))?;
        if why.trim().is_empty() {
            return Err(format!("peers: {words} has no reason"));
        }
        if which == "none" {
            return Ok(Self { library: None, ranks: Vec::new() });
        }
        let which = which.strip_prefix("not ").ok_or_else(|| format!("peers: {words} means nothing"))?;
        let (name, ranks) = which.split_once(" on ").unwrap_or((which, ""));
        Ok(Self { library: Some(name.to_owned()), ranks: numbers(ranks)? })
    }
}

fn numbers(list: &str) -> Result<Vec<u32>, String> {
    list.split_whitespace().map(|word| word.parse().map_err(|_| format!("{word} is no number"))).collect()
}

/// The folder of the programs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

/// All programs, in the order of their names.
///
/// # Panics
/// When a file cannot be read or has no proper first comment.
pub fn sources() -> Vec<Source> {
    let entries = read_dir(folder()).expect("the folder of the programs is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = read_to_string(path).expect("a program is text");
            Source::parse(path, &text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// Which programs use calls that the library does not have yet, and which calls: the list `tests/c/missing.txt`.
///
/// # Panics
/// When the list cannot be read or has a program twice.
pub fn missing() -> BTreeMap<String, BTreeSet<String>> {
    let path = folder().join("missing.txt");
    let text = read_to_string(&path).expect("the list of missing calls is there");
    let mut list = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace().map(str::to_owned);
        let name =
            words.next().expect("a line that is not empty has a word").trim_end_matches(':').to_owned();
        assert!(list.insert(name, words.collect()).is_none(), "{}: twice: {line}", path.display());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(comment: &str) -> Result<Source, String> {
        Source::parse(Path::new("x/some_name.c"), &format!("/* {comment} */\nint main(void);\n"))
    }

    #[test]
    fn the_first_comment_is_read() {
        let source = parse(
            "Shows: this.\n *\n * ranks: 1 4\n * expect: death no such rank\n * memcheck: yes\n * peers: not a on 2 4, why",
        )
        .unwrap();
        assert_eq!((source.name.as_str(), source.ranks.as_slice()), ("some_name", [1, 4].as_slice()));
        assert_eq!(source.expect, Expect::Death("no such rank".to_owned()));
        assert!(source.is_quick && source.is_for("a", 1) && !source.is_for("a", 4) && source.is_for("b", 4));
        let source = parse("ranks: 3\n * expect: exit 7\n * peers: none, for a reason").unwrap();
        assert_eq!(source.expect, Expect::Exit(7));
        assert!(!source.is_for("a", 3) && !source.is_quick);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for comment in
            ["", "ranks: two", "ranks: 1\nexpect: joy", "ranks: 1\npeers: not a", "ranks: 1\nmemcheck: no"]
        {
            parse(comment).unwrap_err();
        }
    }
}
