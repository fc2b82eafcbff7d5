//! Making and freeing communicators (MPI 5.0 §7.4.2, §7.4.3).

use super::hints::given;
use crate::abi::*;
use crate::arguments::{Out, negative};
use crate::communicator::{COMMS, Comm, Hints, disown, owner};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::message::buffered::{BufferOwner, Flush};
use crate::process::Process;
use crate::request::wait_for;
use crate::{group, info};
use rma::raw::Intercommunicator;
use rma::{Communicator, Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::Arc;

entry! {
    /// `MPI_Comm_dup`: attributes are copied; hints, since MPI 4.0, and the name are not.
    fn MPI_Comm_dup(comm: MPI_Comm, newcomm: Out<MPI_Comm>) raises Raiser::Comm(comm); |process| {
        duplicate(process, comm, Ok(Hints::default()), newcomm)
    }

    /// `MPI_Comm_dup_with_info`: attributes are copied, hints are those of `info`.
    fn MPI_Comm_dup_with_info(
        comm: MPI_Comm,
        info: MPI_Info,
        newcomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm); |process| {
        duplicate(process, comm, given(info), newcomm)
    }

    /// `MPI_Comm_create`: between two groups, all ranks of a group name the same part of it.
    fn MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: Out<MPI_Comm>)
    raises Raiser::Comm(comm); |process| {
        let old = process.comm(comm)?;
        let group = group::get(group)?;
        match &old.inter {
            None => make(old, newcomm, || old.inner.create(group)),
            Some(inter) => make_inter(old, newcomm, || inter.create(group)),
        }
    }

    /// `MPI_Comm_create_group`: a rank outside the group gets `MPI_COMM_NULL` at once.
    fn MPI_Comm_create_group(
        comm: MPI_Comm,
        group: MPI_Group,
        tag: c_int,
        newcomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm); |process| {
        let old = process.comm(comm)?;
        let group = group::get(group)?;
        let tag = u32::try_from(tag).map_err(|_| negative(ErrorClass::Tag, "tag", tag.into()))?;
        let me = old.inner.runtime().me();
        make(old, newcomm, || group.rank(me).map(|_| old.intra()?.create_group(group, tag)).transpose())
    }

    /// `MPI_Comm_split`: a rank whose argument is wrong takes part, so that all ranks get an error.
    fn MPI_Comm_split(
        comm: MPI_Comm,
        color: c_int,
        key: c_int,
        newcomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm); |process| {
        let old = process.comm(comm)?;
        let wish = || match color {
            MPI_UNDEFINED => Ok(None),
            color => u32::try_from(color).map(Some).map_err(|_| {
                let cause = format!("color is {color}, which is neither MPI_UNDEFINED nor at least 0");
                Error::new(ErrorClass::Arg, "", cause)
            }),
        };
        match (&old.inter, newcomm.check("newcomm").and_then(|()| wish())) {
            (None, Ok(color)) => make(old, newcomm, || old.inner.split(color, key.into())),
            (None, Err(fault)) => Err(old.inner.refuse_split(fault)),
            (Some(inter), Ok(color)) => make_inter(old, newcomm, || inter.split(color, key.into())),
            (Some(inter), Err(fault)) => Err(inter.refuse_split(fault)),
        }
    }

    /// `MPI_Comm_split_type`: by shared memory. The library knows no other hardware, so what asks for such makes no
    /// communicator.
    fn MPI_Comm_split_type(
        comm: MPI_Comm,
        split_type: c_int,
        key: c_int,
        info: MPI_Info,
        newcomm: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm); |process| {
        let old = process.comm(comm)?;
        let is_by_node = || match split_type {
            MPI_COMM_TYPE_SHARED => Ok(true),
            MPI_UNDEFINED | MPI_COMM_TYPE_HW_UNGUIDED => Ok(false),
            MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => {
                let wanted = info::get_optional(info)?.and_then(|info| info.text("mpi_hw_resource_type"));
                Ok(wanted.as_deref() == Some("mpi_shared_memory"))
            }
            other => {
                let cause = format!("split_type is {other}, which is no type of split");
                Err(Error::new(ErrorClass::Arg, "", cause))
            }
        };
        let key = newcomm.check("newcomm").and_then(|()| Ok(is_by_node()?.then_some(i64::from(key))));
        match (&old.inter, key) {
            (None, Ok(key)) => make(old, newcomm, || old.inner.split_by_node(key)),
            (None, Err(fault)) => Err(old.inner.refuse_split(fault)),
            (Some(inter), Ok(key)) => make_inter(old, newcomm, || inter.split_by_node(key)),
            (Some(inter), Err(fault)) => Err(inter.refuse_split(fault)),
        }
    }

    /// `MPI_Comm_free`. Operations under way on it end as if it were still there.
    fn MPI_Comm_free(comm: Out<MPI_Comm>) raises Raiser::comm_at(comm); |process| {
        free(process, comm)
    }

    /// `MPI_Comm_disconnect` (§11.10.4): as [`MPI_Comm_free`], after what this rank has sent in buffers has left. The ranks stay
    /// connected by the job.
    fn MPI_Comm_disconnect(comm: Out<MPI_Comm>) raises Raiser::comm_at(comm); |process| {
        let handle = comm.current().one("comm")?;
        process.comm(handle)?;
        wait_for(process, &mut Flush(BufferOwner::Comm(handle)), None)?;
        free(process, comm)
    }
}

fn free(process: &'static Process, comm: Out<MPI_Comm>) -> Result<()> {
    let handle = comm.current().one("comm")?;
    let found = process.comm(handle)?;
    if matches!(handle, MPI_COMM_WORLD | MPI_COMM_SELF) {
        return Err(Error::new(ErrorClass::Comm, "", "predefined communicators cannot be freed"));
    }
    found.attributes.delete_all(owner(handle))?;
    COMMS.remove(handle);
    comm.set("comm", MPI_COMM_NULL)
}

/// Makes a communicator of the same ranks, and lets the functions of the attributes decide what it gets of
/// them. A rank whose arguments are wrong takes part, so that no rank waits for it.
fn duplicate(
    process: &'static Process,
    comm: MPI_Comm,
    hints: Result<Hints>,
    newcomm: Out<MPI_Comm>,
) -> Result<()> {
    let old = process.comm(comm)?;
    let hints = newcomm.check("newcomm").and(hints);
    let new = match &old.inter {
        None => {
            let inner = old.inner.duplicate()?;
            let hints = hints.inspect_err(|_| inner.disown())?;
            old.duplicate(hints).enter_itself(Arc::new(inner), None)?
        }
        Some(inter) => {
            let inter = inter.duplicate()?;
            let hints = hints.inspect_err(|_| inter.disown())?;
            old.enter_inter(inter, hints)?
        }
    };
    adopt_attributes(process, comm, new)?;
    newcomm.set("newcomm", new)
}

/// Copies attributes to a new communicator. When a function fails, the new one goes again: other ranks may keep theirs, without
/// this one.
fn adopt_attributes(process: &'static Process, comm: MPI_Comm, new: MPI_Comm) -> Result<()> {
    let made = process.comm(new)?;
    let copied = process.comm(comm)?.attributes.copy_to(owner(comm), &made.attributes);
    if copied.is_err() {
        disown(&made.inner, made.inter.as_deref());
        // The first failure is the one to tell of.
        let _ = made.attributes.delete_all(owner(new));
        COMMS.remove(new);
    }
    copied
}

/// Stores the handle of a communicator that may not be for this rank. Without a place for it this one takes part all the same: others
/// may wait for it.
fn make(
    old: &Comm,
    newcomm: Out<MPI_Comm>,
    new: impl FnOnce() -> Result<Option<Communicator>>,
) -> Result<()> {
    let made = match new()? {
        Some(inner) => {
            newcomm.check("newcomm").inspect_err(|_| inner.disown())?;
            old.enter(inner, Hints::default())?
        }
        None => MPI_COMM_NULL,
    };
    newcomm.set("newcomm", made)
}

/// As [`make`], of one between two groups.
fn make_inter(
    old: &Comm,
    newcomm: Out<MPI_Comm>,
    new: impl FnOnce() -> Result<Option<Intercommunicator>>,
) -> Result<()> {
    let made = match new()? {
        Some(inter) => {
            newcomm.check("newcomm").inspect_err(|_| inter.disown())?;
            old.enter_inter(inter, Hints::default())?
        }
        None => MPI_COMM_NULL,
    };
    newcomm.set("newcomm", made)
}
