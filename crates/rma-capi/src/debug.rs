//! What `RMA_DEBUG` shows: the objects that a program has not freed when it ends MPI, and the calls that made them.
//!
//! It imports the table of every kind of object, and nothing but the end of MPI imports it. Which call has made an object, the tables
//! know ([`crate::noted`]).

use crate::attributes::keyvals_alive;
use crate::communicator::COMMS;
use crate::datatype::{Derived, TYPES};
use crate::errors::{HANDLERS, say};
use crate::group::GROUPS;
use crate::handle::{Handle, Table};
use crate::info::INFOS;
use crate::message::MESSAGES;
use crate::noted;
use crate::op::OPS;
use crate::process::Process;
use crate::request::REQUESTS;
use crate::session::SESSIONS;
use crate::window::WINDOWS;
use std::fmt::Write;

/// Lines of the list, apart from its heading.
const MOST_LINES: usize = 24;
/// Characters of a name in the list.
const MOST_CHARACTERS: usize = 48;

/// Objects that were made by the same call and have the same name.
#[derive(Debug, PartialEq, Eq)]
struct Alike {
    kind: &'static str,
    name: Option<String>,
    made_by: Option<&'static str>,
    /// The call that has opened an epoch that is still open.
    epoch: Option<&'static str>,
    count: usize,
}

/// Lists what is not freed, if that is wanted.
pub(crate) fn report(process: &Process) {
    if noted::is_noting() {
        let rank = process.world.inner.rank();
        text(rank, &alive()).iter().for_each(|text| say(text));
    }
}

/// Everything of the program that is there, in the order in which it should be freed.
fn alive() -> Vec<Alike> {
    let mut all = Vec::new();
    WINDOWS.each(|window, made_by| {
        add("window", window.name.bytes(), made_by, window.inner.open_epoch(), &mut all)
    });
    of(&REQUESTS, "request", |_| Some(Vec::new()), &mut all);
    of(&MESSAGES, "message", |_| Some(Vec::new()), &mut all);
    of(&COMMS, "communicator", |comm| Some(comm.name.bytes()), &mut all);
    let of_program = |datatype: &Derived| (!datatype.recipe.is_parametrized()).then(|| datatype.name.bytes());
    of(&TYPES, "datatype", of_program, &mut all);
    of(&GROUPS, "group", |_| Some(Vec::new()), &mut all);
    of(&OPS, "operation", |_| Some(Vec::new()), &mut all);
    // A handler that is attached stays although the program has freed it.
    of(&HANDLERS, "error handler", |handler| handler.is_held().then(Vec::new), &mut all);
    for made_by in keyvals_alive() {
        add("keyval", Vec::new(), made_by, None, &mut all);
    }
    of(&INFOS, "info object", |_| Some(Vec::new()), &mut all);
    of(&SESSIONS, "session", |_| Some(Vec::new()), &mut all);
    all
}

/// Adds the objects of a table; those that `name` knows none of do not count.
fn of<H: Handle, T: Send + Sync, P>(
    table: &Table<H, T, P>,
    kind: &'static str,
    name: impl Fn(&T) -> Option<Vec<u8>>,
    all: &mut Vec<Alike>,
) {
    table.each(|object, made_by| {
        if let Some(name) = name(object) {
            add(kind, name, made_by, None, all);
        }
    });
}

fn add(
    kind: &'static str,
    name: Vec<u8>,
    made_by: Option<&'static str>,
    epoch: Option<&'static str>,
    all: &mut Vec<Alike>,
) {
    let name = (!name.is_empty()).then(|| short(&String::from_utf8_lossy(&name)));
    let is_like =
        |one: &&mut Alike| (one.kind, &one.name, one.made_by, one.epoch) == (kind, &name, made_by, epoch);
    match all.iter_mut().find(is_like) {
        Some(found) => found.count += 1,
        None => all.push(Alike { kind, name, made_by, epoch, count: 1 }),
    }
}

/// A name on one line, in quotes.
fn short(name: &str) -> String {
    let start: String = name.chars().take(MOST_CHARACTERS).collect();
    let more = if start.len() < name.len() { "…" } else { "" };
    format!("{start:?}{more}")
}

/// The list, in one piece, or nothing when there is nothing to tell.
fn text(rank: u32, all: &[Alike]) -> Option<String> {
    let total: usize = all.iter().map(|alike| alike.count).sum();
    if total == 0 {
        return None;
    }
    let verb = if total == 1 { "object was" } else { "objects were" };
    let mut text = format!("rma: rank {rank}: {total} {verb} not freed before MPI_Finalize:");
    for Alike { kind, name, made_by, epoch, count } in all.iter().take(MOST_LINES) {
        let _ = write!(text, "\nrma: rank {rank}:   {count} {kind}{}", if *count == 1 { "" } else { "s" });
        if let Some(name) = name {
            let _ = write!(text, " {name}");
        }
        let _ = write!(text, ", made by {}", made_by.unwrap_or("a call that is not known"));
        if let Some(call) = epoch {
            let _ = write!(text, ", in the epoch that MPI_Win_{call} opened");
        }
    }
    let rest: usize = all.iter().skip(MOST_LINES).map(|alike| alike.count).sum();
    if rest > 0 {
        let _ = write!(text, "\nrma: rank {rank}:   and {rest} more");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_are_alike_share_a_line() {
        let mut all = Vec::new();
        assert_eq!(text(3, &all), None);
        add("window", b"a\nb".to_vec(), Some("MPI_Win_create"), Some("lock_all"), &mut all);
        for _ in 0..2 {
            add("group", Vec::new(), None, None, &mut all);
        }
        assert_eq!(
            text(3, &all).unwrap(),
            "rma: rank 3: 3 objects were not freed before MPI_Finalize:\n\
             rma: rank 3:   1 window \"a\\nb\", made by MPI_Win_create, in the epoch that MPI_Win_lock_all opened\n\
             rma: rank 3:   2 groups, made by a call that is not known"
        );
    }

    #[test]
    fn the_list_is_bounded() {
        let mut all = Vec::new();
        for number in 0..100 {
            add(
                "datatype",
                format!("{number}{}", "x".repeat(500)).into_bytes(),
                Some("MPI_Type_dup"),
                None,
                &mut all,
            );
        }
        let text = text(0, &all).unwrap();
        assert_eq!(text.lines().count(), MOST_LINES + 2);
        assert!(text.ends_with(&format!("and {} more", 100 - MOST_LINES)), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 120), "{text}");
    }
}
