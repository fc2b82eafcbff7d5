//! Cells: where requests lie, one after the other. A cell stays for good, so that a call may look at a request that another thread
//! completes at the same time, and a request costs neither an allocation nor a count of references.
//!
//! Invariants: the body of a cell says which handle it is good for, and each look compares it under the cell's lock; a cell is
//! in one list of spare cells, or has a handle. Each thread keeps a few spare ones for itself, and leaves them to all when it ends.

use super::object::{Listed, RequestKind, RequestState};
use crate::abi::{MPI_REQUEST_NULL, MPI_Request};
use crate::errors::Raiser;
use crate::handle::{Spare, Table};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) static REQUESTS: Table<MPI_Request, Cell, &'static Cell> = Table::new();

/// Spare cells of no thread.
static SPARE: Mutex<Vec<Spare<Cell>>> = Mutex::new(Vec::new());

/// Most spare cells of a thread.
const MOST_OWN: usize = 64;

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own(Vec::new())) };
}

/// A place for one request at a time.
pub(crate) struct Cell {
    pub(super) body: Mutex<Body>,
    pub(super) listed: Listed,
    /// Whether the request is persistent. Written under the lock of the body.
    is_persistent: AtomicBool,
}

/// What a request is made of.
pub(super) struct Body {
    /// Null while there is no request.
    pub(super) handle: MPI_Request,
    pub(super) state: RequestState,
    /// Whose handler gets its errors.
    pub(super) raiser: Raiser,
    pub(super) kind: RequestKind,
}

/// The spare cells of a thread.
struct Own(Vec<Spare<Cell>>);

impl Drop for Own {
    fn drop(&mut self) {
        SPARE.lock().append(&mut self.0);
    }
}

/// Enters a request; `None` when no handle is left.
pub(super) fn enter(state: RequestState, raiser: Raiser, kind: RequestKind) -> Option<MPI_Request> {
    let spare = take_spare()?;
    let cell = spare.object;
    let is_persistent = matches!(kind, RequestKind::Persistent(_));
    REQUESTS.occupy(spare, |handle| {
        let mut body = cell.body.lock();
        cell.is_persistent.store(is_persistent, Relaxed);
        *body = Body { handle, state, raiser, kind };
    })
}

/// Takes the request out whose body this is. What it was made of is the caller's, to be dropped without the cell's lock.
pub(super) fn remove(body: &mut Body) -> Body {
    let removed = std::mem::replace(body, Body::none());
    if let Some(spare) = REQUESTS.vacate(removed.handle) {
        give_spare(spare);
    }
    removed
}

fn take_spare() -> Option<Spare<Cell>> {
    let own = OWN.try_with(|own| own.borrow_mut().0.pop()).ok().flatten();
    own.or_else(|| SPARE.lock().pop()).or_else(|| REQUESTS.add(Box::leak(Box::new(Cell::new()))))
}

fn give_spare(spare: Spare<Cell>) {
    let mut spare = Some(spare);
    // A thread that ends has none any more.
    let _ = OWN.try_with(|own| {
        let own = &mut own.borrow_mut().0;
        if own.len() < MOST_OWN {
            own.extend(spare.take());
        }
    });
    if let Some(spare) = spare {
        SPARE.lock().push(spare);
    }
}

impl Cell {
    fn new() -> Self {
        Self {
            body: Mutex::new(Body::none()),
            listed: Listed::never(),
            is_persistent: AtomicBool::new(false),
        }
    }

    /// Whether its request is persistent, as a good handle finds it.
    pub(super) fn is_persistent(&self) -> bool {
        self.is_persistent.load(Relaxed)
    }
}

impl Body {
    fn none() -> Self {
        Self {
            handle: MPI_REQUEST_NULL,
            state: RequestState::Inactive,
            raiser: Raiser::None,
            kind: RequestKind::Single,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::End;
    use super::*;

    fn enter_ended() -> MPI_Request {
        enter(RequestState::Ended(End::done()), Raiser::None, RequestKind::Single).unwrap()
    }

    fn take_out(handle: MPI_Request) -> bool {
        let Some(cell) = REQUESTS.find(handle) else { return false };
        let mut body = cell.body.lock();
        body.handle == handle && remove(&mut body).handle == handle
    }

    #[test]
    fn a_cell_is_used_again_and_old_handles_find_nothing() {
        let first = enter_ended();
        let cell = std::ptr::from_ref(REQUESTS.find(first).unwrap());
        assert!(take_out(first) && !take_out(first), "once");
        let second = enter_ended();
        assert!(std::ptr::eq(REQUESTS.find(second).unwrap(), cell), "what was given back last is taken next");
        assert!(second != first && REQUESTS.find(first).is_none());
        assert!(take_out(second));
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_and_leaves_them_to_all() {
        let cells = |handles: &[MPI_Request]| -> Vec<usize> {
            handles.iter().map(|handle| std::ptr::from_ref(REQUESTS.find(*handle).unwrap()).addr()).collect()
        };
        let fill = move || {
            let handles: Vec<_> = (0..2 * MOST_OWN).map(|_| enter_ended()).collect();
            let cells = cells(&handles);
            assert!(handles.into_iter().all(take_out));
            assert_eq!(OWN.with(|own| own.borrow().0.len()), MOST_OWN);
            cells
        };
        let used = std::thread::spawn(fill).join().unwrap();
        let all: Vec<usize> =
            SPARE.lock().iter().map(|spare| std::ptr::from_ref(spare.object).addr()).collect();
        // Tests beside this one may have taken some.
        assert!(
            used.iter().filter(|cell| all.contains(cell)).count() > MOST_OWN,
            "{} of {}",
            all.len(),
            used.len()
        );
    }
}
