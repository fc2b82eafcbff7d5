//! The command line of `rmarun`.

use clap::{ArgAction, CommandFactory, Parser, ValueEnum, value_parser};
use std::ffi::OsString;

/// Runs a parallel program: N processes on this machine that find each other.
#[derive(Parser, Clone, Debug)]
#[command(name = "rmarun", version, max_term_width = 100)]
#[command(
    after_help = "The exit status is that of the first rank that failed: its exit code, 128 + the signal that \
killed it, or 1 if it left without finalizing; 124 after --timeout, 127 if there is no such program, 126 if it cannot \
be run, 2 for a wrong command line. Ranks other than 0 read end-of-file from their standard input."
)]
pub struct Options {
    /// Number of ranks
    #[arg(short = 'n', long = "ranks", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=65536))]
    pub ranks: u32,

    /// Put the rank in front of every line, as in `[3]`
    #[arg(long)]
    pub tag_output: bool,

    /// End the job after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub timeout: Option<u64>,

    /// Force the transport between ranks (sets RMA_CHANNEL)
    #[arg(long, value_name = "NAME", value_parser = ["auto", "shm", "tcp"])]
    pub channel: Option<String>,

    /// Treat every K consecutive ranks as a machine of their own (sets RMA_RANKS_PER_NODE)
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=65536))]
    pub ranks_per_node: Option<u32>,

    /// What happens to the other ranks when one dies, or ends with a status other than 0
    #[arg(long, value_name = "WHAT", default_value = "end")]
    pub on_failure: OnFailure,

    /// Seconds between asking the ranks to end (SIGTERM) and killing them
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u64).range(0..=3600))]
    pub grace: u64,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true)]
    pub program: Vec<OsString>,
}

/// What the launcher does when a rank fails.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// End the job
    End,
    /// Let the other ranks go on
    Continue,
}

impl Options {
    /// Reads a command line, the program's name first; also takes `-np` for `-n`.
    ///
    /// # Errors
    /// The usage error, or the help or version text, as clap has them.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(mark_program(arguments.into_iter().collect()))
    }
}

/// Puts `--` in front of the program, so that what follows is the program's, and replaces `-np` by `-n` before it.
fn mark_program(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let command = Options::command();
    let takes_value = |text: &str| {
        let mut options = command.get_arguments().filter(|a| matches!(a.get_action(), ArgAction::Set));
        options.any(|option| {
            option.get_short().is_some_and(|short| text == format!("-{short}"))
                || option.get_long().is_some_and(|long| text == format!("--{long}"))
        })
    };
    let mut at = 1;
    while let Some(argument) = arguments.get_mut(at) {
        if argument == "-np" {
            *argument = "-n".into();
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
        ] {
            let options = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let words: Vec<_> = options.program.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!((options.ranks, words.join(" ").as_str()), (ranks, program), "{line}");
        }
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
            ("rmarun --channel smoke a", "auto, shm, tcp"),
            ("rmarun --timeout 0 a", "1..=1000000000"),
            ("rmarun --no-such-option a", "--no-such-option"),
        ] {
            let error = read(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(why), "{line}: {error}");
        }
    }
}
