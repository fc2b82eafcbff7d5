//! The access state under the model checker: transitions of calls beside the engine, which owns the state for its own.
//!
//! Run like `control/loom_tests.rs`. A cell stands for what the state protects, the epoch of the window: a
//! thread that changes it has to be alone by the state's word, so two at a time are a race that the checker
//! reports.

use super::{AccessState, Gate, ThreadLevel};
use crate::epoch::{AccessEvent, AccessWord, Epoch, FastEpoch};
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
    fn new(level: ThreadLevel) -> Arc<Self> {
        let access = AccessState::new(level);
        access.set_owned(false);
        Arc::new(Self { access, engine: Mutex::new(()), epoch: UnsafeCell::new(0) })
    }

    fn read(&self) -> u32 {
        // SAFETY: the state lets no other thread change it meanwhile; the checker verifies it.
        self.epoch.with(|epoch| unsafe { *epoch })
    }

    fn write(&self) {
        // SAFETY: the state lets no other thread look meanwhile; the checker verifies it.
        self.epoch.with_mut(|epoch| unsafe { *epoch += 1 });
    }

    /// A lock call of some rank, its epoch and its unlock; says whether the lock was taken past the engine.
    fn lock(&self) -> bool {
        let gate = Gate::default();
        let is_in = self.access.try_enter(&gate).is_some();
        if is_in {
            let before = self.read();
            assert_eq!(self.read(), before, "no other thread opens an epoch beside a lock");
            self.access.leave(&gate);
        }
        is_in
    }

    /// An epoch that a call opens past the engine and ends, as far as it may; says whether there was one that it could not end.
    fn open_and_close(&self, epoch: FastEpoch) -> bool {
        if !self.access.try_open() {
            return false;
        }
        self.write();
        self.access.end_opening(Some(epoch));
        let is_closed = self.access.try_close(epoch);
        if is_closed {
            self.write();
            self.access.end_closing();
        }
        !is_closed
    }

    /// A change of the epoch under the engine's lock, of one that is open or of none; says what there was.
    fn change(&self) -> AccessWord {
        let _engine = self.engine.lock().unwrap();
        self.access.own_settled();
        let found = self.access.word();
        match found.epoch() {
            Epoch::Unset => {
                self.write();
                self.access.on(AccessEvent::FenceMet);
                self.write();
                self.access.on(AccessEvent::FenceLast);
            }
            Epoch::PscwGranted => {
                self.write();
                self.access.on(AccessEvent::Complete);
            }
            Epoch::LockAllCalled => {
                self.write();
                self.access.on(AccessEvent::UnlockAll);
            }
            // The engine's lock call beside those that are past it.
            Epoch::PerTarget => {
                let gate = Gate::default();
                assert!(self.access.enter(&gate).is_some());
                self.access.leave(&gate);
            }
            other => panic!("no thread has opened {other:?}"),
        }
        self.access.set_owned(false);
        found
    }
}

#[test]
fn no_lock_call_slips_between_the_check_and_the_change_of_the_engine() {
    loom::model(|| {
        let world = World::new(ThreadLevel::Multiple);
        let caller = {
            let world = Arc::clone(&world);
            thread::spawn(move || [world.lock(), world.lock()])
        };
        assert!(world.change().locks() <= 1);
        caller.join().unwrap();
        assert_eq!(
            (world.access.word(), world.lock()),
            (AccessWord(0), true),
            "the state is left to calls again"
        );
    });
}

#[test]
fn an_epoch_is_ended_by_its_call_or_by_the_engine() {
    for epoch in [FastEpoch::Started, FastEpoch::AllLocked] {
        loom::model(move || {
            let world = World::new(ThreadLevel::Multiple);
            let caller = {
                let world = Arc::clone(&world);
                thread::spawn(move || world.open_and_close(epoch))
            };
            let found = world.change();
            let is_left = caller.join().unwrap();
            // What the engine has ended the call could not end, or its end came while the engine owned the state: it is there yet.
            let is_ended = found.epoch() != Epoch::Unset;
            assert_eq!(world.access.word(), AccessWord(if is_left && !is_ended { epoch as u64 } else { 0 }));
            assert!(!is_ended || is_left);
        });
    }
}

#[test]
fn changes_of_one_caller_and_of_the_owner_lose_nothing_of_each_other() {
    loom::model(|| {
        let world = World::new(ThreadLevel::Serialized);
        let engine = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                // The engine in the background: it finds something to do, changes nothing of an epoch, and leaves.
                let _engine = world.engine.lock().unwrap();
                world.access.own_settled();
                assert!(world.access.is_owned() && !world.access.word().is_changing());
                world.access.set_owned(false);
            })
        };
        let (gate, mut held) = (Gate::default(), 0);
        if world.access.try_enter(&gate).is_some() {
            held += 1;
            if world.open_and_close(FastEpoch::Started) {
                panic!("an epoch opens beside a lock");
            }
        }
        engine.join().unwrap();
        assert_eq!((world.access.word().locks(), world.access.is_owned()), (held, false));
        if held > 0 {
            world.access.leave(&gate);
        }
        assert!(world.access.may_open());
    });
}

#[test]
fn locks_and_epochs_of_two_callers_exclude_each_other() {
    loom::model(|| {
        let world = World::new(ThreadLevel::Multiple);
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
