//! Groups: the objects behind `MPI_Group`, which are local (MPI 5.0 §7.3).
//!
//! A group without members is always `MPI_GROUP_EMPTY`, which programs compare with.

use crate::abi::{
    MPI_CONGRUENT, MPI_GROUP_EMPTY, MPI_GROUP_NULL, MPI_Group, MPI_IDENT, MPI_SIMILAR, MPI_UNEQUAL,
};
use crate::handle::Table;
use rma::{Comparison, Error, ErrorClass, Group, Result};
use std::ffi::c_int;
use std::sync::LazyLock;

pub(crate) static GROUPS: Table<MPI_Group, Group> = Table::new();
static EMPTY: LazyLock<Group> = LazyLock::new(Group::empty);

/// The group of a handle.
///
/// # Errors
/// `MPI_ERR_GROUP` when the handle is null, or of no group.
pub(crate) fn get(group: MPI_Group) -> Result<&'static Group> {
    if group == MPI_GROUP_EMPTY {
        return Ok(&EMPTY);
    }
    // SAFETY: MPI forbids to free a group while another thread passes it to a call.
    unsafe { GROUPS.get(group) }.ok_or_else(|| {
        let cause = match group {
            MPI_GROUP_NULL => "group is MPI_GROUP_NULL".to_owned(),
            group => format!("group {:#x} is no group, or was freed", group.0),
        };
        Error::new(ErrorClass::Group, "", cause)
    })
}

/// Enters a group.
///
/// # Errors
/// `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn enter(group: Group) -> Result<MPI_Group> {
    if group.size() == 0 {
        return Ok(MPI_GROUP_EMPTY);
    }
    GROUPS
        .insert(group)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another group"))
}

/// The ABI's number for how two groups or communicators relate.
pub(crate) fn comparison(comparison: Comparison) -> c_int {
    match comparison {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}
