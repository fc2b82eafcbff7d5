//! The command line of `rma-guest`.

use super::launcher::Launcher;
use clap::Parser;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Starts a program of MPICH or Open MPI whose one-sided calls this library carries out.
#[derive(Debug, Parser)]
#[command(name = "rma-guest", version, max_term_width = 100)]
#[command(after_help = "RMA_GUEST_VERBOSE=1 says which windows are taken over; RMA_GUEST=0 takes none.")]
pub struct GuestOptions {
    /// The launcher of the other library with its arguments, such as mpirun -n 4 ./prog, or a program to run alone
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What the ranks load first.
const VARIABLE: &str = "LD_PRELOAD";
/// The guest.
const LIBRARY: &str = "librma_guest.so";

/// The program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match GuestOptions::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let Some((program, words)) = options.command.split_first() else { return ExitCode::FAILURE };
    let why = match library() {
        Ok(library) => become_launcher(program, words, &library),
        Err(why) => why,
    };
    eprintln!("rma-guest: {why}");
    ExitCode::FAILURE
}

/// Answers only when the launcher cannot be started, and why.
fn become_launcher(program: &OsStr, words: &[OsString], library: &Path) -> String {
    let value = in_front(std::env::var_os(VARIABLE), library);
    let launcher = Launcher::of(program);
    let mut command = Command::new(program);
    if launcher == Launcher::Other {
        command.env(VARIABLE, &value);
    }
    command.args(launcher.words(VARIABLE, &value));
    if launcher == Launcher::OpenMpi {
        // The others hand their environment on to other machines.
        for (name, value) in ours(std::env::vars_os()) {
            command.args(launcher.words(&name, &value));
        }
    }
    let error = command.args(words).exec();
    format!("{} cannot be started: {error}", program.display())
}

/// Variables of this library, but those by which its own launcher marks its processes.
fn ours(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, OsString)> {
    let is_ours = |name: &String| name.starts_with("RMA_") && !name.starts_with("RMA_JOB");
    let named = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut ours: Vec<_> = named.filter(|(name, _)| is_ours(name)).collect();
    ours.sort_unstable();
    ours
}

/// The guest behind what the user has put in front: a profiler wraps the guest's calls.
fn in_front(others: Option<OsString>, library: &Path) -> OsString {
    let mut value = others.filter(|others| !others.is_empty()).unwrap_or_default();
    if !value.is_empty() {
        value.push(":");
    }
    value.push(library);
    value
}

/// Where the guest lies: as it is installed, or as cargo builds it.
fn library() -> Result<PathBuf, String> {
    let this = std::env::current_exe().and_then(|path| path.canonicalize());
    let this = this.map_err(|error| format!("this program does not find itself: {error}"))?;
    let folder = this.parent().unwrap_or(Path::new("/"));
    let places = [folder.with_file_name("lib").join(LIBRARY), folder.join(LIBRARY)];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| format!("there is no {}", places[0].display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guest_stands_behind_what_the_user_has_put_in_front() {
        let library = Path::new("/l/librma_guest.so");
        assert_eq!(in_front(None, library), "/l/librma_guest.so");
        assert_eq!(in_front(Some("".into()), library), "/l/librma_guest.so");
        assert_eq!(in_front(Some("/p.so".into()), library), "/p.so:/l/librma_guest.so");
    }

    #[test]
    fn variables_of_this_library_are_handed_on_and_marks_are_not() {
        let all = [("RMA_LOG", "info"), ("PATH", "/"), ("RMA_GUEST_VERBOSE", "1"), ("RMA_JOB", "1-2")];
        let found = ours(all.into_iter().map(|(name, value)| (name.into(), value.into())));
        let expected = [("RMA_GUEST_VERBOSE", "1"), ("RMA_LOG", "info")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.into())));
    }

    #[test]
    fn options_of_the_launcher_are_its_own() {
        let parse = |words: &[&str]| GuestOptions::try_parse_from(words).map(|options| options.command);
        assert_eq!(
            parse(&["rma-guest", "mpirun", "-n", "4", "--version"]).unwrap(),
            ["mpirun", "-n", "4", "--version"]
        );
        assert!(parse(&["rma-guest"]).is_err());
    }
}
