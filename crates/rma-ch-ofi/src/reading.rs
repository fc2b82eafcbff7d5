//! Bodies that are read from the peer's memory, part by part.
//!
//! A read that its peer never answers cannot be called back. Where the connection to a lost peer can be closed, which ends its
//! reads, parts go to where they belong, and its failure waits for them as for transfers. Elsewhere they land in slots
//! of this channel and are copied: when such a peer is given up, its slots are left to it and the placement is free. The lane's packets
//! behind the body wait in its `early` list. One of the few files with `unsafe`.

use crate::block::{Purpose, SlotName};
use crate::channel::{OfiChannel, Turn};
use crate::fabric::{Done, Handed};
use crate::peer::{Arriving, Link};
use crate::pull::{Ask, PART, READ_SLOTS, lane_of};
use rma_core::channel::Lane;

impl OfiChannel {
    /// The block that a peer's bodies are read to.
    pub(crate) fn read_block(&mut self, place: usize) -> Result<u32, String> {
        if let Some(block) = self.peers[place].read_block {
            return Ok(block);
        }
        let block = self.fabric.add_block(PART, READ_SLOTS, Purpose::Read)?;
        self.by_block.insert(block, place);
        self.peers[place].read_block = Some(block);
        Ok(block)
    }

    /// Begins reads of the lane's body as far as there are slots. Whether any was begun.
    pub(crate) fn pull(&mut self, place: usize, lane: Lane) -> bool {
        let mut moved = false;
        loop {
            let longest = self.fabric.longest_read().unwrap_or(0);
            let state = &mut self.peers[place];
            let (Link::Ready { address, .. }, Some(block)) = (&state.link, state.read_block) else {
                return moved;
            };
            let Some(Arriving::Pull(pull)) = &mut state.receiving[lane as usize].body else { return moved };
            if state.broken.is_some() {
                return moved;
            }
            let Some(Ask { slot, len, from, into }) = pull.next(longest) else { return moved };
            let (name, from) = (SlotName { block, slot }, (*address, from.address, from.key));
            let handed = match into {
                None => self.fabric.read_remote(name, len, from),
                // SAFETY: a placement's memory stays until its body was received, which is when the slot came back, or the peer's
                // failure is reported (C4). That waits until its slots came back or it was forgotten (`report_failures`).
                Some(memory) => unsafe { self.fabric.read_remote_into(name, memory, from) },
            };
            match handed {
                Handed::Over | Handed::Taken => {
                    pull.on_asked(slot, len);
                    if into.is_some() {
                        state.direct_reads |= 1 << slot;
                        state.transfers += 1;
                        self.transfers.bodies += 1;
                    }
                    moved = true;
                }
                Handed::NotNow => {
                    self.list(place);
                    return moved;
                }
                Handed::Broken(why) => {
                    self.note_broken(place, why);
                    return true;
                }
            }
        }
    }

    /// A part is here, or never will be.
    pub(crate) fn pulled(&mut self, place: usize, done: Done, turn: &mut Turn<'_>) {
        let (state, slot) = (&mut self.peers[place], 1 << done.place.slot);
        if state.direct_reads & slot != 0 {
            state.direct_reads -= slot;
            state.transfers -= 1;
            self.transfers.bodies -= 1;
        }
        if let Err(why) = done.outcome {
            self.note_broken(place, why);
            return;
        }
        let lane = lane_of(done.place.slot);
        let state = &mut self.peers[place];
        let receive = &mut state.receiving[lane as usize];
        // Nothing waits for a body of a peer that was given up.
        let Some(Arriving::Pull(pull)) = &mut receive.body else { return };
        if !pull.on_here(done.place, |name, len| self.fabric.read(name, len)) {
            self.pull(place, lane);
            self.list(place);
            return;
        }
        receive.body = None;
        receive.read += 1;
        receive.has_waited = false;
        turn.sink.bulk_received(state.peer, lane);
        self.list(place);
        self.release_early(place, lane);
        self.part_if_over(place);
    }
}
