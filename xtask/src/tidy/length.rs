//! Length of files and functions, and the list of exceptions, which may only shrink.
//!
//! A line of the list is a kind, a path, for functions a name, and the length allowed: `file a.rs 640`, `body a.rs 530`,
//! `function a.rs parse 90`. An entry that is no longer needed, or that allows a good deal more than there is, is a finding
//! like a file that is too long; so the list follows the code down.

use super::functions::functions;
use super::tree::{Finding, Tree};

/// Where the list lies.
const LIST: &str = "xtask/tidy-exceptions.txt";
/// An entry is to be lowered when it exceeds the length by more than this part of itself.
const SLACK_PERCENT: usize = 10;

/// What has a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A whole file, tests included.
    File,
    /// A file up to its module of tests.
    Body,
    /// A function from `fn` to the end of its body.
    Function,
}

impl Kind {
    const ALL: [Self; 3] = [Self::File, Self::Body, Self::Function];

    fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Body => "body",
            Self::Function => "function",
        }
    }

    /// Most lines without an exception.
    fn limit(self) -> usize {
        match self {
            Self::File => 600,
            Self::Body => 500,
            Self::Function => 80,
        }
    }

    fn describe(self, name: &str) -> String {
        match self {
            Self::File => "file".to_owned(),
            Self::Body => "file without its tests".to_owned(),
            Self::Function => format!("function {name}"),
        }
    }
}

/// Something measured.
#[derive(Debug)]
struct Measure<'a> {
    kind: Kind,
    path: &'a str,
    name: String,
    line: usize,
    lines: usize,
}

/// A line of the list.
#[derive(Debug)]
struct Exception {
    kind: Kind,
    path: String,
    name: String,
    cap: usize,
    line: usize,
}

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let exceptions = read_list(tree, findings);
    let measures = measure(tree);
    for measure in measures.iter().filter(|measure| measure.lines > measure.kind.limit()) {
        let cap = exceptions.iter().find(|e| e.is_about(measure)).map(|e| e.cap);
        if measure.lines > cap.unwrap_or(measure.kind.limit()) {
            let limit = match cap {
                Some(cap) => format!("{cap} by {LIST}"),
                None => measure.kind.limit().to_string(),
            };
            let what = measure.kind.describe(&measure.name);
            let message = format!("{what} has {} lines, at most {limit} are allowed", measure.lines);
            findings.push(Finding::new(measure.path, measure.line, message));
        }
    }
    for exception in &exceptions {
        // Two functions of a file may share a name: the longest one is what the entry is about.
        let lines = measures.iter().filter(|m| exception.is_about(m)).map(|m| m.lines).max();
        if let Some(message) = exception.judge(lines) {
            findings.push(Finding::new(LIST, exception.line, message));
        }
    }
}

impl Exception {
    fn parse(text: &str, line: usize) -> Option<Self> {
        let mut words = text.split_whitespace();
        let word = words.next()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let path = words.next()?.to_owned();
        let name = if kind == Kind::Function { words.next()?.to_owned() } else { String::new() };
        let cap = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { kind, path, name, cap, line })
    }

    fn is_about(&self, measure: &Measure<'_>) -> bool {
        self.kind == measure.kind && self.path == measure.path && self.name == measure.name
    }

    /// What is wrong with the entry itself, given the length there is.
    fn judge(&self, lines: Option<usize>) -> Option<String> {
        let what = format!("{} of {}", self.kind.describe(&self.name), self.path);
        match lines {
            None => Some(format!("there is no {what}: remove the entry")),
            Some(lines) if lines <= self.kind.limit() => {
                Some(format!("{what} has {lines} lines and needs no exception: remove the entry"))
            }
            Some(lines) if lines * 100 < self.cap * (100 - SLACK_PERCENT) => {
                Some(format!("{what} has only {lines} lines: lower the entry from {} to {lines}", self.cap))
            }
            Some(_) => None,
        }
    }
}

fn read_list(tree: &Tree, findings: &mut Vec<Finding>) -> Vec<Exception> {
    let mut exceptions: Vec<Exception> = Vec::new();
    let text = tree.file(LIST).map_or("", |file| &file.text);
    for (line, text) in text.lines().enumerate().map(|(index, text)| (index + 1, text)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match Exception::parse(text, line) {
            Some(new)
                if exceptions
                    .iter()
                    .any(|e| (e.kind, &e.path, &e.name) == (new.kind, &new.path, &new.name)) =>
            {
                findings.push(Finding::new(LIST, line, "there is an earlier entry for the same"));
            }
            Some(new) => exceptions.push(new),
            None => findings.push(Finding::new(
                LIST,
                line,
                "not an exception: kind, path, name of a function, lines",
            )),
        }
    }
    exceptions
}

fn measure(tree: &Tree) -> Vec<Measure<'_>> {
    let mut measures = Vec::new();
    for file in tree.rust_files() {
        let lines = file.text.lines().count();
        let whole = |kind, lines| Measure { kind, path: &file.path, name: String::new(), line: 1, lines };
        measures.push(whole(Kind::File, lines));
        if let Some(body) = lines_before_tests(&file.code) {
            measures.push(whole(Kind::Body, body));
        } else if !file.is_integration_test() {
            measures.push(whole(Kind::Body, lines));
        }
        measures.extend(functions(&file.code).into_iter().map(|function| Measure {
            kind: Kind::Function,
            path: &file.path,
            name: function.name,
            line: function.line,
            lines: function.lines,
        }));
    }
    measures
}

/// Lines before a module of tests at the end of a file.
pub(super) fn lines_before_tests(code: &str) -> Option<usize> {
    let lines: Vec<&str> = code.lines().collect();
    let tests = |pair: &[&str]| {
        pair[0].starts_with("#[cfg(") && pair[0].contains("test") && pair[1].starts_with("mod ")
    };
    lines.windows(2).position(tests)
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        messages_of(check, files)
    }

    fn lines(n: usize) -> String {
        "x\n".repeat(n)
    }

    fn function(n: usize) -> String {
        format!("fn long() {{\n{}}}\n", lines(n - 2))
    }

    #[test]
    fn lengths_at_the_limit_pass_and_one_more_does_not() {
        let with_tests = |body, rest| lines(body) + "#[cfg(test)]\nmod tests {\n" + &lines(rest);
        assert_eq!(messages(&[("a.rs", &lines(500)), ("b.rs", &function(80))]), [""; 0]);
        assert_eq!(messages(&[("a.rs", &with_tests(500, 98))]), [""; 0]);
        assert_eq!(
            messages(&[("a.rs", &with_tests(501, 10))]),
            ["a.rs:1: file without its tests has 501 lines, at most 500 are allowed"]
        );
        assert_eq!(
            messages(&[("a.rs", &with_tests(300, 299))]),
            ["a.rs:1: file has 601 lines, at most 600 are allowed"]
        );
        assert_eq!(
            messages(&[("a.rs", &format!("x\n{}", function(81)))]),
            ["a.rs:2: function long has 81 lines, at most 80 are allowed"]
        );
    }

    #[test]
    fn integration_tests_are_all_tests() {
        assert_eq!(
            messages(&[("crates/a/tests/b.rs", &lines(600)), ("tests/tests/c.rs", &lines(600))]),
            [""; 0]
        );
        assert_eq!(messages(&[("tests/tests/c.rs", &lines(601))]).len(), 1);
        assert_eq!(messages(&[("tests/src/c.rs", &lines(501))]).len(), 1);
    }

    #[test]
    fn exceptions_allow_up_to_their_cap() {
        let list = (LIST, "# why\n\nfunction a.rs long 90\n");
        assert_eq!(messages(&[("a.rs", &function(90)), list]), [""; 0]);
        assert_eq!(
            messages(&[("a.rs", &function(91)), list]),
            ["a.rs:1: function long has 91 lines, at most 90 by xtask/tidy-exceptions.txt are allowed"]
        );
        assert_eq!(messages(&[("a.rs", &lines(700)), (LIST, "file a.rs 700\nbody a.rs 700\n")]), [""; 0]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let at = |lines| messages(&[("a.rs", &function(lines)), (LIST, "function a.rs long 100\n")]);
        assert_eq!(at(90), [""; 0]);
        assert_eq!(
            at(89),
            [
                "xtask/tidy-exceptions.txt:1: function long of a.rs has only 89 lines: lower the entry from 100 to 89"
            ]
        );
        assert_eq!(
            at(80),
            [
                "xtask/tidy-exceptions.txt:1: function long of a.rs has 80 lines and needs no exception: remove the entry"
            ]
        );
        assert_eq!(
            messages(&[(LIST, "file gone.rs 700\n")]),
            ["xtask/tidy-exceptions.txt:1: there is no file of gone.rs: remove the entry"]
        );
    }

    #[test]
    fn a_malformed_list_is_a_finding() {
        for line in ["file a.rs", "file a.rs x", "folder a 700", "function a.rs 90", "file a.rs 700 900"] {
            let messages = messages(&[("a.rs", &lines(10)), (LIST, line)]);
            assert!(messages.iter().any(|m| m.contains("not an exception")), "{line}: {messages:?}");
        }
        let twice = messages(&[("a.rs", &function(90)), (LIST, &"function a.rs long 90\n".repeat(2))]);
        assert_eq!(twice, ["xtask/tidy-exceptions.txt:2: there is an earlier entry for the same"]);
    }
}
