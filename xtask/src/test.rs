//! `cargo xtask test`: everything CI checks, stage by stage.
//!
//! A stage that fails does not hide the later ones, except that nothing is run that did not build. Each stage has a limit
//! of its own and all together have [`TOTAL_LIMIT`]; a stage over its limit is ended with everything it started.

use crate::failures::Failures;
use crate::stage::{Ending, Supervisor};
use crate::workspace::Workspace;
use crate::{Outcome, smallest};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit for all stages together. They take 15 to 20 minutes of a quiet machine with two fast cores; the limit is for slow machines, and
/// those that others slow down.
const TOTAL_LIMIT: Duration = Duration::from_secs(70 * 60);

/// Run the whole suite as CI does.
///
/// Formatting, house rules, lints, build, the C library against the tables of the ABI, all tests, all tests again with the smallest pools and buffers, the models
/// of the lock-free parts, and the instructions of calls. Ends with the tests that failed and a summary; the exit status is 0 only when every stage passed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leave out the second pass, the models and the instructions.
    #[arg(long)]
    quick: bool,

    /// Run only tests whose name contains this, and no checks of the text.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// A step of the suite.
#[derive(Debug)]
struct Stage {
    name: &'static str,
    limit: Duration,
    /// Later stages are left out when this one fails.
    is_needed: bool,
    /// Its output is that of tests.
    has_tests: bool,
    command: Command,
    /// A step that runs in what the command leaves of the machine.
    beside: Option<Beside>,
}

/// A step beside another one: in idle time, its output held back until both have ended.
#[derive(Debug)]
struct Beside {
    name: &'static str,
    command: Command,
    output: PathBuf,
}

/// What became of a stage.
#[derive(Debug)]
struct Report {
    name: &'static str,
    ending: Ending,
    time: Duration,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let supervisor =
        Supervisor::new().map_err(|error| format!("this system refuses to supervise: {error}"))?;
    let start = Instant::now();
    let mut reports = Vec::new();
    let mut failures = String::new();
    for mut stage in stages(workspace, args) {
        println!("\n== {} ==", stage.name);
        let limit = stage.limit.min(TOTAL_LIMIT.saturating_sub(start.elapsed()));
        let tests = stage.has_tests.then(|| pass_on(&mut stage.command)).transpose();
        let tests = tests.map_err(|error| format!("no pipe for the output of {}: {error}", stage.name))?;
        let mut names = vec![stage.name];
        let mut commands = vec![&mut stage.command];
        if let Some(beside) = &mut stage.beside {
            let output = File::create(&beside.output)
                .and_then(|file| Ok([file.try_clone()?, file]))
                .map_err(|error| format!("{} could not be made: {error}", beside.output.display()))?;
            let [stdout, stderr] = output.map(Stdio::from);
            names.push(beside.name);
            commands.push(beside.command.stdout(stdout).stderr(stderr));
        }
        let first = reports.len();
        for (name, (ending, time)) in names.into_iter().zip(supervisor.run_all(&mut commands, limit)) {
            reports.push(Report { name, ending, time });
        }
        // This process' own end of the pipe, without which it has an end.
        drop(stage.command);
        if let Some(Ok(Ok(tests))) = tests.map(JoinHandle::join) {
            failures += &tests.text(stage.name);
        }
        if let Some(Beside { name, output, .. }) = &stage.beside {
            println!("\n== {name} ==");
            let output = File::open(output).and_then(|output| Failures::of(output, io::stdout()));
            failures += &output.map(|output| output.text(name)).unwrap_or_default();
        }
        let mut is_over = false;
        for Report { name, ending, .. } in &reports[first..] {
            if let Ending::Failed(reason) = ending {
                println!("{name} failed: {reason}");
            }
            is_over |= matches!(ending, Ending::Interrupted(_));
            is_over |= stage.is_needed && *ending != Ending::Passed;
        }
        if is_over {
            break;
        }
    }
    print!("\n{failures}\n{}", summary(&reports, start.elapsed()));
    Ok(exit_code(&reports))
}

/// Gives the command a pipe for its output, which a thread passes on until its end.
fn pass_on(command: &mut Command) -> io::Result<JoinHandle<io::Result<Failures>>> {
    let (output, input) = io::pipe()?;
    command.stdout(input.try_clone()?).stderr(input);
    Ok(std::thread::spawn(move || Failures::of(output, io::stdout())))
}

/// The stages in order.
fn stages(workspace: &Workspace, args: &Args) -> Vec<Stage> {
    let stage = |name, limit_s, command| Stage {
        name,
        limit: Duration::from_secs(limit_s),
        is_needed: false,
        has_tests: false,
        command,
        beside: None,
    };
    let cargo = |subcommand: &str, arguments: &[&str]| {
        let mut command = workspace.cargo(subcommand);
        command.args(arguments).args(args.name.iter().filter(|_| subcommand == "test"));
        command
    };
    let mut stages = Vec::new();
    // This very program, whatever the builds of later stages put in its place.
    let xtask = |name: &str| {
        let mut command = Command::new("/proc/self/exe");
        command.arg(name);
        command
    };
    if args.name.is_none() {
        stages.push(stage("format", 60, cargo("fmt", &["--all", "--check"])));
        stages.push(stage("tidy", 60, xtask("tidy")));
        let lints = ["--workspace", "--all-targets", "--", "--deny", "warnings"];
        stages.push(stage("lints", 600, cargo("clippy", &lints)));
    }
    // Tests that start processes find the launcher and their helpers beside themselves, in the target directory.
    stages.push(Stage { is_needed: true, ..stage("build", 900, workspace.build_all()) });
    if args.name.is_none() {
        stages.push(stage("abi", 480, xtask("abi")));
    }
    // Where tests of the C library look for it.
    let mut install = xtask("install");
    install.arg("--dev").arg("--prefix").arg(workspace.target().join("prefix"));
    stages.push(Stage { is_needed: true, ..stage("install", 480, install) });
    if args.name.is_none() {
        let mut cluster = xtask("cluster");
        cluster.args(["--quick", "--built"]);
        stages.push(stage("cluster", 300, cluster));
    }
    let tests = cargo("test", &["--workspace", "--no-fail-fast"]);
    let mut tests = Stage { has_tests: true, ..stage("tests", 2700, tests) };
    if !args.quick && args.name.is_none() {
        tests.beside = models(workspace);
    }
    stages.push(tests);
    if args.quick {
        return stages;
    }
    // The whole workspace: without a part of it, others have other features, and everything is built once more.
    let mut smallest = cargo("test", &["--workspace", "--lib", "--no-fail-fast"]);
    smallest.args(smallest::PROGRAMS.iter().flat_map(|program| ["--test", program]));
    smallest.envs([smallest::MARK]).envs(smallest::VARIABLES.iter().copied());
    stages.push(Stage { has_tests: true, ..stage("tests, smallest sizes", 900, smallest) });
    if args.name.is_none() {
        stages.push(stage("instructions", 900, xtask("callgrind")));
    }
    stages
}

/// The tests under loom, if any package has them: those with `loom` in their name, in packages that depend on loom.
/// They are built apart, since the flag changes every crate. They wait for nothing but the processor, of which tests that wait for
/// deaths, time limits and other processes leave much.
fn models(workspace: &Workspace) -> Option<Beside> {
    let mut packages =
        workspace.packages().iter().filter(|p| p.third_party.iter().any(|name| name == "loom")).peekable();
    packages.peek()?;
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut command = workspace.cargo("test");
    command.args(["--lib", "--no-fail-fast"]);
    for package in packages {
        command.args(["--package", &package.name]);
    }
    command
        .arg("loom")
        .env("RUSTFLAGS", format!("{flags} --cfg loom").trim_start())
        .env("CARGO_TARGET_DIR", workspace.target().join("loom"));
    let command = in_idle_time(&command);
    Some(Beside { name: "models", command, output: workspace.target().join("models.txt") })
}

/// The same command, run while nothing else wants the processor: also the lowest priority of the ordinary policy delays each wake-up of
/// others by a slice, of which tests of several processes have many.
fn in_idle_time(command: &Command) -> Command {
    const RUN: &str =
        r#"if chrt --idle 0 true 2>/dev/null; then exec chrt --idle 0 "$@"; fi; exec nice -n 19 "$@""#;
    let mut idle = Command::new("sh");
    idle.args(["-c", RUN, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => idle.env(name, value),
            None => idle.env_remove(name),
        };
    }
    idle
}

fn summary(reports: &[Report], total: Duration) -> String {
    let mut lines = String::new();
    for report in reports {
        let ending = match &report.ending {
            Ending::Passed => "ok".to_owned(),
            Ending::Failed(reason) => format!("FAILED: {reason}"),
            Ending::Interrupted(signal) => format!("interrupted by signal {signal}"),
        };
        lines += &format!("{:<22} {:>7.1} s  {ending}\n", report.name, report.time.as_secs_f32());
    }
    let failed = reports.iter().filter(|report| report.ending != Ending::Passed).count();
    let verdict = match failed {
        0 => "every stage is ok".to_owned(),
        n => format!("{n} of {} stages not ok", reports.len()),
    };
    lines + &format!("{verdict}, {:.1} s in all\n", total.as_secs_f32())
}

/// 0 when all passed; as a shell reports it after a signal; else 1.
fn exit_code(reports: &[Report]) -> ExitCode {
    let mut code = 0;
    for report in reports {
        match report.ending {
            Ending::Passed => {}
            Ending::Failed(_) => code = 1,
            Ending::Interrupted(signal) => return ExitCode::from(128u8.saturating_add(signal as u8)),
        }
    }
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(quick: bool, name: Option<&str>) -> Vec<&'static str> {
        let args = Args { quick, name: name.map(str::to_owned) };
        stages(&Workspace::find().unwrap(), &args).iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn a_name_or_quick_leaves_stages_out() {
        let all = names(false, None);
        let expected = [
            "format",
            "tidy",
            "lints",
            "build",
            "abi",
            "install",
            "cluster",
            "tests",
            "tests, smallest sizes",
            "instructions",
        ];
        assert_eq!(all, expected);
        assert_eq!(names(true, None), all[..8]);
        assert_eq!(names(false, Some("x")), [all[3], all[5], all[7], all[8]]);
    }

    #[test]
    fn models_run_beside_the_tests_where_all_is_run() {
        let workspace = Workspace::find().unwrap();
        let beside = |quick, name: Option<&str>| -> Vec<_> {
            let args = Args { quick, name: name.map(str::to_owned) };
            let stages = stages(&workspace, &args);
            stages.into_iter().filter_map(|stage| Some((stage.name, stage.beside?))).collect()
        };
        let all = beside(false, None);
        let [("tests", Beside { name: "models", command, .. })] = &all[..] else { panic!("{all:?}") };
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value);
        assert!(flags.is_some_and(|flags| flags.to_string_lossy().contains("--cfg loom")), "{command:?}");
        assert!(command.get_args().any(|argument| argument.to_string_lossy().contains("chrt --idle 0")));
        assert!(command.get_args().any(|argument| argument == "loom"));
        assert!(beside(true, None).is_empty() && beside(false, Some("x")).is_empty());
    }

    #[test]
    fn the_smallest_pass_sets_the_table() {
        let args = Args { quick: false, name: Some("lock".to_owned()) };
        let stages = stages(&Workspace::find().unwrap(), &args);
        let variables: Vec<_> =
            stages[3].command.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        for (name, value) in smallest::VARIABLES.iter().chain([&smallest::MARK]) {
            assert!(variables.contains(&(name.as_ref(), value.as_ref())), "{name}");
        }
        assert!(stages[3].command.get_args().any(|argument| argument == "lock"));
        assert!(stages[0].command.get_args().all(|argument| argument != "lock"));
    }

    #[test]
    fn the_summary_and_the_status_tell_what_failed() {
        let report = |name, ending| Report { name, ending, time: Duration::from_millis(1500) };
        let good = [report("a", Ending::Passed)];
        assert_eq!(
            summary(&good, Duration::from_secs(2)),
            "a                          1.5 s  ok\nevery stage is ok, 2.0 s in all\n"
        );
        assert_eq!(exit_code(&good), ExitCode::SUCCESS);
        let bad = [report("a", Ending::Passed), report("b", Ending::Failed("exit status 2".to_owned()))];
        let text = summary(&bad, Duration::from_secs(3));
        assert!(text.contains("FAILED: exit status 2") && text.contains("1 of 2 stages not ok"), "{text}");
        assert_eq!(exit_code(&bad), ExitCode::from(1));
        assert_eq!(exit_code(&[report("c", Ending::Interrupted(2))]), ExitCode::from(130));
    }
}
