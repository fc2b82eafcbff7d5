//! The access state under the model checker: transitions of calls beside the engine, which owns the state for its own.
//!
//! Run like `control/loom_tests.rs`. A cell stands for what the state protects, the epoch of the window: whoever changes it has to be
//! alone by the state's word, so two at a time are a race that the checker reports.

use super::access::{AccessState, Callers, FastEpoch, Takers};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;

struct World {
    access: AccessState,
    /// The engine's lock.
    engine: Mutex<()>,
    epoch: UnsafeCell<u32>,
}

impl World {
    /// A window that is left to calls.
    fn new(callers: Callers, takers: Takers) -> Arc<Self> {
        let access = AccessState::new(callers, takers);
        access.set_owned(false);
        Arc::new(Self { access, engine: Mutex::new(()), epoch: UnsafeCell::new(0) })
    }

    fn read(&self) -> u32 {
        // SAFETY: the state lets nobody change it meanwhile; the checker verifies it.
        self.epoch.with(|epoch| unsafe { *epoch })
    }

    fn write(&self) {
        // SAFETY: the state lets nobody else look meanwhile; the checker verifies it.
        self.epoch.with_mut(|epoch| unsafe { *epoch += 1 });
    }

    /// A lock call, its epoch and its unlock; says whether the lock was taken past the engine.
    fn lock(&self) -> bool {
        let is_in = self.access.try_enter().is_some();
        if is_in {
            let before = self.read();
            assert_eq!(self.read(), before, "nobody else opens an epoch beside a lock");
            self.access.leave();
        }
        is_in
    }

    /// An epoch that a call opens past the engine and ends, as far as it may.
    fn open_and_close(&self, epoch: FastEpoch) {
        if !self.access.try_open() {
            return;
        }
        self.write();
        self.access.end_opening(Some(epoch));
        if self.access.try_close(epoch) {
            self.write();
            self.access.end_closing();
        }
    }

    /// A change of the epoch under the engine's lock, which takes over what it finds; says whether there was an epoch, and how many locks.
    fn change(&self, epoch: FastEpoch) -> (bool, u64) {
        let _engine = self.engine.lock().unwrap();
        self.access.own();
        self.access.settle();
        let is_taken = self.access.take(epoch);
        assert!(!self.access.take(epoch), "it is taken over once");
        let locks = self.access.count();
        if locks == 0 {
            self.write();
        }
        self.access.set_owned(false);
        (is_taken, locks)
    }
}

#[test]
fn no_lock_call_slips_between_the_check_and_the_change_of_the_engine() {
    loom::model(|| {
        let world = World::new(Callers::Many, Takers::Calls);
        let caller = {
            let world = Arc::clone(&world);
            thread::spawn(move || [world.lock(), world.lock()])
        };
        let (is_taken, locks) = world.change(FastEpoch::Started);
        assert!(!is_taken && locks <= 1);
        caller.join().unwrap();
        assert_eq!((world.access.count(), world.lock()), (0, true), "the state is left to calls again");
    });
}

#[test]
fn an_epoch_is_ended_by_its_call_or_taken_over_by_the_engine() {
    for takers in [(Callers::Many, Takers::Calls), (Callers::One, Takers::Anybody)] {
        loom::model(move || {
            let world = World::new(takers.0, takers.1);
            let caller = {
                let world = Arc::clone(&world);
                thread::spawn(move || world.open_and_close(FastEpoch::Started))
            };
            let _found = world.change(FastEpoch::Started);
            caller.join().unwrap();
            assert_eq!(world.access.count(), 0);
            // Opened, and taken over or ended: nothing is left of it.
            assert!(world.access.may_open() && !world.access.may_have_epoch());
        });
    }
}

#[test]
fn locks_and_epochs_of_two_callers_exclude_each_other() {
    loom::model(|| {
        let world = World::new(Callers::Many, Takers::Calls);
        let other = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.open_and_close(FastEpoch::AllLocked))
        };
        world.lock();
        world.open_and_close(FastEpoch::Started);
        other.join().unwrap();
        assert!(world.access.may_open());
    });
}
