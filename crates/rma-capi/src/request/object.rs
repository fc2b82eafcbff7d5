//! A request and its table: what is under way, how it ended, what becomes of it then, and waiting for it.

use super::ended::{self, take_ended};
use super::generalized::Generalized;
use super::status::{End, StatusOut};
use crate::abi::{MPI_REQUEST_NULL, MPI_Request};
use crate::errors::{Failure, Raiser};
use crate::handle::Table;
use crate::process::{Process, Seek, Sought};
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Something under way.
pub(crate) trait Pending: Send {
    /// How it ended, once, if it has. Called by threads that wait, under the engine's lock: it moves nothing and calls
    /// nothing that does.
    fn take_end(&mut self) -> Option<End>;

    /// Tells what has to come for its end: all of it.
    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        each(Sought::Any);
    }

    /// The call that waits for it where the program has no request of it.
    fn call(&self) -> &'static str {
        "wait"
    }

    /// Takes it back, if it is a message that nothing has matched. It ends then as cancelled, perhaps by another process's answer.
    fn cancel(&mut self) {}
}

/// What a persistent request stands for (MPI 5.0 §3.9): it can be started again and again, whatever the program frees meanwhile.
pub(crate) trait Start: Send + Sync {
    fn start(&self) -> Result<Box<dyn Pending>>;

    /// Its partitions, if its message has some.
    fn parts(&self) -> Option<&dyn Parts> {
        None
    }
}

/// The partitions of a message (MPI 5.0 §4).
pub(crate) trait Parts {
    fn count(&self) -> usize;

    /// Makes one ready to be sent.
    fn make_ready(&self, part: usize) -> Result<()>;
}

/// A request of the program.
pub(crate) struct Request {
    pub(super) state: Mutex<State>,
    /// Whose handler gets its errors.
    pub(crate) raiser: Raiser,
    pub(crate) listed: Listed,
    pub(super) kind: Kind,
}

/// What becomes of a request whose end the program has been told.
pub(super) enum Kind {
    /// It is gone.
    Single,
    /// It is inactive, and can be started.
    Persistent(Box<dyn Start>),
    /// It is gone, and the program's functions are called.
    Generalized(Arc<Generalized>),
}

/// The last call that found a request in an array.
pub(crate) struct Listed(AtomicU64);

impl Listed {
    pub(super) const fn never() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether a call of this number has found it before; it has now. Threads that have a request in two arrays at once may not
    /// find out.
    pub(crate) fn is_by(&self, call: u64) -> bool {
        let last = self.0.load(Relaxed);
        self.0.store(call, Relaxed);
        last == call
    }
}

pub(super) enum State {
    /// A persistent request that is not started: calls treat it as a null one.
    Inactive,
    Active(Box<dyn Pending>),
    Ended(End),
}

pub(crate) static REQUESTS: Table<MPI_Request, Arc<Request>> = Table::new();

/// What goes on without a request of the program: the requests were freed.
static FREED: Mutex<Vec<Box<dyn Pending>>> = Mutex::new(Vec::new());

impl Request {
    /// How it ended, if it has.
    pub(crate) fn look(&self) -> Option<End> {
        let mut state = self.state.lock();
        if let State::Active(pending) = &mut *state {
            let end = pending.take_end()?;
            if end.is_no_end() {
                return Some(end);
            }
            *state = State::Ended(end);
        }
        match &*state {
            State::Ended(end) => Some(end.clone()),
            State::Active(_) | State::Inactive => None,
        }
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn is_inactive(&self) -> bool {
        matches!(self.kind, Kind::Persistent(_)) && matches!(&*self.state.lock(), State::Inactive)
    }

    /// Starts a persistent request.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is another kind of request, or active; what the start of its operation answers.
    pub(crate) fn start(&self) -> Result<()> {
        let refuse = |cause: &str| Err(Error::new(ErrorClass::Request, "", cause));
        let Kind::Persistent(operation) = &self.kind else {
            return refuse("request is not persistent, so it cannot be started");
        };
        if !self.is_inactive() {
            return refuse("request is active: it was started, and is not complete yet");
        }
        // The operation begins under the engine's lock, which threads that wait take before this one.
        let pending = operation.start()?;
        *self.state.lock() = State::Active(pending);
        Ok(())
    }

    /// The partitions of its message.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it has none.
    pub(crate) fn parts(&self) -> Result<&dyn Parts> {
        let parts = match &self.kind {
            Kind::Persistent(operation) => operation.parts(),
            Kind::Single | Kind::Generalized(_) => None,
        };
        parts.ok_or_else(|| Error::new(ErrorClass::Request, "", "request is of no partitioned message"))
    }

    /// An end as the program is told of it: of a generalized request, its function says how it ended.
    pub(crate) fn told(&self, end: End) -> End {
        match &self.kind {
            Kind::Generalized(generalized) => generalized.query(),
            Kind::Single | Kind::Persistent(_) => end,
        }
    }

    /// Tells what has to come for its end, unless it has ended.
    pub(crate) fn seek(&self, each: &mut dyn FnMut(Sought)) {
        if let State::Active(pending) = &*self.state.lock() {
            pending.seek(each);
        }
    }

    /// The call that a wait for it alone is a part of: other ranks are to enter that of a collective.
    pub(crate) fn call(&self) -> &'static str {
        let mut call = "wait";
        self.seek(&mut |sought| {
            if let Sought::Collective(of) = sought {
                call = of;
            }
        });
        call
    }

    /// What a call does about it when it has ended so. No handler is looked for where there is no error.
    fn settled(&self, handle: MPI_Request, end: End) -> Settled {
        let raiser = if end.error.is_some() { self.raiser.clone() } else { Raiser::None };
        Settled { handle, raiser, end }
    }

    /// Takes it back, if it can be.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is inactive; what the program's function answers.
    pub(crate) fn cancel(&self) -> Result<()> {
        if let Kind::Generalized(generalized) = &self.kind {
            return generalized.cancel();
        }
        match &mut *self.state.lock() {
            State::Active(pending) => pending.cancel(),
            State::Ended(_) => {}
            State::Inactive => {
                let cause = "request is persistent and inactive: there is nothing to cancel";
                return Err(Error::new(ErrorClass::Request, "", cause));
            }
        }
        Ok(())
    }

    /// The functions of the program behind it.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is no generalized request.
    pub(crate) fn generalized(&self) -> Result<&Generalized> {
        match &self.kind {
            Kind::Generalized(generalized) => Ok(generalized),
            Kind::Single | Kind::Persistent(_) => {
                Err(Error::new(ErrorClass::Request, "", "request is no generalized request"))
            }
        }
    }
}

/// What a call does about a request that has ended.
pub(crate) struct Settled {
    /// What the program has in its place from now on.
    pub(crate) handle: MPI_Request,
    pub(crate) raiser: Raiser,
    pub(crate) end: End,
}

impl Settled {
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        let raiser = self.raiser;
        self.end.into_result().map(drop).map_err(|error| Failure { error, raiser })
    }
}

/// Takes out a request of this handle that has ended, or makes it inactive. One that may wait in vain stays as it is.
pub(crate) fn settle(handle: MPI_Request, request: &Request, end: End) -> Settled {
    if end.is_no_end() {
        return request.settled(handle, end);
    }
    match &request.kind {
        Kind::Persistent(_) => {
            *request.state.lock() = State::Inactive;
            request.settled(handle, end)
        }
        // Unless another thread has taken it out, and called the program's function.
        Kind::Generalized(generalized) if remove(handle).is_some() => {
            request.settled(MPI_REQUEST_NULL, generalized.freed(request.told(end)))
        }
        Kind::Generalized(_) => request.settled(MPI_REQUEST_NULL, end),
        Kind::Single => {
            drop(remove(handle));
            request.settled(MPI_REQUEST_NULL, end)
        }
    }
}

/// Enters a request.
///
/// # Errors
/// `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn enter(pending: Box<dyn Pending>, raiser: Raiser) -> Result<MPI_Request> {
    enter_kind(State::Active(pending), raiser, Kind::Single)
}

/// Enters a persistent request, which is inactive.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_persistent(operation: impl Start + 'static, raiser: Raiser) -> Result<MPI_Request> {
    enter_kind(State::Inactive, raiser, Kind::Persistent(Box::new(operation)))
}

pub(super) fn enter_kind(state: State, raiser: Raiser, kind: Kind) -> Result<MPI_Request> {
    REQUESTS
        .insert(Arc::new(Request { state: Mutex::new(state), raiser, listed: Listed::never(), kind }))
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another request"))
}

/// Enters what has ended well as its call returned.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_ended() -> Result<MPI_Request> {
    take_ended().map_or_else(|| enter_kind(State::Ended(End::done()), Raiser::None, Kind::Single), Ok)
}

/// As [`enter`], for what has perhaps ended as its call returned.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_or_end<P: Pending + 'static>(mut pending: P, raiser: Raiser) -> Result<MPI_Request> {
    let ended = pending.take_end().filter(|end| end.error.is_none()).and_then(|_| take_ended());
    ended.map_or_else(|| enter(Box::new(pending), raiser), Ok)
}

/// Takes a request out.
pub(super) fn remove(request: MPI_Request) -> Option<Arc<Request>> {
    match ended::Slot::of(request) {
        Some(slot) => slot.give_back(request).then(|| slot.request()),
        None => REQUESTS.remove(request).map(|request| *request),
    }
}

/// A number for a call that takes out requests of an array.
pub(crate) fn next_call() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Relaxed) + 1
}

/// Requests by the numbers of their handles.
pub(crate) struct Numbers;

impl Numbers {
    pub(crate) fn number(&self, request: MPI_Request) -> Option<c_int> {
        ended::number(request).or_else(|| REQUESTS.number(request))
    }

    pub(crate) fn of_number(&self, number: c_int) -> Option<MPI_Request> {
        ended::of_number(number).or_else(|| REQUESTS.of_number(number))
    }
}

/// Waits for something that the program has no request of, and tells how it ended.
///
/// # Errors
/// What it ended with.
pub(crate) fn wait_for(
    process: &'static Process,
    pending: &mut dyn Pending,
    status: Option<StatusOut>,
) -> Result<()> {
    wait_within(process, pending.call(), pending, &|_| {}, status)
}

/// As [`wait_for`], in a call that seeks something besides.
///
/// # Errors
/// As [`wait_for`].
pub(crate) fn wait_within(
    process: &'static Process,
    call: &'static str,
    pending: &mut dyn Pending,
    beside: &Seek<'_>,
    status: Option<StatusOut>,
) -> Result<()> {
    let end = match pending.take_end() {
        // What need not be waited for serves the others all the same.
        Some(end) => {
            process.end_short_call();
            end
        }
        None => {
            let pending = RefCell::new(pending);
            let seek = |each: &mut dyn FnMut(Sought)| {
                pending.borrow().seek(each);
                beside(each);
            };
            process.wait_for(call, &seek, || Ok(pending.borrow_mut().take_end()))?
        }
    };
    if let Some(place) = status {
        end.status.store(place);
    }
    end.into_blocking().map(drop)
}

/// The request of a handle, which is not null.
///
/// # Errors
/// `MPI_ERR_REQUEST` when it is of no request.
pub(crate) fn get(request: MPI_Request) -> Result<Arc<Request>> {
    // One thread may cancel what another waits for, and has perhaps just completed.
    let ended = ended::Slot::of(request).map(ended::Slot::request);
    ended.or_else(|| REQUESTS.share(request)).ok_or_else(|| {
        let cause = match request {
            MPI_REQUEST_NULL => "request is MPI_REQUEST_NULL".to_owned(),
            request => format!("request {:#x} is no request, or was completed or freed", request.0),
        };
        Error::new(ErrorClass::Request, "", cause)
    })
}

/// Takes a generalized request out that nothing waits for, and tells the program's function.
///
/// # Errors
/// What that answers.
pub(crate) fn remove_generalized(request: MPI_Request) -> Result<()> {
    match remove(request) {
        None => Ok(()),
        Some(removed) => removed.generalized()?.freed(End::done()).into_result().map(drop),
    }
}

/// Frees a request; what it stands for goes on.
pub(crate) fn free(request: MPI_Request) -> Result<()> {
    let found = get(request)?;
    if let Kind::Generalized(generalized) = &found.kind {
        // Without the lock of what was freed: the program's function may call the library.
        return match generalized.free_when_complete() {
            // The program completes it by a copy of the handle.
            false => Ok(()),
            true => remove_generalized(request),
        };
    }
    let mut freed = FREED.lock();
    freed.retain_mut(|pending| pending.take_end().is_none());
    if let Some(request) = remove(request) {
        let state = std::mem::replace(&mut *request.state.lock(), State::Ended(End::done()));
        if let State::Active(mut pending) = state
            && pending.take_end().is_none()
        {
            freed.push(pending);
        }
    }
    Ok(())
}
