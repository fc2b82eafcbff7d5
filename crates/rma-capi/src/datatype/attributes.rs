//! Attributes of datatypes (MPI 5.0 §7.7.4). Predefined datatypes have them too.

use super::{derived, get};
use crate::abi::*;
use crate::arguments::{Opaque, Out};
use crate::attributes::{Attributes, CopyFunction, DeleteFunction, Kind, Owner, create, free};
use crate::entry::entry;
use crate::errors::Raiser;
use parking_lot::Mutex;
use rma::Result;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// Attributes of predefined types; an entry stays once it is made.
static PREDEFINED: Mutex<BTreeMap<MPI_Datatype, &'static Attributes>> = Mutex::new(BTreeMap::new());

entry! {
    /// `MPI_Type_get_attr` (§7.7.4).
    fn MPI_Type_get_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: Out<Opaque>,
        flag: Out<c_int>,
    ) raises Raiser::Nobody; |_| {
        let value = of(datatype)?.get(Kind::Type, type_keyval)?;
        flag.set("flag", value.is_some().into())?;
        value.map_or(Ok(()), |value| attribute_val.set("attribute_val", value))
    }

    /// `MPI_Type_set_attr` (§7.7.4).
    fn MPI_Type_set_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: Opaque,
    ) raises Raiser::Nobody; |_| { of(datatype)?.set(owner(datatype), type_keyval, attribute_val) }

    /// `MPI_Type_delete_attr` (§7.7.4).
    fn MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) raises Raiser::Nobody; |_| {
        of(datatype)?.delete(owner(datatype), type_keyval)
    }

    /// `MPI_Type_create_keyval` (§7.7.4).
    fn MPI_Type_create_keyval(
        type_copy_attr_fn: CopyFunction,
        type_delete_attr_fn: DeleteFunction,
        type_keyval: Out<c_int>,
        extra_state: Opaque,
    ) raises Raiser::Nobody; |_| { create(Kind::Type, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state) }

    /// `MPI_Type_free_keyval` (§7.7.4).
    fn MPI_Type_free_keyval(type_keyval: Out<c_int>) raises Raiser::Nobody; |_| { free(Kind::Type, type_keyval) }
}

/// A datatype as the program's functions are told of it.
pub(super) fn owner(datatype: MPI_Datatype) -> Owner {
    Owner { kind: Kind::Type, handle: datatype.0 }
}

/// The attributes of a type.
pub(super) fn of(datatype: MPI_Datatype) -> Result<&'static Attributes> {
    get("datatype", datatype)?;
    Ok(match derived(datatype) {
        Some(derived) => &derived.attributes,
        None => PREDEFINED.lock().entry(datatype).or_insert_with(|| Box::leak(Box::new(Attributes::new()))),
    })
}
