//! `MPI_Group_*` (MPI 5.0 §7.3).

use crate::abi::*;
use crate::arguments::{In, Out, negative};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::group::{GROUPS, comparison, enter, get};
use rma::{Error, ErrorClass, Group, Result};
use smallvec::SmallVec;
use std::ffi::c_int;

/// Lists of at most so many ranks are no allocations.
const FEW: usize = 16;

entry! {
    /// `MPI_Group_size`.
    fn MPI_Group_size(group: MPI_Group, size: Out<c_int>) raises Raiser::None; |_| {
        size.set("size", get(group)?.size() as c_int)
    }

    /// `MPI_Group_rank`.
    fn MPI_Group_rank(group: MPI_Group, rank: Out<c_int>) raises Raiser::None; |process| {
        let me = process.world.inner.runtime().me();
        rank.set("rank", get(group)?.rank(me).map_or(MPI_UNDEFINED, |rank| rank as c_int))
    }

    /// `MPI_Group_compare`.
    fn MPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: Out<c_int>) raises Raiser::None; |_| {
        result.set("result", comparison(get(group1)?.compare(get(group2)?)))
    }

    /// `MPI_Group_translate_ranks`.
    fn MPI_Group_translate_ranks(
        group1: MPI_Group,
        n: c_int,
        ranks1: In<c_int>,
        group2: MPI_Group,
        ranks2: Out<c_int>,
    ) raises Raiser::None; |_| {
        let (from, to, count) = (get(group1)?, get(group2)?, number(n)?);
        let translate = from.translator(to, count);
        let translated = ranks1.each("ranks1", count)?.map(|rank| match rank {
            MPI_PROC_NULL => Ok(MPI_PROC_NULL),
            _ => Ok(translate(unsigned(rank)?)?.map_or(MPI_UNDEFINED, |rank| rank as c_int)),
        });
        ranks2.set_all("ranks2", &translated.collect::<Result<SmallVec<[_; FEW]>>>()?)
    }

    /// `MPI_Group_union`.
    fn MPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: Out<MPI_Group>)
    raises Raiser::None; |_| {
        enter_into(newgroup, || Ok(get(group1)?.union(get(group2)?)))
    }

    /// `MPI_Group_intersection`.
    fn MPI_Group_intersection(
        group1: MPI_Group,
        group2: MPI_Group,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| { enter_into(newgroup, || Ok(get(group1)?.intersection(get(group2)?))) }

    /// `MPI_Group_difference`.
    fn MPI_Group_difference(
        group1: MPI_Group,
        group2: MPI_Group,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| { enter_into(newgroup, || Ok(get(group1)?.difference(get(group2)?))) }

    /// `MPI_Group_incl`.
    fn MPI_Group_incl(
        group: MPI_Group,
        n: c_int,
        ranks: In<c_int>,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| {
        enter_into(newgroup, || get(group)?.incl(&all_unsigned(ranks.each("ranks", number(n)?)?)?))
    }

    /// `MPI_Group_excl`.
    fn MPI_Group_excl(
        group: MPI_Group,
        n: c_int,
        ranks: In<c_int>,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| {
        enter_into(newgroup, || get(group)?.excl(&all_unsigned(ranks.each("ranks", number(n)?)?)?))
    }

    /// `MPI_Group_range_incl`.
    fn MPI_Group_range_incl(
        group: MPI_Group,
        n: c_int,
        ranges: In<[c_int; 3]>,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| {
        enter_into(newgroup, || get(group)?.range_incl(&ranges.many("ranges", number(n)?)?))
    }

    /// `MPI_Group_range_excl`.
    fn MPI_Group_range_excl(
        group: MPI_Group,
        n: c_int,
        ranges: In<[c_int; 3]>,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::None; |_| {
        enter_into(newgroup, || get(group)?.range_excl(&ranges.many("ranges", number(n)?)?))
    }

    /// `MPI_Group_free`. Freeing `MPI_GROUP_EMPTY` is allowed, since calls that make groups may answer it.
    fn MPI_Group_free(group: Out<MPI_Group>) raises Raiser::None; |_| {
        let handle = group.current().one("group")?;
        get(handle)?;
        if handle != MPI_GROUP_EMPTY {
            GROUPS.remove(handle);
        }
        group.set("group", MPI_GROUP_NULL)
    }
}

fn enter_into(newgroup: Out<MPI_Group>, make: impl FnOnce() -> Result<Group>) -> Result<()> {
    newgroup.check("newgroup")?;
    newgroup.set("newgroup", enter(make()?)?)
}

fn number(n: c_int) -> Result<usize> {
    usize::try_from(n).map_err(|_| negative(ErrorClass::Arg, "n", n.into()))
}

fn all_unsigned(ranks: impl Iterator<Item = c_int>) -> Result<SmallVec<[u32; FEW]>> {
    ranks.map(unsigned).collect()
}

fn unsigned(rank: c_int) -> Result<u32> {
    u32::try_from(rank).map_err(|_| Error::new(ErrorClass::Rank, "", format!("rank {rank} is negative")))
}
