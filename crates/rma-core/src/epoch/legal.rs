//! The table of legal calls: which call may be made in which window state (MPI 3.1 §11.5, §11.7).
//!
//! A call that the engine carries out asks here once, before it does anything. [`rule`] is the table, total over states and
//! calls; what it cannot know (which ranks are locked or started, whether operations are pending) are facts that [`check`] adds.
//! Only fence and free look at both the access side and the exposure (lessons, fixed 15).

use super::transition::{AccessWord, Epoch, Stage};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;

/// A call, as far as legality depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Fence,
    Lock(Rank),
    Unlock(Rank),
    LockAll,
    UnlockAll,
    Flush(Rank),
    FlushAll,
    /// `MPI_Win_sync`.
    Sync,
    Start,
    Complete,
    Post,
    /// Wait and test.
    Wait,
    /// A communication call with its target.
    Operation(Rank),
    Free,
}

/// What else the table needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Operations are outstanding.
    pub(crate) is_pending: bool,
    /// The exposure epoch of a post call is open.
    pub(crate) is_exposed: bool,
    /// The start call named the rank that the call names.
    pub(crate) is_started: bool,
    /// The single lock of the rank that the call names.
    pub(crate) lock: RankLock,
}

/// What messages say of the open epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenEpoch {
    pub(crate) number: u64,
    /// A rank that is locked by itself.
    pub(crate) locked: Option<Rank>,
    /// Ranks that the start call named.
    pub(crate) started: usize,
}

/// What there is of a single lock of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RankLock {
    #[default]
    No,
    /// A lock call of a mapped rank, or an unlock call, is under way.
    Changing,
    /// Held, or promised.
    Held,
}

impl Call {
    /// The rank that the call names.
    pub(crate) fn rank(self) -> Option<Rank> {
        match self {
            Self::Lock(rank) | Self::Unlock(rank) | Self::Flush(rank) | Self::Operation(rank) => Some(rank),
            Self::Fence
            | Self::LockAll
            | Self::UnlockAll
            | Self::FlushAll
            | Self::Sync
            | Self::Start
            | Self::Complete
            | Self::Post
            | Self::Wait
            | Self::Free => None,
        }
    }
}

/// What a place of the table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Legal,
    /// A fence without no-succeed leaves its epoch open; without operations another call may just replace it.
    IfIdle,
    /// If the rank is not locked yet.
    IfUnlocked(Rank),
    /// If the rank is locked.
    IfLocked(Rank),
    /// If the start call named the rank.
    IfStarted(Rank),
    /// If the epoch's opening call has returned and its closing call has not begun.
    IfOpen,
    /// If an exposure epoch is open.
    IfExposed,
    /// If none is open.
    IfHidden,
    /// The epoch that the call closes or works in is not open.
    Missing,
    /// Another epoch has to be closed first.
    Busy,
}

fn rule(state: Epoch, call: Call) -> Rule {
    use Rule::{Busy, IfExposed, IfHidden, IfIdle, IfLocked, IfOpen, IfStarted, IfUnlocked, Legal, Missing};
    match state {
        Epoch::Unset => match call {
            Call::Fence | Call::Lock(_) | Call::LockAll | Call::Start | Call::Free => Legal,
            Call::Unlock(_) | Call::UnlockAll | Call::Complete => Missing,
            Call::Flush(_) | Call::FlushAll | Call::Sync | Call::Operation(_) => Missing,
            Call::Post => IfHidden,
            Call::Wait => IfExposed,
        },
        Epoch::FenceIssued | Epoch::FenceGranted => match call {
            Call::Fence | Call::Operation(_) => Legal,
            Call::Lock(_) | Call::LockAll | Call::Start | Call::Free => IfIdle,
            Call::Unlock(_) | Call::UnlockAll | Call::Complete => Missing,
            Call::Flush(_) | Call::FlushAll | Call::Sync => Missing,
            Call::Post => IfHidden,
            Call::Wait => IfExposed,
        },
        Epoch::PscwIssued | Epoch::PscwGranted => match call {
            Call::Fence | Call::Lock(_) | Call::LockAll | Call::Start | Call::Free => Busy,
            Call::Unlock(_) | Call::UnlockAll => Missing,
            Call::Flush(_) | Call::FlushAll | Call::Sync => Missing,
            Call::Complete => IfOpen,
            Call::Operation(rank) => IfStarted(rank),
            Call::Post => IfHidden,
            Call::Wait => IfExposed,
        },
        Epoch::LockAllCalled | Epoch::LockAllIssued | Epoch::LockAllGranted => match call {
            Call::Fence | Call::Lock(_) | Call::LockAll | Call::Start | Call::Free => Busy,
            Call::Unlock(_) | Call::Complete => Missing,
            Call::UnlockAll | Call::Flush(_) | Call::FlushAll | Call::Operation(_) => IfOpen,
            Call::Sync => Legal,
            Call::Post => IfHidden,
            Call::Wait => IfExposed,
        },
        Epoch::PerTarget => match call {
            Call::Fence | Call::LockAll | Call::Start | Call::Free => Busy,
            Call::Lock(rank) => IfUnlocked(rank),
            Call::Unlock(rank) | Call::Flush(rank) | Call::Operation(rank) => IfLocked(rank),
            Call::UnlockAll | Call::Complete => Missing,
            Call::FlushAll | Call::Sync => Legal,
            Call::Post => IfHidden,
            Call::Wait => IfExposed,
        },
    }
}

/// Whether `call` (named `name` in messages) is legal now; `open` is asked where it is not.
///
/// # Errors
/// `MPI_ERR_RMA_SYNC`, naming the open epoch and the call that opened it.
pub(crate) fn check(
    access: AccessWord,
    call: Call,
    name: &'static str,
    facts: Facts,
    open: impl Fn() -> OpenEpoch,
) -> Result<()> {
    let (state, locks) = (access.epoch(), access.locks());
    let verdict = match rule(state, call) {
        Rule::Legal => Ok(()),
        Rule::IfIdle if facts.is_pending => {
            Err("operations of the open fence epoch are not complete: call fence first".to_owned())
        }
        Rule::IfIdle => Ok(()),
        Rule::IfUnlocked(rank) => match facts.lock {
            RankLock::Held => Err(format!("rank {rank} is locked already by an earlier call of lock")),
            RankLock::Changing => Err(changing(rank)),
            RankLock::No => Ok(()),
        },
        Rule::IfLocked(rank) => match facts.lock {
            RankLock::Held => Ok(()),
            RankLock::Changing => Err(changing(rank)),
            RankLock::No if locks == 1 => Err(format!("rank {rank} is not locked; another rank is")),
            RankLock::No => Err(format!("rank {rank} is not locked; {locks} other ranks are")),
        },
        Rule::IfStarted(rank) if !facts.is_started => {
            Err(format!("rank {rank} is not in the group of the start call"))
        }
        Rule::IfStarted(_) | Rule::IfOpen => match access.stage() {
            Stage::Open => Ok(()),
            Stage::Opening => Err("the epoch is being opened by another thread".to_owned()),
            Stage::Closing => Err("the epoch is being closed by another thread".to_owned()),
        },
        Rule::IfExposed if facts.is_exposed => Ok(()),
        Rule::IfExposed => Err("no exposure epoch is open: call post first".to_owned()),
        Rule::IfHidden if facts.is_exposed => {
            Err("an exposure epoch is open, opened by post: call wait first".to_owned())
        }
        Rule::IfHidden => Ok(()),
        Rule::Missing => Err(missing(state, call)),
        Rule::Busy => Err(busy(state, locks, &open())),
    };
    let verdict = match call {
        Call::Fence | Call::Free if facts.is_exposed => {
            verdict.and(Err("an exposure epoch is open, opened by post: call wait first".to_owned()))
        }
        _ => verdict,
    };
    verdict.map_err(|cause| {
        let open = match state {
            Epoch::Unset => String::new(),
            _ => format!(" (epoch {} of this window, opened by {})", open().number, state.opened_by()),
        };
        let error = Error::new(ErrorClass::RmaSync, name, cause + &open);
        if let Some(rank) = call.rank() { error.about(rank) } else { error }
    })
}

fn changing(rank: Rank) -> String {
    format!("rank {rank} is being locked or unlocked by another call that is under way")
}

/// What is not open that the call needs.
fn missing(state: Epoch, call: Call) -> String {
    let open = if state == Epoch::Unset { "no epoch is open" } else { "another kind of epoch is open" };
    match call {
        Call::Unlock(rank) => format!("rank {rank} is not locked: {open}"),
        Call::Flush(rank) => format!("rank {rank} is not locked: {open}"),
        Call::UnlockAll => format!("lock_all has not been called: {open}"),
        Call::Complete => format!("start has not been called: {open}"),
        Call::FlushAll | Call::Sync => format!("neither lock nor lock_all has been called: {open}"),
        Call::Operation(_) => {
            format!("{open}: call start, lock_all, fence or lock before communicating")
        }
        Call::Fence | Call::Lock(_) | Call::LockAll | Call::Start | Call::Post | Call::Wait | Call::Free => {
            open.to_owned()
        }
    }
}

/// What has to be closed first.
fn busy(state: Epoch, locks: u64, open: &OpenEpoch) -> String {
    match state {
        Epoch::PerTarget => match (locks, open.locked) {
            (1, Some(rank)) => format!("rank {rank} is locked: call unlock first"),
            (_, Some(rank)) => format!("{locks} locks are held (rank {rank} is locked): call unlock first"),
            (_, None) => format!("{locks} locks are held: call unlock first"),
        },
        Epoch::LockAllCalled | Epoch::LockAllIssued | Epoch::LockAllGranted => {
            "all ranks are locked: call unlock_all first".to_owned()
        }
        Epoch::PscwIssued | Epoch::PscwGranted => {
            let ranks = if open.started == 1 { "rank" } else { "ranks" };
            format!("an access epoch to {} {ranks} is open: call complete first", open.started)
        }
        Epoch::Unset | Epoch::FenceIssued | Epoch::FenceGranted => "an epoch is open".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::transition::AccessEvent;
    use super::*;

    fn after(events: &[AccessEvent]) -> AccessWord {
        events
            .iter()
            .try_fold(AccessWord::NEW, |word, event| word.after(*event))
            .expect("events that can happen")
    }

    fn started(events: &[AccessEvent], stage: Stage) -> (AccessWord, RankLock, bool) {
        (staged(after(events), stage), RankLock::No, true)
    }

    fn staged(word: AccessWord, stage: Stage) -> AccessWord {
        word.after(AccessEvent::Reach(stage)).expect("a stage can always be reached")
    }

    fn plain(word: AccessWord) -> (AccessWord, RankLock, bool) {
        (word, RankLock::No, false)
    }

    /// `+` legal, `-` not, `p` while nothing is pending, `h` while no exposure epoch is open, `q` while neither is the case,
    /// `e` while an exposure epoch is open.
    #[test]
    fn the_table_is_the_table() {
        const HEAD: &str = "fence lock unlock lock_all unlock_all flush flush_all sync start complete post wait operation free";
        use AccessEvent::{
            AllLocked, ElementsShort, FenceAhead, FenceMet, Lock, LockAll, LockAllUnchecked, Posted, Start,
        };
        let rows = [
            ("unset", plain(after(&[])), "h + - + - - - - + - h e - h"),
            ("fence issued", plain(after(&[FenceAhead])), "h p - p - - - - p - h e + q"),
            ("fence granted", plain(after(&[FenceMet])), "h p - p - - - - p - h e + q"),
            ("start issued", started(&[Start], Stage::Open), "- - - - - - - - - + h e + -"),
            ("start granted", started(&[Start, Posted], Stage::Open), "- - - - - - - - - + h e + -"),
            ("start opening", started(&[Start], Stage::Opening), "- - - - - - - - - - h e - -"),
            ("start of others", plain(after(&[Start, Posted])), "- - - - - - - - - + h e - -"),
            ("completing", started(&[Start, Posted], Stage::Closing), "- - - - - - - - - - h e - -"),
            ("lock_all called", plain(after(&[LockAll])), "- - - - + + + + - - h e + -"),
            ("lock_all issued", plain(after(&[LockAll, ElementsShort])), "- - - - + + + + - - h e + -"),
            (
                "lock_all granted",
                plain(after(&[LockAll, ElementsShort, AllLocked])),
                "- - - - + + + + - - h e + -",
            ),
            ("lock_all unchecked", plain(after(&[LockAllUnchecked])), "- - - - + + + + - - h e + -"),
            (
                "lock_all opening",
                plain(staged(after(&[LockAll]), Stage::Opening)),
                "- - - - - - - + - - h e - -",
            ),
            (
                "unlocking all",
                plain(staged(after(&[LockAll]), Stage::Closing)),
                "- - - - - - - + - - h e - -",
            ),
            ("rank 1 locked", (after(&[Lock]), RankLock::Held, false), "- - + - - + + + - - h e + -"),
            ("rank 1 closing", (after(&[Lock]), RankLock::Changing, false), "- - - - - - + + - - h e - -"),
            ("rank 2 locked", plain(after(&[Lock])), "- + - - - - + + - - h e - -"),
        ];
        let one = Rank(1);
        let calls = [
            Call::Fence,
            Call::Lock(one),
            Call::Unlock(one),
            Call::LockAll,
            Call::UnlockAll,
            Call::Flush(one),
            Call::FlushAll,
            Call::Sync,
            Call::Start,
            Call::Complete,
            Call::Post,
            Call::Wait,
            Call::Operation(one),
            Call::Free,
        ];
        let names = HEAD.split(' ').collect::<Vec<_>>();
        assert_eq!(names.len(), calls.len());
        for (row, (word, lock, is_started), marks) in rows {
            let marks = marks.split(' ').collect::<Vec<_>>();
            assert_eq!(marks.len(), calls.len(), "{row}");
            for ((call, name), mark) in calls.into_iter().zip(&names).zip(marks) {
                for (is_pending, is_exposed) in [(false, false), (true, false), (false, true), (true, true)] {
                    let legal = match mark {
                        "+" => true,
                        "p" => !is_pending,
                        "h" => !is_exposed,
                        "q" => !is_pending && !is_exposed,
                        "e" => is_exposed,
                        _ => false,
                    };
                    let facts = Facts { is_pending, is_exposed, lock, is_started };
                    let found = check(word, call, name, facts, OpenEpoch::default);
                    assert_eq!(found.is_ok(), legal, "{row}, {name}, {facts:?}: {found:?}");
                    let Err(error) = found else { continue };
                    assert_eq!((error.class(), error.call()), (ErrorClass::RmaSync, *name));
                    let is_named = error.cause().contains(&format!("opened by {}", word.epoch().opened_by()));
                    assert!(is_named || word.epoch() == Epoch::Unset, "{row}, {name}: {error}");
                }
            }
        }
    }

    #[test]
    fn locks_of_mapped_ranks_count_as_locks() {
        let one = Rank(1);
        let word = after(&[AccessEvent::Leave, AccessEvent::Enter, AccessEvent::Enter]);
        for (lock, marks) in [
            (RankLock::Held, [true, true, true, false]),
            (RankLock::Changing, [false, false, false, false]),
            (RankLock::No, [false, false, false, true]),
        ] {
            let facts = Facts { lock, ..Facts::default() };
            let calls = [Call::Unlock(one), Call::Flush(one), Call::Operation(one), Call::Lock(one)];
            for (call, is_legal) in calls.into_iter().zip(marks) {
                assert_eq!(
                    check(word, call, "x", facts, OpenEpoch::default).is_ok(),
                    is_legal,
                    "{lock:?}, {call:?}"
                );
            }
            for call in [Call::Fence, Call::LockAll, Call::Start, Call::Free] {
                let error = check(word, call, "x", facts, OpenEpoch::default).unwrap_err();
                assert!(
                    error.cause().contains("2 locks are held") && error.cause().contains("opened by lock")
                );
            }
            assert!(check(word, Call::FlushAll, "x", facts, OpenEpoch::default).is_ok());
        }
    }
}
