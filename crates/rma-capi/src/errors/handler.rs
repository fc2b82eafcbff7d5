//! Error handlers: the predefined ones, those of the program, and how they are attached to communicators and windows.
//!
//! A handler of the program lives as long as the program has its handle or an object has it attached; all that get it from
//! an object get the same handle. Handlers are for one kind of object only.

use crate::abi::{
    ErrhandlerFunction, MPI_Comm, MPI_ERRHANDLER_NULL, MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL,
    MPI_ERRORS_RETURN, MPI_Errhandler, MPI_Session, MPI_Win,
};
use crate::handle::Table;
use parking_lot::Mutex;
use rma::config::Configuration;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};

/// A handler, ready to be used.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`.
    Fatal,
    /// `MPI_ERRORS_ABORT`. All processes of an object are processes of the job, and the job ends with any of them.
    Abort,
    /// `MPI_ERRORS_RETURN`.
    Return,
    User(HandlerFunction),
}

/// What a handler is called for.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Comm(MPI_Comm),
    Win(MPI_Win),
    Session(MPI_Session),
}

/// A function of the program.
#[derive(Clone, Copy)]
pub(crate) struct HandlerFunction(ErrhandlerFunction);

/// The kind of object that a handler of the program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandlerKind {
    Comm,
    Win,
    Session,
}

pub(crate) struct UserHandler {
    kind: HandlerKind,
    function: HandlerFunction,
    /// Handles that the program has, and objects that have it attached.
    uses: AtomicUsize,
    /// Handles that the program has.
    held: AtomicUsize,
}

impl UserHandler {
    /// Whether the program has a handle that it has not freed.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Relaxed) > 0
    }
}

pub(crate) static HANDLERS: Table<MPI_Errhandler, UserHandler> = Table::new();

/// The handler of one object.
pub(crate) struct Attached(Mutex<MPI_Errhandler>);

impl HandlerFunction {
    pub(crate) fn call(self, subject: Subject, code: c_int) {
        let mut code = code;
        let mut handle = match subject {
            Subject::Comm(comm) => comm.0,
            Subject::Win(win) => win.0,
            Subject::Session(session) => session.0,
        };
        // SAFETY: the program has given the function for this purpose, and keeps it callable until the handler is freed and
        // attached nowhere; both arguments are good for the duration of the call, as the standard says.
        unsafe { (self.0)(&raw mut handle, &raw mut code) };
    }
}

impl Attached {
    /// The handler that windows have at first.
    pub(crate) const fn fatal() -> Self {
        Self(Mutex::new(MPI_ERRORS_ARE_FATAL))
    }

    /// The handler of this name, which the predefined communicators have at first (MPI 5.0 §9.3).
    pub(crate) fn initial(name: &str) -> Self {
        Self(Mutex::new(predefined(name)))
    }

    /// The handler of this handle, which must be for this kind of object.
    ///
    /// # Errors
    /// `MPI_ERR_ERRHANDLER` when it is not.
    pub(crate) fn of(handle: MPI_Errhandler, kind: HandlerKind) -> Result<Self> {
        check(handle, Some(kind))?;
        retain(handle);
        Ok(Self(Mutex::new(handle)))
    }

    /// What a new communicator has: the handler of the one it was made from.
    pub(crate) fn inherited(from: &Self) -> Self {
        let handle = from.0.lock();
        retain(*handle);
        Self(Mutex::new(*handle))
    }

    pub(crate) fn get(&self) -> Handler {
        match *self.0.lock() {
            MPI_ERRORS_RETURN => Handler::Return,
            MPI_ERRORS_ABORT => Handler::Abort,
            // SAFETY: an attached handler is counted, so it is not removed while the lock of its place is held.
            handle => match unsafe { HANDLERS.get(handle) } {
                Some(handler) => Handler::User(handler.function),
                None => Handler::Fatal,
            },
        }
    }

    /// Attaches another handler, which must be for this kind of object.
    pub(crate) fn set(&self, handle: MPI_Errhandler, kind: HandlerKind) -> Result<()> {
        check(handle, Some(kind))?;
        retain(handle);
        let old = std::mem::replace(&mut *self.0.lock(), handle);
        release(old);
        Ok(())
    }

    /// A handle of the handler, for the program to free.
    pub(crate) fn hand_out(&self) -> MPI_Errhandler {
        // Held until the handle is counted: another thread may attach another handler.
        let handle = self.0.lock();
        retain(*handle);
        count_held(*handle, 1);
        *handle
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        release(*self.0.get_mut());
    }
}

/// The predefined handler of a name.
fn predefined(name: &str) -> MPI_Errhandler {
    match name {
        "mpi_errors_return" => MPI_ERRORS_RETURN,
        "mpi_errors_abort" => MPI_ERRORS_ABORT,
        _ => MPI_ERRORS_ARE_FATAL,
    }
}

/// The handler of calls outside of `MPI_Init` … `MPI_Finalize`, which belong to no object: the initial one.
pub(crate) fn outside() -> Handler {
    let name = Configuration::of_environment("RMA_INITIAL_ERRHANDLER");
    Attached::initial(name.as_deref().unwrap_or_default()).get()
}

/// Makes a handler of the program; the caller has its one use.
pub(crate) fn create(kind: HandlerKind, function: ErrhandlerFunction) -> Result<MPI_Errhandler> {
    let handler = UserHandler {
        kind,
        function: HandlerFunction(function),
        uses: AtomicUsize::new(1),
        held: AtomicUsize::new(1),
    };
    HANDLERS
        .insert(handler)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another error handler"))
}

/// Gives one use of a handle back.
pub(crate) fn free(handle: MPI_Errhandler) -> Result<()> {
    check(handle, None)?;
    count_held(handle, -1);
    release(handle);
    Ok(())
}

/// Checks that a handle is a handler, for the kind if one is given.
fn check(handle: MPI_Errhandler, kind: Option<HandlerKind>) -> Result<()> {
    let refuse = |cause: String| Err(Error::new(ErrorClass::Errhandler, "", cause));
    if is_predefined(handle) {
        return Ok(());
    }
    if handle == MPI_ERRHANDLER_NULL {
        return refuse("errhandler is MPI_ERRHANDLER_NULL".to_owned());
    }
    // SAFETY: MPI forbids to free a handler while another thread passes it to a call.
    match unsafe { HANDLERS.get(handle) } {
        None => refuse(format!("errhandler {:#x} is no error handler, or was freed", handle.0)),
        Some(handler) if kind.is_some_and(|kind| kind != handler.kind) => refuse(format!(
            "errhandler {:#x} was made for another kind of object ({:?})",
            handle.0, handler.kind
        )),
        Some(_) => Ok(()),
    }
}

fn is_predefined(handle: MPI_Errhandler) -> bool {
    matches!(handle, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT | MPI_ERRORS_RETURN)
}

fn retain(handle: MPI_Errhandler) {
    // SAFETY: the caller has a use of the handle, so it is not removed meanwhile.
    if let Some(handler) = unsafe { HANDLERS.get(handle) } {
        handler.uses.fetch_add(1, Relaxed);
    }
}

/// Counts a handle that the program gets, or gives back.
fn count_held(handle: MPI_Errhandler, by: isize) {
    // SAFETY: as in `retain`.
    if let Some(handler) = unsafe { HANDLERS.get(handle) } {
        handler.held.fetch_add(by as usize, Relaxed);
    }
}

fn release(handle: MPI_Errhandler) {
    // SAFETY: the caller gives up a use of the handle, so it is not removed yet.
    if let Some(handler) = unsafe { HANDLERS.get(handle) }
        && handler.uses.fetch_sub(1, AcqRel) == 1
    {
        HANDLERS.remove(handle);
    }
}
