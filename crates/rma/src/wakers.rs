//! How futures of operations are woken: a thread waits for their ends, in place of the tasks.
//!
//! A task that finds its operation under way leaves its waker here and sleeps wherever its executor has it sleep. The thread waits in
//! the engine as any other does, so it moves what there is to move, is woken by what others move, and is in reports. It calls each
//! waker once, when its operation has ended, and holds no lock meanwhile, because a waker is a program's code.
//!
//! Invariants: a waker is here before its task looks at the operation for the last time, so no end is missed; the thread is
//! started by the first waker, and sleeps outside the engine when there is none. The table's lock is taken under the engine's, never
//! the other way round.

use crate::agent::with_signals_blocked;
use parking_lot::{Condvar, Mutex};
use rma_core::host::{Awaited, Need};
use rma_core::window::OperationRequest;
use rma_core::{Engine, Error, ErrorClass, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Waker;
use std::thread::{Builder, JoinHandle};

const CALL: &str = "future";

/// The wakers of a process, and the thread that calls them.
pub(crate) struct Wakers {
    engine: Engine,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    bell: Condvar,
}

#[derive(Default)]
struct Table {
    tasks: Vec<Task>,
    next: u64,
    is_over: bool,
}

struct Task {
    key: u64,
    operation: OperationRequest,
    waker: Waker,
}

/// The place of one future among the wakers. Dropping it takes the waker away.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    wakers: &'a Wakers,
    key: Option<u64>,
}

impl Wakers {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, shared: Arc::default(), thread: Mutex::default(), is_over: AtomicBool::new(false) }
    }

    /// Whether the world has ended.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Ends the thread, and waits until it has ended. Wakers that are left are not called.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
        let thread = self.thread.lock().take();
        let tasks = {
            let mut table = self.shared.table.lock();
            table.is_over = true;
            std::mem::take(&mut table.tasks)
        };
        drop(tasks);
        if let Some(thread) = thread {
            self.shared.bell.notify_all();
            self.engine.wake_waiters();
            // A waker may have dropped the last that kept the runtime. A panic of the thread has been printed by it.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }

    /// Waits for the end of one of these operations, and says of which. There is one at least.
    pub(crate) fn wait_any(&self, operations: &[&OperationRequest]) -> usize {
        let mut look = || Ok(operations.iter().position(|operation| has_ended(operation)));
        // The look answers no errors.
        self.engine.wait_until("waitany", &|| awaited(operations.iter().copied()), &mut look).unwrap_or(0)
    }

    fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_some() {
            return Ok(());
        }
        let (engine, shared) = (self.engine.clone(), Arc::clone(&self.shared));
        let started = with_signals_blocked(|| {
            Builder::new().name("rma-futures".to_owned()).spawn(move || shared.run(&engine))
        });
        *thread = Some(started.map_err(|error| {
            let cause = format!("the thread that wakes futures cannot be started: {error}");
            Error::new(ErrorClass::Other, CALL, cause)
        })?);
        Ok(())
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn run(&self, engine: &Engine) {
        loop {
            let mut table = self.table.lock();
            while table.tasks.is_empty() && !table.is_over {
                self.bell.wait(&mut table);
            }
            if table.is_over {
                return;
            }
            drop(table);
            for waker in self.await_ends(engine) {
                // A panic of one waker is not the others' concern; it has been printed.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
        }
    }

    /// The wakers of operations that have ended: of one at least, unless there is none to wait for any more.
    fn await_ends(&self, engine: &Engine) -> Vec<Waker> {
        let mut ended = Vec::new();
        let describe = || awaited(self.table.lock().tasks.iter().map(|task| &task.operation));
        let mut look = || {
            let mut table = self.table.lock();
            ended = table.take_ended();
            Ok((!ended.is_empty() || table.tasks.is_empty()).then_some(()))
        };
        // The look answers no errors.
        let _ = engine.wait_until(CALL, &describe, &mut look);
        ended
    }
}

impl Table {
    fn take_ended(&mut self) -> Vec<Waker> {
        self.tasks.extract_if(.., |task| has_ended(&task.operation)).map(|task| task.waker).collect()
    }

    fn take(&mut self, key: u64) -> Option<Task> {
        let at = self.tasks.iter().position(|task| task.key == key)?;
        Some(self.tasks.swap_remove(at))
    }
}

impl<'a> Watch<'a> {
    pub(crate) fn new(wakers: &'a Wakers) -> Self {
        Self { wakers, key: None }
    }

    /// Has `waker` called when the operation has ended. The caller looks at the operation once more afterwards.
    ///
    /// # Errors
    /// When there is no thread to call it.
    pub(crate) fn set(&mut self, operation: &OperationRequest, waker: &Waker) -> Result<()> {
        self.wakers.start()?;
        let waker = waker.clone();
        let mut table = self.wakers.shared.table.lock();
        if table.is_over {
            return Err(Error::new(ErrorClass::Other, CALL, "the world has ended"));
        }
        let known = self.key.and_then(|key| table.tasks.iter_mut().find(|task| task.key == key));
        let before = match known {
            Some(task) => Some(std::mem::replace(&mut task.waker, waker)),
            None => {
                let key = table.next;
                table.next += 1;
                table.tasks.push(Task { key, operation: operation.clone(), waker });
                self.key = Some(key);
                self.wakers.shared.bell.notify_one();
                None
            }
        };
        drop(table);
        // Dropping a waker may run the program's code.
        drop(before);
        Ok(())
    }

    /// Takes the waker away, if it has not been called.
    pub(crate) fn clear(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut table = self.wakers.shared.table.lock();
        let task = table.take(key);
        let is_last = task.is_some() && table.tasks.is_empty();
        drop(table);
        if is_last {
            // The thread has nothing to wait for.
            self.wakers.engine.wake_waiters();
        }
        drop(task);
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Whether an operation has ended; an error is an end.
pub(crate) fn has_ended(operation: &OperationRequest) -> bool {
    operation.is_complete() != Ok(false)
}

/// The operations as a report names them.
fn awaited<'a>(operations: impl ExactSizeIterator<Item = &'a OperationRequest>) -> Awaited {
    const MOST: usize = 8;
    let text = format!("one of {} operations with requests to end", operations.len());
    let needs: Vec<Need> = operations.take(MOST).map(OperationRequest::need).collect();
    Awaited { needs, ..Awaited::from(text) }
}

impl fmt::Debug for Wakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakers").field("tasks", &self.shared.table.lock().tasks.len()).finish_non_exhaustive()
    }
}
