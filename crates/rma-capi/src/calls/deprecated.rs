//! Names that the standard has deprecated or removed, for programs that still have them: each is what took its place.

use super::communicator::{delete_attribute, get_attribute, set_attribute};
use super::errors::create_into;
use crate::abi::*;
use crate::arguments::{In, Memory, Opaque, Out};
use crate::attributes::{CopyFunction, DeleteFunction, OwnerKind, create, free};
use crate::datatype::{construct, get};
use crate::entry::entry;
use crate::errors::{HandlerKind, Raiser};
use std::ffi::c_int;

entry! {
    /// `MPI_Keyval_create`: `MPI_Comm_create_keyval`.
    fn MPI_Keyval_create(
        copy_fn: CopyFunction,
        delete_fn: DeleteFunction,
        keyval: Out<c_int>,
        extra_state: Opaque,
    ) raises Raiser::None; |_| { create(OwnerKind::Comm, copy_fn, delete_fn, keyval, extra_state) }

    /// `MPI_Keyval_free`: `MPI_Comm_free_keyval`.
    fn MPI_Keyval_free(keyval: Out<c_int>) raises Raiser::None; |_| { free(OwnerKind::Comm, keyval) }

    /// `MPI_Attr_put`: `MPI_Comm_set_attr`.
    fn MPI_Attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: Opaque)
    raises Raiser::Comm(comm); |process| {
        set_attribute(process, comm, keyval, attribute_val)
    }

    /// `MPI_Attr_get`: `MPI_Comm_get_attr`.
    fn MPI_Attr_get(
        comm: MPI_Comm,
        keyval: c_int,
        attribute_val: Out<Opaque>,
        flag: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| { get_attribute(process, comm, keyval, attribute_val, flag) }

    /// `MPI_Attr_delete`: `MPI_Comm_delete_attr`.
    fn MPI_Attr_delete(comm: MPI_Comm, keyval: c_int) raises Raiser::Comm(comm); |process| {
        delete_attribute(process, comm, keyval)
    }

    /// `MPI_Address`: `MPI_Get_address`.
    fn MPI_Address(location: Memory, address: Out<MPI_Aint>) raises Raiser::None; |_| {
        address.set("address", location.address() as MPI_Aint)
    }

    /// `MPI_Errhandler_create`: `MPI_Comm_create_errhandler`.
    fn MPI_Errhandler_create(
        function: Option<ErrhandlerFunction>,
        errhandler: Out<MPI_Errhandler>,
    ) raises Raiser::None; |_| { create_into(HandlerKind::Comm, function, errhandler) }

    /// `MPI_Errhandler_set`: `MPI_Comm_set_errhandler`.
    fn MPI_Errhandler_set(comm: MPI_Comm, errhandler: MPI_Errhandler) raises Raiser::Comm(comm); |process| {
        process.comm(comm)?.handler.set(errhandler, HandlerKind::Comm)
    }

    /// `MPI_Errhandler_get`: `MPI_Comm_get_errhandler`.
    fn MPI_Errhandler_get(comm: MPI_Comm, errhandler: Out<MPI_Errhandler>)
    raises Raiser::Comm(comm); |process| {
        errhandler.check("errhandler")?;
        errhandler.set("errhandler", process.comm(comm)?.handler.hand_out())
    }

    /// `MPI_Type_extent`: of `MPI_Type_get_extent`.
    fn MPI_Type_extent(datatype: MPI_Datatype, extent: Out<MPI_Aint>) raises Raiser::None; |_| {
        extent.set("extent", get("datatype", datatype)?.extent() as MPI_Aint)
    }

    /// `MPI_Type_lb`: of `MPI_Type_get_extent`.
    fn MPI_Type_lb(datatype: MPI_Datatype, displacement: Out<MPI_Aint>) raises Raiser::None; |_| {
        displacement.set("displacement", get("datatype", datatype)?.lower_bound() as MPI_Aint)
    }

    /// `MPI_Type_ub`: of `MPI_Type_get_extent`.
    fn MPI_Type_ub(datatype: MPI_Datatype, displacement: Out<MPI_Aint>) raises Raiser::None; |_| {
        let datatype = get("datatype", datatype)?;
        displacement.set("displacement", (datatype.lower_bound() + datatype.extent()) as MPI_Aint)
    }

    /// `MPI_Type_hvector`: `MPI_Type_create_hvector`.
    fn MPI_Type_hvector(
        count: c_int,
        blocklength: c_int,
        stride: MPI_Aint,
        oldtype: MPI_Datatype,
        newtype: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| { construct::hvector(count, blocklength, stride, oldtype, newtype) }

    /// `MPI_Type_hindexed`: `MPI_Type_create_hindexed`.
    fn MPI_Type_hindexed(
        count: c_int,
        array_of_blocklengths: In<c_int>,
        array_of_displacements: In<MPI_Aint>,
        oldtype: MPI_Datatype,
        newtype: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| {
        construct::hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype)
    }

    /// `MPI_Type_struct`: `MPI_Type_create_struct`.
    fn MPI_Type_struct(
        count: c_int,
        array_of_blocklengths: In<c_int>,
        array_of_displacements: In<MPI_Aint>,
        array_of_types: In<MPI_Datatype>,
        newtype: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| {
        construct::structure(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype)
    }
}
