//! Measures every value of a variable in turn, several times over.

use super::super::columns::{Setup, setups};
use super::super::job::{Question, Runner};
use super::super::libraries::Library;
use super::super::machine::Machine;
use super::super::results::{Measurement, Transport};
use super::report::{self, Extent, Files};
use super::trials::{Path, Trial, trials};
use super::variable::Variable;
use std::path::Path as File;
use std::process::Command;
use std::time::Duration;

const JOB_LIMIT: Duration = Duration::from_secs(60);
/// How often everything is measured, unless the command line says it.
const REPETITIONS: u32 = 7;
/// Many short samples: the fastest one counts, so that some have to meet the machine in a quiet moment.
const ARGUMENTS: [&str; 6] = ["--sample-us", "300", "--samples", "25", "--limit-s", "20"];

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) variable: &'a str,
    /// Values to try; empty: some around the default.
    pub(crate) values: &'a [u64],
    /// Cases to measure, over TCP; empty: those that the variable concerns.
    pub(crate) only: &'a [String],
    pub(crate) repetitions: Option<u32>,
}

/// What was measured of one trial: a list of measurements for each value.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) trial: Trial,
    pub(super) by_value: Vec<Vec<Measurement>>,
}

/// Measures, and writes plot and table into `directory`.
pub(crate) fn run(
    runner: &Runner,
    library: &Library,
    directory: &File,
    request: &Request<'_>,
) -> Result<Files, String> {
    let variable = look_up(runner, library, request.variable)?;
    let values = variable.values(request.values)?;
    let load_before = Machine::look().load_before;
    let repetitions = request.repetitions.unwrap_or(REPETITIONS);
    let setups = setups(std::slice::from_ref(library), true);
    let mut outcomes: Vec<Outcome> = trials(&variable.name, request.only)
        .into_iter()
        .map(|trial| Outcome { trial, by_value: vec![Vec::new(); values.len()] })
        .collect();
    for repetition in 0..repetitions {
        eprintln!("repetition {} of {repetitions}", repetition + 1);
        for outcome in &mut outcomes {
            for turn in 0..values.len() {
                let index = (turn + repetition as usize) % values.len();
                let set = (variable.name.as_str(), values[index]);
                outcome.by_value[index].extend(ask(runner, &setups, &outcome.trial, set, repetition)?);
            }
        }
    }
    report::write(&variable, &values, &outcomes, Extent { repetitions, load_before }, directory)
}

/// Asks the library itself, with nothing set: what it says of the default must not be what the environment says.
fn look_up(runner: &Runner, library: &Library, name: &str) -> Result<Variable, String> {
    let mut info = Command::new(library.launcher.with_file_name("rma-info"));
    info.arg("--json");
    for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("RMA_")) {
        info.env_remove(key);
    }
    let said = runner.run(&mut info, JOB_LIMIT)?;
    let listing = serde_json::from_str(&said.stdout)
        .map_err(|error| format!("rma-info --json is no JSON: {error}; {}", said.reason()))?;
    Variable::find(&listing, name)
}

fn ask(
    runner: &Runner,
    setups: &[Setup],
    trial: &Trial,
    (name, value): (&str, u64),
    repetition: u32,
) -> Result<Vec<Measurement>, String> {
    let transport = match trial.path {
        Path::Mapped | Path::Shm => Transport::Shm,
        Path::Tcp => Transport::Tcp,
    };
    let setup = setups.iter().find(|setup| setup.column.transport == transport);
    let setup = setup.ok_or("our library has no such column")?;
    let question =
        Question { column: "", ranks: trial.ranks, repetition, cases: trial.cases.clone(), limit: JOB_LIMIT };
    let answer = question.ask(runner, |cases| {
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.extend(["--cases".to_owned(), cases.join(",")]);
        let mut command = setup.command(trial.ranks, &arguments);
        command.env("RMA_CHANNEL", trial.path.channel()).env(name, value.to_string());
        command
    })?;
    for failure in &answer.failures {
        eprintln!("{name}={value}: {} {}: {}", failure.case, failure.kind.word(), failure.text);
    }
    Ok(answer.measurements)
}
