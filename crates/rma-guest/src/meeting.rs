//! The ranks of the world meet: before any of them calls a collective function of the host, each knows that all have loaded the guest. In
//! place of such a function a rank without the guest would come with another one of its own, and both would stand still or go wrong.
//!
//! So they meet by messages, which wait for their own kind. The ranks are a binomial tree. Each tells its neighbours that it is there;
//! when all of its have answered, the ends of the subtrees pass up, and the end of all down. A neighbour that does not answer is named, and
//! in the end the job is ended: there is no going on without that rank, which may come any time. One of the few files with `unsafe`.

use crate::library::host;
use crate::theirs;
use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// Ranks that leave MPI_Init of the host together come to the guest sooner.
const LATE: Duration = Duration::from_secs(10);

/// And what is no rank with the guest.
const TOO_LATE: Duration = Duration::from_secs(30);

/// No message of the program is under way.
const TAG: c_int = 26_482;

/// A message to or from a neighbour; it has nothing in it.
#[derive(Debug)]
struct Message {
    neighbour: c_int,
    is_from: bool,
    request: [usize; 1],
}

/// Returns when all ranks have come. Collective over the world of the host.
pub(crate) fn meet(rank: c_int, size: c_int) {
    let (parent, children) = (parent(rank), children(rank, size));
    let neighbours = || children.iter().copied().chain(parent);
    let mut presence: Vec<Message> = neighbours().map(receive).chain(neighbours().map(send)).collect();
    let (began, mut has_said) = (Instant::now(), false);
    while !have_ended(&mut presence) {
        if began.elapsed() > if has_said { TOO_LATE } else { LATE } {
            presence
                .iter()
                .filter(|message| message.is_from)
                .for_each(|message| tell(rank, message.neighbour));
            if has_said {
                end(rank);
            }
            has_said = true;
        }
    }
    // What is missing from here on others miss, too.
    let wait = |mut messages: Vec<Message>| while !have_ended(&mut messages) {};
    wait(children.iter().copied().map(receive).collect());
    wait(parent.into_iter().flat_map(|parent| [send(parent), receive(parent)]).collect());
    wait(children.iter().copied().map(send).collect());
}

fn tell(rank: c_int, missing: c_int) {
    eprintln!(
        "rma-guest: rank {rank} waits in MPI_Init for rank {missing}, which has not loaded librma_guest.so, or has RMA_GUEST=0: \
         that must be the same on all ranks"
    );
}

fn end(rank: c_int) -> ! {
    eprintln!("rma-guest: rank {rank} ends the job");
    // SAFETY: the world of the host, which has started.
    unsafe { theirs::abort(host().constants.comm_world, 1) };
    std::process::abort();
}

fn parent(rank: c_int) -> Option<c_int> {
    (rank != 0).then_some(rank & (rank - 1))
}

/// Those that differ from a rank by one bit below its lowest one.
fn children(rank: c_int, size: c_int) -> Vec<c_int> {
    let bits = if rank == 0 { c_int::BITS - 1 } else { rank.trailing_zeros() };
    let steps = (0..bits).map(|bit| 1 << bit);
    steps.map_while(|step| rank.checked_add(step).filter(|child| *child < size)).collect()
}

fn send(neighbour: c_int) -> Message {
    let mut message = Message { neighbour, is_from: false, request: [0] };
    let (world, byte) = (host().constants.comm_world, host().constants.byte);
    // SAFETY: no bytes for a rank of the host's world, and room for a request.
    unsafe { theirs::isend(null(), 0, byte, neighbour, TAG, world, message.request.as_mut_ptr().cast()) };
    message
}

fn receive(neighbour: c_int) -> Message {
    let mut message = Message { neighbour, is_from: true, request: [0] };
    let (world, byte) = (host().constants.comm_world, host().constants.byte);
    // SAFETY: as above.
    unsafe { theirs::irecv(null_mut(), 0, byte, neighbour, TAG, world, message.request.as_mut_ptr().cast()) };
    message
}

impl Message {
    fn has_ended(&mut self) -> bool {
        let (mut has_ended, mut status) = (0, [0usize; 8]);
        // SAFETY: the request of the message, a flag, and room for the status of any ABI. One that has ended is null, which has ended, too.
        let code = unsafe {
            theirs::test(self.request.as_mut_ptr().cast(), &raw mut has_ended, status.as_mut_ptr().cast())
        };
        code != 0 || has_ended != 0
    }
}

/// Looks once, and gives others a turn if some are under way still.
fn have_ended(messages: &mut Vec<Message>) -> bool {
    messages.retain_mut(|message| !message.has_ended());
    if !messages.is_empty() {
        std::thread::yield_now();
    }
    messages.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_a_tree() {
        assert_eq!((children(0, 6), children(4, 6), children(4, 8)), (vec![1, 2, 4], vec![5], vec![5, 6]));
        for size in [1, 2, 3, 7, 8, 100] {
            for rank in 0..size {
                assert!(children(rank, size).into_iter().all(|child| parent(child) == Some(rank)));
            }
            let found: usize = (0..size).map(|rank| children(rank, size).len()).sum();
            assert_eq!(found, size as usize - 1);
        }
        assert_eq!(children(0, c_int::MAX).len(), 31);
    }
}
