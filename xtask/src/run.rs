//! `cargo xtask run`: builds a program of the workspace and the launcher, and becomes the launcher.
//!
//! The launcher replaces this process, so that exit status, signals and terminal are its own business.

use crate::Outcome;
use crate::workspace::{LAUNCHER, Program, Workspace};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// How long it takes when nothing is built, on few cores and on many.
const FIRST_BUILD: &str = "one to two minutes on two cores";
/// Part of the names of programs that only tests run.
const HELPER: &str = "-test-";

/// Build a program and run it on N processes.
///
/// PROG is a bin or example of this workspace (heat2d, wordcount), or the path of any program. Variables RMA_* of the
/// environment reach the ranks as they are; the options below set the usual ones.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of processes.
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,

    /// Build with optimization (the default).
    #[arg(long, conflicts_with = "dev")]
    release: bool,

    /// Build without optimization, with checks of arithmetic and debug assertions.
    #[arg(long)]
    dev: bool,

    /// How packets travel; auto is memory within a node and TCP between nodes [RMA_CHANNEL].
    #[arg(long, value_name = "NAME", value_parser = ["auto", "shm", "tcp"])]
    channel: Option<String>,

    /// 0: no direct access to other ranks' windows, everything in packets [RMA_DIRECT].
    #[arg(long, value_name = "0|1", value_parser = ["0", "1"])]
    direct: Option<String>,

    /// Treat each K ranks as a node of their own [RMA_RANKS_PER_NODE].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,

    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_names = ["PROG", "ARGS"])]
    command: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let (program, arguments) = args.command.split_first().ok_or("a program is needed")?;
    let program = resolve(workspace, program)?;
    eprintln!("{}", announcement(&program, args.dev));
    let status = build(workspace, &program, args.dev).status();
    if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
        return Ok(ExitCode::FAILURE);
    }
    let directory = workspace.target().join(if args.dev { "debug" } else { "release" });
    let mut launch = Command::new(directory.join(LAUNCHER));
    launch.args(["-n", &args.n.to_string()]).arg(program.executable(&directory)).args(arguments);
    for (name, value) in args.variables() {
        match value {
            Some(value) => launch.env(name, value),
            None => launch.env_remove(name),
        };
    }
    let error = launch.exec();
    Err(format!("{} could not be started: {error}", directory.join(LAUNCHER).display()))
}

impl Args {
    /// The variables that the options set; one without a value is taken out of the environment.
    fn variables(&self) -> Vec<(&'static str, Option<String>)> {
        let mut variables = Vec::new();
        if let Some(channel) = &self.channel {
            variables.push(("RMA_CHANNEL", (channel != "auto").then(|| channel.clone())));
        }
        if let Some(direct) = &self.direct {
            variables.push(("RMA_DIRECT", Some(direct.clone())));
        }
        if let Some(ranks) = self.ranks_per_node {
            variables.push(("RMA_RANKS_PER_NODE", Some(ranks.to_string())));
        }
        variables
    }
}

/// What PROG names.
#[derive(Debug, PartialEq, Eq)]
enum Resolved {
    /// A program of the workspace, with its package.
    Member { package: String, program: Program },
    /// Any other program.
    Path(OsString),
}

impl Resolved {
    fn executable(&self, directory: &std::path::Path) -> PathBuf {
        match self {
            Self::Member { program, .. } if program.is_example => {
                directory.join("examples").join(&program.name)
            }
            Self::Member { program, .. } => directory.join(&program.name),
            Self::Path(path) => path.into(),
        }
    }
}

/// A word without a slash names a program of the workspace; anything else is a path, as in a shell.
fn resolve(workspace: &Workspace, name: &OsStr) -> Result<Resolved, String> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Ok(Resolved::Path(name.to_owned()));
    }
    let mut known = Vec::new();
    for package in workspace.packages().iter().filter(|package| package.name != env!("CARGO_PKG_NAME")) {
        for program in package.programs.iter().filter(|program| program.name != LAUNCHER) {
            if name == program.name.as_str() {
                return Ok(Resolved::Member { package: package.name.clone(), program: program.clone() });
            }
            if !program.name.contains(HELPER) {
                known.push(program.name.as_str());
            }
        }
    }
    known.sort_unstable();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(format!(
        "no program {} in this workspace; there are: {known}. A path needs a slash, such as ./{0}",
        name.to_string_lossy()
    ))
}

/// What the next minutes are for.
fn announcement(program: &Resolved, dev: bool) -> String {
    let programs = match program {
        Resolved::Path(_) => LAUNCHER.to_owned(),
        Resolved::Member { program, .. } => format!("{LAUNCHER} and {}", program.name),
    };
    let how = if dev { "without" } else { "with" };
    format!("building {programs} {how} optimization: {FIRST_BUILD} the first time, then seconds")
}

/// The launcher and the program, and nothing else of their packages.
fn build(workspace: &Workspace, program: &Resolved, dev: bool) -> Command {
    let mut build = workspace.build_launcher();
    if let Resolved::Member { package, program } = program {
        build.args(["--package", package]);
        build.args([if program.is_example { "--example" } else { "--bin" }, &program.name]);
    }
    if !dev {
        build.arg("--release");
    }
    build
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        crate::testing::parse(&format!("run {line}"))
    }

    #[test]
    fn options_end_at_the_program() {
        let args = parse("-n 4 --channel tcp --direct 0 --ranks-per-node 2 heat2d -n 7 --dev").unwrap();
        assert_eq!(args.command, ["heat2d", "-n", "7", "--dev"]);
        assert_eq!((args.n, args.dev), (4, false));
        let expected = [("RMA_CHANNEL", "tcp"), ("RMA_DIRECT", "0"), ("RMA_RANKS_PER_NODE", "2")];
        assert_eq!(args.variables(), expected.map(|(name, value)| (name, Some(value.to_owned()))));
    }

    #[test]
    fn auto_takes_the_variable_away() {
        assert_eq!(parse("-n 1 --channel auto x").unwrap().variables(), [("RMA_CHANNEL", None)]);
        assert_eq!(parse("-n 1 x").unwrap().variables(), []);
    }

    #[test]
    fn bad_options_are_refused() {
        for line in [
            "-n 0 x",
            "-n 1",
            "x",
            "-n 1 --channel udp x",
            "-n 1 --direct 2 x",
            "-n 1 --ranks-per-node 0 x",
            "-n 1 --dev --release x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn unknown_names_list_what_exists() {
        let workspace = Workspace::find().unwrap();
        let error = resolve(&workspace, OsStr::new("no-such-demo")).unwrap_err();
        assert!(error.contains("no program no-such-demo"), "{error}");
        assert!(
            error.contains("./no-such-demo") && !error.contains("xtask") && !error.contains(HELPER),
            "{error}"
        );
        let path = resolve(&workspace, OsStr::new("./a.out")).unwrap();
        assert_eq!(path, Resolved::Path("./a.out".into()));
    }

    #[test]
    fn only_what_is_run_is_built_and_it_is_said() {
        let workspace = Workspace::find().unwrap();
        let demo = resolve(&workspace, OsStr::new("heat2d")).unwrap();
        let command = build(&workspace, &demo, false);
        let words = command.get_args().map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("--features launcher --bin rmarun") && words.contains("--example heat2d"),
            "{words}"
        );
        assert!(!words.contains("--bins") && words.contains("--release"), "{words}");
        assert!(announcement(&demo, false).starts_with("building rmarun and heat2d with optimization: "));
        let path = resolve(&workspace, OsStr::new("./a.out")).unwrap();
        assert!(announcement(&path, true).starts_with("building rmarun without optimization: "));
    }

    #[test]
    fn examples_and_bins_lie_where_cargo_puts_them() {
        let member = |is_example| Resolved::Member {
            package: "p".to_owned(),
            program: Program { name: "x".to_owned(), is_example },
        };
        let directory = std::path::Path::new("/t/release");
        assert_eq!(member(false).executable(directory), PathBuf::from("/t/release/x"));
        assert_eq!(member(true).executable(directory), PathBuf::from("/t/release/examples/x"));
    }
}
