//! The table of legal calls: which call may be made in which window state (MPI 3.1 §11.5, §11.7).
//!
//! Every call asks here once, before it does anything. What the table cannot know (whether operations are still pending
//! when a fence epoch gives way to a lock) is the caller's argument.

use super::state::{Epoch, WindowEpoch};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;

/// A call, as far as legality depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Fence,
    Lock(Rank),
    Unlock(Rank),
    Flush(Rank),
    /// A communication call with its target.
    Operation(Rank),
    Free,
}

/// Whether `call` (named `name` in messages) is legal now. `pending` says whether operations are still outstanding.
///
/// # Errors
/// `MPI_ERR_RMA_SYNC`, naming the open epoch and the call that opened it.
pub(crate) fn check(epoch: &WindowEpoch, call: Call, name: &'static str, pending: bool) -> Result<()> {
    let verdict = match (epoch.state(), call) {
        (Epoch::Unset, Call::Fence | Call::Lock(_) | Call::Free) => Ok(()),
        (Epoch::Unset, Call::Unlock(rank) | Call::Flush(rank)) => {
            Err(format!("rank {rank} is not locked: no epoch is open"))
        }
        (Epoch::Unset, Call::Operation(_)) => {
            Err("no epoch is open: call fence or lock before communicating".to_owned())
        }
        (Epoch::FenceIssued | Epoch::FenceGranted, Call::Fence | Call::Operation(_)) => Ok(()),
        (Epoch::FenceIssued | Epoch::FenceGranted, Call::Lock(_) | Call::Free) => {
            // A fence without no-succeed leaves its epoch open; without operations another call may just replace it.
            if pending {
                Err("operations of the open fence epoch are not complete: call fence first".to_owned())
            } else {
                Ok(())
            }
        }
        (Epoch::FenceIssued | Epoch::FenceGranted, Call::Unlock(rank) | Call::Flush(rank)) => {
            Err(format!("rank {rank} is not locked: the open epoch was opened by fence"))
        }
        (Epoch::PerTarget, Call::Fence | Call::Free) => {
            let rank = epoch.a_locked_rank().map_or_else(String::new, |r| format!(" (rank {r} is locked)"));
            Err(format!("{} locks are held{rank}: call unlock first", epoch.locks_held()))
        }
        (Epoch::PerTarget, Call::Lock(rank)) => match epoch.lock(rank) {
            Some(_) => Err(format!("rank {rank} is locked already by an earlier call of lock")),
            None => Ok(()),
        },
        (Epoch::PerTarget, Call::Unlock(rank) | Call::Flush(rank) | Call::Operation(rank)) => {
            match epoch.lock(rank) {
                Some(lock) if !lock.closing => Ok(()),
                Some(_) => Err(format!("rank {rank} is being unlocked by another thread")),
                None => Err(format!("rank {rank} is not locked; {} other ranks are", epoch.locks_held())),
            }
        }
    };
    verdict.map_err(|cause| {
        let open = match epoch.state() {
            Epoch::Unset => String::new(),
            _ => format!(" (epoch {} of this window, opened by {})", epoch.number(), epoch.opened_by()),
        };
        Error::new(ErrorClass::RmaSync, name, cause + &open)
    })
}

#[cfg(test)]
mod tests {
    use super::super::state::{Lock, LockState};
    use super::*;
    use crate::control::LockKind;

    fn per_target(rank: Rank, closing: bool) -> WindowEpoch {
        let mut epoch = WindowEpoch::new();
        let lock = Lock {
            kind: LockKind::Shared,
            state: LockState::Called,
            no_check: false,
            wanted: false,
            closing,
        };
        epoch.add_lock(rank, lock);
        epoch
    }

    fn fence(state: Epoch) -> WindowEpoch {
        let mut epoch = WindowEpoch::new();
        epoch.set_fence(state);
        epoch
    }

    /// Rows: state; columns: fence, lock 1, unlock 1, flush 1, operation on 1, free. `p` is legal while nothing is pending.
    #[test]
    fn the_table_is_the_table() {
        let rows = [
            ("unset", WindowEpoch::new(), "+ + - - - +"),
            ("fence issued", fence(Epoch::FenceIssued), "+ p - - + p"),
            ("fence granted", fence(Epoch::FenceGranted), "+ p - - + p"),
            ("rank 1 locked", per_target(Rank(1), false), "- - + + + -"),
            ("rank 1 closing", per_target(Rank(1), true), "- - - - - -"),
            ("rank 2 locked", per_target(Rank(2), false), "- + - - - -"),
        ];
        let one = Rank(1);
        let calls = [
            Call::Fence,
            Call::Lock(one),
            Call::Unlock(one),
            Call::Flush(one),
            Call::Operation(one),
            Call::Free,
        ];
        for (name, epoch, marks) in rows {
            for (call, mark) in calls.into_iter().zip(marks.split(' ')) {
                let idle = check(&epoch, call, "x", false);
                let busy = check(&epoch, call, "x", true);
                assert_eq!((idle.is_ok(), busy.is_ok()), (mark != "-", mark == "+"), "{name}, {call:?}");
                for error in [idle, busy].into_iter().filter_map(Result::err) {
                    assert_eq!(error.class(), ErrorClass::RmaSync);
                }
            }
        }
    }

    #[test]
    fn the_last_unlock_ends_the_epoch() {
        let mut epoch = per_target(Rank(1), false);
        let lock = *epoch.lock(Rank(1)).unwrap();
        epoch.add_lock(Rank(4), lock);
        epoch.remove_lock(Rank(1));
        assert_eq!(epoch.state(), Epoch::PerTarget);
        epoch.remove_lock(Rank(4));
        assert_eq!(epoch.state(), Epoch::Unset);
    }
}
