//! Bodies that are read from the peer's memory, part by part.
//!
//! Parts land in slots of this channel and are copied to where they belong. A read that its peer never answers cannot be
//! called back, so memory that is not this channel's own is never handed to the provider for one: when such a peer is given
//! up, its slots are left to it and the placement is free. The lane's packets behind the body wait in its `early` list.

use crate::block::{Purpose, SlotName};
use crate::channel::{OfiChannel, Turn};
use crate::fabric::{Done, Handed};
use crate::peer::{Arriving, Link};
use crate::pull::{PART, READ_SLOTS, lane_of};
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
            let longest = self.fabric.longest_read().unwrap_or(0).min(PART) as u64;
            let state = &mut self.peers[place];
            let (Link::Ready { address, .. }, Some(block)) = (&state.link, state.read_block) else {
                return moved;
            };
            let Some(Arriving::Pull(pull)) = &mut state.receiving[lane as usize].body else { return moved };
            if state.broken.is_some() {
                return moved;
            }
            let Some((slot, len, from)) = pull.next(longest) else { return moved };
            let from = (*address, from.address, from.key);
            match self.fabric.read_remote(SlotName { block, slot }, len, from) {
                Handed::Over | Handed::Taken => {
                    pull.on_asked(slot, len);
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
