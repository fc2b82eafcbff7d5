//! What calls of the tool interface answer: codes, and texts by the rule that all of them share.

use crate::abi::*;
use crate::arguments::{In, Out, TextOut};
use rma::Error;
use std::ffi::c_int;

/// The code of a call that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) c_int);

pub(crate) type Answer<T = ()> = Result<T, Fault>;

/// An error of an argument. What is wrong with it has no way to the caller.
impl From<Error> for Fault {
    fn from(_: Error) -> Self {
        Self(MPI_T_ERR_INVALID)
    }
}

/// The place of an index in a list of so many.
pub(crate) fn place(index: c_int, len: usize) -> Answer<usize> {
    usize::try_from(index).ok().filter(|place| *place < len).ok_or(Fault(MPI_T_ERR_INVALID_INDEX))
}

/// Sets an argument that the caller may leave out.
pub(crate) fn set_wanted<T: Copy>(place: Out<T>, value: T) -> Answer {
    match place.is_null() {
        true => Ok(()),
        false => Ok(place.set("", value)?),
    }
}

/// Gives a text out (§15.3.3): as much as there is room for with its end, and the room that all of it needs. Without a
/// length nothing is given; without a buffer, or with no room, only the length.
pub(crate) fn give(text: &str, buffer: TextOut, len: Out<c_int>) -> Answer {
    if len.is_null() {
        return Ok(());
    }
    let room = usize::try_from(len.current().one("")?).map_err(|_| Fault(MPI_T_ERR_INVALID))?;
    if room > 0 && !buffer.is_null() {
        buffer.set_bytes("", text.as_bytes(), room)?;
    }
    Ok(len.set("", text.len() as c_int + 1)?)
}

/// Gives out as many of the numbers as there is room for.
pub(crate) fn give_list(numbers: &[usize], room: c_int, list: Out<c_int>) -> Answer {
    let room = usize::try_from(room).map_err(|_| Fault(MPI_T_ERR_INVALID))?;
    let numbers = numbers.iter().take(room).enumerate();
    numbers.into_iter().try_for_each(|(at, number)| Ok(list.set_at("", at, *number as c_int)?))
}

/// The index of a name.
pub(crate) fn index_of<'a>(
    name: crate::arguments::Text,
    mut names: impl Iterator<Item = &'a str>,
) -> Answer<c_int> {
    const LONGEST: usize = 1 << 16;
    let name = name.bytes("", LONGEST, rma::ErrorClass::Arg)?;
    let index = names.position(|known| known.as_bytes() == name).ok_or(Fault(MPI_T_ERR_INVALID_NAME))?;
    Ok(index as c_int)
}

/// The handle that lies at a place.
pub(crate) fn handle_at<T: Copy>(place: Out<T>) -> Answer<T> {
    let handle: In<T> = place.current();
    Ok(handle.one("")?)
}
