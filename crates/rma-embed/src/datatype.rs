//! Datatypes: basic ones, whose handles say which, and those that are made.

use crate::entry::entry;
use crate::handle::{TYPE, Table};
use crate::pointer::{In, Out};
use rma_core::datatype::{BasicType, Datatype, Field};
use rma_core::{Error, ErrorClass, Result};

static TYPES: Table<Datatype> = Table::new(TYPE, "a datatype");

/// The code of a basic type: a handle of generation 0.
pub(crate) fn code(handle: u64) -> Option<BasicType> {
    let code = handle.checked_sub(u64::from(TYPE) << 56)?;
    u8::try_from(code).ok().and_then(BasicType::from_code)
}

/// The datatype of a handle.
pub(crate) fn datatype(handle: u64) -> Result<Datatype> {
    match code(handle) {
        Some(basic) => Ok(Datatype::basic(basic)),
        None => TYPES.get(handle).map_err(as_type),
    }
}

/// The basic type of a handle.
pub(crate) fn basic(handle: u64) -> Result<BasicType> {
    code(handle).ok_or_else(|| {
        let cause = format!("{handle:#x} is not a basic datatype, and this call takes one element of one");
        Error::new(ErrorClass::Type, "rma", cause)
    })
}

fn as_type(error: Error) -> Error {
    Error::new(ErrorClass::Type, "rma", error.cause())
}

entry! {
    /// `rma_type_contiguous`.
    fn rma_type_contiguous(count: u64, base: u64, ty: Out<u64>) {
        let place = ty.needed("type")?;
        place.set(TYPES.insert(Datatype::contiguous(count, &datatype(base)?)?));
        Ok(())
    }

    /// `rma_type_hvector`.
    fn rma_type_hvector(count: u64, block_len: u64, stride: i64, base: u64, ty: Out<u64>) {
        let place = ty.needed("type")?;
        place.set(TYPES.insert(Datatype::hvector(count, block_len, stride, &datatype(base)?)?));
        Ok(())
    }

    /// `rma_type_hindexed`.
    fn rma_type_hindexed(count: usize, lens: In<u64>, displacements: In<i64>, base: u64, ty: Out<u64>) {
        let place = ty.needed("type")?;
        let lens = lens.list(count, "block_lens")?;
        let blocks = lens.into_iter().zip(displacements.list(count, "displacements")?);
        place.set(TYPES.insert(Datatype::hindexed(blocks, &datatype(base)?)?));
        Ok(())
    }

    /// `rma_type_struct`.
    fn rma_type_struct(count: usize, lens: In<u64>, displacements: In<i64>, types: In<u64>, ty: Out<u64>) {
        let place = ty.needed("type")?;
        let (lens, offsets) = (lens.list(count, "block_lens")?, displacements.list(count, "displacements")?);
        let types = types.list(count, "types")?.into_iter().map(datatype).collect::<Result<Vec<_>>>()?;
        let blocks = lens.into_iter().zip(offsets).zip(&types);
        let fields = blocks.map(|((count, offset), ty)| Field { count, offset, ty });
        place.set(TYPES.insert(Datatype::structure(fields)?));
        Ok(())
    }

    /// `rma_type_resized`.
    fn rma_type_resized(lower_bound: i64, extent: i64, base: u64, ty: Out<u64>) {
        let place = ty.needed("type")?;
        place.set(TYPES.insert(Datatype::resized(lower_bound, extent, &datatype(base)?)?));
        Ok(())
    }

    /// `rma_type_query`.
    fn rma_type_query(ty: u64, size: Out<u64>, lower_bound: Out<i64>, extent: Out<i64>) {
        let ty = datatype(ty)?;
        size.wanted().into_iter().for_each(|place| place.set(ty.size()));
        lower_bound.wanted().into_iter().for_each(|place| place.set(ty.lower_bound()));
        extent.wanted().into_iter().for_each(|place| place.set(ty.extent()));
        Ok(())
    }

    /// `rma_type_free`.
    fn rma_type_free(ty: u64) {
        if code(ty).is_some() {
            return Err(Error::new(ErrorClass::Type, "rma", "a basic datatype is not freed"));
        }
        TYPES.take(ty).map(drop).map_err(as_type)
    }
}
