//! What the safe API rules out, with the messages that a user sees: `compile_fail/*.rs` and the `.stderr` beside each.
//!
//! What must compile is in `scopes.rs`. The messages are those of one compiler; with another the test says so and checks
//! nothing. `TRYBUILD=overwrite` writes them anew.

#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::path::Path;

/// The compiler whose messages the files hold.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn misuse_of_windows_and_epochs_does_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(COMPILER) {
        eprintln!("skipped: the messages are those of {COMPILER}, and this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// The procedures that a name of the page stands for: `MPI_Win_{lock,unlock}` for two.
fn procedures(name: &str) -> Vec<String> {
    match name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (forms, behind))) => {
            forms.split(',').map(|form| format!("{before}{form}{behind}")).collect()
        }
        None => vec![name.to_owned()],
    }
}

#[test]
fn the_page_of_the_chapter_has_a_row_for_each_procedure() {
    let cells = include_str!("../../../docs/rust.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let named: Vec<_> = cells.flat_map(|cell| cell.split('`').flat_map(procedures)).collect();
    let all = include_str!("../../rma-capi/abi/functions.tsv").lines();
    let of_chapter =
        all.filter_map(|line| line.strip_prefix("rma\t").or_else(|| line.strip_prefix("notify\t")));
    // Forms with large counts have the same here.
    let names: Vec<_> =
        of_chapter.filter_map(|line| line.split('\t').next()).filter(|name| !name.ends_with("_c")).collect();
    let missing: Vec<_> = names.iter().filter(|name| named.iter().all(|named| named != **name)).collect();
    assert!(
        missing.is_empty() && names.len() > 60,
        "{} procedures, of which {missing:?} have no row",
        names.len()
    );
}

/// The lines of all sources in a folder of this repository.
fn lines(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lines(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.extend(std::fs::read_to_string(path).unwrap().lines().map(|line| line.trim().to_owned()));
        }
    }
}

#[test]
fn the_forms_of_the_page_have_doc_examples() {
    let (here, mut sources) = (Path::new(env!("CARGO_MANIFEST_DIR")), Vec::new());
    lines(&here.join("src"), &mut sources);
    let (mut examples, mut is_code) = (String::new(), false);
    for line in &sources {
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start) {
            Some("```" | "```no_run") => is_code = !is_code,
            Some(code) if is_code => examples.push_str(code),
            Some(_) => {}
            None => is_code = false,
        }
    }
    lines(&here.join("../rma-core/src/notify"), &mut sources);
    let name = |line: &str| line.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).collect::<String>();
    let functions: BTreeSet<_> =
        sources.iter().filter_map(|line| line.strip_prefix("pub fn ").map(name)).collect();
    let is_called = |name: &str| {
        [".", "::"].iter().any(|before| {
            ["(", "::<"].iter().any(|behind| examples.contains(&format!("{before}{name}{behind}")))
        })
    };
    let page = include_str!("../../../docs/rust.md").lines();
    let forms = page.filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let words = forms.flat_map(|form| form.split('`').skip(1).step_by(2)).flat_map(|code| {
        code.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| functions.contains(*word))
    });
    let words: BTreeSet<_> = words.collect();
    let missing: Vec<_> = words.iter().filter(|name| !is_called(name)).collect();
    assert!(missing.is_empty() && words.len() > 60, "{} forms; no example has {missing:?}", words.len());
}

#[test]
fn the_page_of_the_chapter_names_misuse_that_is_tested() {
    let page = include_str!("../../../docs/rust.md");
    let rows =
        || page.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|')?.rsplit_once(" | "));
    let empty: Vec<_> = rows().filter(|(_, cell)| cell.trim().is_empty()).collect();
    assert!(empty.is_empty(), "rows that do not say what does not compile: {empty:?}");
    let names = rows().flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2));
    let mut count = 0;
    for name in names {
        let file = format!("{}/tests/compile_fail/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(Path::new(&file).exists(), "{name} is named, and there is no {file}");
        count += 1;
    }
    assert!(count >= 30, "{count} names");
}
