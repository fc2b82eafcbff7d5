//! What the output of test programs says of the tests that failed, for the end of a log that may be all that is seen of it.
//!
//! Invariants: output of any kind and length is passed on unchanged and at once; what is kept of it is bounded, and what is left out is
//! said.

use std::io::{self, BufRead, BufReader, Read, Write};

/// Lines kept of what one test printed.
const LINES_OF_A_TEST: usize = 25;
/// Lines kept in all.
const LINES: usize = 120;

/// The failures of one run of tests.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// What is being run, as cargo names it.
    program: String,
    /// A line for each test that failed, and for each program that ended badly.
    names: Vec<String>,
    /// What they printed.
    details: Vec<String>,
    /// Lines left out of `details`.
    left_out: usize,
    /// In the part of the output that has what failed tests printed, and the lines of the present one so far.
    in_details: Option<usize>,
}

impl Failures {
    /// Reads output to its end, and passes it on line by line.
    pub(crate) fn of(output: impl Read, mut copy: impl Write) -> io::Result<Self> {
        let mut output = BufReader::new(output);
        let mut failures = Self::default();
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            copy.write_all(&line)?;
            copy.flush()?;
            failures.read(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
        Ok(failures)
    }

    /// Takes up the next line.
    fn read(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Running ") || text.starts_with("Doc-tests ") {
            self.program = text.to_owned();
            self.in_details = None;
        } else if let Some(test) = line.strip_prefix("test ").and_then(|l| l.strip_suffix(" ... FAILED")) {
            self.names.push(format!("{test} ({})", self.program));
        } else if line.starts_with("error: test failed") || text.starts_with("process didn't exit") {
            self.names.push(format!("{text} ({})", self.program));
        } else if line == "failures:" {
            // The first such line begins what the tests printed, the second one the list of their names.
            self.in_details = if self.in_details.is_none() { Some(0) } else { None };
        } else if line.starts_with("test result:") {
            self.in_details = None;
        } else {
            self.keep(line);
        }
    }

    /// Keeps a line of what a failed test printed.
    fn keep(&mut self, line: &str) {
        let Some(lines) = &mut self.in_details else { return };
        if line.starts_with("---- ") {
            *lines = 0;
        }
        *lines += 1;
        if *lines <= LINES_OF_A_TEST && self.details.len() < LINES {
            self.details.push(line.to_owned());
        } else {
            self.left_out += 1;
        }
    }

    /// The failures as text, empty when there is none.
    pub(crate) fn text(&self, stage: &str) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let mut text = format!("== failures of {stage} ==\n");
        for line in &self.details {
            text += &format!("{line}\n");
        }
        if self.left_out > 0 {
            text += &format!("({} lines more above)\n", self.left_out);
        }
        for name in &self.names {
            text += &format!("failed: {name}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 2 tests
test good ... ok
test bad ... FAILED

failures:

---- bad stdout ----
it waited for rank 1

failures:
    bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.38s

error: test failed, to rerun pass `-p a --lib`
     Running tests/b.rs (target/debug/deps/b-2)
test dies ...
Caused by:
  process didn't exit successfully: `/b-2` (signal: 6, SIGABRT: process abort signal)
";

    #[test]
    fn failed_tests_and_programs_are_named_with_what_they_printed() {
        let mut copy = Vec::new();
        let failures = Failures::of(OUTPUT.as_bytes(), &mut copy).unwrap();
        assert_eq!(copy, OUTPUT.as_bytes());
        let text = failures.text("tests");
        for line in [
            "it waited for rank 1",
            "failed: bad (Running unittests src/lib.rs (target/debug/deps/a-1))",
            "failed: error: test failed, to rerun pass `-p a --lib` (Running unittests src/lib.rs (target/debug/deps/a-1))",
            "failed: process didn't exit successfully: `/b-2` (signal: 6, SIGABRT: process abort signal) (Running tests/b.rs (target/debug/deps/b-2))",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("good"), "{text}");
    }

    #[test]
    fn without_failures_there_is_no_text() {
        let output = "test good ... ok\ntest result: ok. 1 passed\n\u{fffd}no line end";
        assert_eq!(Failures::of(output.as_bytes(), io::sink()).unwrap().text("tests"), "");
    }

    #[test]
    fn what_a_test_prints_is_kept_in_part() {
        let long: String = (0..LINES_OF_A_TEST + 9).map(|line| format!("{line}\n")).collect();
        let one = format!(
            "test a ... FAILED\nfailures:\n---- a stdout ----\n{long}failures:\n    a\ntest result: FAILED.\n"
        );
        let failures = Failures::of(one.as_bytes(), io::sink()).unwrap();
        assert_eq!((failures.details.len(), failures.left_out), (LINES_OF_A_TEST, 10));
        let failures = Failures::of(one.repeat(20).as_bytes(), io::sink()).unwrap();
        assert_eq!((failures.details.len(), failures.names.len()), (LINES, 20));
        assert!(failures.text("tests").contains("lines more above"));
    }
}
