//! The command line of `rmarun`.
//!
//! A job is one program or several, each with its number of ranks, separated by a word `:`. What concerns the whole job
//! stands before the first program.

use super::hosts::Hosts;
use crate::channels::Preference;
use crate::config::ERRHANDLERS;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, ValueEnum, value_parser};
use rma_core::config::Value;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs a parallel program: N processes, on this machine or on several, that find each other.
#[derive(Parser, Clone, Debug)]
#[command(name = "rmarun", version, max_term_width = 100)]
#[command(
    override_usage = "rmarun [OPTIONS] PROGRAM [ARGUMENTS] [: [-n N] [-x NAME=VALUE] [--wdir DIR] PROGRAM ...]"
)]
#[command(
    after_help = "Ranks have the environment of rmarun. More programs of the same job follow after a word ':', each with \
its own -n, -x and --wdir.\n\nThe exit status is that of the first rank that failed: its exit code, 128 + the signal that \
killed it, or 1 if it left without finalizing; 124 after --timeout, 125 after --on-deadlock=end, 69 if a host is lost or cannot be reached, 74 if the output cannot be written, 127 if there is no \
such program, 126 if it cannot be run, 2 for a wrong command line or a wrong value of a variable. Ranks other than 0 read end-of-file from their standard input."
)]
pub struct Options {
    /// The first program.
    #[command(flatten)]
    pub first: Program,

    /// Put the rank in front of every line, as in `[3]`
    #[arg(long)]
    pub tag_output: bool,

    /// End the job after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub timeout: Option<u64>,

    /// Transports between ranks in order of preference; one alone is forced (sets RMA_CHANNEL)
    #[arg(long, value_name = "NAME[,NAME...]", value_parser = channels)]
    pub channel: Option<String>,

    /// Treat every K consecutive ranks as a machine of their own (sets RMA_RANKS_PER_NODE)
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=65536))]
    pub ranks_per_node: Option<u32>,

    /// What happens to the other ranks when one dies, or ends with a status other than 0
    #[arg(long, value_name = "WHAT", default_value = "end")]
    pub on_failure: OnFailure,

    /// What happens when ranks wait for each other in a circle that cannot open
    #[arg(long, value_name = "WHAT", default_value = "report")]
    pub on_deadlock: OnDeadlock,

    /// Error handler that MPI_COMM_WORLD and MPI_COMM_SELF have at first (also -initial-errhandler; sets RMA_INITIAL_ERRHANDLER)
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = PossibleValuesParser::new(ERRHANDLERS))]
    pub initial_errhandler: Option<String>,

    /// Seconds between asking the ranks to end (SIGTERM) and killing them
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u64).range(0..=3600))]
    pub grace: u64,

    /// Let processes that have left the job's process group (daemons that ranks have started) outlive the job
    #[arg(long)]
    pub keep_children: bool,

    /// Hosts to run on, each with its number of slots (1); also -hosts, --host
    #[arg(long, value_name = "HOST[:N],...", value_parser = Hosts::of_list)]
    pub hosts: Option<Hosts>,

    /// File with a host per line, as host, host:N or 'host slots=N' (also -hostfile, -machinefile, -f)
    #[arg(long, value_name = "FILE", conflicts_with = "hosts", value_parser = host_file)]
    pub hostfile: Option<Hosts>,

    /// Command that runs another one on a host: its words, then the host and the command are added
    #[arg(long, value_name = "COMMAND", default_value = "ssh", value_parser = agent)]
    pub launch_agent: String,

    /// How ranks are spread over hosts
    #[arg(long, value_name = "WHAT", default_value = "slot")]
    pub map_by: MapBy,

    /// What each rank is bound to
    #[arg(long, value_name = "WHAT", default_value = "none")]
    pub bind_to: BindTo,

    /// Print where each rank would run, and start nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Whether the command line says how many ranks there are.
    #[arg(skip)]
    pub says_ranks: bool,

    /// The programs after the first.
    #[arg(skip)]
    pub more: Vec<Program>,
}

/// One program of a job and what concerns only it.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Number of ranks (also -np); with hosts and one program, without it, one for each slot
    #[arg(short = 'n', long = "ranks", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=RANKS_MAX))]
    pub ranks: u32,

    /// Set a variable for the ranks; without a value, check that it is set, since ranks have the whole environment
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]", value_parser = variable)]
    pub variables: Vec<(String, String)>,

    /// Directory that the ranks start in
    #[arg(long, value_name = "DIR")]
    pub wdir: Option<PathBuf>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true)]
    pub command: Vec<OsString>,
}

/// Most ranks of a job.
const RANKS_MAX: i64 = 65536;

/// What separates the programs of a job.
const SEPARATOR: &str = ":";

/// What the launcher does when a rank fails.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// End the job
    End,
    /// Let the other ranks go on
    Continue,
}

/// What the launcher does when it finds a deadlock.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeadlock {
    /// Say so, and go on
    Report,
    /// Say so, and end the job
    End,
}

/// How ranks are spread over hosts.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapBy {
    /// The slots of a host are filled before those of the next
    Slot,
    /// Each host gets one in turn
    Node,
}

/// What ranks are bound to.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindTo {
    /// A core of its own
    Core,
    /// The cores of a socket, each socket in turn
    Socket,
    /// Nothing
    None,
}

impl Options {
    /// Reads a command line, the program's name first; also takes `-np` for `-n`, and some options that others write with one dash.
    ///
    /// # Errors
    /// The usage error, or the help or version text, as clap has them.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut parts = split(arguments.into_iter().collect()).into_iter();
        let matches = Self::command().try_get_matches_from(mark_program(parts.next().unwrap_or_default()))?;
        let mut options = Self::from_arg_matches(&matches)?;
        options.says_ranks = matches.value_source("ranks") == Some(ValueSource::CommandLine);
        for part in parts {
            let command = Program::augment_args(clap::Command::new("rmarun"))
                .override_usage("rmarun ... : [-n N] [-x NAME=VALUE] [--wdir DIR] PROGRAM [ARGUMENTS]");
            let matches = command.try_get_matches_from(mark_program(part))?;
            options.more.push(Program::from_arg_matches(&matches)?);
        }
        match options.programs().map(|program| i64::from(program.ranks)).sum::<i64>() {
            0..=RANKS_MAX => Ok(options),
            ranks => Err(Self::command().error(
                clap::error::ErrorKind::ValueValidation,
                format!("{ranks} ranks in all are too many: at most {RANKS_MAX}"),
            )),
        }
    }

    /// The programs of the job in the order of their ranks.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// Number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.programs().map(|program| program.ranks).sum()
    }
}

/// Reads a file of hosts.
fn host_file(path: &str) -> Result<Hosts, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| cause.to_string())?;
    Hosts::of_file(&text)
}

fn agent(text: &str) -> Result<String, String> {
    match text.split_whitespace().next() {
        Some(_) => Ok(text.to_owned()),
        None => Err("a command is needed".to_owned()),
    }
}

/// Reads a value of `RMA_CHANNEL`.
fn channels(text: &str) -> Result<String, String> {
    Preference::parse(text, &()).map(|read| read.show())
}

/// Reads `NAME=VALUE`, or `NAME`, which has the value it has here.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => match std::env::var(text) {
            Ok(value) => (text, value),
            Err(std::env::VarError::NotPresent) => {
                return Err(format!("{text} is not set here; -x {text}=VALUE sets it"));
            }
            Err(std::env::VarError::NotUnicode(_)) => return Err(format!("the value of {text} is no text")),
        },
    };
    if name.is_empty() || name.contains('\0') || value.contains('\0') {
        return Err("a name is needed before '='".to_owned());
    }
    Ok((name.to_owned(), value))
}

/// The words of each program, each behind the name of the launcher.
fn split(arguments: Vec<OsString>) -> Vec<Vec<OsString>> {
    let name = arguments.first().cloned().unwrap_or_default();
    let parts = arguments.split(|word| word == SEPARATOR).enumerate();
    parts
        .map(
            |(at, words)| {
                if at == 0 { words.to_vec() } else { [std::slice::from_ref(&name), words].concat() }
            },
        )
        .collect()
}

/// Puts `--` in front of the program, so that what follows is the program's, and gives options before it that others write
/// with one dash the form they have here.
fn mark_program(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let command = Options::command();
    let takes_value = |text: &str| {
        let is_read = |action: &ArgAction| matches!(action, ArgAction::Set | ArgAction::Append);
        let mut options = command.get_arguments().filter(|argument| is_read(argument.get_action()));
        options.any(|option| {
            option.get_short().is_some_and(|short| text == format!("-{short}"))
                || option.get_long().is_some_and(|long| text == format!("--{long}"))
        })
    };
    let mut at = 1;
    while let Some(argument) = arguments.get_mut(at) {
        match argument.to_str() {
            Some("-np") => *argument = "-n".into(),
            Some("-wdir" | "-wd") => *argument = "--wdir".into(),
            Some("-initial-errhandler") => *argument = "--initial-errhandler".into(),
            Some("-hosts" | "-host" | "--host") => *argument = "--hosts".into(),
            Some("-hostfile" | "-machinefile" | "--machinefile" | "-f") => *argument = "--hostfile".into(),
            _ => {}
        }
        match argument.to_str() {
            Some(text) if text != "--" && text.starts_with('-') => at += 1 + usize::from(takes_value(text)),
            Some("--") => break,
            _ => {
                arguments.insert(at, "--".into());
                break;
            }
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, clap::Error> {
        Options::read(line.split(' ').map(OsString::from))
    }

    fn words(program: &Program) -> String {
        program.command.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_program_starts_where_the_options_end() {
        Options::command().debug_assert();
        for (line, ranks, program) in [
            ("rmarun a", 1, "a"),
            ("rmarun -n 4 a -n 5", 4, "a -n 5"),
            ("rmarun -np 4 a -np 5", 4, "a -np 5"),
            ("rmarun -n3 a", 3, "a"),
            ("rmarun --timeout 9 -np 2 a --timeout 3", 2, "a --timeout 3"),
            ("rmarun --tag-output -np 2 a", 2, "a"),
            ("rmarun --ranks=2 -- -np x", 2, "-np x"),
            ("rmarun -x A=1 --env B=2 -n 2 a -x C", 2, "a -x C"),
            ("rmarun -wdir / -n 2 a", 2, "a"),
            ("rmarun -initial-errhandler mpi_errors_return -n 2 a", 2, "a"),
            ("rmarun --initial-errhandler MPI_ERRORS_ABORT -n 2 a", 2, "a"),
            ("rmarun -hosts a,b:2 --map-by node -n 5 a", 5, "a"),
            ("rmarun --host a,b:2 --dry-run a", 1, "a"),
        ] {
            let options = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!((options.ranks(), words(&options.first).as_str()), (ranks, program), "{line}");
        }
    }

    #[test]
    fn programs_are_separated_by_colons() {
        let options = read("rmarun --timeout 9 -n 2 a b:c : -np 3 -x A=x=y --wdir /tmp d -n : e").unwrap();
        let programs: Vec<_> = options.programs().map(|program| (program.ranks, words(program))).collect();
        let expected = [(2, "a b:c"), (3, "d -n"), (1, "e")];
        assert_eq!(programs, expected.map(|(ranks, words)| (ranks, words.to_owned())));
        assert_eq!(options.ranks(), 6);
        assert_eq!(options.more[0].variables, [("A".to_owned(), "x=y".to_owned())]);
        assert_eq!(options.more[0].wdir.as_deref(), Some(std::path::Path::new("/tmp")));
        assert_eq!(options.first.wdir, None);
    }

    #[test]
    fn bad_usage_names_the_limits() {
        for (line, why) in [
            ("rmarun", "PROGRAM"),
            ("rmarun -n 4", "PROGRAM"),
            ("rmarun -n 0 a", "1..=65536"),
            ("rmarun -n -1 a", "-1"),
            ("rmarun -n x a", "invalid"),
            ("rmarun -n 65537 a", "1..=65536"),
            ("rmarun -n 65536 a : b", "65537 ranks in all"),
            ("rmarun --channel smoke a", "auto, shm, tcp"),
            ("rmarun --initial-errhandler none a", "mpi_errors_return"),
            ("rmarun --timeout 0 a", "1..=1000000000"),
            ("rmarun --hosts a;b x", "no name of a host"),
            ("rmarun --hostfile /no/such/file a", "No such file"),
            ("rmarun --bind-to thread a", "core, socket, none"),
            ("rmarun --no-such-option a", "--no-such-option"),
            ("rmarun -x =1 a", "a name is needed"),
            ("rmarun -x RMA_TEST_NEVER_SET a", "RMA_TEST_NEVER_SET is not set here"),
            ("rmarun -n 2 a : -n 2", "PROGRAM"),
            ("rmarun -n 2 a :", "PROGRAM"),
            ("rmarun -n 2 a : --timeout 3 b", "--timeout"),
        ] {
            let error = read(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(why), "{line}: {error}");
        }
    }
}
