//! `MPI_Type_*`: the constructors, and commit and free (MPI 5.0 §5.1).

use crate::abi::*;
use crate::arguments::{In, Out};
use crate::datatype::attributes::{of, owner};
use crate::datatype::{Recipe, TYPES, construct, derived, enter, f90, get, release};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use rma::{Error, ErrorClass};
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

forms! {
    /// `MPI_Type_contiguous` (§5.1.2).
    fn MPI_Type_contiguous | MPI_Type_contiguous_c(
        count: Number, oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| { construct::contiguous(count, oldtype, newtype) }

    /// `MPI_Type_vector` (§5.1.2).
    fn MPI_Type_vector | MPI_Type_vector_c(
        count: Number, blocklength: Number, stride: Number, oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| { construct::vector(count, blocklength, stride, oldtype, newtype) }

    /// `MPI_Type_create_hvector` (§5.1.2).
    fn MPI_Type_create_hvector | MPI_Type_create_hvector_c(
        count: Number, blocklength: Number, stride: Offset, oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| { construct::hvector(count, blocklength, stride, oldtype, newtype) }

    /// `MPI_Type_indexed` (§5.1.2).
    fn MPI_Type_indexed | MPI_Type_indexed_c(
        count: Number, array_of_blocklengths: In<Number>, array_of_displacements: In<Number>,
        oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::indexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype)
    }

    /// `MPI_Type_create_hindexed` (§5.1.2).
    fn MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(
        count: Number, array_of_blocklengths: In<Number>, array_of_displacements: In<Offset>,
        oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype)
    }

    /// `MPI_Type_create_indexed_block` (§5.1.2).
    fn MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(
        count: Number, blocklength: Number, array_of_displacements: In<Number>, oldtype: MPI_Datatype,
        newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::indexed_block(count, blocklength, array_of_displacements, oldtype, newtype)
    }

    /// `MPI_Type_create_hindexed_block` (§5.1.2).
    fn MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(
        count: Number, blocklength: Number, array_of_displacements: In<Offset>, oldtype: MPI_Datatype,
        newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::hindexed_block(count, blocklength, array_of_displacements, oldtype, newtype)
    }

    /// `MPI_Type_create_struct` (§5.1.2).
    fn MPI_Type_create_struct | MPI_Type_create_struct_c(
        count: Number, array_of_blocklengths: In<Number>, array_of_displacements: In<Offset>,
        array_of_types: In<MPI_Datatype>, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::structure(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype)
    }

    /// `MPI_Type_create_subarray` (§5.1.3).
    fn MPI_Type_create_subarray | MPI_Type_create_subarray_c(
        ndims: c_int, array_of_sizes: In<Number>, array_of_subsizes: In<Number>, array_of_starts: In<Number>,
        order: c_int, oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::subarray(
            ndims,
            array_of_sizes,
            array_of_subsizes,
            array_of_starts,
            order,
            oldtype,
            newtype,
        )
    }

    /// `MPI_Type_create_darray` (§5.1.4).
    fn MPI_Type_create_darray | MPI_Type_create_darray_c(
        size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: In<Number>, array_of_distribs: In<c_int>,
        array_of_dargs: In<c_int>, array_of_psizes: In<c_int>, order: c_int, oldtype: MPI_Datatype,
        newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| {
        construct::darray(
            size,
            rank,
            ndims,
            array_of_gsizes,
            array_of_distribs,
            array_of_dargs,
            array_of_psizes,
            order,
            oldtype,
            newtype,
        )
    }

    /// `MPI_Type_create_resized` (§5.1.7).
    fn MPI_Type_create_resized | MPI_Type_create_resized_c(
        oldtype: MPI_Datatype, lb: Offset, extent: Offset, newtype: Out<MPI_Datatype>,
    )
    raises Raiser::None; |_| { construct::resized::<Number>(oldtype, lb, extent, newtype) }
}

entry! {
    /// `MPI_Type_dup` (§5.1.10): the copy is committed if the original is.
    fn MPI_Type_dup(oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        newtype.check("newtype")?;
        let handle = enter(get("oldtype", oldtype)?.dup(), Recipe::new(MPI_COMBINER_DUP, &[oldtype]))?;
        let is_committed = derived(oldtype).is_none_or(|old| old.is_committed.load(Relaxed));
        if let Some(made) = derived(handle) {
            made.is_committed.store(is_committed, Relaxed);
            if let Err(error) = of(oldtype)?.copy_to(owner(oldtype), &made.attributes) {
                // What was copied before goes as it came; the first error is the one to tell.
                let _ = made.attributes.delete_all(owner(handle));
                TYPES.remove(handle);
                return Err(error);
            }
        }
        newtype.set("newtype", handle)
    }

    /// `MPI_Type_create_f90_integer` (§19.1.9).
    fn MPI_Type_create_f90_integer(r: c_int, newtype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        newtype.check("newtype")?;
        newtype.set("newtype", f90::integer(r)?)
    }

    /// `MPI_Type_create_f90_real` (§19.1.9).
    fn MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        newtype.check("newtype")?;
        newtype.set("newtype", f90::real(p, r, false)?)
    }

    /// `MPI_Type_create_f90_complex` (§19.1.9).
    fn MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        newtype.check("newtype")?;
        newtype.set("newtype", f90::real(p, r, true)?)
    }

    /// `MPI_Type_commit` (§5.1.9). Layouts are ready to be used when they are made, so this only remembers it.
    fn MPI_Type_commit(datatype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        let handle = datatype.current().one("datatype")?;
        match derived(handle) {
            Some(derived) => derived.is_committed.store(true, Relaxed),
            None => drop(get("datatype", handle)?),
        }
        Ok(())
    }

    /// `MPI_Type_free` (§5.1.9). Operations under way, and types made from it, are not affected.
    fn MPI_Type_free(datatype: Out<MPI_Datatype>) raises Raiser::None; |_| {
        let handle = datatype.current().one("datatype")?;
        let Some(derived) = derived(handle) else {
            get("datatype", handle)?;
            return Err(Error::new(ErrorClass::Type, "", "predefined datatypes cannot be freed"));
        };
        if derived.recipe.is_parametrized() {
            return Err(Error::new(ErrorClass::Type, "", "types of Fortran's kinds count as predefined, and cannot be freed"));
        }
        if derived.is_freed.load(Relaxed) {
            return Err(Error::new(ErrorClass::Type, "", "datatype was freed, and a reduction still uses it"));
        }
        derived.attributes.delete_all(owner(handle))?;
        derived.is_freed.store(true, Relaxed);
        release(handle);
        datatype.set("datatype", MPI_DATATYPE_NULL)
    }
}
