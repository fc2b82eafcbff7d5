//! Short collectives of ranks that share memory, without packets: every rank writes its part into a shared-memory slot of its
//! own, once for each collective, and reads the slots of the others.
//!
//! ```text
//!   rank            slots of the rank, which it alone writes
//!   join  k         slot k mod 16:  number k, kind, length | data
//!   look            slots k of the others, until those are there that it needs
//!   join  k + 1     slot k + 1 mod 16, while others may still read slot k
//! ```
//!
//! A packet needs its receiver to get a core, and a collective of packets is a chain of them. Slots need no chain:
//! where ranks outnumber cores each has to run once, writes, and sees what is there; the rank that runs last sees everything.
//!
//! Invariants:
//!
//! * **Numbers.** All ranks call the blocking collectives of a communicator in the same order, so the n-th of them has number
//!   n everywhere. A rank joins every one of them, also those whose data are too long. Nonblocking collectives have no part
//!   in this: they are packets, with numbers of their own.
//! * **Slots.** A rank joins collective k only when all have joined k - 15, for then all have read what slot k mod 16 held: a
//!   rank is done with one collective before it joins the next. So a rank is at most fifteen ahead of another.
//! * **Agreement.** Whether a collective goes on by packets is said in the slots: a rank with more data than a slot holds says so,
//!   and every rank that reads that goes by packets as well. Nothing depends on what ranks could know of each other's
//!   arguments, which may be wrong.
//! * **Results** are computed by every rank from the same data in the same order, in the association that the collective has by
//!   packets; so they are the same bits on all ranks, and do not depend on the way.
//! * **Sleep.** A rank that will sleep says beside its slots for which number and whose arrival, and orders that before another
//!   look; a rank that arrives orders its arrival before it looks for sleepers. The rank that brings what a sleeper waits for
//!   takes the word away and rings it: once.
//! * **Death.** A rank that is about to sleep watches the absent ones: a receive that no message matches ends when its source is
//!   lost or has left. It says so beside its slots, for good, and wakes all; the communicator is of no use then.
//! * **End.** A rank that ends its part in the job says so beside its slots and wakes all: a rank that waits for one that has left without
//!   joining learns of it there, also when the two never were in contact.
//! * **Trust.** Numbers, lengths and kinds in slots of others are checked, and data are copied out before they are looked at.
//!
//! Scans stay with packets: no rank waits for a higher one there.
//!
//! [`rank_slots`] has the words in shared memory, [`meeting`] joins, waits and wakes, [`calls`] are the collectives on packed values,
//! [`values`] combines those of all ranks, [`departures`] gives the memory back. Communicators make their collective slots when
//! they have seen a few collectives, and decide by them ([`crate::communicator`]).

mod calls;
mod departures;
mod meeting;
mod rank_slots;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use calls::Way;
pub(crate) use departures::Departures;
pub(crate) use meeting::{Caller, CollectiveSlots};
pub(crate) use rank_slots::CollectiveKind;
