//! What happens to an error: it is noted for the thread, and the handler of the object it belongs to decides.

use crate::abi::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_Comm, MPI_Session, MPI_Win};
use crate::arguments::Out;
use crate::errors::{Attached, Handler, Raiser, Subject, last, note, outside, say, text_of};
use crate::process::{Process, abort_by_error, running};
use crate::{session, window};
use rma::Error;
use std::ffi::c_int;
use std::sync::Arc;

impl Raiser {
    /// The communicator whose handle lies there, also when the call frees it.
    pub(crate) fn comm_at(place: Out<MPI_Comm>) -> Self {
        let comm = place.current().one("comm").ok().and_then(|handle| Some((running()?, handle)));
        let found = comm.and_then(|(process, handle)| Some(process.find(handle)?.raiser(handle)));
        found.unwrap_or(Self::None)
    }

    /// Where errors go that belong to no object, also when the process's part in the job ends meanwhile.
    pub(crate) fn of_the_process() -> Self {
        running().map_or(Self::None, |process| {
            let (handler, subject) = of_process(process);
            Self::Known(Arc::clone(handler), subject)
        })
    }

    /// The session whose handle lies there, also when the call ends it.
    pub(crate) fn session_at(place: Out<MPI_Session>) -> Self {
        let session = place.current().one("session").ok();
        session.and_then(|handle| Some(session::find(handle)?.raiser(handle))).unwrap_or(Self::None)
    }

    /// The window whose handle lies there, also when the call frees it.
    pub(crate) fn win_at(place: Out<MPI_Win>) -> Self {
        let win = place.current().one("win").ok();
        win.and_then(|handle| Some(window::find(handle)?.raiser(handle))).unwrap_or(Self::None)
    }
}

/// Notes an error and lets its handler decide; answers the code to return.
#[cold]
pub(crate) fn raise(error: Error, raiser: Raiser) -> c_int {
    let code = error.code();
    note(code, error.to_string());
    handle(code, raiser)
}

/// Lets the handler of an object decide about a code.
pub(crate) fn handle(code: c_int, raiser: Raiser) -> c_int {
    let (handler, subject) = handler_of(raiser);
    match handler {
        Handler::Return => {}
        Handler::Fatal | Handler::Abort => end(code),
        Handler::User(function) => function.call(subject, code),
    }
    code
}

fn handler_of(raiser: Raiser) -> (Handler, Subject) {
    if let Raiser::Known(handler, subject) = raiser {
        return (handler.get(), subject);
    }
    let Some(process) = running() else { return (outside(), Subject::Comm(MPI_COMM_WORLD)) };
    let found = match raiser {
        Raiser::None | Raiser::Known(..) => None,
        Raiser::Comm(comm) => process.find(comm).map(|c| (c.handler.get(), Subject::Comm(comm))),
        Raiser::Win(win) => window::find(win).map(|w| (w.handler.get(), Subject::Win(win))),
        Raiser::Session(session) => {
            session::find(session).map(|found| (found.handler.get(), Subject::Session(session)))
        }
    };
    found.unwrap_or_else(|| {
        let (handler, subject) = of_process(process);
        (handler.get(), subject)
    })
}

/// Where errors go that belong to no object.
fn of_process(process: &Process) -> (&Arc<Attached>, Subject) {
    match process.own.handler.get() {
        Handler::Fatal => (&process.world.handler, Subject::Comm(MPI_COMM_WORLD)),
        _ => (&process.own.handler, Subject::Comm(MPI_COMM_SELF)),
    }
}

/// Ends the job, with what is known of the error.
fn end(code: c_int) -> ! {
    let rank = running().map_or_else(String::new, |process| format!(" rank {}:", process.world.inner.rank()));
    let text = last(code).unwrap_or_else(|| text_of(code));
    say(&format!("rma:{rank} {text}: the error handler ends the job"));
    abort_by_error(code)
}
