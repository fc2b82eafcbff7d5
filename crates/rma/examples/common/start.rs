//! How a demo starts and ends: what keeps any rank from working is known to all before the first step, and told once.
//!
//! Every rank reads the command line and looks at its files. When one of them cannot go on, all end together,
//! so no rank complains of ranks that are gone, and rank 0 says each reason once however many ranks have it.

use clap::Parser;
use rma::{ReduceOp, Result, World};
use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;

/// What a demo comes to.
pub(crate) type Outcome<T> = std::result::Result<T, Box<dyn Error>>;

/// Why a demo ends before it has begun. It may be no error: help is one as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    text: String,
    status: u8,
}

/// Ends a demo whose reason all ranks know, and rank 0 has told.
#[derive(Debug)]
struct Reported(u8);

impl Refusal {
    /// The message to the user; the demo fails.
    pub(crate) fn new(text: impl Display) -> Self {
        Self { text: format!("{text}\n"), status: 1 }
    }

    /// What clap says of a command line.
    fn of_command_line(error: &clap::Error) -> Self {
        Self { text: error.render().to_string(), status: u8::try_from(error.exit_code()).unwrap_or(2) }
    }
}

/// The `main` of a demo: reads its command line and runs it as a rank of the job.
pub(crate) fn main<O: Parser>(run: fn(&World, &O) -> Outcome<()>) -> ExitCode {
    let options = O::try_parse();
    let name = O::command().get_name().to_owned();
    let world = match World::init() {
        Ok(world) => world,
        Err(error) => return failed(&name, &error),
    };
    let options = options.map_err(|error| Refusal::of_command_line(&error));
    let outcome = all_or_nobody(&world, options).and_then(|options| run(&world, &options));
    let outcome = match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => error.downcast::<Reported>().map(|reported| ExitCode::from(reported.0)),
    };
    match outcome {
        Ok(code) => world.finalize().map_or_else(|error| failed(&name, &error), |()| code),
        // The world is dropped, which tells the others.
        Err(error) => failed(&name, &error),
    }
}

fn failed(name: &str, error: &dyn Display) -> ExitCode {
    eprintln!("{name}: {error}");
    ExitCode::FAILURE
}

/// What this rank has, if every rank has something; else the error that `run` has to end with. Collective.
///
/// # Errors
/// When a rank has none, or is lost.
pub(crate) fn all_or_nobody<T>(world: &World, mine: std::result::Result<T, Refusal>) -> Outcome<T> {
    // One more than the status, so that help counts.
    let status = mine.as_ref().map_or_else(|refusal| u64::from(refusal.status) + 1, |_| 0);
    let worst = world.allreduce(ReduceOp::Max, &[status])?[0];
    if worst == 0 {
        return mine.map_err(|refusal| refusal.text.into());
    }
    let text = mine.err().map(|refusal| refusal.text).unwrap_or_default();
    for text in tell(world, &text)? {
        match worst {
            1 => print!("{text}"),
            _ => eprint!("{text}"),
        }
    }
    Err(Box::new(Reported(u8::try_from(worst - 1).unwrap_or(1))))
}

/// The different texts of all ranks, on rank 0.
fn tell(world: &World, text: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for text in world.gather(0, text.as_bytes())?.unwrap_or_default() {
        let text = String::from_utf8_lossy(&text).into_owned();
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

impl Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the reason has been told")
    }
}

impl Error for Reported {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_any_rank_ends_all_and_is_told_once() {
        World::run_threads(4, |world| {
            let mine = if world.rank() < 2 { Ok(()) } else { Err(Refusal::new("no file")) };
            let reported = tell(world, mine.as_ref().err().map_or("", |refusal| &refusal.text))?;
            assert_eq!(reported, if world.rank() == 0 { vec!["no file\n".to_owned()] } else { Vec::new() });
            let error = all_or_nobody(world, mine).unwrap_err();
            assert_eq!(error.downcast::<Reported>().unwrap().0, 1);
            assert_eq!(all_or_nobody(world, Ok(world.rank())).unwrap(), world.rank());
            Ok(())
        })
        .unwrap();
    }
}
