//! Rooms of a crate, the modules directly below its root, import in one direction: no circle.
//!
//! A circle of imports has no lower end: none of its rooms can be read, tested or moved without all the others. It is one as well when
//! it goes through the root, so a name that the root re-exports stands for the room it comes from. Crates that have circles are
//! listed with how many rooms lie in them, and the number may only fall. What is compiled for tests only may import anything.

use super::mask::is_word;
use super::tree::{File, Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Where the list lies: a crate's folder and a number per line.
const LIST: &str = "xtask/circles.txt";

/// Rooms of a crate, each with what it imports and where it does so first.
pub(super) type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Place<'a>>>;

/// A file and a line in it, from 1.
pub(super) type Place<'a> = (&'a str, usize);

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let listed = read_list(tree, findings);
    let crates: BTreeSet<&str> = tree.rust_files().filter_map(|file| Some(split(&file.path)?.0)).collect();
    for (name, line, _) in listed.iter().filter(|(name, ..)| !crates.contains(name)) {
        findings.push(Finding::new(LIST, *line, format!("there is no crate {name}")));
    }
    for name in crates {
        let imports = imports(tree, name);
        let circles = circles(&imports);
        let rooms: usize = circles.iter().map(BTreeSet::len).sum();
        let entry = listed.iter().find(|(listed, ..)| *listed == name);
        let allowed = entry.map_or(0, |(.., number)| *number);
        if rooms > allowed {
            findings.extend(circles.iter().flat_map(|circle| describe(&imports, circle)));
        } else if let Some((_, line, _)) = entry.filter(|_| rooms < allowed) {
            let message = format!("{name} has {rooms} rooms in circles: lower the entry");
            findings.push(Finding::new(LIST, *line, message));
        }
    }
}

/// A finding for each import inside a circle.
fn describe(imports: &Imports<'_>, circle: &BTreeSet<&str>) -> Vec<Finding> {
    let names: Vec<&str> = circle.iter().copied().collect();
    let inside = |room: &str| imports[room].iter().filter(|(other, _)| circle.contains(*other));
    let edges = names.iter().flat_map(|room| inside(room).map(move |(other, place)| (*room, *other, *place)));
    edges
        .map(|(room, other, (path, line))| {
            let message = format!("{room} imports {other}, in the circle of {}", names.join(", "));
            Finding::new(path, line, message)
        })
        .collect()
}

/// Folder of the crate and path below its sources.
fn split(path: &str) -> Option<(&str, &str)> {
    let (name, rest) = path.split_once("/src/")?;
    (!name.contains("/tests") && !rest.starts_with("bin/")).then_some((name, rest))
}

/// The room of a path below the sources; nothing for the root and for what is compiled for tests only.
fn room(rest: &str) -> Option<&str> {
    let is_for_tests = rest.split('/').any(|part| part.contains("test") || part.contains("loom"));
    let room = rest.split('/').next().map(|first| first.trim_end_matches(".rs"))?;
    (!is_for_tests && room != "lib" && room != "main").then_some(room)
}

pub(super) fn imports<'a>(tree: &'a Tree, name: &str) -> Imports<'a> {
    let files = || {
        tree.rust_files().filter_map(|file| {
            let (folder, rest) = split(&file.path)?;
            Some((file, rest, room(rest).filter(|_| folder == name)?))
        })
    };
    let mut imports: Imports<'a> = files().map(|(.., room)| (room, BTreeMap::new())).collect();
    let rooms: BTreeSet<&str> = imports.keys().copied().collect();
    let exports = re_exports(tree, name);
    for (file, rest, room) in files() {
        for (named, line) in roots(file, rest) {
            for other in owners(named, &rooms, &exports).filter(|other| *other != room) {
                imports.entry(room).or_default().entry(other).or_insert((&file.path, line));
            }
        }
    }
    imports
}

/// The rooms that a name at the root comes from. More than one may give it, each by a condition of its own.
fn owners<'a>(
    named: &'a str,
    rooms: &BTreeSet<&'a str>,
    exports: &[(&'a str, &'a str)],
) -> impl Iterator<Item = &'a str> {
    let is_room = rooms.contains(named);
    // An asterisk may give any name but those of rooms: what it stands for is not in the text of the root.
    let gives = move |export: &str| !is_room && (export == named || export == "*");
    let behind = exports.iter().filter(move |(export, _)| gives(export)).map(|(_, from)| *from);
    is_room.then_some(named).into_iter().chain(behind).filter(|owner| rooms.contains(owner))
}

/// The names that the root of a crate imports, which are then the root's own, each with the first name of its path.
fn re_exports<'a>(tree: &'a Tree, name: &str) -> Vec<(&'a str, &'a str)> {
    let is_root = |path| {
        split(path).is_some_and(|(folder, rest)| folder == name && matches!(rest, "lib.rs" | "main.rs"))
    };
    let mut found = Vec::new();
    for file in tree.rust_files().filter(|file| is_root(&file.path)) {
        let mut at = 0;
        for line in file.code.split_inclusive('\n') {
            // Items of the root begin their line; what is imported inside of others does not.
            let starts = ["use ", "pub use ", "pub(crate) use "];
            if let Some(start) = starts.into_iter().find(|start| line.starts_with(start)) {
                let tree = file.code[at + start.len()..].split(';').next().unwrap_or_default();
                leaves(tree, None, &mut found);
            }
            at += line.len();
        }
    }
    found
}

/// The names that the tree of a `use` gives, each with the first name of its path. `above` is the first name and the last before
/// the tree.
fn leaves<'a>(tree: &'a str, above: Option<(&'a str, &'a str)>, found: &mut Vec<(&'a str, &'a str)>) {
    for branch in branches(tree) {
        let (path, group) =
            branch.split_once('{').map_or((branch, None), |(path, group)| (path, Some(group)));
        let mut names = words(path).map(|(_, name)| name).filter(|name| !matches!(*name, "crate" | "self"));
        let own = names.next().map(|first| (first, names.last().unwrap_or(first)));
        let ends = match (above, own) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            _ => own.or(above),
        };
        match (group, ends) {
            (Some(group), _) => leaves(group.strip_suffix('}').unwrap_or(group), ends, found),
            (None, Some((first, _))) if path.ends_with('*') => found.push(("*", first)),
            (None, Some((first, last))) => found.push((last, first)),
            (None, None) => {}
        }
    }
}

/// The parts of a tree between the commas that no group has around it.
fn branches(tree: &str) -> impl Iterator<Item = &str> {
    let mut open = 0usize;
    let parts = tree.split(move |c: char| {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        c == ',' && open == 0
    });
    parts.map(str::trim)
}

/// What a file's paths name at the root of its crate, each with its line.
fn roots<'a>(file: &'a File, rest: &str) -> Vec<(&'a str, usize)> {
    let code = file.code.split("\nmod tests {").next().unwrap_or_default();
    // The module that a file is: `a/b.rs` and `a/b/mod.rs` lie two below the root.
    let depth = rest.split('/').count() - usize::from(rest.ends_with("/mod.rs"));
    let mut found = Vec::new();
    for (at, word) in words(code) {
        let is_path = code[..at].ends_with(|c: char| c != ':' && c != '$') || at == 0;
        let after = match word {
            "crate" => code[at + word.len()..].strip_prefix("::"),
            "super" if is_path => climb(&code[at..], depth),
            _ => None,
        };
        if let Some(path) = after {
            let line = code[..at].matches('\n').count() + 1;
            found.extend(first_names(path).into_iter().map(|name| (name, line)));
        }
    }
    found
}

/// What follows so many times `super::`.
fn climb(code: &str, depth: usize) -> Option<&str> {
    (0..depth).try_fold(code, |code, _| code.strip_prefix("super::"))
}

/// The first name of a path, or of each in a group.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return words(path).next().filter(|(at, _)| *at == 0).map(|(_, name)| name).into_iter().collect();
    };
    let (mut open, mut names, mut is_first) = (0usize, Vec::new(), true);
    let mut at = 0;
    while at < group.len() {
        let rest = &group[at..];
        match rest.as_bytes()[0] {
            b'{' => open += 1,
            b'}' if open == 0 => break,
            b'}' => open -= 1,
            b',' if open == 0 => is_first = true,
            byte if is_word(byte) => {
                let (_, name) = words(rest).next().expect("it begins with one");
                if is_first && open == 0 {
                    names.push(name);
                    is_first = false;
                }
                at += name.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// Words of a text with their offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].bytes().position(is_word)?;
        let length = text[start..].bytes().position(|byte| !is_word(byte)).unwrap_or(text.len() - start);
        at = start + length;
        Some((start, &text[start..at]))
    })
}

/// The sets of rooms that reach each other.
fn circles<'a>(imports: &Imports<'a>) -> Vec<BTreeSet<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|room| (*room, reached(imports, room))).collect();
    let mut circles: Vec<BTreeSet<&str>> = Vec::new();
    for (room, others) in &reach {
        if others.contains(room) && !circles.iter().any(|circle| circle.contains(room)) {
            circles.push(others.iter().copied().filter(|other| reach[other].contains(room)).collect());
        }
    }
    circles
}

/// The rooms that one imports, and those import, and so on.
fn reached<'a>(imports: &Imports<'a>, room: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&str> = imports[room].keys().copied().collect();
    while let Some(next) = ahead.pop() {
        if reached.insert(next) {
            ahead.extend(imports[next].keys());
        }
    }
    reached
}

fn read_list<'a>(tree: &'a Tree, findings: &mut Vec<Finding>) -> Vec<(&'a str, usize, usize)> {
    let mut listed = Vec::new();
    for (index, entry) in tree.file(LIST).map_or("", |file| &file.text).lines().enumerate() {
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        match entry.split_once(' ').and_then(|(name, number)| Some((name, number.parse().ok()?))) {
            Some((name, number)) => listed.push((name, index + 1, number)),
            None => findings.push(Finding::new(LIST, index + 1, "not a crate's folder and a number")),
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        messages_of(check, files)
    }

    #[test]
    fn a_circle_is_found_however_it_is_imported() {
        for import in [
            "use crate::a::x;",
            "use crate::{c::{self, d}, a};",
            "use super::super::a::x;",
            "fn f() { crate::a::x() }",
            "use crate::{\n    c,\n    a::{x, y},\n};",
        ] {
            let found = messages(&[
                ("crates/k/src/lib.rs", "mod a;\nmod b;"),
                ("crates/k/src/a/mod.rs", "//! A.\nuse crate::b::z;"),
                ("crates/k/src/b/deep.rs", import),
            ]);
            assert_eq!(found.len(), 2, "{import}: {found:?}");
            assert_eq!(found[0], "crates/k/src/a/mod.rs:2: a imports b, in the circle of a, b");
        }
    }

    #[test]
    fn longer_circles_are_found_and_what_hangs_on_them_is_not_of_them() {
        let found = messages(&[
            ("k/src/a.rs", "use crate::b;"),
            ("k/src/b.rs", "use crate::c;"),
            ("k/src/c.rs", "use crate::{a, d};"),
            ("k/src/d.rs", ""),
            ("k/src/e.rs", "use crate::a;"),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|line| line.ends_with("in the circle of a, b, c")), "{found:?}");
    }

    #[test]
    fn arrows_in_one_direction_and_what_is_for_tests_are_no_circle() {
        let quiet = [
            ("k/src/lib.rs", "use crate::a::x; pub use a::y;"),
            ("k/src/a.rs", "use crate::b::{a, x};\nfn f() { super_b::x(); self::b::y() }"),
            ("k/src/b.rs", "//! crate::a\n#[cfg(test)]\nmod tests {\n use crate::a;\n}"),
            ("k/src/b/tests.rs", "use crate::a::x;"),
            ("k/src/b/c.rs", "use super::a::x;\nuse $crate::macros;"),
            ("other/src/b.rs", "use crate::a::x;"),
            ("k/tests/src/b.rs", "use crate::a::x;"),
        ];
        assert_eq!(messages(&quiet), [""; 0]);
    }

    #[test]
    fn a_circle_through_the_root_is_found() {
        for root in [
            "pub use a::X;",
            "//! Root.\nuse crate::a::X;",
            "pub(crate) use self::a::deep::Y as X;",
            "pub use {\n    a::{self, deep::{Z, X}, W},\n    c::V,\n};",
            "pub use a::X::{self, Z};",
            "#[cfg(unix)]\npub use c::X;\n#[cfg(not(unix))]\npub use a::X;",
            "pub use a::*;",
        ] {
            let found = messages(&[
                ("k/src/lib.rs", root),
                ("k/src/a.rs", "use crate::b::z;"),
                ("k/src/b.rs", "//! B.\nfn f(x: super::X) {}"),
                ("k/src/c.rs", ""),
            ]);
            let expected = [
                "k/src/a.rs:1: a imports b, in the circle of a, b",
                "k/src/b.rs:2: b imports a, in the circle of a, b",
            ];
            assert_eq!(found, expected, "{root}");
        }
    }

    #[test]
    fn what_the_root_takes_from_elsewhere_is_no_circle() {
        for root in [
            "pub use other::X;",
            "pub use other::a::X;",
            "pub use a::Y;",
            "pub use a::X as Y;",
            "pub use {a::Y, c::X};",
            "use other::*;",
            "fn f() {\n    use a::X;\n}",
            "// pub use a::X;",
        ] {
            let found = messages(&[
                ("k/src/lib.rs", root),
                ("k/src/a.rs", "use crate::b::z;"),
                ("k/src/b.rs", "use crate::X;"),
                ("k/src/c.rs", ""),
            ]);
            assert_eq!(found, [""; 0], "{root}");
        }
    }

    #[test]
    fn the_list_only_shrinks() {
        let with = |list: &str| {
            messages(&[
                ("k/src/a.rs", "use crate::b;"),
                ("k/src/b.rs", "use crate::a;"),
                ("l/src/a.rs", ""),
                (LIST, list),
            ])
        };
        assert_eq!(with("# why\nk 2\n"), [""; 0]);
        assert_eq!(with("k 3\n"), ["xtask/circles.txt:1: k has 2 rooms in circles: lower the entry"]);
        assert_eq!(with("k 1\n").len(), 2);
        assert_eq!(with("k 2\nl 1\n"), ["xtask/circles.txt:2: l has 0 rooms in circles: lower the entry"]);
        assert_eq!(with("k 2\nm 1\n"), ["xtask/circles.txt:2: there is no crate m"]);
        assert_eq!(with("k 2\nk\n"), ["xtask/circles.txt:2: not a crate's folder and a number"]);
    }
}
