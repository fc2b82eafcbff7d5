//! What datatypes tell of themselves: size and bounds, name, and how they were made (MPI 5.0 §5.1.5 to §5.1.13, §7.8).

use crate::abi::*;
use crate::arguments::{Out, Text, TextOut, Wide};
use crate::datatype::{Recipe, basic_type, derived, get, is_mark, name_of, unknown};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::name;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::Arc;

forms! {
    /// `MPI_Type_get_extent` (§5.1.8).
    fn MPI_Type_get_extent | MPI_Type_get_extent_c(
        datatype: MPI_Datatype, lb: Out<Offset>, extent: Out<Offset>,
    )
    raises Raiser::None; |_| {
        extent_of(datatype, lb, extent)
    }

    /// `MPI_Type_get_true_extent` (§5.1.8).
    fn MPI_Type_get_true_extent | MPI_Type_get_true_extent_c(
        datatype: MPI_Datatype, true_lb: Out<Offset>, true_extent: Out<Offset>,
    )
    raises Raiser::None; |_| { true_extent_of(datatype, true_lb, true_extent) }
}

entry! {
    /// `MPI_Type_size` (§5.1.5): `MPI_UNDEFINED` when it does not fit.
    fn MPI_Type_size(datatype: MPI_Datatype, size: Out<c_int>) raises Raiser::None; |_| {
        let bytes = get("datatype", datatype)?.size();
        size.set("size", c_int::try_from(bytes).unwrap_or(MPI_UNDEFINED))
    }

    /// `MPI_Type_size_c` (§5.1.5).
    fn MPI_Type_size_c(datatype: MPI_Datatype, size: Out<MPI_Count>) raises Raiser::None; |_| {
        size.set("size", get("datatype", datatype)?.size() as MPI_Count)
    }

    /// `MPI_Type_size_x`, deprecated: as `MPI_Type_size_c`.
    fn MPI_Type_size_x(datatype: MPI_Datatype, size: Out<MPI_Count>) raises Raiser::None; |_| {
        size.set("size", get("datatype", datatype)?.size() as MPI_Count)
    }

    /// `MPI_Type_get_extent_x`, deprecated: as `MPI_Type_get_extent_c`.
    fn MPI_Type_get_extent_x(
        datatype: MPI_Datatype,
        lb: Out<MPI_Count>,
        extent: Out<MPI_Count>,
    ) raises Raiser::None; |_| { extent_of(datatype, lb, extent) }

    /// `MPI_Type_get_true_extent_x`, deprecated: as `MPI_Type_get_true_extent_c`.
    fn MPI_Type_get_true_extent_x(
        datatype: MPI_Datatype,
        true_lb: Out<MPI_Count>,
        true_extent: Out<MPI_Count>,
    ) raises Raiser::None; |_| { true_extent_of(datatype, true_lb, true_extent) }

    /// `MPI_Type_get_value_index` (§5.1.1): the pair type of a value and an index, if there is one.
    fn MPI_Type_get_value_index(
        value_type: MPI_Datatype,
        index_type: MPI_Datatype,
        pair_type: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| {
        let pair = match (get("value_type", value_type).map(|_| value_type)?, index_type) {
            (MPI_FLOAT, MPI_INT) => MPI_FLOAT_INT,
            (MPI_DOUBLE, MPI_INT) => MPI_DOUBLE_INT,
            (MPI_LONG, MPI_INT) => MPI_LONG_INT,
            (MPI_INT, MPI_INT) => MPI_2INT,
            (MPI_SHORT, MPI_INT) => MPI_SHORT_INT,
            (MPI_LONG_DOUBLE, MPI_INT) => MPI_LONG_DOUBLE_INT,
            _ => get("index_type", index_type).map(|_| MPI_DATATYPE_NULL)?,
        };
        pair_type.set("pair_type", pair)
    }

    /// `MPI_Type_set_name` (§7.8).
    fn MPI_Type_set_name(datatype: MPI_Datatype, type_name: Text) raises Raiser::None; |_| {
        name_of(datatype)?.set("type_name", type_name)
    }

    /// `MPI_Type_get_name` (§7.8).
    fn MPI_Type_get_name(datatype: MPI_Datatype, type_name: TextOut, resultlen: Out<c_int>)
    raises Raiser::None; |_| {
        match datatype {
            MPI_DATATYPE_NULL => name::of_null("MPI_DATATYPE_NULL", "type_name", type_name, resultlen),
            datatype => name_of(datatype)?.get("type_name", type_name, resultlen),
        }
    }

    /// `MPI_Type_get_envelope` (§5.1.13).
    fn MPI_Type_get_envelope(
        datatype: MPI_Datatype,
        num_integers: Out<c_int>,
        num_addresses: Out<c_int>,
        num_datatypes: Out<c_int>,
        combiner: Out<c_int>,
    ) raises Raiser::None; |_| {
        let recipe = envelope(datatype)?;
        let is_made = recipe.combiner != MPI_COMBINER_NAMED;
        if is_made {
            check_small(&recipe)?;
        }
        num_integers.set("num_integers", recipe.integers.len() as c_int)?;
        num_addresses.set("num_addresses", recipe.addresses.len() as c_int)?;
        num_datatypes.set("num_datatypes", recipe.told().len() as c_int)?;
        combiner.set("combiner", recipe.combiner)
    }

    /// `MPI_Type_get_envelope_c` (§5.1.13).
    fn MPI_Type_get_envelope_c(
        datatype: MPI_Datatype,
        num_integers: Out<MPI_Count>,
        num_addresses: Out<MPI_Count>,
        num_large_counts: Out<MPI_Count>,
        num_datatypes: Out<MPI_Count>,
        combiner: Out<c_int>,
    ) raises Raiser::None; |_| {
        let recipe = envelope(datatype)?;
        num_integers.set("num_integers", recipe.integers.len() as MPI_Count)?;
        num_addresses.set("num_addresses", recipe.addresses.len() as MPI_Count)?;
        num_large_counts.set("num_large_counts", recipe.counts.len() as MPI_Count)?;
        num_datatypes.set("num_datatypes", recipe.told().len() as MPI_Count)?;
        combiner.set("combiner", recipe.combiner)
    }

    /// `MPI_Type_get_contents` (§5.1.13).
    fn MPI_Type_get_contents(
        datatype: MPI_Datatype,
        max_integers: c_int,
        max_addresses: c_int,
        max_datatypes: c_int,
        array_of_integers: Out<c_int>,
        array_of_addresses: Out<MPI_Aint>,
        array_of_datatypes: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| {
        let recipe = contents(datatype)?;
        check_small(&recipe)?;
        check_room("max_integers", max_integers, recipe.integers.len())?;
        check_room("max_addresses", max_addresses, recipe.addresses.len())?;
        check_room("max_datatypes", max_datatypes, recipe.told().len())?;
        array_of_integers.set_all("array_of_integers", &recipe.integers)?;
        tell(&recipe, array_of_addresses, array_of_datatypes)
    }

    /// `MPI_Type_get_contents_c` (§5.1.13).
    fn MPI_Type_get_contents_c(
        datatype: MPI_Datatype,
        max_integers: MPI_Count,
        max_addresses: MPI_Count,
        max_large_counts: MPI_Count,
        max_datatypes: MPI_Count,
        array_of_integers: Out<c_int>,
        array_of_addresses: Out<MPI_Aint>,
        array_of_large_counts: Out<MPI_Count>,
        array_of_datatypes: Out<MPI_Datatype>,
    ) raises Raiser::None; |_| {
        let recipe = contents(datatype)?;
        check_room("max_integers", max_integers, recipe.integers.len())?;
        check_room("max_addresses", max_addresses, recipe.addresses.len())?;
        check_room("max_large_counts", max_large_counts, recipe.counts.len())?;
        check_room("max_datatypes", max_datatypes, recipe.told().len())?;
        array_of_integers.set_all("array_of_integers", &recipe.integers)?;
        array_of_large_counts.set_all("array_of_large_counts", &recipe.counts)?;
        tell(&recipe, array_of_addresses, array_of_datatypes)
    }

    /// `MPI_Type_match_size` (§19.1.8). For sizes that no Fortran type here has, a type of C.
    fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: Out<MPI_Datatype>)
    raises Raiser::None; |_| {
        let found = match (typeclass, size) {
            (MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
            (MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
            (MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
            (MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
            (MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
            (MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
            (MPI_TYPECLASS_REAL, 16) => MPI_LONG_DOUBLE,
            (MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
            (MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
            (MPI_TYPECLASS_COMPLEX, 32) => MPI_C_LONG_DOUBLE_COMPLEX,
            _ => {
                let class = match typeclass {
                    MPI_TYPECLASS_INTEGER => "integer",
                    MPI_TYPECLASS_REAL => "real",
                    MPI_TYPECLASS_COMPLEX => "complex",
                    other => {
                        let cause = format!("typeclass is {other}, which is no class of types");
                        return Err(Error::new(ErrorClass::Arg, "", cause));
                    }
                };
                let cause = format!("no {class} datatype has size {size}");
                return Err(Error::new(ErrorClass::Arg, "", cause));
            }
        };
        datatype.set("datatype", found)
    }
}

fn extent_of<A: Wide>(datatype: MPI_Datatype, lb: Out<A>, extent: Out<A>) -> Result<()> {
    let datatype = get("datatype", datatype)?;
    set(lb, "lb", datatype.lower_bound())?;
    set(extent, "extent", datatype.extent())
}

fn true_extent_of<A: Wide>(datatype: MPI_Datatype, lb: Out<A>, extent: Out<A>) -> Result<()> {
    let datatype = get("datatype", datatype)?;
    set(lb, "true_lb", datatype.true_lower_bound())?;
    set(extent, "true_extent", datatype.true_extent())
}

fn set<A: Wide>(out: Out<A>, name: &str, value: i64) -> Result<()> {
    match A::narrow(value) {
        Some(value) => out.set(name, value),
        None => {
            let cause = format!("{name} would be {value}, which its type cannot hold");
            Err(Error::new(ErrorClass::ValueTooLarge, "", cause))
        }
    }
}

fn envelope(datatype: MPI_Datatype) -> Result<Arc<Recipe>> {
    match derived(datatype) {
        Some(derived) => Ok(Arc::clone(&derived.recipe)),
        None if basic_type(datatype).is_some() || is_mark(datatype) => {
            Ok(Arc::new(Recipe::new(MPI_COMBINER_NAMED, &[])))
        }
        None => Err(unknown("datatype", datatype)),
    }
}

fn contents(datatype: MPI_Datatype) -> Result<Arc<Recipe>> {
    let recipe = envelope(datatype)?;
    match recipe.combiner {
        MPI_COMBINER_NAMED => {
            Err(Error::new(ErrorClass::Type, "", "predefined datatypes are not made of others"))
        }
        _ => Ok(recipe),
    }
}

fn tell(recipe: &Recipe, addresses: Out<MPI_Aint>, datatypes: Out<MPI_Datatype>) -> Result<()> {
    for (place, address) in recipe.addresses.iter().enumerate() {
        addresses.set_at("array_of_addresses", place, *address as MPI_Aint)?;
    }
    for (place, ingredient) in recipe.told().iter().enumerate() {
        datatypes.set_at("array_of_datatypes", place, ingredient.hand_out()?)?;
    }
    Ok(())
}

/// A type made with large counts has no description without them (§5.1.13).
fn check_small(recipe: &Recipe) -> Result<()> {
    match recipe.counts.len() {
        0 => Ok(()),
        n => {
            let cause =
                format!("the datatype was made with {n} large counts: ask with the _c form of the call");
            Err(Error::new(ErrorClass::Type, "", cause))
        }
    }
}

fn check_room(name: &str, room: impl Wide, needed: usize) -> Result<()> {
    if room.wide() >= needed as i64 {
        return Ok(());
    }
    Err(Error::new(ErrorClass::Arg, "", format!("{name} is {}, but there are {needed}", room.wide())))
}
