//! What becomes of a lock when a process of the node dies: its owner recounts the live holders and waiters.
//!
//! A process can die at any instruction, also between two steps of a grant or a release, so word and line may
//! be wrong then. Only the lock's owner puts them right, when it learns of the death.
//!
//! 1. It *freezes* the word: from then on all changes of the word are refused but releases, which only take away.
//! 2. It reads word `w`, then the cells ([`super::cells`]) of all processes that live. If one is busy it looks again later: a living
//!    process is busy for a few instructions, in which it waits for nothing.
//! 3. It makes up the word that they amount to: the exclusive owner of `w` if that one lives; as many sharers as cells and the
//!    owner's engine say; as many waiters as there are tickets from `head` to `tail`. Tickets that no living cell has, and no request
//!    that the engine waits for, are the dead's: they become *void*, and the engine lets the line move on in their turn.
//! 4. It replaces `w` by that word, if it has not changed; else it begins again at 2. Then it wakes all
//!    processes.
//!
//! Words of a dead *owner* are frozen by the process that learns of it and never thaw; requests that wait
//! there are given up.
//!
//! # Why it is right
//! Steps on the word are read-modify-writes, in one order; let F be the freeze and T the step of 4.
//!
//! *Cells are true.* Let P live, and s be a step of P on the word. P said busy before s and says what s has brought after it. If s
//! comes before the load of `w` in the word's order, that load, which acquires, sees P busy or later, and if P is seen in a later
//! state, then all of its steps on head and tail as well (SYNC POINT cell). So a cell that is not busy has the effect of every such
//! s. If s comes after the load, it is a release or comes after T: everything else is refused. A release between the load and T makes
//! T fail, as no word comes back that was left: between F and T the word only loses its owner and sharers. A cell that was read before
//! such a release is read again. One that was read *after* it was read after a change of the word, so T fails too. A release after T
//! finds itself counted.
//!
//! *Nothing of the dead counts.* Their cells are not read. What they have added to `shared` and `waiters`,
//! and half of a grant, is in neither sum. A ticket between `head` and `tail` that no process has is void,
//! whether it was granted and `head` not moved, or the number was drawn and the cell not written. One that
//! was granted, and `head` moved, is not there.
//!
//! *Mutual exclusion.* Each sharer that lives is counted, so no owner enters before it leaves; an owner that lives stays in the word.
//!
//! *Turns.* Each living waiter's ticket is at `head` or behind it, since only grants move `head` and none was
//! made of it; all tickets before it are living ones', the engine's, or void. The head is woken after T. Void
//! tickets have the owner entered as the one to wake, before T, so releases after T lead to it.
//!
//! *It ends.* While the word is frozen cells become busy by releases, of which a process has one, and by
//! tries that began before F, one each. A waiting thread looks before it says busy, and finds the word frozen
//! or another's turn, but for the head, which may be seen busy by chance.

use super::cells::{Said, low_bits, said};
use super::directory;
use super::layout::LockFields;
use super::lock::BlockLock;
use super::shim::AtomicU64;
use super::shim::Ordering::{AcqRel, Acquire, Relaxed};
use super::state::{Holder, LockState};
use super::ticket::Ticket;
use crate::ids::{LockKind, Peer};
use crate::strategy::Counted;

/// Looks at a cell that is busy: about as long as a step takes.
const LOOKS: Counted = Counted::new(0, 99, 0);

/// What the owner's engine holds and waits for in the name of processes that do not map the word, and of the dead.
#[derive(Debug, Default)]
pub(crate) struct OfEngine {
    /// How many of them the word counts as sharers.
    pub(crate) sharers: u32,
    /// The numbers of their tickets, in ascending order.
    pub(crate) tickets: Vec<u64>,
}

impl LockFields {
    /// Makes all changes of the word but releases impossible.
    pub(super) fn freeze(&self) {
        let frozen = self.update_in_any(|state| Some(state.freeze()));
        debug_assert!(frozen.is_ok(), "the change is never refused");
    }
}

impl BlockLock<'_> {
    /// Recounts a frozen word, and thaws it; `None` when it has to be tried again later. `cells` are those of
    /// all live processes, of so many ranks of the node, for this lock; the engine of its owner calls this,
    /// and gives the void tickets their turns, in this order.
    pub(super) fn recount<'a>(
        &self,
        cells: impl Iterator<Item = &'a AtomicU64>,
        ranks: usize,
        engine: &OfEngine,
        owner: Holder,
        is_dead: &dyn Fn(Peer) -> bool,
    ) -> Option<Vec<Ticket>> {
        // SYNC POINT lock: sees the cells as they were before each step that has led to this word.
        let word = self.word.0.load(Acquire);
        let state = LockState::decode(word);
        if !state.is_frozen() {
            return Some(Vec::new());
        }
        let (mut sharers, mut known) = (engine.sharers, Vec::new());
        for cell in cells {
            match settled(cell)? {
                Said::Nothing | Said::Busy => {}
                Said::Shares => sharers += 1,
                Said::Waits(bits) => known.push(bits),
            }
        }
        known.extend(engine.tickets.iter().map(|number| low_bits(*number)));
        known.sort_unstable();
        let (head, tail) = (self.head.0.ticket.load(Acquire), self.tail.0.load(Acquire));
        // A process has one ticket at most, so more are in a hostile block alone.
        let waiting = tail.wrapping_sub(head).min((ranks + engine.tickets.len()) as u64);
        let numbers = (0..waiting).map(|behind| head.wrapping_add(behind));
        let is_void = |number: &u64| known.binary_search(&low_bits(*number)).is_err();
        let voids = numbers.filter(is_void).collect::<Vec<_>>();
        // From T on releases find the process to wake.
        voids.iter().for_each(|number| directory::enter(self.slots, *number, LockKind::Shared, owner));
        let owner_lives = state.owner().is_some_and(|peer| !is_dead(peer));
        let thawed = state.thaw(owner_lives, sharers, waiting as u32);
        let is_done = self.word.0.compare_exchange(word, thawed.encode(), AcqRel, Relaxed).is_ok();
        is_done.then(|| voids.into_iter().map(|number| Ticket::void(number, owner)).collect())
    }
}

/// What a cell says when nothing is under way; `None` when that lasts.
fn settled(cell: &AtomicU64) -> Option<Said> {
    LOOKS.look_for(|| Some(said(cell)).filter(|said| !matches!(said, Said::Busy)))
}
