//! How futures are woken: a thread waits for the ends of what they await, in place of the tasks.
//!
//! A task that finds its operation, message, collective or counter under way leaves its waker here and sleeps wherever its executor has it
//! sleep. The thread waits in the engine as any other does, so it moves what there is to move, is woken by what others move, and is in
//! reports. It calls each waker once, when what it awaits has ended, and holds no lock meanwhile, because a waker is a program's code.
//!
//! Invariants: a waker is here before its task looks for the last time, so no end is missed; the thread is
//! started by the first waker, and sleeps outside the engine when there is none. The table's lock is taken under the engine's, never
//! the other way round.

use crate::agent::with_signals_blocked;
use crate::alarm::Alarm;
use parking_lot::{Condvar, Mutex};
use rma_core::host::{Awaited, Need};
use rma_core::notify::NotificationRequest;
use rma_core::window::OperationRequest;
use rma_core::{Engine, Error, ErrorClass, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Waker;
use std::thread::{Builder, JoinHandle};

const CALL: &str = "future";

/// What a task awaits, as the thread sees it.
pub(crate) trait Ends: Send {
    /// Whether it has ended; an error is an end. Moves nothing.
    fn has_ended(&self) -> bool;

    /// What its end needs, for reports.
    fn needs(&self) -> Vec<Need>;
}

/// The wakers of a process, and the thread that calls them.
pub(crate) struct Wakers {
    engine: Engine,
    alarm: Arc<Alarm>,
    shared: Arc<SharedTasks>,
    thread: Mutex<Option<JoinHandle<()>>>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct SharedTasks {
    table: Mutex<TaskTable>,
    bell: Condvar,
}

#[derive(Default)]
struct TaskTable {
    tasks: Vec<SleepingTask>,
    next: u64,
    is_over: bool,
}

struct SleepingTask {
    key: u64,
    awaits: Box<dyn Ends>,
    waker: Waker,
}

/// The place of one future among the wakers. Dropping it takes the waker away.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    place: Option<(Arc<Wakers>, u64)>,
}

impl Wakers {
    pub(crate) fn new(engine: Engine, alarm: Arc<Alarm>) -> Self {
        let (shared, thread) = (Arc::default(), Mutex::default());
        Self { engine, alarm, shared, thread, is_over: AtomicBool::new(false) }
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
        let mut look = || Ok(operations.iter().position(|operation| operation.has_ended()));
        let needs = || operations.iter().map(|operation| operation.needs());
        // The look answers no errors.
        self.engine.wait_until("waitany", &|| awaited(needs()), &mut look).unwrap_or(0)
    }

    fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_some() {
            return Ok(());
        }
        let (engine, alarm, shared) =
            (self.engine.clone(), Arc::clone(&self.alarm), Arc::clone(&self.shared));
        let started = with_signals_blocked(|| {
            Builder::new().name("rma-futures".to_owned()).spawn(move || shared.run(&engine, &alarm))
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

impl SharedTasks {
    fn run(&self, engine: &Engine, alarm: &Alarm) {
        loop {
            let mut table = self.table.lock();
            while table.tasks.is_empty() && !table.is_over {
                self.bell.wait(&mut table);
            }
            if table.is_over {
                return;
            }
            drop(table);
            for waker in self.await_ends(engine, alarm) {
                // A panic of one waker is not the others' concern; it has been printed.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
        }
    }

    /// The wakers of what has ended: one at least, unless there is none any more. All, when another rank of a world of threads has
    /// failed: their tasks hear of it when they look.
    fn await_ends(&self, engine: &Engine, alarm: &Alarm) -> Vec<Waker> {
        let mut ended = Vec::new();
        let describe = || awaited(self.table.lock().tasks.iter().map(|task| task.awaits.needs()));
        let mut look = || {
            let mut table = self.table.lock();
            ended = table.take_ended(alarm.check().is_err());
            Ok((!ended.is_empty() || table.tasks.is_empty()).then_some(()))
        };
        // The look answers no errors.
        let _ = engine.wait_until(CALL, &describe, &mut look);
        ended
    }
}

impl TaskTable {
    fn take_ended(&mut self, takes_all: bool) -> Vec<Waker> {
        self.tasks
            .extract_if(.., |task| takes_all || task.awaits.has_ended())
            .map(|task| task.waker)
            .collect()
    }

    fn take(&mut self, key: u64) -> Option<SleepingTask> {
        let at = self.tasks.iter().position(|task| task.key == key)?;
        Some(self.tasks.swap_remove(at))
    }
}

impl Watch {
    /// Has `waker` called when what is awaited has ended. The caller looks at it once more afterwards.
    ///
    /// # Errors
    /// When there is no thread to call it, or another rank of a world of threads has failed.
    pub(crate) fn set<E: Ends + 'static>(
        &mut self,
        wakers: &Arc<Wakers>,
        waker: &Waker,
        awaits: impl FnOnce() -> E,
    ) -> Result<()> {
        wakers.start()?;
        wakers.alarm.check()?;
        let waker = waker.clone();
        let mut table = wakers.shared.table.lock();
        if table.is_over {
            return Err(Error::new(ErrorClass::Other, CALL, "the world has ended"));
        }
        let key = self.place.as_ref().map(|(_, key)| *key);
        let known = key.and_then(|key| table.tasks.iter_mut().find(|task| task.key == key));
        let before = match known {
            Some(task) => Some(std::mem::replace(&mut task.waker, waker)),
            None => {
                let key = table.next;
                table.next += 1;
                table.tasks.push(SleepingTask { key, awaits: Box::new(awaits()), waker });
                self.place = Some((Arc::clone(wakers), key));
                wakers.shared.bell.notify_one();
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
        let Some((wakers, key)) = self.place.take() else { return };
        let mut table = wakers.shared.table.lock();
        let task = table.take(key);
        let is_last = task.is_some() && table.tasks.is_empty();
        drop(table);
        if is_last {
            // The thread has nothing to wait for.
            wakers.engine.wake_waiters();
        }
        drop(task);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Ends for OperationRequest {
    fn has_ended(&self) -> bool {
        self.is_complete() != Ok(false)
    }

    fn needs(&self) -> Vec<Need> {
        vec![self.need()]
    }
}

impl Ends for Arc<NotificationRequest> {
    fn has_ended(&self) -> bool {
        self.is_complete() != Ok(false)
    }

    fn needs(&self) -> Vec<Need> {
        self.awaited().needs
    }
}

/// What is awaited, as a report names it.
fn awaited(needs: impl ExactSizeIterator<Item = Vec<Need>>) -> Awaited {
    const MOST: usize = 8;
    let text = format!("one of {} requests to end", needs.len());
    Awaited { needs: needs.take(MOST).flatten().collect(), ..Awaited::from(text) }
}

impl fmt::Debug for Wakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakers").field("tasks", &self.shared.table.lock().tasks.len()).finish_non_exhaustive()
    }
}
