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
fn the_first_programs_do_what_the_page_says() {
    if is_second_pass() {
        return;
    }
    let examples = examples("start.md");
    assert_eq!(examples.len(), 2);
    for Example { source, line, output } in examples {
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
