//! The caller, where order between calls counts: locks are acquired in the order of one caller's calls.
//!
//! Between callers there is no order. Two threads of a process that each lock several ranks in one global order cannot
//! deadlock, with themselves or with others; if a thread had to wait for what another one has only called for, they could.

use crate::control::thread_address;

/// A line of control within the process: the calling thread, or a task of a program that runs many of them on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller(Identity);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Thread(usize),
    Task(u64),
}

impl Caller {
    /// The calling thread. Calls that do not name their caller are the thread's.
    pub fn thread() -> Self {
        Self(Identity::Thread(thread_address()))
    }

    /// A task that does not belong to one thread, by a number that is the program's choice.
    pub fn task(number: u64) -> Self {
        Self(Identity::Task(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_differ_by_thread_and_by_task() {
        let here = Caller::thread();
        assert_eq!(here, Caller::thread());
        std::thread::scope(|scope| assert_ne!(scope.spawn(Caller::thread).join().unwrap(), here));
        assert_eq!(Caller::task(1), Caller::task(1));
        assert!(Caller::task(1) != Caller::task(2) && Caller::task(1) != here);
    }
}
