//! The programs of the documentation's pages are built and run by the lines that stand below them.

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use std::path::PathBuf;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(50);

/// A program, the line that builds and starts it, and what that prints.
struct Example {
    source: String,
    line: String,
    output: String,
}

/// Those of a page: a block of C, and a console below it.
fn examples(page: &str) -> Vec<Example> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```c\n").skip(1).map(|rest| {
        let (source, rest) = rest.split_once("```\n").expect("a block ends");
        let console = rest.trim_start().strip_prefix("```console\n$ ").expect("a console below a program");
        let (line, rest) = console.split_once('\n').expect("a command and its output");
        let output = rest.split("```").next().unwrap_or_default();
        Example { source: source.to_owned(), line: line.to_owned(), output: output.to_owned() }
    });
    blocks.collect()
}

#[test]
fn programs_do_what_their_pages_say() {
    if is_second_pass() {
        return;
    }
    let (first, notified) = (examples("start.md"), examples("notification.md"));
    assert_eq!((first.len(), notified.len()), (2, 1));
    for Example { source, line, output } in first.into_iter().chain(notified) {
        let folder = tempfile::tempdir().unwrap();
        let name = line.split(' ').find(|word| word.ends_with(".c")).expect("a source in the line");
        std::fs::write(folder.path().join(name), source).unwrap();
        let shell =
            |line: &str| command(&prefix(), folder.path(), "sh").words(["-c", line]).limit(LIMIT).succeed();
        assert_eq!(shell(&line).stdout, output, "{line}");
        let program = name.trim_end_matches(".c");
        for start in ["-n 8", "-n 1", "-n 3 --channel tcp"] {
            assert_eq!(shell(&format!("rmarun {start} ./{program}")).stdout, output, "{program} {start}");
        }
        shell(&format!("rmacc -Wall -Wextra -Wno-sign-compare -Werror {name} -o {program}"));
    }
}

/// The class and the message of each row of the page: the second and third cell, between backquotes.
fn mistakes(page: &str) -> Vec<(String, String)> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains("`MPI_ERR_"));
    let cell = |row: &str, index| {
        row.split(" | ").nth(index).map(|cell: &str| cell.trim_matches('`').to_owned()).expect("a cell")
    };
    rows.map(|row| (cell(row, 1), cell(row, 2))).collect()
}

/// Whether a line of `MPI_Error_string` has this class and this message, in which `…` is anything.
fn says(line: &str, class: &str, message: &str) -> bool {
    let end = format!(" ({class})");
    let text = line.strip_prefix(&format!("{class}: ")).and_then(|text| text.strip_suffix(&end));
    // Behind the text of the class: "; " and the call, ": " and the message.
    let cause = text.and_then(|text| text.split_once("; ")).and_then(|(_, text)| text.split_once(": "));
    let mut parts = message.split('…');
    let rest = cause.and_then(|(_, cause)| cause.strip_prefix(parts.next().unwrap_or_default()));
    let rest = parts.try_fold(rest, |rest, part| {
        let rest = rest?;
        let at = if part.is_empty() { rest.len() } else { rest.find(part)? };
        Some(Some(&rest[at + part.len()..]))
    });
    rest == Some(Some(""))
}

#[test]
fn mistakes_have_the_messages_of_the_page() {
    if is_second_pass() {
        return;
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/mistakes.md");
    let expected = mistakes(&std::fs::read_to_string(page).unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mistakes.c"), include_str!("mistakes.c")).unwrap();
    let shell = |line| command(&prefix(), folder.path(), "sh").words(["-c", line]).limit(LIMIT).succeed();
    shell("rmacc -Wall -Wextra -Werror mistakes.c -o mistakes");
    let output = shell("rmarun -n 2 ./mistakes").stdout;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!((lines.len(), expected.len()), (15, 15), "{output}");
    for (line, (class, message)) in lines.iter().zip(&expected) {
        assert!(says(line, class, message), "the page has {class}, {message:?}; the call says {line:?}");
    }
}
