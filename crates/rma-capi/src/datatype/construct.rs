//! What the constructor calls do: arguments to the engine's types, and the recipe kept beside. Each serves both forms of its
//! call, with `int` and with `MPI_Count` arguments.

use super::object::{enter, get_shared};
use super::recipe::Recipe;
use crate::abi::*;
use crate::arguments::{In, Out, Wide, count, len};
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{ArrayOrder, DarrayDim, Datatype, Distribution, Field, SubarrayDim};
use std::ffi::c_int;

/// Where the new handle goes.
type NewType = Out<MPI_Datatype>;

pub(crate) fn contiguous<C: Wide>(number: C, oldtype: MPI_Datatype, newtype: NewType) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let made = Datatype::contiguous(count("count", number)?, base)?;
    finish(made, Recipe::new(MPI_COMBINER_CONTIGUOUS, &[oldtype]).sizes(&[number]), newtype)
}

pub(crate) fn vector<C: Wide>(
    number: C,
    block: C,
    stride: C,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let (n, block_len) = (count("count", number)?, count("blocklength", block)?);
    let made = Datatype::vector(n, block_len, stride.wide(), base)?;
    finish(made, Recipe::new(MPI_COMBINER_VECTOR, &[oldtype]).sizes(&[number, block, stride]), newtype)
}

pub(crate) fn hvector<C: Wide>(
    number: C,
    block: C,
    stride: impl Wide,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let (n, block_len) = (count("count", number)?, count("blocklength", block)?);
    let made = Datatype::hvector(n, block_len, stride.wide(), base)?;
    let recipe = Recipe::new(MPI_COMBINER_HVECTOR, &[oldtype]).sizes(&[number, block]);
    finish(made, recipe.addresses::<C>([stride.wide()]), newtype)
}

/// Blocks of different lengths; displacements in elements (`MPI_Type_indexed`).
pub(crate) fn indexed<C: Wide>(
    number: C,
    blocks: In<C>,
    displacements: In<C>,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let n = len("count", number)?;
    let lens = lengths(blocks, n)?;
    let places = displacements.many("array_of_displacements", n)?;
    let made = Datatype::indexed(pairs(&lens, places.iter().map(|place| place.wide())), base)?;
    let recipe = Recipe::new(MPI_COMBINER_INDEXED, &[oldtype]).sizes(&[number]).sizes(&lens).sizes(&places);
    finish(made, recipe, newtype)
}

/// Blocks of different lengths; displacements in bytes.
pub(crate) fn hindexed<C: Wide, A: Wide>(
    number: C,
    blocks: In<C>,
    displacements: In<A>,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let n = len("count", number)?;
    let lens = lengths(blocks, n)?;
    let places = wide("array_of_displacements", displacements, n)?;
    let made = Datatype::hindexed(pairs(&lens, places.iter().copied()), base)?;
    let recipe = Recipe::new(MPI_COMBINER_HINDEXED, &[oldtype]).sizes(&[number]).sizes(&lens);
    finish(made, recipe.addresses::<C>(places), newtype)
}

/// Blocks of one length; displacements in elements.
pub(crate) fn indexed_block<C: Wide>(
    number: C,
    block: C,
    displacements: In<C>,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let places = displacements.many("array_of_displacements", len("count", number)?)?;
    let wide = places.iter().map(|place| place.wide());
    let made = Datatype::indexed_block(count("blocklength", block)?, wide, base)?;
    let recipe = Recipe::new(MPI_COMBINER_INDEXED_BLOCK, &[oldtype]).sizes(&[number, block]).sizes(&places);
    finish(made, recipe, newtype)
}

/// Blocks of one length; displacements in bytes.
pub(crate) fn hindexed_block<C: Wide, A: Wide>(
    number: C,
    block: C,
    displacements: In<A>,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let places = wide("array_of_displacements", displacements, len("count", number)?)?;
    let made = Datatype::hindexed_block(count("blocklength", block)?, places.iter().copied(), base)?;
    let recipe = Recipe::new(MPI_COMBINER_HINDEXED_BLOCK, &[oldtype]).sizes(&[number, block]);
    finish(made, recipe.addresses::<C>(places), newtype)
}

pub(crate) fn structure<C: Wide, A: Wide>(
    number: C,
    blocks: In<C>,
    displacements: In<A>,
    types: In<MPI_Datatype>,
    newtype: NewType,
) -> Result<()> {
    let n = len("count", number)?;
    let lens = lengths(blocks, n)?;
    let places = wide("array_of_displacements", displacements, n)?;
    let handles = types.many("array_of_types", n)?;
    let bases =
        handles.iter().map(|handle| get_shared("array_of_types", *handle)).collect::<Result<Vec<_>>>()?;
    let fields = pairs(&lens, places.iter().copied()).zip(bases);
    let fields = fields.map(|((count, offset), ty)| Field { count, offset, ty });
    let made = Datatype::structure(fields)?;
    let recipe = Recipe::new(MPI_COMBINER_STRUCT, &handles).sizes(&[number]).sizes(&lens);
    finish(made, recipe.addresses::<C>(places), newtype)
}

pub(crate) fn subarray<C: Wide>(
    ndims: c_int,
    sizes: In<C>,
    subsizes: In<C>,
    starts: In<C>,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let n = len("ndims", ndims)?;
    let sizes = sizes.many("array_of_sizes", n)?;
    let subsizes = subsizes.many("array_of_subsizes", n)?;
    let starts = starts.many("array_of_starts", n)?;
    let dims = (0..n).map(|i| {
        Ok(SubarrayDim {
            size: count("array_of_sizes", sizes[i])?,
            part: count("array_of_subsizes", subsizes[i])?,
            start: count("array_of_starts", starts[i])?,
        })
    });
    let dims = dims.collect::<Result<Vec<_>>>().map_err(as_argument)?;
    let made = Datatype::subarray(&dims, array_order(order)?, base)?;
    let recipe = Recipe::new(MPI_COMBINER_SUBARRAY, &[oldtype]).integers(&[ndims]);
    finish(made, recipe.sizes(&sizes).sizes(&subsizes).sizes(&starts).integers(&[order]), newtype)
}

pub(crate) fn darray<C: Wide>(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    gsizes: In<C>,
    distribs: In<c_int>,
    dargs: In<c_int>,
    psizes: In<c_int>,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let n = len("ndims", ndims)?;
    let gsizes = gsizes.many("array_of_gsizes", n)?;
    let distribs = distribs.many("array_of_distribs", n)?;
    let dargs = dargs.many("array_of_dargs", n)?;
    let psizes = psizes.many("array_of_psizes", n)?;
    let dims = (0..n).map(|i| {
        Ok(DarrayDim {
            size: count("array_of_gsizes", gsizes[i])?,
            distribution: distribution(distribs[i], dargs[i])?,
            processes: count("array_of_psizes", psizes[i])?,
        })
    });
    let dims = dims.collect::<Result<Vec<_>>>().map_err(as_argument)?;
    let processes = psizes.iter().try_fold(1i64, |all, one| all.checked_mul(i64::from(*one)));
    if processes != Some(size.into()) || !(0..size).contains(&rank) {
        let cause = format!("rank {rank} of size {size} is not in a grid of {psizes:?} processes");
        return Err(Error::new(ErrorClass::Arg, "", cause));
    }
    let made = Datatype::darray(rank as u64, &dims, array_order(order)?, base)?;
    let recipe = Recipe::new(MPI_COMBINER_DARRAY, &[oldtype]).integers(&[size, rank, ndims]).sizes(&gsizes);
    let recipe = recipe.integers(&distribs).integers(&dargs).integers(&psizes).integers(&[order]);
    finish(made, recipe, newtype)
}

/// `C` tells which form of the call it is.
pub(crate) fn resized<C: Wide>(
    oldtype: MPI_Datatype,
    lb: impl Wide,
    extent: impl Wide,
    newtype: NewType,
) -> Result<()> {
    let base = get_shared("oldtype", oldtype)?;
    let made = Datatype::resized(lb.wide(), extent.wide(), base)?;
    let recipe = Recipe::new(MPI_COMBINER_RESIZED, &[oldtype]);
    finish(made, recipe.addresses::<C>([lb.wide(), extent.wide()]), newtype)
}

fn finish(made: Datatype, recipe: Recipe, newtype: NewType) -> Result<()> {
    newtype.check("newtype")?;
    newtype.set("newtype", enter(made, recipe)?)
}

/// The lengths of blocks, of which none is negative.
fn lengths<C: Wide>(blocks: In<C>, number: usize) -> Result<Vec<C>> {
    const NAME: &str = "array_of_blocklengths";
    let lens = blocks.many(NAME, number)?;
    match lens.iter().find(|len| len.wide() < 0) {
        Some(negative) => count(NAME, *negative).map(|_| lens),
        None => Ok(lens),
    }
}

/// Lengths from [`lengths`], each with its place.
fn pairs<C: Wide>(lens: &[C], places: impl Iterator<Item = i64>) -> impl Iterator<Item = (u64, i64)> {
    lens.iter().map(|len| len.wide() as u64).zip(places)
}

fn wide<C: Wide>(name: &str, values: In<C>, number: usize) -> Result<Vec<i64>> {
    values.each(name, number).map(|values| values.map(Wide::wide).collect())
}

fn array_order(order: c_int) -> Result<ArrayOrder> {
    match order {
        MPI_ORDER_C => Ok(ArrayOrder::C),
        MPI_ORDER_FORTRAN => Ok(ArrayOrder::Fortran),
        _ => {
            let cause = format!("order is {order}, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN");
            Err(Error::new(ErrorClass::Arg, "", cause))
        }
    }
}

fn distribution(distribution: c_int, argument: c_int) -> Result<Distribution> {
    let refuse = |cause: String| Err(Error::new(ErrorClass::Arg, "", cause));
    let block = match argument {
        MPI_DISTRIBUTE_DFLT_DARG => None,
        len if len > 0 => Some(len as u64),
        len => return refuse(format!("array_of_dargs has {len}, but a block has at least one element")),
    };
    match distribution {
        MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block(block)),
        MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic(block)),
        other => refuse(format!("array_of_distribs has {other}, which is no distribution")),
    }
}

/// A negative size in an array of sizes is a bad argument, not a bad count.
fn as_argument(error: Error) -> Error {
    match error.class() {
        ErrorClass::Count => Error::new(ErrorClass::Arg, error.call(), error.cause()),
        _ => error,
    }
}
