//! Intercommunicators: made from two groups, asked, and merged (MPI 5.0 §7.6).

use crate::abi::*;
use crate::arguments::{Out, negative};
use crate::communicator::{Comm, Hints};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::group;
use rma::raw::Intercommunicator;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::Arc;

entry! {
    /// `MPI_Intercomm_create` (§7.6.2).
    fn MPI_Intercomm_create(
        local_comm: MPI_Comm,
        local_leader: c_int,
        peer_comm: MPI_Comm,
        remote_leader: c_int,
        tag: c_int,
        newintercomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(local_comm); |process| {
        let local = process.comm(local_comm)?;
        let comm = local.intra()?;
        let leader = rank_of_leader("local_leader", local_leader);
        let leader = leader.map_err(|fault| comm.refuse_inter_local(fault))?;
        let is_leader = local.inner.rank() == leader;
        let wish = || {
            let tag = u32::try_from(tag).map_err(|_| negative(ErrorClass::Tag, "tag", tag.into()))?;
            let (peer, rank) =
                (process.comm(peer_comm)?.intra()?, rank_of_leader("remote_leader", remote_leader)?);
            peer.peer(rank)?;
            Ok(((&**peer, rank), tag))
        };
        // What the other ranks give for these does not matter.
        let (bridge, tag) = match is_leader.then(wish).transpose() {
            Ok(bridge) => bridge.unzip(),
            Err(fault) => return Err(comm.refuse_inter(fault, None, 0)),
        };
        let tag = tag.unwrap_or_default();
        if let (true, Err(fault)) = (is_leader, newintercomm.check("newintercomm")) {
            return Err(comm.refuse_inter(fault, bridge, tag));
        }
        let inter = comm.create_inter(leader, bridge, tag)?;
        newintercomm.check("newintercomm").inspect_err(|_| inter.disown())?;
        newintercomm.set("newintercomm", local.enter_inter(inter, Hints::default())?)
    }

    /// `MPI_Intercomm_merge` (§7.6.2).
    fn MPI_Intercomm_merge(
        intercomm: MPI_Comm,
        high: c_int,
        newintracomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(intercomm); |process| {
        let comm = process.comm(intercomm)?;
        let merged = inter(comm)?.merge(high != 0)?;
        newintracomm.check("newintracomm").inspect_err(|_| merged.disown())?;
        newintracomm.set("newintracomm", comm.enter(merged, Hints::default())?)
    }

    /// `MPI_Comm_test_inter` (§7.6.1).
    fn MPI_Comm_test_inter(comm: MPI_Comm, flag: Out<c_int>) raises Raiser::Comm(comm); |process| {
        flag.set("flag", process.comm(comm)?.inter.is_some().into())
    }

    /// `MPI_Comm_remote_size` (§7.6.1).
    fn MPI_Comm_remote_size(comm: MPI_Comm, size: Out<c_int>) raises Raiser::Comm(comm); |process| {
        size.set("size", inter(process.comm(comm)?)?.remote().size() as c_int)
    }

    /// `MPI_Comm_remote_group` (§7.6.1).
    fn MPI_Comm_remote_group(comm: MPI_Comm, group: Out<MPI_Group>) raises Raiser::Comm(comm); |process| {
        group.check("group")?;
        group.set("group", group::enter(inter(process.comm(comm)?)?.remote().clone())?)
    }
}

fn inter(comm: &Comm) -> Result<&Arc<Intercommunicator>> {
    comm.inter.as_ref().ok_or_else(|| Error::new(ErrorClass::Comm, "", "comm is no intercommunicator"))
}

fn rank_of_leader(name: &str, rank: c_int) -> Result<u32> {
    u32::try_from(rank).map_err(|_| negative(ErrorClass::Rank, name, rank.into()))
}
