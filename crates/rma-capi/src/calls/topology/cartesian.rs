//! Cartesian topologies (MPI 5.0 §8.5).

use super::make::{TopologyWish, make, nodes};
use crate::abi::*;
use crate::arguments::{In, Out};
use crate::communicator::Comm;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::topology::{Cartesian, Topology, balance, by_node};
use rma::{Below, Error, ErrorClass, Result};
use std::ffi::c_int;

entry! {
    /// `MPI_Cart_create` (§8.5.1): with reordering, the ranks of a node get a block of the grid, where blocks of that size fill it.
    fn MPI_Cart_create(
        comm_old: MPI_Comm,
        ndims: c_int,
        dims: In<c_int>,
        periods: In<c_int>,
        reorder: c_int,
        comm_cart: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm_old); |process| {
        let old = process.comm(comm_old)?;
        let comm = old.intra()?;
        // Before anything can be wrong: all ranks take part.
        let nodes = if reorder != 0 { nodes(comm, "MPI_Cart_create")? } else { Vec::new() };
        let wish = || {
            let grid = grid(ndims, dims, periods, comm.size())?;
            let order =
                (grid.cells() as usize == nodes.len()).then(|| by_node(grid.dims(), &nodes)).flatten();
            let cell = order.map_or(comm.rank(), |cells| cells[comm.rank() as usize]);
            let place = (cell < grid.cells()).then_some((0, cell));
            Ok(TopologyWish { place, topology: Topology::Cartesian(grid) })
        };
        make(old, comm_cart, wish())
    }

    /// `MPI_Dims_create` (§8.5.2).
    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: Out<c_int>) raises Raiser::None; |_| {
        let mut all = dims.current().many("dims", number("ndims", ndims)?)?;
        balance(nnodes, &mut all)?;
        dims.set_all("dims", &all)
    }

    /// `MPI_Topo_test` (§8.5.5).
    fn MPI_Topo_test(comm: MPI_Comm, status: Out<c_int>) raises Raiser::Comm(comm); |process| {
        let topology = &process.comm(comm)?.topology;
        status.set("status", topology.as_ref().map_or(MPI_UNDEFINED, |topology| topology.kind()))
    }

    /// `MPI_Cartdim_get` (§8.5.5).
    fn MPI_Cartdim_get(comm: MPI_Comm, ndims: Out<c_int>) raises Raiser::Comm(comm); |process| {
        ndims.set("ndims", grid_of(process.comm(comm)?)?.dims().len() as c_int)
    }

    /// `MPI_Cart_get` (§8.5.5).
    fn MPI_Cart_get(
        comm: MPI_Comm,
        maxdims: c_int,
        dims: Out<c_int>,
        periods: Out<c_int>,
        coords: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let grid = grid_of(comm)?;
        check_room(maxdims, grid)?;
        dims.set_all("dims", &ints(grid.dims()))?;
        let all: Vec<_> = grid.periods().iter().map(|period| c_int::from(*period)).collect();
        periods.set_all("periods", &all)?;
        coords.set_all("coords", &ints(&grid.coords(comm.inner.rank())))
    }

    /// `MPI_Cart_rank` (§8.5.5).
    fn MPI_Cart_rank(comm: MPI_Comm, coords: In<c_int>, rank: Out<c_int>)
    raises Raiser::Comm(comm); |process| {
        let grid = grid_of(process.comm(comm)?)?;
        let coords = coords.many("coords", grid.dims().len())?;
        rank.set("rank", grid.rank(&coords)? as c_int)
    }

    /// `MPI_Cart_coords` (§8.5.5).
    fn MPI_Cart_coords(
        comm: MPI_Comm,
        rank: c_int,
        maxdims: c_int,
        coords: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let grid = grid_of(process.comm(comm)?)?;
        let Some(rank) = u32::try_from(rank).ok().filter(|rank| *rank < grid.cells()) else {
            let cause = format!("rank is {rank}, which is not in {}", Below(grid.cells().into()));
            return Err(Error::new(ErrorClass::Rank, "", cause));
        };
        check_room(maxdims, grid)?;
        coords.set_all("coords", &ints(&grid.coords(rank)))
    }

    /// `MPI_Cart_shift` (§8.5.6).
    fn MPI_Cart_shift(
        comm: MPI_Comm,
        direction: c_int,
        disp: c_int,
        rank_source: Out<c_int>,
        rank_dest: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let found = grid_of(comm)?.shift(comm.inner.rank(), direction, disp)?;
        let [source, dest] = found.map(|rank| rank.map_or(MPI_PROC_NULL, |rank| rank as c_int));
        rank_source.set("rank_source", source)?;
        rank_dest.set("rank_dest", dest)
    }

    /// `MPI_Cart_sub` (§8.5.7).
    fn MPI_Cart_sub(comm: MPI_Comm, remain_dims: In<c_int>, newcomm: Out<MPI_Comm>)
    raises Raiser::Comm(comm); |process| {
        let old = process.comm(comm)?;
        let grid = grid_of(old)?;
        let wish = || {
            let remain = remain_dims.many("remain_dims", grid.dims().len())?;
            let remain: Vec<_> = remain.into_iter().map(|remains| remains != 0).collect();
            let (sub, within, which) = grid.sub(&remain, old.inner.rank());
            Ok(TopologyWish { place: Some((which, within)), topology: Topology::Cartesian(sub) })
        };
        make(old, newcomm, wish())
    }

    /// `MPI_Cart_map` (§8.5.8): ranks stay as they are.
    fn MPI_Cart_map(
        comm: MPI_Comm,
        ndims: c_int,
        dims: In<c_int>,
        periods: In<c_int>,
        newrank: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?.intra()?;
        newrank.set("newrank", grid(ndims, dims, periods, comm.size())?.map(comm.rank()))
    }
}

/// The grid that a call describes.
fn grid(ndims: c_int, dims: In<c_int>, periods: In<c_int>, size: u32) -> Result<Cartesian> {
    let ndims = number("ndims", ndims)?;
    Cartesian::new(&dims.many("dims", ndims)?, &periods.many("periods", ndims)?, size)
}

/// The grid that a communicator has.
fn grid_of(comm: &Comm) -> Result<&Cartesian> {
    match comm.topology()? {
        Topology::Cartesian(grid) => Ok(grid),
        Topology::Graph(_) | Topology::Distributed(_) => {
            Err(Error::new(ErrorClass::Topology, "", "comm has the topology of a graph, not a Cartesian one"))
        }
    }
}

fn number(name: &str, value: c_int) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(ErrorClass::Dims, "", format!("{name} is {value}, but must not be negative")))
}

fn check_room(maxdims: c_int, grid: &Cartesian) -> Result<()> {
    let dims = grid.dims().len();
    if usize::try_from(maxdims).is_ok_and(|room| room >= dims) {
        return Ok(());
    }
    let cause = format!("maxdims is {maxdims}, but the grid has {dims} dimensions");
    Err(Error::new(ErrorClass::Arg, "", cause))
}

fn ints(values: &[u32]) -> Vec<c_int> {
    values.iter().map(|value| *value as c_int).collect()
}
