//! Enumerations: the words that some variables have for values (MPI 5.0 §15.3.6 on `MPI_T_enum`).

use super::answer::{Answer, Fault};
use super::control::variables;
use super::event::CALLS;
use super::state::{ENUM, handle};
use crate::abi::{MPI_T_ERR_INVALID_HANDLE, MPI_T_enum};

/// The words of switches.
pub(crate) const SWITCH: &[&str] = &["off", "on"];

/// One enumeration for switches, at 0, and one for each variable that has words, after it.
pub(crate) fn of_switches() -> MPI_T_enum {
    MPI_T_enum(handle(ENUM, 0))
}

/// The enumeration of the variable with this index.
pub(crate) fn of_variable(index: usize) -> MPI_T_enum {
    MPI_T_enum(handle(ENUM, 1 + index as u64))
}

/// The calls that events tell of.
pub(crate) fn of_calls() -> MPI_T_enum {
    MPI_T_enum(handle(ENUM, u64::from(u32::MAX)))
}

/// Name and words; a value is a word's place.
pub(crate) fn find(wanted: MPI_T_enum) -> Answer<(&'static str, &'static [&'static str])> {
    if wanted == of_switches() {
        return Ok(("switch", SWITCH));
    }
    if wanted == of_calls() {
        return Ok(("call", CALLS));
    }
    let with_words = |index: &usize| !variables()[*index].words().is_empty();
    let index = (0..variables().len()).filter(with_words).find(|index| of_variable(*index) == wanted);
    let variable = &variables()[index.ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?];
    Ok((variable.name(), variable.words()))
}
