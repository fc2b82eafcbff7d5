//! One word for one thing: names and comments say what the field says.
//!
//! A word counts wherever it stands in Rust code or a page of Markdown: alone, in comments and literals, or as a part of a name in
//! `snake_case` or `CamelCase`; words of a phrase stand one behind the other on a line. The list of changes may quote older words.
//! Files and folders that may still have a word are listed, and an entry whose place has it no more must be taken out.
//!
//! Comments name the rank, thread, lock or packet that they are about, never a person, without exceptions.
//!
//! Names in the code of the engine have no word for which the field has another one, even where it is plain English
//! in a comment: a fast path is not quick, a rank of the node not near. A function that tries a fast path begins with `try`.

use super::mask::{comments, mask};
use super::tree::{File, Finding, Tree};
use super::words::{is_in_name, parts};

/// Where the list lies: a word, or a phrase with `_` between its words, and a path per line.
const LIST: &str = "xtask/vocabulary.txt";

/// The only file that has to name the words.
const SELF: &str = "xtask/src/tidy/vocabulary.rs";

/// The list of changes.
const CHANGES: &str = "CHANGELOG.md";

/// Words in lower case, each with what stands in their place.
const WORDS: &[(&str, &str)] = &[
    ("agenda", "work list"),
    ("board", "shared-memory collective slot"),
    ("boards", "shared-memory collective slots"),
    ("calm", "fast path, or idle"),
    ("calmly", "on the fast path"),
    ("doze", "external wait"),
    ("dozes", "external waits"),
    ("gives_a_turn_away", "yields"),
    ("gives_its_turn_away", "yields"),
    ("habit", "eager issue"),
    ("lone", "eager issue, or an operation element"),
    ("long_way", "slow path"),
    ("nap", "a short sleep"),
    ("naps", "short sleeps, or adaptive spin"),
    ("nudge", "wake-up"),
    ("ordinary_way", "slow path"),
    ("outlook", "wait in memory"),
    ("quickly", "on the fast path"),
    ("short_way", "fast path"),
    ("short_ways", "fast paths"),
    ("sibling", "peer of the node"),
    ("siblings", "node domain, or peers of the node"),
    ("sight", "observer"),
    ("somebody_looks", "tracing is on"),
    ("stranger", "unauthenticated connection"),
    ("strangers", "unauthenticated connections"),
    ("tally", "counts"),
    ("vigil", "check for liveness"),
];

/// Words in lower case that names in the code of [`ENGINE`] do not have, each with what stands in their place. Comments may
/// have them where they are plain English.
const NAMES: &[(&str, &str)] = &[
    ("begun", "started, or issued"),
    ("door", "gate"),
    ("ground", "target domain"),
    ("member", "mapped target"),
    ("near", "node rank"),
    ("neighbor", "node target"),
    ("neighbors", "node targets"),
    ("quick", "fast"),
    ("rung", "woken"),
    ("told", "notified, or reported"),
    ("unordered", "needs a store fence"),
];

/// Where the names of [`NAMES`] do not stand.
const ENGINE: &str = "crates/rma-core/src";

/// The name of the standard library that ends in `now`.
const YIELD: &str = "yield_now";

/// Words for persons, in lower case, that comments do not have. Other places may: a message may quote a program, and a
/// column may have the name `who`.
const PERSONS: &[&str] =
    &["anybody", "anyone", "everybody", "nobody", "somebody", "someone", "who", "whoever", "whom"];

/// An entry of the list.
#[derive(Debug)]
struct Entry<'a> {
    word: &'a str,
    path: &'a str,
    /// From 1.
    line: usize,
    is_used: bool,
}

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut entries = read_list(tree, findings);
    for file in tree.rust_files().filter(|file| file.path != SELF) {
        check_file(file, &mut entries, findings);
    }
    for page in tree.pages().filter(|page| page.path != CHANGES) {
        check_words(page, &mut entries, findings);
    }
    for Entry { word, path, line, .. } in entries.iter().filter(|entry| !entry.is_used) {
        findings.push(Finding::new(LIST, *line, format!("{path} has no {word}: take the entry out")));
    }
}

fn check_words(file: &File, entries: &mut [Entry<'_>], findings: &mut Vec<Finding>) {
    for (index, text) in file.text.lines().enumerate() {
        let (parts, lower) = (parts(text), text.to_lowercase());
        for (word, instead) in WORDS {
            if (is_in_name(&parts, word) || is_phrase(&lower, word)) && !is_listed(entries, word, &file.path)
            {
                let message =
                    format!("\"{}\" is not a word of the vocabulary: {instead}", word.replace('_', " "));
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
}

fn check_file(file: &File, entries: &mut [Entry<'_>], findings: &mut Vec<Finding>) {
    check_words(file, entries, findings);
    check_names(file, findings);
    for (index, text) in comments(&file.text).lines().enumerate() {
        let parts = parts(text);
        for word in PERSONS.iter().filter(|word| is_in_name(&parts, word)) {
            let message =
                format!("\"{word}\" in a comment: name the rank, thread, lock or packet that it is");
            findings.push(Finding::new(&file.path, index + 1, message));
        }
    }
}

/// Names in code: words that the engine does not have, and functions that end in `now`.
fn check_names(file: &File, findings: &mut Vec<Finding>) {
    let is_engine = covers(ENGINE, &file.path);
    for (index, text) in mask(&file.text).lines().enumerate() {
        let parts = parts(text);
        for (word, instead) in NAMES.iter().filter(|(word, _)| is_engine && is_in_name(&parts, word)) {
            let message = format!("\"{word}\" is no part of a name of the engine: {instead}");
            findings.push(Finding::new(&file.path, index + 1, message));
        }
        if text.contains("_now") && names(text).any(|name| name.ends_with("_now") && name != YIELD) {
            let message = "a name that ends in \"_now\": a function of a fast path begins with \"try_\"";
            findings.push(Finding::new(&file.path, index + 1, message.to_owned()));
        }
    }
}

/// The names in a line of code.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|name| !name.is_empty())
}

/// Whether a file may have a word, which marks the entries that say so as used.
fn is_listed(entries: &mut [Entry<'_>], word: &str, path: &str) -> bool {
    let mut is_listed = false;
    for entry in entries.iter_mut().filter(|entry| entry.word == word && covers(entry.path, path)) {
        entry.is_used = true;
        is_listed = true;
    }
    is_listed
}

/// Whether the words of a phrase stand in a line.
fn is_phrase(lower: &str, word: &str) -> bool {
    word.contains('_') && lower.contains(&word.replace('_', " "))
}

/// Whether a path of the list is that of the file, or of a folder that it lies in.
fn covers(listed: &str, path: &str) -> bool {
    path.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn read_list<'a>(tree: &'a Tree, findings: &mut Vec<Finding>) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for (index, text) in tree.file(LIST).map_or("", |file| &file.text).lines().enumerate() {
        let line = index + 1;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match text.split_once(' ').filter(|(word, _)| WORDS.iter().any(|(known, _)| known == word)) {
            Some((word, path)) => entries.push(Entry { word, path, line, is_used: false }),
            None => findings.push(Finding::new(LIST, line, "not a word of the rule and a path")),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        messages_of(check, files)
    }

    #[test]
    fn pages_have_the_words_of_the_code() {
        let text = "A thread dozes.\n";
        assert_eq!(messages(&[("docs/x.md", text)]).len(), 1);
        assert_eq!(messages(&[(CHANGES, text), ("docs/x.svg", text)]), [""; 0]);
    }

    #[test]
    fn words_are_found_in_every_spelling() {
        for text in [
            "struct Agenda;",
            "self.agenda.push(1);",
            "// The agenda of a poll.",
            "fn note_agenda() {}",
            "\"an Agenda\"",
            "const AGENDA_LEN: usize = 1;",
            "// the ordinary way of a call",
            "fn ordinary_way() {}",
            "OrdinaryWay",
        ] {
            assert_eq!(messages(&[("crates/k/src/a.rs", text)]).len(), 1, "{text}");
        }
        let found = messages(&[("k/src/a.rs", "\nlet is_ordinary_way = true;")]);
        assert_eq!(found, ["k/src/a.rs:2: \"ordinary way\" is not a word of the vocabulary: slow path"]);
    }

    #[test]
    fn longer_words_and_other_files_are_silent() {
        for text in ["agendas", "oversight", "alone", "onboard", "ordinary { Way::Done }", "way ordinary"] {
            assert_eq!(messages(&[("k/src/a.rs", text)]), [""; 0], "{text}");
        }
        assert_eq!(messages(&[("docs/a.svg", "agenda"), (SELF, "agenda")]), [""; 0]);
    }

    #[test]
    fn every_word_can_be_found() {
        for (word, _) in WORDS {
            let text = format!("// {}", word.replace('_', " "));
            let found = format!("k/src/a.rs:1: \"{}\" is not", &text[3..]);
            let messages = messages(&[("k/src/a.rs", &text)]);
            assert!(messages.iter().any(|message| message.starts_with(&found)), "{messages:?}");
        }
    }

    #[test]
    fn comments_name_no_persons() {
        for text in [
            "// Who waits?",
            "/// A lock that\n/// nobody's thread holds.",
            "//! For whomever, whom, or none.",
            "/* Somebody. */",
            "fn f() {} // Whoever.",
            "/// [`NobodyWaits`]",
        ] {
            let found = messages(&[("k/src/a.rs", text)]);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains("in a comment"), "{found:?}");
        }
        for text in ["let who = \"nobody // who\";", "// whose whole anybodies", "struct Nobody;"] {
            assert_eq!(messages(&[("k/src/a.rs", text)]), [""; 0], "{text}");
        }
        let found = messages(&[("k/src/a.rs", "// Nobody."), (LIST, "who k\n")]);
        assert_eq!(found.len(), 2, "no entry excuses a person: {found:?}");
    }

    #[test]
    fn names_of_the_engine_have_no_word_of_their_own_for_what_the_field_names() {
        let at = |path: &str, text: &str| messages(&[(path, text)]);
        for text in ["fn quick_near() {}", "struct Neighbor;", "let told = 1;", "is_rung"] {
            assert!(!at("crates/rma-core/src/a.rs", text).is_empty(), "{text}");
            assert_eq!(at("crates/rma-tools/src/a.rs", text), [""; 0], "{text}");
        }
        for text in
            ["// A quick look, near it.", "let text = \"told\";", "fn remember() {}", "fn nearest() {}"]
        {
            assert_eq!(at("crates/rma-core/src/a.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn no_function_is_named_after_the_moment() {
        let found = messages(&[("tests/src/a.rs", "path.put_now(1);")]);
        assert!(found.len() == 1 && found[0].contains("begins with \"try_\""), "{found:?}");
        for text in ["thread::yield_now()", "now()", "let now_ns = 1;", "// put_now", "\"put_now\""] {
            assert_eq!(messages(&[("tests/src/a.rs", text)]), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_list_only_shrinks() {
        let with = |list: &str| {
            messages(&[("k/src/a.rs", "// A calm habit."), ("kk/src/a.rs", "// A calm look."), (LIST, list)])
        };
        assert_eq!(with("# why\ncalm k\nhabit k/src/a.rs\n\ncalm kk\n"), [""; 0]);
        assert_eq!(with("calm k\nhabit k\n").len(), 1, "a folder is a whole one");
        assert_eq!(
            with("calm k\nhabit k\ncalm kk\nhabit kk\n"),
            ["xtask/vocabulary.txt:4: kk has no habit: take the entry out"]
        );
        assert_eq!(
            with("calm k\nhabit k\ncalm kk\npanic kk\n"),
            ["xtask/vocabulary.txt:4: not a word of the rule and a path"]
        );
    }
}
