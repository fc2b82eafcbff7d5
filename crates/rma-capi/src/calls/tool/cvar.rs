//! `MPI_T_cvar_*` (MPI 5.0 §15.3.6).

use crate::abi::*;
use crate::arguments::{Memory, Out, Text, TextOut};
use crate::entry::plain;
use crate::tool::answer::{Fault, give, handle_at, index_of, place, set_wanted};
use crate::tool::control::variables;
use crate::tool::state::{Tool, call};
use std::ffi::c_int;

plain! {
    /// `MPI_T_cvar_get_num`.
    fn MPI_T_cvar_get_num(num_cvar: Out<c_int>) -> c_int {
        call(|_| Ok(num_cvar.set("", variables().len() as c_int)?))
    }

    /// `MPI_T_cvar_get_info`.
    fn MPI_T_cvar_get_info(
        cvar_index: c_int,
        name: TextOut,
        name_len: Out<c_int>,
        verbosity: Out<c_int>,
        datatype: Out<MPI_Datatype>,
        enumtype: Out<MPI_T_enum>,
        desc: TextOut,
        desc_len: Out<c_int>,
        bind: Out<c_int>,
        scope: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let index = place(cvar_index, variables().len())?;
            let variable = &variables()[index];
            give(variable.name(), name, name_len)?;
            give(&variable.description(), desc, desc_len)?;
            set_wanted(verbosity, variable.verbosity())?;
            set_wanted(datatype, variable.datatype())?;
            set_wanted(enumtype, variable.enumeration(index))?;
            set_wanted(bind, MPI_T_BIND_NO_OBJECT)?;
            set_wanted(scope, variable.scope())
        })
    }

    /// `MPI_T_cvar_get_index`.
    fn MPI_T_cvar_get_index(name: Text, cvar_index: Out<c_int>) -> c_int {
        call(|_| {
            cvar_index.check("")?;
            let names = variables().iter().map(|variable| variable.name());
            Ok(cvar_index.set("", index_of(name, names)?)?)
        })
    }

    /// `MPI_T_cvar_handle_alloc`: no variable is bound to an object, so `obj_handle` means nothing.
    fn MPI_T_cvar_handle_alloc(
        cvar_index: c_int,
        _obj_handle: Memory,
        handle: Out<MPI_T_cvar_handle>,
        count: Out<c_int>,
    ) -> c_int {
        call(|tool| {
            handle.check("")?;
            count.check("")?;
            let index = place(cvar_index, variables().len())?;
            count.set("", variables()[index].count())?;
            Ok(handle.set("", MPI_T_cvar_handle(tool.cvars.insert(index)))?)
        })
    }

    /// `MPI_T_cvar_handle_free`.
    fn MPI_T_cvar_handle_free(handle: Out<MPI_T_cvar_handle>) -> c_int {
        call(|tool| {
            let freed = handle_at(handle)?;
            tool.cvars.remove(freed.0).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?;
            Ok(handle.set("", MPI_T_cvar_handle(MPI_T_CVAR_HANDLE_NULL))?)
        })
    }

    /// `MPI_T_cvar_read`.
    fn MPI_T_cvar_read(handle: MPI_T_cvar_handle, buf: Memory) -> c_int {
        call(|tool| variables()[index(tool, handle)?].read(buf))
    }

    /// `MPI_T_cvar_write`.
    fn MPI_T_cvar_write(handle: MPI_T_cvar_handle, buf: Memory) -> c_int {
        call(|tool| variables()[index(tool, handle)?].write(buf))
    }
}

/// The variable of a handle.
fn index(tool: &mut Tool, handle: MPI_T_cvar_handle) -> Result<usize, Fault> {
    tool.cvars.get(handle.0).copied().ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))
}
