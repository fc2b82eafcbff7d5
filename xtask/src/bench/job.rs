//! Runs one job of the C program and reads what it prints.
//!
//! A job that dies or hangs in a case costs that case only: the job is started again with the cases behind it. Output goes
//! through files, so that what was printed before a death is there.

use super::leavings::{Before, SHARED_MEMORY};
use super::results::{Failure, FailureKind, Measurement};
use crate::stage::{Ending, Supervisor};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Starts processes for the comparison, one after another, each under a limit.
#[derive(Debug)]
pub(crate) struct Runner {
    supervisor: Supervisor,
    directory: PathBuf,
}

/// How a process ended, and what it said.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// Why it did not pass, if it did not.
    failure: Option<String>,
    pub(crate) stdout: String,
    stderr: String,
}

impl Runner {
    /// Programs and output of processes go into `directory`, which is made.
    pub(crate) fn new(directory: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&directory)
            .map_err(|error| format!("{} could not be made: {error}", directory.display()))?;
        let supervisor =
            Supervisor::new().map_err(|error| format!("this system refuses to supervise: {error}"))?;
        Ok(Self { supervisor, directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs a command to its end or to the limit. An error only when this program was asked to end, or has no files.
    pub(crate) fn run(&self, command: &mut Command, limit: Duration) -> Result<Finished, String> {
        let [out, err] = ["stdout", "stderr"].map(|name| self.directory.join(name));
        let create = |path: &Path| {
            File::create(path).map_err(|error| format!("{} could not be made: {error}", path.display()))
        };
        command.stdout(create(&out)?).stderr(create(&err)?);
        let before = Before::look(Path::new(SHARED_MEMORY));
        let ending = self.supervisor.run(command, limit);
        before.clear();
        let failure = match ending {
            Ending::Passed => None,
            Ending::Failed(reason) => Some(reason),
            Ending::Interrupted(signal) => return Err(format!("ended by signal {signal}")),
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ok(Finished { failure, stdout: read(&out), stderr: read(&err) })
    }
}

impl Finished {
    pub(crate) fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// Why it failed: how it ended, and the first line that says something.
    pub(crate) fn reason(&self) -> String {
        let says = |line: &&str| line.chars().any(char::is_alphanumeric);
        let said = self.stderr.lines().find(says).unwrap_or_default().trim();
        let ending = self.failure.as_deref().unwrap_or("it ended without an error");
        if said.is_empty() { ending.to_owned() } else { format!("{ending}: {said}") }
    }
}

/// What a column's job is asked.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The column's key.
    pub(crate) column: &'a str,
    pub(crate) ranks: u32,
    pub(crate) repetition: u32,
    pub(crate) cases: Vec<&'static str>,
    /// For one start of the job.
    pub(crate) limit: Duration,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) failures: Vec<Failure>,
}

impl Question<'_> {
    /// Asks until every case has an answer. `command` makes the job for a list of cases.
    pub(crate) fn ask(
        &self,
        runner: &Runner,
        command: impl Fn(&[&'static str]) -> Command,
    ) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let mut rest = self.cases.as_slice();
        while !rest.is_empty() {
            let finished = runner.run(&mut command(rest), self.limit)?;
            rest = self.read(&finished, rest, &mut answer);
        }
        Ok(answer)
    }

    /// Takes what a job printed; returns the cases that it did not get to.
    fn read<'c>(
        &self,
        finished: &Finished,
        cases: &'c [&'static str],
        answer: &mut Answer,
    ) -> &'c [&'static str] {
        let mut open = None;
        let mut done = 0;
        let mut limit = None;
        for line in finished.stdout.lines() {
            let Ok(json) = serde_json::from_str::<Value>(line) else { continue };
            let Some(case) = json["case"].as_str() else { continue };
            let failure = |kind, text: &Value| self.failure(case, kind, text.as_str().unwrap_or_default());
            if json["begin"] == true {
                open = Some(case.to_owned());
            } else if json["end"] == true {
                (open, done) = (None, done + 1);
            } else if json["missing"].is_string() {
                answer.failures.push(failure(FailureKind::Missing, &json["missing"]));
                done += 1;
            } else if json["error"].is_string() {
                answer.failures.push(failure(FailureKind::Wrong, &json["error"]));
            } else if json["limit"].is_number() {
                limit = Some((case.to_owned(), json["limit"].as_u64().unwrap_or(0)));
            } else {
                answer.measurements.extend(self.measurement(&json));
            }
        }
        if finished.passed() {
            return &[];
        }
        if open.is_none() && done == 0 && limit.is_none() {
            // It does not even start: no other case will do better.
            cases.iter().for_each(|case| self.blame(finished, Some(case), None, answer));
            return &[];
        }
        self.blame(finished, open.as_deref().or(cases.get(done).copied()), limit, answer);
        cases.get(done + 1..).unwrap_or_default()
    }

    /// Notes the case in which a job ended before its time; no case is left when it ended while it finalized.
    fn blame(
        &self,
        finished: &Finished,
        case: Option<&str>,
        limit: Option<(String, u64)>,
        answer: &mut Answer,
    ) {
        let case = case.unwrap_or("finalize");
        let failure = match limit {
            Some((_, seconds)) => {
                self.failure(case, FailureKind::Hangs, &format!("not done within {seconds} s"))
            }
            None if finished.reason().starts_with("not done after") => {
                self.failure(case, FailureKind::Hangs, &finished.reason())
            }
            None => self.failure(case, FailureKind::Crashes, &finished.reason()),
        };
        answer.failures.push(failure);
    }

    fn failure(&self, case: &str, kind: FailureKind, text: &str) -> Failure {
        let (column, case) = (self.column.to_owned(), case.to_owned());
        Failure { column, case, ranks: self.ranks, kind, text: text.to_owned() }
    }

    /// A line with numbers.
    pub(crate) fn measurement(&self, json: &Value) -> Option<Measurement> {
        let number = |name: &str| json[name].as_f64();
        let count = |name: &str| json[name].as_u64();
        Some(Measurement {
            column: self.column.to_owned(),
            repetition: self.repetition,
            case: json["case"].as_str()?.to_owned(),
            size: count("size")?,
            ranks: u32::try_from(count("ranks")?).ok()?,
            operations: count("operations")?,
            iterations: count("iterations")?,
            median: number("median")?,
            min: number("min")?,
            max: number("max")?,
            samples: json["samples"].as_array()?.iter().filter_map(Value::as_f64).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = r#"{"case": "a", "size": 8, "ranks": 2, "operations": 1, "iterations": 5, "median": 2.0, "min": 1.0, "max": 3.5, "samples": [1.0, 2.0, 3.5]}"#;

    fn question(cases: &[&'static str]) -> Question<'static> {
        let limit = Duration::from_secs(1);
        Question { column: "k", ranks: 2, repetition: 0, cases: cases.to_vec(), limit }
    }

    fn finished(failure: Option<&str>, stdout: &str, stderr: &str) -> Finished {
        Finished { failure: failure.map(str::to_owned), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    fn marks(case: &str) -> [String; 2] {
        ["begin", "end"].map(|mark| format!("{{\"case\": \"{case}\", \"{mark}\": true}}\n"))
    }

    #[test]
    fn numbers_are_read_between_other_output() {
        let [begin, end] = marks("a");
        let mut answer = Answer::default();
        let text = format!("a warning\n{begin}{NUMBER}\n{end}");
        let rest = question(&["a"]).read(&finished(None, &text, ""), &["a"], &mut answer).len();
        assert_eq!((rest, answer.failures.len()), (0, 0));
        let [measurement] = &answer.measurements[..] else { panic!("{answer:?}") };
        assert_eq!((measurement.median, measurement.iterations), (2.0, 5));
        assert_eq!(measurement.samples, [1.0, 2.0, 3.5]);
    }

    #[test]
    fn a_death_costs_its_case_only() {
        let cases = ["a", "b", "c"];
        let ([begin_a, end_a], [begin_b, _]) = (marks("a"), marks("b"));
        let text = format!("{begin_a}{NUMBER}\n{end_a}{begin_b}");
        for (failure, line, kind) in [
            ("killed by signal 11", "", FailureKind::Crashes),
            ("not done after its limit of 5 s", "", FailureKind::Hangs),
            ("exit status 124", "{\"case\": \"b\", \"limit\": 30}\n", FailureKind::Hangs),
        ] {
            let mut answer = Answer::default();
            let job = finished(Some(failure), &format!("{text}{line}"), "\n==\nbad news\n");
            let rest = question(&cases).read(&job, &cases, &mut answer);
            assert_eq!(rest, ["c"]);
            assert_eq!((answer.failures[0].case.as_str(), answer.failures[0].kind), ("b", kind));
            assert_eq!(answer.measurements.len(), 1);
        }
    }

    #[test]
    fn a_job_that_never_starts_is_not_tried_again() {
        let mut answer = Answer::default();
        let job = finished(Some("exit status 1"), "", "no such thing");
        let rest = question(&["a", "b"]).read(&job, &["a", "b"], &mut answer);
        assert!(rest.is_empty());
        assert_eq!(answer.failures.len(), 2);
        assert_eq!(answer.failures[1].text, "exit status 1: no such thing");
    }

    #[test]
    fn the_end_has_a_name_of_its_own() {
        let [begin, end] = marks("a");
        let mut answer = Answer::default();
        let text = format!("{begin}{end}{{\"case\": \"finalize\", \"limit\": 5}}\n");
        let rest = question(&["a"]).read(&finished(Some("exit status 124"), &text, ""), &["a"], &mut answer);
        assert!(rest.is_empty());
        assert_eq!(
            (answer.failures[0].case.as_str(), answer.failures[0].kind),
            ("finalize", FailureKind::Hangs)
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_no_number() {
        let [begin, end] = marks("b");
        let mut answer = Answer::default();
        let text = format!(
            "{{\"case\": \"a\", \"missing\": \"MPI_Put\"}}\n{begin}{{\"case\": \"b\", \"error\": \"wrong value\"}}\n{end}"
        );
        question(&["a", "b"]).read(&finished(None, &text, ""), &["a", "b"], &mut answer);
        let kinds: Vec<FailureKind> = answer.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [FailureKind::Missing, FailureKind::Wrong]);
        assert!(answer.measurements.is_empty());
    }
}
