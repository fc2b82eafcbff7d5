//! The calls on attributes of datatypes (MPI 5.0 §7.7.4).

use crate::abi::*;
use crate::arguments::{Opaque, Out};
use crate::attributes::{CopyFunction, DeleteFunction, OwnerKind, create, free};
use crate::datatype::attributes::{of, owner};
use crate::entry::entry;
use crate::errors::Raiser;
use std::ffi::c_int;

entry! {
    /// `MPI_Type_get_attr` (§7.7.4).
    fn MPI_Type_get_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: Out<Opaque>,
        flag: Out<c_int>,
    ) raises Raiser::None; |_| {
        let value = of(datatype)?.get(OwnerKind::Type, type_keyval)?;
        flag.set("flag", value.is_some().into())?;
        value.map_or(Ok(()), |value| attribute_val.set("attribute_val", value))
    }

    /// `MPI_Type_set_attr` (§7.7.4).
    fn MPI_Type_set_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: Opaque,
    ) raises Raiser::None; |_| { of(datatype)?.set(owner(datatype), type_keyval, attribute_val) }

    /// `MPI_Type_delete_attr` (§7.7.4).
    fn MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) raises Raiser::None; |_| {
        of(datatype)?.delete(owner(datatype), type_keyval)
    }

    /// `MPI_Type_create_keyval` (§7.7.4).
    fn MPI_Type_create_keyval(
        type_copy_attr_fn: CopyFunction,
        type_delete_attr_fn: DeleteFunction,
        type_keyval: Out<c_int>,
        extra_state: Opaque,
    ) raises Raiser::None; |_| {
        create(OwnerKind::Type, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state)
    }

    /// `MPI_Type_free_keyval` (§7.7.4).
    fn MPI_Type_free_keyval(type_keyval: Out<c_int>) raises Raiser::None; |_| {
        free(OwnerKind::Type, type_keyval)
    }
}
