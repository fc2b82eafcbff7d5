//! What the safe API rules out, with the messages that a user sees: `compile_fail/*.rs` and the `.stderr` beside each.
//!
//! What must compile is in `scopes.rs`. The messages are those of one compiler; with another the test says so and checks
//! nothing. `TRYBUILD=overwrite` writes them anew.

#![allow(missing_docs)]

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
        assert!(std::path::Path::new(&file).exists(), "{name} is named, and there is no {file}");
        count += 1;
    }
    assert!(count >= 30, "{count} names");
}
