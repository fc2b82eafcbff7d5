//! `MPI_Session_*`, and what is made of the groups of sessions (MPI 5.0 §11.3, §7.4.2, §7.6.2).

use super::communicator::given;
use super::environment::provided_level;
use super::errors::{class, create_into};
use crate::abi::*;
use crate::arguments::{Memory, Out, Text, TextOut, negative};
use crate::communicator::Offspring;
use crate::entry::{call_for, entry, forms, handle, plain};
use crate::errors::{Attached, HandlerKind, Raiser, Subject};
use crate::group;
use crate::info::{self, Info};
use crate::life;
use crate::message::buffered::{BufferOwner, Flush, attach, detach};
use crate::process::Process;
use crate::request::{enter, wait_for};
use crate::session::{PSETS, SESSIONS, Session, get, pset};
use rma::{Communicator, Error, ErrorClass, Group, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

plain! {
    /// `MPI_Session_init`: the first one begins the process's part in the job, if `MPI_Init` has not.
    fn MPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: Out<MPI_Session>) -> c_int {
        let attached = Attached::of(errhandler, HandlerKind::Session).map(Arc::new);
        let raiser = attached.as_ref().map_or(Raiser::None, |attached| {
            Raiser::Known(Arc::clone(attached), Subject::Session(MPI_SESSION_NULL))
        });
        call_for("MPI_Session_init", raiser, || {
            let handler = attached?;
            session.check("session")?;
            let asked = info::get_optional(info)?.cloned().unwrap_or_default();
            life::begin_session("MPI_Session_init", |process| {
                let level = info::level(provided_level(process.asked_level));
                asked.set(b"thread_level".to_vec(), level.into());
                let made = SESSIONS.insert(Session { handler, info: asked });
                let none = || Error::new(ErrorClass::NoMem, "", "no handle is left for another session");
                session.set("session", made.ok_or_else(none)?)
            })
        })
    }

    /// `MPI_Session_create_errhandler` (§9.3.4): at any time.
    fn MPI_Session_create_errhandler(
        session_errhandler_fn: Option<ErrhandlerFunction>,
        errhandler: Out<MPI_Errhandler>,
    ) -> c_int {
        call_for("MPI_Session_create_errhandler", Raiser::None, || {
            create_into(HandlerKind::Session, session_errhandler_fn, errhandler)
        })
    }
}

entry! {
    /// `MPI_Session_finalize`: what was made of the session goes on. Messages in its buffer leave first.
    fn MPI_Session_finalize(session: Out<MPI_Session>) raises Raiser::session_at(session); |process| {
        let handle = session.current().one("session")?;
        get(handle)?;
        wait_for(process, &mut Flush(BufferOwner::Session(handle)), None)?;
        SESSIONS.remove(handle);
        session.set("session", MPI_SESSION_NULL)?;
        life::end_session()
    }

    /// `MPI_Session_get_num_psets`.
    fn MPI_Session_get_num_psets(
        session: MPI_Session,
        info: MPI_Info,
        npset_names: Out<c_int>,
    ) raises Raiser::Session(session); |_| {
        get(session)?;
        info::get_optional(info)?;
        npset_names.set("npset_names", PSETS.len() as c_int)
    }

    /// `MPI_Session_get_nth_pset`: `pset_len` is the room, end of the text included, and becomes the room that is needed.
    fn MPI_Session_get_nth_pset(
        session: MPI_Session,
        info: MPI_Info,
        n: c_int,
        pset_len: Out<c_int>,
        pset_name: TextOut,
    ) raises Raiser::Session(session); |_| {
        get(session)?;
        info::get_optional(info)?;
        let name = usize::try_from(n).ok().and_then(|n| PSETS.get(n)).ok_or_else(|| {
            Error::new(ErrorClass::Arg, "", format!("n is {n}, but there are {} process sets", PSETS.len()))
        })?;
        let room = pset_len.current().one("pset_len")?;
        let room = usize::try_from(room).map_err(|_| negative(ErrorClass::Arg, "pset_len", room.into()))?;
        if room > 0 {
            pset_name.set("pset_name", name, room)?;
        }
        pset_len.set("pset_len", name.len() as c_int + 1)
    }

    /// `MPI_Session_get_info`.
    fn MPI_Session_get_info(session: MPI_Session, info_used: Out<MPI_Info>)
    raises Raiser::Session(session); |_| {
        info_used.check("info_used")?;
        let info = &get(session)?.info;
        let known = ["thread_level", "mpi_memory_alloc_kinds"];
        let known = known.map(|key| Some((key, info.text(key)?)));
        info_used.set("info_used", info::enter(Info::of(known.into_iter().flatten()))?)
    }

    /// `MPI_Session_get_pset_info`.
    fn MPI_Session_get_pset_info(
        session: MPI_Session,
        pset_name: Text,
        info: Out<MPI_Info>,
    ) raises Raiser::Session(session); |process| {
        info.check("info")?;
        get(session)?;
        let size = pset(process, &pset_name_of(pset_name)?)?.size();
        info.set("info", info::enter(Info::of([("mpi_size", size.to_string())]))?)
    }

    /// `MPI_Group_from_session_pset` (§7.3.2).
    fn MPI_Group_from_session_pset(
        session: MPI_Session,
        pset_name: Text,
        newgroup: Out<MPI_Group>,
    ) raises Raiser::Session(session); |process| {
        newgroup.check("newgroup")?;
        get(session)?;
        newgroup.set("newgroup", group::enter(pset(process, &pset_name_of(pset_name)?)?)?)
    }

    /// `MPI_Session_set_errhandler` (§9.3.4).
    fn MPI_Session_set_errhandler(
        session: MPI_Session,
        errhandler: MPI_Errhandler,
    ) raises Raiser::Session(session); |_| { get(session)?.handler.set(errhandler, HandlerKind::Session) }

    /// `MPI_Session_get_errhandler` (§9.3.4).
    fn MPI_Session_get_errhandler(
        session: MPI_Session,
        errhandler: Out<MPI_Errhandler>,
    ) raises Raiser::Session(session); |_| {
        errhandler.check("errhandler")?;
        errhandler.set("errhandler", get(session)?.handler.hand_out())
    }

    /// `MPI_Session_call_errhandler` (§9.5).
    fn MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int)
    raises Raiser::Session(session); |_| {
        get(session)?;
        class(errorcode)?;
        handle(errorcode, Raiser::Session(session));
        Ok(())
    }

    /// `MPI_Session_flush_buffer` (§3.6).
    fn MPI_Session_flush_buffer(session: MPI_Session) raises Raiser::Session(session); |process| {
        get(session)?;
        wait_for(process, &mut Flush(BufferOwner::Session(session)), None)
    }

    /// `MPI_Session_iflush_buffer` (§3.6).
    fn MPI_Session_iflush_buffer(
        session: MPI_Session,
        request: Out<MPI_Request>,
    ) raises Raiser::Session(session); |_| {
        request.check("request")?;
        let raiser = get(session)?.raiser(session);
        request.set("request", enter(Box::new(Flush(BufferOwner::Session(session))), raiser)?)
    }

    /// `MPI_Comm_create_from_group` (§7.4.2): its errors go to the handler that is given.
    fn MPI_Comm_create_from_group(
        group: MPI_Group,
        stringtag: Text,
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        newcomm: Out<MPI_Comm>,
    ) raises raiser_of(errhandler); |process| {
        let handler = Attached::of(errhandler, HandlerKind::Comm)?;
        newcomm.check("newcomm")?;
        let (group, tag, hints) = (group::get(group)?, tag_of(stringtag)?, given(info)?);
        let made = match group.size() {
            0 => MPI_COMM_NULL,
            _ => {
                let inner = within(process, group, tag)?;
                Offspring::orphan(handler, hints).enter_itself(Arc::new(inner), None)?
            }
        };
        newcomm.set("newcomm", made)
    }

    /// `MPI_Intercomm_create_from_groups` (§7.6.2): as [`MPI_Comm_create_from_group`].
    fn MPI_Intercomm_create_from_groups(
        local_group: MPI_Group,
        local_leader: c_int,
        remote_group: MPI_Group,
        remote_leader: c_int,
        stringtag: Text,
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        newintercomm: Out<MPI_Comm>,
    ) raises raiser_of(errhandler); |process| {
        let handler = Attached::of(errhandler, HandlerKind::Comm)?;
        newintercomm.check("newintercomm")?;
        let (local, remote) = (group::get(local_group)?, group::get(remote_group)?);
        let (tag, hints) = (tag_of(stringtag)?, given(info)?);
        if local.size() == 0 || remote.size() == 0 {
            return newintercomm.set("newintercomm", MPI_COMM_NULL);
        }
        if local.peers().any(|peer| remote.rank(peer).is_some()) {
            return Err(Error::new(ErrorClass::Group, "", "a process is in local_group and in remote_group"));
        }
        let leader = rank_in("local_leader", local_leader, local)?;
        let partner = rank_in("remote_leader", remote_leader, remote)?;
        let partner = remote.translate(&[partner], &process.world.inner.members())?[0].ok_or_else(|| {
            Error::new(ErrorClass::Group, "", "remote_leader is no process of this job")
        })?;
        let own = within(process, local, tag)?;
        let bridge = (own.rank() == leader).then_some((&*process.world.inner, partner));
        let inter = own.create_inter(leader, bridge, tag)?;
        newintercomm.set("newintercomm", Offspring::orphan(handler, hints).enter_inter(inter)?)
    }
}

forms! {
    /// `MPI_Session_attach_buffer` (§3.6).
    fn MPI_Session_attach_buffer | MPI_Session_attach_buffer_c(
        session: MPI_Session, buffer: Memory, size: Number,
    )
    raises Raiser::Session(session); |_| {
        get(session)?;
        attach(BufferOwner::Session(session), buffer, size)
    }

    /// `MPI_Session_detach_buffer` (§3.6).
    fn MPI_Session_detach_buffer | MPI_Session_detach_buffer_c(
        session: MPI_Session, buffer_addr: Out<*mut c_void>, size: Out<Number>,
    )
    raises Raiser::Session(session); |process| {
        get(session)?;
        detach(process, BufferOwner::Session(session), buffer_addr, size)
    }
}

/// Makes a communicator of this group, which this process is in.
fn within(process: &Process, group: &Group, tag: u32) -> Result<Communicator> {
    process.world.inner.create_group(group, tag)
}

/// A tag that no call with a number has. Groups and their order are told apart beside it, so strings of one tag meet only when two
/// threads of the same processes make communicators at once.
fn tag_of(text: Text) -> Result<u32> {
    const OF_STRINGS: u32 = 1 << 31;
    let text = text.bytes("stringtag", MPI_MAX_STRINGTAG_LEN as usize - 1, ErrorClass::Arg)?;
    let mixed =
        text.iter().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    Ok(mixed | OF_STRINGS)
}

fn pset_name_of(text: Text) -> Result<Vec<u8>> {
    text.bytes("pset_name", MPI_MAX_PSET_NAME_LEN as usize - 1, ErrorClass::Arg)
}

fn rank_in(name: &str, rank: c_int, group: &Group) -> Result<u32> {
    u32::try_from(rank).ok().filter(|rank| *rank < group.size()).ok_or_else(|| {
        let cause = format!("{name} is {rank}, but its group has {} processes", group.size());
        Error::new(ErrorClass::Rank, "", cause)
    })
}

/// The handler that a call gives to what it makes, which gets the call's own errors too.
fn raiser_of(errhandler: MPI_Errhandler) -> Raiser {
    Attached::of(errhandler, HandlerKind::Comm)
        .map_or(Raiser::None, |attached| Raiser::Known(Arc::new(attached), Subject::Comm(MPI_COMM_NULL)))
}
