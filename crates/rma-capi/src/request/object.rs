//! A request: what is under way, how it ended, and what becomes of it then.

use super::cell::{self, Body, Cell, REQUESTS};
use super::ended::{self, take_ended};
use super::generalized::Generalized;
use super::status::End;
use crate::abi::{MPI_REQUEST_NULL, MPI_Request};
use crate::errors::{Failure, Raiser};
use crate::process::Sought;
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
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

/// A request of the program, as a call has found it. Another thread may complete it at any time; then it has ended, and well.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    handle: MPI_Request,
    place: RequestPlace,
}

#[derive(Clone, Copy)]
enum RequestPlace {
    /// It had ended as its call returned.
    Ended(&'static ended::EndedSlot),
    Cell(&'static Cell),
}

/// What becomes of a request whose end the program has been told.
pub(super) enum RequestKind {
    /// It is gone.
    Single,
    /// It is inactive, and can be started.
    Persistent(Arc<dyn Start>),
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

pub(super) enum RequestState {
    /// A persistent request that is not started: calls treat it as a null one.
    Inactive,
    Active(Box<dyn Pending>),
    Ended(End),
}

/// What goes on without a request of the program: the requests were freed.
static FREED: Mutex<Vec<Box<dyn Pending>>> = Mutex::new(Vec::new());

impl Request {
    /// Looks at what it is made of; `None` where that is nothing, or nothing any more.
    fn with<T>(self, look: impl FnOnce(&mut Body) -> T) -> Option<T> {
        let RequestPlace::Cell(cell) = self.place else { return None };
        let mut body = cell.body.lock();
        (body.handle == self.handle).then(|| look(&mut body))
    }

    /// Settles it, if it has ended.
    pub(crate) fn take(self) -> Settlement {
        if self.had_ended() {
            return Settlement::Settled(self.settle(End::done()));
        }
        // Dropped without the cell's lock.
        let mut removed = None;
        let take = |body: &mut Body| {
            let end = match &mut body.state {
                RequestState::Active(pending) => match pending.take_end() {
                    None => return Settlement::NotYet,
                    Some(end) => end,
                },
                RequestState::Ended(end) => std::mem::replace(end, End::done()),
                RequestState::Inactive => return Settlement::NotYet,
            };
            if let RequestKind::Generalized(_) = body.kind {
                body.state = RequestState::Ended(end);
                return Settlement::Generalized;
            }
            Settlement::Settled(body.settle(end, &mut removed))
        };
        self.with(take).unwrap_or_else(|| Settlement::Settled(Settled::gone(End::done())))
    }

    /// How it ended, if it has. It stays as it is.
    pub(crate) fn look(self) -> Option<End> {
        let look = |body: &mut Body| {
            if let RequestState::Active(pending) = &mut body.state {
                let end = pending.take_end()?;
                if end.is_no_end() {
                    return Some(end);
                }
                body.state = RequestState::Ended(end);
            }
            match &body.state {
                RequestState::Ended(end) => Some(end.clone()),
                RequestState::Active(_) | RequestState::Inactive => None,
            }
        };
        self.with(look).unwrap_or_else(|| Some(End::done()))
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn is_inactive(self) -> bool {
        let RequestPlace::Cell(cell) = self.place else { return false };
        cell.is_persistent()
            && self.with(|body| matches!(body.state, RequestState::Inactive)).unwrap_or(false)
    }

    /// Whether it had ended as its call returned.
    pub(crate) fn had_ended(self) -> bool {
        matches!(self.place, RequestPlace::Ended(_))
    }

    /// Whether a call of this number has found it before; it has now. See [`Listed`].
    pub(crate) fn is_listed_by(self, call: u64) -> bool {
        match self.place {
            RequestPlace::Ended(slot) => slot.is_listed_by(call),
            RequestPlace::Cell(cell) => cell.listed.is_by(call),
        }
    }

    pub(crate) fn handle(self) -> MPI_Request {
        self.handle
    }

    /// Whose handler gets its errors.
    pub(crate) fn raiser(self) -> Raiser {
        self.with(|body| body.raiser.clone()).unwrap_or(Raiser::None)
    }

    fn operation(self) -> Option<Arc<dyn Start>> {
        let of = |body: &mut Body| match &body.kind {
            RequestKind::Persistent(operation) => Some(Arc::clone(operation)),
            RequestKind::Single | RequestKind::Generalized(_) => None,
        };
        self.with(of).flatten()
    }

    /// Starts a persistent request.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is another kind of request, or active; what the start of its operation answers.
    pub(crate) fn start(self) -> Result<()> {
        let refuse = |cause: &str| Err(Error::new(ErrorClass::Request, "", cause));
        let Some(operation) = self.operation() else {
            return refuse("request is not persistent, so it cannot be started");
        };
        if !self.is_inactive() {
            return refuse("request is active: it was started, and is not complete yet");
        }
        // The operation begins under the engine's lock, which threads that wait take before the cell's.
        let pending = operation.start()?;
        let _ = self.with(|body| body.state = RequestState::Active(pending));
        Ok(())
    }

    /// Works on the partitions of its message.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it has none; what the work answers.
    pub(crate) fn with_parts<T>(self, work: impl FnOnce(&dyn Parts) -> Result<T>) -> Result<T> {
        let operation = self.operation();
        let parts = operation.as_ref().and_then(|operation| operation.parts());
        work(
            parts
                .ok_or_else(|| Error::new(ErrorClass::Request, "", "request is of no partitioned message"))?,
        )
    }

    /// An end as the program is told of it: of a generalized request, its function says how it ended.
    pub(crate) fn told(self, end: End) -> End {
        match self.functions() {
            Some(generalized) => generalized.query(),
            None => end,
        }
    }

    /// Tells what has to come for its end, unless it has ended.
    pub(crate) fn seek(self, each: &mut dyn FnMut(Sought)) {
        let _ = self.with(|body| {
            if let RequestState::Active(pending) = &body.state {
                pending.seek(each);
            }
        });
    }

    /// The call that a wait for it alone is a part of: other ranks are to enter that of a collective.
    pub(crate) fn call(self) -> &'static str {
        let mut call = "wait";
        self.seek(&mut |sought| {
            if let Sought::Collective(of, _) = sought {
                call = of;
            }
        });
        call
    }

    /// Takes it back, if it can be.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is inactive; what the program's function answers.
    pub(crate) fn cancel(self) -> Result<()> {
        if let Some(generalized) = self.functions() {
            return generalized.cancel();
        }
        let cancel = |body: &mut Body| match &mut body.state {
            RequestState::Active(pending) => {
                pending.cancel();
                Ok(())
            }
            RequestState::Ended(_) => Ok(()),
            RequestState::Inactive => {
                let cause = "request is persistent and inactive: there is nothing to cancel";
                Err(Error::new(ErrorClass::Request, "", cause))
            }
        };
        self.with(cancel).unwrap_or(Ok(()))
    }

    fn functions(self) -> Option<Arc<Generalized>> {
        let of = |body: &mut Body| match &body.kind {
            RequestKind::Generalized(generalized) => Some(Arc::clone(generalized)),
            RequestKind::Single | RequestKind::Persistent(_) => None,
        };
        self.with(of).flatten()
    }

    /// The functions of the program behind it.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` when it is no generalized request.
    pub(crate) fn generalized(self) -> Result<Arc<Generalized>> {
        self.functions()
            .ok_or_else(|| Error::new(ErrorClass::Request, "", "request is no generalized request"))
    }

    /// Takes it out, after it has ended so, or makes it inactive. One that may wait in vain stays as it is.
    pub(crate) fn settle(self, end: End) -> Settled {
        if let RequestPlace::Ended(slot) = self.place {
            // Another thread has given it back, or this one does.
            let _ = slot.give_back(self.handle);
            return Settled::gone(end);
        }
        // Dropped, and the program's functions called, without the cell's lock.
        let mut removed = None;
        let settled = self.with(|body| body.settle(end, &mut removed));
        let mut settled = settled.unwrap_or_else(|| Settled::gone(End::done()));
        if let Some(Body { kind: RequestKind::Generalized(generalized), raiser, .. }) = removed {
            settled.end = generalized.freed(generalized.query());
            if settled.end.error.is_some() {
                settled.raiser = raiser;
            }
        }
        settled
    }
}

impl Body {
    /// What becomes of a request that has ended so. What it was made of is put into `removed`, if it is gone now.
    fn settle(&mut self, end: End, removed: &mut Option<Body>) -> Settled {
        let raiser = if end.error.is_some() { self.raiser.clone() } else { Raiser::None };
        let handle = match &self.kind {
            // One that may wait in vain stays as it is.
            _ if end.is_no_end() => self.handle,
            RequestKind::Persistent(_) => {
                self.state = RequestState::Inactive;
                self.handle
            }
            RequestKind::Single | RequestKind::Generalized(_) => {
                *removed = Some(cell::remove(self));
                MPI_REQUEST_NULL
            }
        };
        Settled { handle, raiser, end }
    }
}

/// What a call has found that settles a request if it has ended.
pub(crate) enum Settlement {
    NotYet,
    Settled(Settled),
    /// It has ended. The program's functions are called by [`Request::settle`]: they may call the library, so not while a call waits.
    Generalized,
}

impl Settlement {
    /// What a wait returns.
    pub(crate) fn ended(self) -> Option<Self> {
        if let Self::NotYet = self { None } else { Some(self) }
    }

    /// Of a request that has ended.
    pub(crate) fn settled(self, request: Request) -> Settled {
        match self {
            Self::Settled(settled) => settled,
            Self::NotYet | Self::Generalized => request.settle(End::done()),
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
    /// Of a request that is gone, with no error that a handler would get.
    pub(crate) fn gone(end: End) -> Self {
        Self { handle: MPI_REQUEST_NULL, raiser: Raiser::None, end }
    }

    pub(crate) fn into_result(self) -> Result<(), Failure> {
        let raiser = self.raiser;
        self.end.into_result().map(drop).map_err(|error| Failure { error, raiser })
    }
}

/// Enters a request.
///
/// # Errors
/// `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn enter(pending: Box<dyn Pending>, raiser: Raiser) -> Result<MPI_Request> {
    enter_kind(RequestState::Active(pending), raiser, RequestKind::Single)
}

/// Enters a persistent request, which is inactive.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_persistent(operation: impl Start + 'static, raiser: Raiser) -> Result<MPI_Request> {
    enter_kind(RequestState::Inactive, raiser, RequestKind::Persistent(Arc::new(operation)))
}

pub(super) fn enter_kind(state: RequestState, raiser: Raiser, kind: RequestKind) -> Result<MPI_Request> {
    cell::enter(state, raiser, kind)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another request"))
}

/// Enters what has ended well as its call returned.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_ended() -> Result<MPI_Request> {
    take_ended()
        .map_or_else(|| enter_kind(RequestState::Ended(End::done()), Raiser::None, RequestKind::Single), Ok)
}

/// As [`enter`], for what has perhaps ended as its call returned.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_or_end<P: Pending + 'static>(mut pending: P, raiser: Raiser) -> Result<MPI_Request> {
    let ended = pending.take_end().filter(|end| end.error.is_none()).and_then(|_| take_ended());
    ended.map_or_else(|| enter(Box::new(pending), raiser), Ok)
}

/// Takes a request out; answers what was under way.
fn remove(request: Request) -> Option<Body> {
    match request.place {
        RequestPlace::Ended(slot) => {
            let _ = slot.give_back(request.handle);
            None
        }
        RequestPlace::Cell(_) => request.with(cell::remove),
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

/// The request of a handle, which is not null.
///
/// # Errors
/// `MPI_ERR_REQUEST` when it is of no request.
pub(crate) fn get(handle: MPI_Request) -> Result<Request> {
    let ended = ended::EndedSlot::of(handle).map(RequestPlace::Ended);
    let place = ended.or_else(|| REQUESTS.find(handle).map(RequestPlace::Cell));
    place.map(|place| Request { handle, place }).ok_or_else(|| {
        let cause = match handle {
            MPI_REQUEST_NULL => "request is MPI_REQUEST_NULL".to_owned(),
            handle => format!("request {:#x} is no request, or was completed or freed", handle.0),
        };
        Error::new(ErrorClass::Request, "", cause)
    })
}

/// Takes a generalized request out that nothing waits for, and tells the program's function.
///
/// # Errors
/// What that answers.
pub(crate) fn remove_generalized(request: Request) -> Result<()> {
    match remove(request) {
        Some(Body { kind: RequestKind::Generalized(generalized), .. }) => {
            generalized.freed(End::done()).into_result().map(drop)
        }
        _ => Ok(()),
    }
}

/// Frees a request; what it stands for goes on.
pub(crate) fn free(request: MPI_Request) -> Result<()> {
    let found = get(request)?;
    if let Some(generalized) = found.functions() {
        return match generalized.free_when_complete() {
            // The program completes it by a copy of the handle.
            false => Ok(()),
            true => remove_generalized(found),
        };
    }
    let mut freed = FREED.lock();
    freed.retain_mut(|pending| pending.take_end().is_none());
    if let Some(Body { state: RequestState::Active(mut pending), .. }) = remove(found)
        && pending.take_end().is_none()
    {
        freed.push(pending);
    }
    Ok(())
}
