//! Enumerations: the words that some variables have for values (MPI 5.0 §15.3.6 on `MPI_T_enum`).

use super::answer::{Answer, Fault, give, place};
use super::control::variables;
use super::state::{ENUM, call, handle};
use crate::abi::*;
use crate::arguments::{Out, TextOut};
use crate::entry::plain;
use std::ffi::c_int;

/// The words of switches.
pub(super) const SWITCH: &[&str] = &["off", "on"];

/// One enumeration for switches, at 0, and one for each variable that has words, after it.
pub(super) fn of_switches() -> MPI_T_enum {
    MPI_T_enum(handle(ENUM, 0))
}

/// The enumeration of the variable with this index.
pub(super) fn of_variable(index: usize) -> MPI_T_enum {
    MPI_T_enum(handle(ENUM, 1 + index as u64))
}

/// Name and words; a value is a word's place.
fn find(wanted: MPI_T_enum) -> Answer<(&'static str, &'static [&'static str])> {
    if wanted == of_switches() {
        return Ok(("switch", SWITCH));
    }
    let with_words = |index: &usize| !variables()[*index].words().is_empty();
    let index = (0..variables().len()).filter(with_words).find(|index| of_variable(*index) == wanted);
    let variable = &variables()[index.ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?];
    Ok((variable.name(), variable.words()))
}

plain! {
    /// `MPI_T_enum_get_info`.
    fn MPI_T_enum_get_info(enumtype: MPI_T_enum, num: Out<c_int>, name: TextOut, name_len: Out<c_int>) -> c_int {
        call(|_| {
            let (known_as, words) = find(enumtype)?;
            num.set("", words.len() as c_int)?;
            give(known_as, name, name_len)
        })
    }

    /// `MPI_T_enum_get_item`.
    fn MPI_T_enum_get_item(
        enumtype: MPI_T_enum,
        indx: c_int,
        value: Out<c_int>,
        name: TextOut,
        name_len: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let (_, words) = find(enumtype)?;
            let item = place(indx, words.len())?;
            value.set("", item as c_int)?;
            give(words[item], name, name_len)
        })
    }
}
