//! The command line of `rma-info`.

use super::report::Report;
use super::text;
use clap::Parser;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Columns where no terminal says how many it has.
const USUAL_WIDTH: usize = 80;

/// Says what the library is, and prints every variable that sets it with the value in force.
#[derive(Debug, Parser)]
#[command(name = "rma-info", version, max_term_width = 100)]
#[command(
    after_help = "The exit status is 0, or 1 when a variable of the environment has a value that is not legal: such a \
value is named with what is legal, and a program of the library would not start with it."
)]
pub struct InfoOptions {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print the channels instead: what is there, why the others are not, and what two ranks use
    #[arg(long, conflicts_with = "names")]
    channels: bool,

    /// Print the functions of MPI that the C library does not have instead
    #[arg(long, conflicts_with_all = ["names", "json", "channels"])]
    missing: bool,

    /// Only variables whose name contains one of these
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// The program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match InfoOptions::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    if options.missing {
        let _ = std::io::stdout().write_all(text::show_missing(width()).as_bytes());
        return ExitCode::SUCCESS;
    }
    let look_up = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let mut report = Report::new(&look_up, names);
    report.keep(&options.names);
    if report.settings.is_empty() {
        eprintln!("rma-info: no variable has {} in its name", options.names.join(" or "));
        return ExitCode::from(2);
    }
    let text = match (options.json, options.channels) {
        (true, true) => format!("{:#}\n", report.json_of_channels()),
        (true, false) => format!("{:#}\n", report.json()),
        (false, true) => text::show_channels(&report, width()),
        (false, false) => text::show(&report, width()),
    };
    // A reader of only the beginning, as `head` is, has enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    report.warnings.iter().for_each(|line| eprintln!("rma-info: warning: {line}"));
    report.errors.iter().for_each(|line| eprintln!("rma-info: {line}"));
    if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Columns of the terminal; COLUMNS says it where there is none.
fn width() -> usize {
    let stdout = std::io::stdout();
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || match stdout.is_terminal() {
        true => rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)),
        false => None,
    };
    set.or_else(seen).filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}
