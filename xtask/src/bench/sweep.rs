//! Runs every column's jobs in turn, several times over, so that a change of the machine's mood meets all of them alike.
//!
//! The order is: repetition, then number of ranks, then column, beginning with another column each time. Raw limits are
//! measured before the jobs of each number of ranks, because the machine's moods change in minutes. A case that hung or died in
//! a column is not tried there again. Beside an older build each case is a job, so that the two builds are a moment apart.

use super::cases::CASES;
use super::columns::Setup;
use super::job::{Question, Runner};
use super::libraries::Library;
use super::results::{FailureKind, RAW, Results};
use indicatif::{ProgressBar, ProgressStyle};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long and how often to measure.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) repetitions: u32,
    /// A repetition that would end later is not begun, and one that takes longer is cut short.
    pub(crate) total_limit: Duration,
    pub(crate) is_quick: bool,
    sample_us: u32,
    samples: u32,
    case_limit_s: u32,
    job_limit: Duration,
    /// Only these cases; all when empty.
    pub(crate) only: Vec<String>,
    /// Only these numbers of ranks; all when empty.
    pub(crate) ranks: Vec<u32>,
    /// An older build is one of the columns.
    pub(crate) is_beside: bool,
}

impl Plan {
    pub(crate) fn full() -> Self {
        Self {
            repetitions: 5,
            total_limit: Duration::from_secs(3600),
            is_quick: false,
            sample_us: 5000,
            samples: 7,
            case_limit_s: 30,
            job_limit: Duration::from_secs(300),
            only: Vec::new(),
            ranks: Vec::new(),
            is_beside: false,
        }
    }

    /// Fewer sizes, shorter samples, and done within three minutes.
    pub(crate) fn quick() -> Self {
        Self {
            repetitions: 3,
            total_limit: Duration::from_secs(160),
            is_quick: true,
            sample_us: 2000,
            samples: 5,
            case_limit_s: 6,
            job_limit: Duration::from_secs(40),
            ..Self::full()
        }
    }

    /// The settings of the C program, besides the cases.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--sample-us".to_owned(),
            self.sample_us.to_string(),
            "--samples".to_owned(),
            self.samples.to_string(),
            "--limit-s".to_owned(),
            self.case_limit_s.to_string(),
        ];
        if self.is_quick {
            arguments.push("--quick".to_owned());
        }
        arguments
    }

    /// The jobs: numbers of ranks, with the cases for each; those with threads are jobs of their own, and all are beside an older build.
    fn groups(&self) -> Vec<(u32, Vec<&'static str>)> {
        let is_wanted = |case: &str| self.only.is_empty() || self.only.iter().any(|name| name == case);
        let mut counts: Vec<u32> = CASES.iter().flat_map(|case| case.ranks).copied().collect();
        counts.sort_unstable();
        counts.dedup();
        counts
            .into_iter()
            .filter(|ranks| self.ranks.is_empty() || self.ranks.contains(ranks))
            .flat_map(|ranks| [false, true].map(|is_threaded| (ranks, is_threaded)))
            .map(|(ranks, is_threaded)| {
                let mine = CASES.iter().filter(|case| {
                    case.ranks.contains(&ranks) && case.is_threaded == is_threaded && is_wanted(case.name)
                });
                (ranks, mine.map(|case| case.name).collect::<Vec<_>>())
            })
            .filter(|(_, cases)| !cases.is_empty())
            .flat_map(|(ranks, cases)| {
                let most = if self.is_beside { 1 } else { cases.len() };
                cases.chunks(most).map(|cases| (ranks, cases.to_vec())).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Which of so many columns comes in a turn: none is always the first, nor the older of two builds.
    fn column(&self, turn: usize, repetition: u32, columns: usize) -> usize {
        match (self.is_beside, repetition % 2) {
            (false, _) => (turn + repetition as usize) % columns,
            (true, 0) => turn,
            (true, _) => columns - 1 - turn,
        }
    }
}

/// Measures everything, into `results`.
pub(crate) fn run(
    runner: &Runner,
    plan: &Plan,
    libraries: &[Library],
    setups: &[Setup],
    results: &mut Results,
) -> Result<(), String> {
    let groups = plan.groups();
    let jobs = groups.len() * (setups.len() + 1);
    let progress = Progress::new(plan.repetitions as usize * jobs);
    let start = Instant::now();
    for repetition in 0..plan.repetitions {
        let taken = start.elapsed();
        if repetition > 0 && taken + taken / repetition > plan.total_limit {
            break;
        }
        results.repetitions = repetition + 1;
        for (group, (ranks, cases)) in groups.iter().enumerate() {
            if group == 0 || !plan.is_beside {
                progress.say(repetition, "limits of the machine");
                raw(runner, plan, libraries, repetition, results)?;
            }
            progress.step();
            for turn in 0..setups.len() {
                if start.elapsed() > plan.total_limit {
                    results.is_cut_short = true;
                    progress.finish();
                    return Ok(());
                }
                let setup = &setups[plan.column(turn, repetition, setups.len())];
                let column = &setup.column;
                progress
                    .say(repetition, &format!("{}, {}, {ranks} ranks", column.name, column.transport.word()));
                job(runner, plan, setup, (*ranks, cases, repetition), results)?;
                progress.step();
            }
        }
    }
    progress.finish();
    Ok(())
}

/// One column's job for one number of ranks.
fn job(
    runner: &Runner,
    plan: &Plan,
    setup: &Setup,
    (ranks, cases, repetition): (u32, &[&'static str], u32),
    results: &mut Results,
) -> Result<(), String> {
    let key = setup.column.key.as_str();
    let is_hopeless = |case: &str| {
        results.failure(key, case, ranks).is_some_and(|failure| failure.kind != FailureKind::Wrong)
    };
    let cases = cases.iter().copied().filter(|case| !is_hopeless(case)).collect();
    let question = Question { column: key, ranks, repetition, cases, limit: plan.job_limit };
    let answer = question.ask(runner, |cases| {
        let mut arguments = plan.arguments();
        arguments.extend(["--cases".to_owned(), cases.join(",")]);
        setup.command(ranks, &arguments)
    })?;
    results.measurements.extend(answer.measurements);
    answer.failures.into_iter().for_each(|failure| results.add_failure(failure));
    Ok(())
}

/// The limits, by the program of any library: it does not call it.
fn raw(
    runner: &Runner,
    plan: &Plan,
    libraries: &[Library],
    repetition: u32,
    results: &mut Results,
) -> Result<(), String> {
    let library = libraries.first().ok_or("there is no MPI library")?;
    let mut command = Command::new(&library.program);
    command.arg("--raw").args(plan.arguments());
    let finished = runner.run(&mut command, plan.job_limit)?;
    if !finished.passed() {
        return Err(format!("the limits could not be measured: {}", finished.reason()));
    }
    let question = Question { column: RAW, ranks: 2, repetition, cases: Vec::new(), limit: plan.job_limit };
    let lines = finished.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
    results.measurements.extend(lines.filter_map(|json| question.measurement(&json)));
    Ok(())
}

/// A bar on a terminal, lines elsewhere.
#[derive(Debug)]
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn new(jobs: usize) -> Self {
        let bar = ProgressBar::new(jobs as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} jobs, {eta} left: {msg}")
            .expect("the template is a constant that a test has drawn");
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    fn say(&self, repetition: u32, what: &str) {
        let text = format!("repetition {}: {what}", repetition + 1);
        if self.bar.is_hidden() {
            eprintln!("{text}");
        }
        self.bar.set_message(text);
    }

    fn step(&self) {
        self.bar.inc(1);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_numbers_of_ranks() {
        let groups = Plan::full().groups();
        let counts: Vec<u32> = groups.iter().map(|(ranks, _)| *ranks).collect();
        assert_eq!(counts, [2, 2, 4, 8]);
        assert_eq!(groups[1].1, ["threads-put"]);
        assert_eq!(groups[2].1, ["counter", "counters", "lock-contended", "lock-fair", "mix"]);
        let of_eight =
            ["counter", "counters", "lock-contended", "lock-fair", "win-allocate", "win-allocate-large"];
        assert_eq!(groups[3].1, of_eight);
    }

    #[test]
    fn cases_and_ranks_can_be_chosen() {
        let only = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let plan = Plan { only: only(&["put", "win-allocate"]), ranks: vec![2, 4], ..Plan::quick() };
        assert_eq!(plan.groups(), [(2, vec!["put", "win-allocate"])]);
        assert!(plan.arguments().contains(&"--quick".to_owned()));
    }

    #[test]
    fn beside_an_older_build_each_case_is_a_job_and_the_order_turns_round() {
        let only = vec!["put".to_owned(), "win-allocate".to_owned()];
        let plan = Plan { only, ranks: vec![2], is_beside: true, ..Plan::quick() };
        assert_eq!(plan.groups(), [(2, vec!["put"]), (2, vec!["win-allocate"])]);
        let order = |repetition| (0..4).map(|turn| plan.column(turn, repetition, 4)).collect::<Vec<_>>();
        assert_eq!([order(0), order(1), order(2)], [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3]]);
        let plan = Plan { is_beside: false, ..plan };
        assert_eq!((plan.column(0, 1, 4), plan.column(3, 1, 4)), (1, 0));
    }

    #[test]
    fn the_progress_bar_can_be_drawn() {
        let progress = Progress::new(2);
        progress.say(0, "x");
        progress.step();
        progress.finish();
        assert!(progress.bar.is_finished());
    }
}
