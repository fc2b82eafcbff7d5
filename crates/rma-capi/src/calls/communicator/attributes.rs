//! Attributes of communicators: the standard's, and those of the program (MPI 5.0 §7.7.2, §9.1.2).

use crate::abi::*;
use crate::arguments::{Opaque, Out};
use crate::attributes::{CopyFunction, DeleteFunction, OwnerKind, create, free};
use crate::communicator::{TAG_UB, owner};
use crate::entry::entry;
use crate::errors::{Raiser, last_used_code};
use crate::process::Process;
use rma::Result;
use std::ffi::c_int;

entry! {
    /// `MPI_Comm_create_keyval`.
    fn MPI_Comm_create_keyval(
        comm_copy_attr_fn: CopyFunction,
        comm_delete_attr_fn: DeleteFunction,
        comm_keyval: Out<c_int>,
        extra_state: Opaque,
    ) raises Raiser::None; |_| {
        create(OwnerKind::Comm, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state)
    }

    /// `MPI_Comm_free_keyval`.
    fn MPI_Comm_free_keyval(comm_keyval: Out<c_int>) raises Raiser::None; |_| {
        free(OwnerKind::Comm, comm_keyval)
    }

    /// `MPI_Comm_get_attr`.
    fn MPI_Comm_get_attr(
        comm: MPI_Comm,
        comm_keyval: c_int,
        attribute_val: Out<Opaque>,
        flag: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        get(process, comm, comm_keyval, attribute_val, flag)
    }

    /// `MPI_Comm_set_attr`.
    fn MPI_Comm_set_attr(
        comm: MPI_Comm,
        comm_keyval: c_int,
        attribute_val: Opaque,
    ) raises Raiser::Comm(comm); |process| {
        set(process, comm, comm_keyval, attribute_val)
    }

    /// `MPI_Comm_delete_attr`.
    fn MPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) raises Raiser::Comm(comm); |process| {
        delete(process, comm, comm_keyval)
    }
}

/// What the calls that get an attribute do.
pub(in crate::calls) fn get(
    process: &'static Process,
    comm: MPI_Comm,
    keyval: c_int,
    attribute_val: Out<Opaque>,
    flag: Out<c_int>,
) -> Result<()> {
    let attributes = &process.comm(comm)?.attributes;
    let found = match predefined(process, keyval) {
        Some(value) => Some(value),
        None => attributes.get(OwnerKind::Comm, keyval)?,
    };
    flag.check("flag")?;
    if let Some(value) = found {
        attribute_val.set("attribute_val", value)?;
    }
    flag.set("flag", found.is_some().into())
}

/// What the calls that set one do.
pub(in crate::calls) fn set(
    process: &'static Process,
    comm: MPI_Comm,
    keyval: c_int,
    value: Opaque,
) -> Result<()> {
    process.comm(comm)?.attributes.set(owner(comm), keyval, value)
}

/// What the calls that delete one do.
pub(in crate::calls) fn delete(process: &'static Process, comm: MPI_Comm, keyval: c_int) -> Result<()> {
    process.comm(comm)?.attributes.delete(owner(comm), keyval)
}

/// The standard's attributes, and that of its fault chapter to be, on every communicator: addresses of numbers.
fn predefined(process: &'static Process, keyval: c_int) -> Option<Opaque> {
    static HIGHEST_TAG: c_int = TAG_UB;
    // Each process counts from its own first question.
    static IS_TIME_GLOBAL: c_int = 0;
    static HOST: c_int = MPI_PROC_NULL;
    static WHO_CAN_DO_IO: c_int = MPI_ANY_SOURCE;
    // A launcher that starts several programs as one job tells by PMI which one this is; the library starts one.
    static APPLICATION: c_int = 0;
    Some(match keyval {
        MPI_TAG_UB => Opaque::address_of(&HIGHEST_TAG),
        MPI_WTIME_IS_GLOBAL => Opaque::address_of(&IS_TIME_GLOBAL),
        MPI_HOST => Opaque::address_of(&HOST),
        MPI_IO => Opaque::address_of(&WHO_CAN_DO_IO),
        MPI_APPNUM => Opaque::address_of(&APPLICATION),
        MPI_UNIVERSE_SIZE => Opaque::address_of(&process.universe_size),
        MPIX_FT => Opaque::address_of(process.survives()),
        MPI_LASTUSEDCODE => Opaque::address_of(last_used_code()),
        _ => return None,
    })
}
