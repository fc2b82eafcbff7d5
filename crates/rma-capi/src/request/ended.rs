//! Requests of operations that were complete as their calls returned.
//!
//! A put with a request on mapped memory is over before the program can ask for it, and that is all there is
//! to report. An object of the table for each would cost ten times what the put does, so these have slots of
//! their own, which hold no more than whether the request is in use: taken by one compare-and-swap and given
//! back by another, or by a load and a store each where one thread at a time calls. When all are taken the
//! rest go into the table, and so do all while calls note their names (`RMA_DEBUG`), so that what is left
//! shows.
//!
//! A handle is kind, generation and index, as those of the table are, of a kind of its own. Invariants: a slot's generation is
//! odd while the program has its request; it grows by one with each change, so that a handle is good for one request.

use super::object::{Listed, next_call};
use super::status::{Status, StatusOut};
use crate::abi::{MPI_REQUEST_NULL, MPI_Request};
use crate::arguments::Out;
use crate::handle::{GENERATION_MASK, GENERATION_SHIFT, KIND_SHIFT};
use crate::process::{Process, unwatched};
use std::ffi::c_int;
use std::sync::atomic::{
    AtomicU32, AtomicUsize, Ordering, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The number in the handles, beside those of [`crate::handle::Handle`].
const KIND: usize = 10;
const INDEX_BITS: u32 = 9;
const NUMBER: c_int = 1 << 29;
const NUMBER_AGE_MASK: u32 = (1 << (29 - INDEX_BITS)) - 1;

static SLOTS: [EndedSlot; 1 << INDEX_BITS] = [const { EndedSlot::new() }; 1 << INDEX_BITS];

/// The slot to be tried next: the one given back last, or the next one to that taken last.
static NEXT: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct EndedSlot {
    generation: AtomicU32,
    listed: Listed,
}

impl EndedSlot {
    const fn new() -> Self {
        Self { generation: AtomicU32::new(0), listed: Listed::never() }
    }

    /// The slot of a handle that is good.
    #[inline(always)]
    pub(crate) fn of(handle: MPI_Request) -> Option<&'static Self> {
        let slot = SLOTS.get(handle.0 as u32 as usize).filter(|_| handle.0 >> KIND_SHIFT == KIND)?;
        let generation = slot.generation.load(Acquire);
        (generation % 2 == 1 && bits(generation, handle.0 as u32 as usize) == handle.0).then_some(slot)
    }

    /// Gives it back; the handle and its copies are stale from now on. `false`, and nothing done, when
    /// another thread has completed the request meanwhile: then the slot may have another owner already.
    #[inline(always)]
    #[must_use]
    pub(crate) fn give_back(&self, handle: MPI_Request) -> bool {
        let taken = generation_of(handle);
        let is_mine = self.advance(taken, Release);
        if is_mine {
            NEXT.store(handle.0 as u32 as usize, Relaxed);
        }
        is_mine
    }

    /// Takes the slot from a generation to the next. `false`, and nothing done, when another thread has.
    #[inline(always)]
    fn advance(&self, from: u32, order: Ordering) -> bool {
        if unwatched().is_some_and(Process::has_one_caller) {
            let is_there = self.generation.load(Relaxed) == from;
            if is_there {
                self.generation.store(next(from), Relaxed);
            }
            return is_there;
        }
        self.generation.compare_exchange(from, next(from), order, Relaxed).is_ok()
    }

    /// As [`Listed::is_by`].
    pub(crate) fn is_listed_by(&self, call: u64) -> bool {
        self.listed.is_by(call)
    }
}

fn next(generation: u32) -> u32 {
    generation.wrapping_add(1) & GENERATION_MASK
}

fn generation_of(handle: MPI_Request) -> u32 {
    (handle.0 >> GENERATION_SHIFT) as u32 & GENERATION_MASK
}

fn bits(generation: u32, index: usize) -> usize {
    KIND << KIND_SHIFT | (generation as usize) << GENERATION_SHIFT | index
}

/// A request that has ended well; `None` when the slot that is tried is taken, or names are noted.
#[inline(always)]
pub(crate) fn take_ended() -> Option<MPI_Request> {
    unwatched()?;
    let index = NEXT.load(Relaxed) % SLOTS.len();
    NEXT.store(index + 1, Relaxed);
    let generation = SLOTS[index].generation.load(Relaxed);
    let is_taken = generation % 2 == 1 || !SLOTS[index].advance(generation, Acquire);
    (!is_taken).then_some(MPI_Request(bits(next(generation), index)))
}

/// Gives a request back, if it is one of these and still in use.
#[inline(always)]
pub(crate) fn give_back(request: MPI_Request) {
    let _is_mine = EndedSlot::of(request).is_some_and(|slot| slot.give_back(request));
}

/// A number for a handle: bit 29, twenty bits of the generation, nine of the index.
pub(crate) fn number(handle: MPI_Request) -> Option<c_int> {
    EndedSlot::of(handle)?;
    let age = generation_of(handle) >> 1 & NUMBER_AGE_MASK;
    Some(NUMBER | (age << INDEX_BITS) as c_int | handle.0 as u32 as c_int)
}

/// The handle of a number that [`number`] has given, if it is still good.
pub(crate) fn of_number(of: c_int) -> Option<MPI_Request> {
    let index = of as usize % SLOTS.len();
    let handle = MPI_Request(bits(SLOTS[index].generation.load(Acquire), index));
    (number(handle) == Some(of)).then_some(handle)
}

/// `MPI_Wait`, if the request is one of these and it is not time for a poll; `None`, and nothing done, otherwise.
#[inline(always)]
pub(crate) fn try_wait(request: Out<MPI_Request>, status: StatusOut) -> Option<()> {
    let handle = request.value()?;
    let slot = EndedSlot::of(handle).filter(|_| may_pass())?;
    if !slot.give_back(handle) {
        return None;
    }
    request.set("request", MPI_REQUEST_NULL).ok()?;
    Status::EMPTY.store(status);
    Some(())
}

/// `MPI_Test`, likewise.
#[inline(always)]
pub(crate) fn try_test(request: Out<MPI_Request>, flag: Out<c_int>, status: StatusOut) -> Option<()> {
    if flag.is_null() {
        return None;
    }
    try_wait(request, status)?;
    flag.set("flag", 1).ok()
}

/// `MPI_Waitall`, if all requests are different ones of these, or null, likewise.
#[inline(always)]
pub(crate) fn try_wait_all(count: c_int, requests: Out<MPI_Request>, statuses: StatusOut) -> Option<()> {
    let count = count_of_ended(count, requests).filter(|_| may_pass())?;
    end_all(count, requests, statuses);
    Some(())
}

/// Whether a call may go by without serving the channels. A caller that gets `false` calls
/// [`crate::process::Process::poll_throttled`], or no call will.
#[inline(always)]
fn may_pass() -> bool {
    unwatched().is_some_and(|process| process.pass_poll())
}

/// How many requests there are, if all are different ones of these, or null.
#[inline(always)]
pub(crate) fn count_of_ended(count: c_int, requests: Out<MPI_Request>) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    let handles = || (0..count).map(|place| requests.at(place).value());
    let is_one = |handle| handle == MPI_REQUEST_NULL || EndedSlot::of(handle).is_some();
    // Before there is a number for the call, which those of messages would take a second time.
    if !handles().all(|handle| handle.is_some_and(is_one)) {
        return None;
    }
    let call = next_call();
    let mut slots = handles().flatten().filter_map(EndedSlot::of);
    (!slots.any(|slot| slot.is_listed_by(call))).then_some(count)
}

/// Gives back as many as [`count_of_ended`] has answered.
#[inline(always)]
pub(crate) fn end_all(count: usize, requests: Out<MPI_Request>, statuses: StatusOut) {
    for request in (0..count).map(|place| requests.at(place)) {
        request.value().into_iter().for_each(give_back);
        // There is a place, as it was read from.
        let _ = request.set("array_of_requests", MPI_REQUEST_NULL);
    }
    (0..count).for_each(|place| Status::EMPTY.store(statuses.at(place)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_until_it_is_given_back_and_its_number_too() {
        let index = 77;
        let handle = |generation| MPI_Request(bits(generation, index));
        assert!(EndedSlot::of(handle(0)).is_none() && EndedSlot::of(MPI_REQUEST_NULL).is_none());
        SLOTS[index].generation.store(GENERATION_MASK, Relaxed);
        let (last, first) = (handle(GENERATION_MASK), handle(1));
        let number = number(last).unwrap();
        assert_eq!((of_number(number), super::number(first)), (Some(last), None));
        let slot = EndedSlot::of(last).unwrap();
        assert!(slot.give_back(last) && !slot.give_back(last), "once");
        assert_eq!(SLOTS[index].generation.load(Relaxed), 0, "generations begin again");
        assert!(EndedSlot::of(last).is_none() && of_number(number).is_none());
        assert_eq!(NEXT.load(Relaxed), index, "what was given back last is taken next");
        let foreign = MPI_Request(first.0 & !(0xff << KIND_SHIFT) | 8 << KIND_SHIFT);
        SLOTS[index].generation.store(1, Relaxed);
        assert!(EndedSlot::of(first).is_some() && EndedSlot::of(foreign).is_none());
        assert!(EndedSlot::of(MPI_Request(first.0 + SLOTS.len())).is_none(), "there is no such slot");
    }
}
