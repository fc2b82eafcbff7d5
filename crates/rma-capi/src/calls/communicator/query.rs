//! What programs ask of communicators (MPI 5.0 §7.4.1, §7.6.1, §7.8).

use crate::abi::*;
use crate::arguments::{Out, Text, TextOut};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::{group, name};
use rma::Comparison;
use std::ffi::c_int;

entry! {
    /// `MPI_Comm_rank` (§7.4.1).
    fn MPI_Comm_rank(comm: MPI_Comm, rank: Out<c_int>) raises Raiser::Comm(comm); |process| {
        rank.set("rank", process.comm(comm)?.inner.rank() as c_int)
    }

    /// `MPI_Comm_size` (§7.4.1).
    fn MPI_Comm_size(comm: MPI_Comm, size: Out<c_int>) raises Raiser::Comm(comm); |process| {
        size.set("size", process.comm(comm)?.inner.size() as c_int)
    }

    /// `MPI_Comm_get_parent` (§11.8.2): always null, since the library has no calls that spawn processes.
    fn MPI_Comm_get_parent(parent: Out<MPI_Comm>) raises Raiser::None; |_| {
        parent.set("parent", MPI_COMM_NULL)
    }

    /// `MPI_Comm_compare` (§7.4.1).
    fn MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: Out<c_int>)
    raises Raiser::Comm(comm1); |process| {
        let (one, other) = (process.comm(comm1)?, process.comm(comm2)?);
        let comparison = match (&one.inter, &other.inter) {
            (None, None) => one.inner.compare(&other.inner),
            (Some(one), Some(other)) => one.compare(other),
            _ => Comparison::Unequal,
        };
        result.set("result", group::comparison(comparison))
    }

    /// `MPI_Comm_group` (§7.3.2).
    fn MPI_Comm_group(comm: MPI_Comm, group: Out<MPI_Group>) raises Raiser::Comm(comm); |process| {
        group.check("group")?;
        group.set("group", group::enter(process.comm(comm)?.inner.members())?)
    }

    /// `MPI_Comm_set_name` (§7.8): a long name is cut.
    fn MPI_Comm_set_name(comm: MPI_Comm, comm_name: Text) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        comm.name.set("comm_name", comm_name)?;
        let name = String::from_utf8_lossy(&comm.name.bytes()).into_owned();
        comm.inner.runtime().name_communicator(comm.inner.context(), &name);
        Ok(())
    }

    /// `MPI_Comm_get_name` (§7.8).
    fn MPI_Comm_get_name(comm: MPI_Comm, comm_name: TextOut, resultlen: Out<c_int>)
    raises Raiser::Comm(comm); |process| {
        match comm {
            MPI_COMM_NULL => name::of_null("MPI_COMM_NULL", "comm_name", comm_name, resultlen),
            comm => process.comm(comm)?.name.get("comm_name", comm_name, resultlen),
        }
    }
}
