//! Sessions (MPI 5.0 §11.3): ways into MPI that know nothing of each other, and the process sets that each offers.
//!
//! All sessions of a process, and the world that `MPI_Init` gives, share its one part in the job ([`crate::life`]). A session is a
//! handler of errors and its hints; what is made of its groups belongs to the job, and outlives it.

use crate::abi::{MPI_SESSION_NULL, MPI_Session};
use crate::errors::{Attached, Raiser, Subject};
use crate::handle::Table;
use crate::info::Info;
use crate::process::Process;
use rma::{Error, ErrorClass, Group, Result};
use std::sync::Arc;

/// The names of the process sets, in the order in which they are numbered.
pub(crate) const PSETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// A session of the program.
pub(crate) struct Session {
    pub(crate) handler: Arc<Attached>,
    pub(crate) info: Info,
}

pub(crate) static SESSIONS: Table<MPI_Session, Session> = Table::new();

impl Session {
    /// The handler of errors of what outlives a call; `handle` is this session's.
    pub(crate) fn raiser(&self, handle: MPI_Session) -> Raiser {
        Raiser::Known(Arc::clone(&self.handler), Subject::Session(handle))
    }
}

pub(crate) fn find(session: MPI_Session) -> Option<&'static Session> {
    // SAFETY: MPI forbids to finalize a session while another thread passes it to a call.
    unsafe { SESSIONS.get(session) }
}

/// The session of a handle.
///
/// # Errors
/// `MPI_ERR_SESSION` when the handle is null, or of no session.
pub(crate) fn get(session: MPI_Session) -> Result<&'static Session> {
    find(session).ok_or_else(|| {
        let cause = match session {
            MPI_SESSION_NULL => "session is MPI_SESSION_NULL".to_owned(),
            session => format!("session {:#x} is no session, or was finalized", session.0),
        };
        Error::new(ErrorClass::Session, "", cause)
    })
}

/// The processes of a set.
///
/// # Errors
/// `MPI_ERR_ARG` when there is no set of this name.
pub(crate) fn pset(process: &Process, name: &[u8]) -> Result<Group> {
    // The names are URIs; these parts of them have no case.
    let comm = match PSETS.iter().position(|pset| pset.as_bytes().eq_ignore_ascii_case(name)) {
        Some(0) => &process.world.inner,
        Some(_) => &process.own.inner,
        None => {
            let known = PSETS.join(" and ");
            let cause =
                format!("there is no process set {:?}: {known} are all", String::from_utf8_lossy(name));
            return Err(Error::new(ErrorClass::Arg, "", cause));
        }
    };
    Ok(comm.members())
}
