//! The list of channels. Those of this project are a line each; a program adds its own before it starts.

use super::kind::ChannelKind;
use super::preference::Preference;
use super::{ofi, shm, tcp};
use parking_lot::Mutex;
use rma_core::{Error, ErrorClass, Result};

/// The name that stands for all of them.
pub(super) const AUTO: &str = "auto";

/// What names of added channels begin with. A launcher does not know what the programs add, but finds wrong names before it
/// starts any: it leaves these to the programs.
const ADDED_PREFIX: &str = "x_";

/// The channels of this project.
static BUILT_IN: &[&dyn ChannelKind] = &[&shm::Shm, &tcp::Tcp, &ofi::Ofi];

/// What the program has added.
static ADDED: Mutex<Vec<&'static dyn ChannelKind>> = Mutex::new(Vec::new());

/// Adds a channel, for the rest of the process's life. Do this before anything reads the configuration, on every process of
/// the job.
///
/// # Errors
/// `MPI_ERR_ARG` when the name is taken, or is not `x_` and lower-case letters, digits and underscores.
pub fn register(kind: Box<dyn ChannelKind>) -> Result<()> {
    let name = kind.name();
    let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(ADDED_PREFIX) || !name.chars().all(is_legal) {
        let cause = format!(
            "a channel is to be called {name:?}, but {ADDED_PREFIX} and lower-case letters, digits and _ are needed"
        );
        return Err(Error::new(ErrorClass::Arg, "register", cause));
    }
    let mut added = ADDED.lock();
    if added.iter().any(|kind| kind.name() == name) {
        return Err(Error::new(ErrorClass::Arg, "register", format!("there is a channel {name} already")));
    }
    added.push(Box::leak(kind));
    Ok(())
}

/// All channels, in the order in which they were added.
pub fn kinds() -> Vec<&'static dyn ChannelKind> {
    BUILT_IN.iter().chain(ADDED.lock().iter()).copied().collect()
}

/// Their names.
pub fn names() -> Vec<&'static str> {
    kinds().iter().map(|kind| kind.name()).collect()
}

/// Whether `RMA_CHANNEL` may contain this name.
pub(super) fn is_legal(name: &str) -> bool {
    name == AUTO || name.starts_with(ADDED_PREFIX) || names().contains(&name)
}

/// The names of a preference that no channel has.
pub fn missing(preference: &Preference) -> Vec<&str> {
    let known = names();
    preference
        .names()
        .iter()
        .map(String::as_str)
        .filter(|name| *name != AUTO && !known.contains(name))
        .collect()
}
