//! Packets on their way out: headers, credits that ride along, pieces of bodies, and what the provider refused for now.

use crate::channel::OfiChannel;
use crate::fabric::Handed;
use crate::peer::{Link, Parting};
use crate::wire::{HEADER, Header, Kind};
use rma_core::channel::Lane;
use std::time::Instant;

impl OfiChannel {
    /// Sends a packet whose content lies in a slot behind the header. It has a credit; the slot comes back when it has left.
    pub(crate) fn dispatch(
        &mut self,
        place: usize,
        lane: Lane,
        slot: u32,
        content: usize,
        kind: Kind,
        body: u64,
    ) {
        let Some(header) = self.header(place, lane, kind, body) else { return };
        let state = &mut self.peers[place];
        let send = &mut state.sending[lane as usize];
        send.credits -= 1;
        send.sequence = send.sequence.wrapping_add(1);
        send.waiting.push_back((slot, HEADER + content));
        let name = state.slot(slot);
        self.fabric.part(name, 0, HEADER).write(&header.emit());
        self.send_waiting(place, lane);
    }

    /// A header for the next packet to a peer that packets go to, with all credits that it is owed.
    fn header(&mut self, place: usize, lane: Lane, kind: Kind, body: u64) -> Option<Header> {
        let me = self.me.0;
        let state = &mut self.peers[place];
        let Link::Ready { token, .. } = state.link else { return None };
        let mut credits = [0; 2];
        for (lane, credits) in state.receiving.iter_mut().zip(&mut credits) {
            *credits = u16::try_from(lane.owed).unwrap_or(u16::MAX);
            lane.owed -= u32::from(*credits);
        }
        let read = [0, 1].map(|lane| std::mem::take(&mut state.receiving[lane].read));
        let sequence = state.sending[lane as usize].sequence;
        Some(Header { token, from: me, kind, lane, credits, read, sequence, body })
    }

    /// Hands over what waits in a lane, as far as the provider takes it. Whether anything went.
    pub(crate) fn send_waiting(&mut self, place: usize, lane: Lane) -> bool {
        let mut moved = false;
        loop {
            let state = &mut self.peers[place];
            let Link::Ready { address, .. } = state.link else { return moved };
            let Some((slot, len)) = state.sending[lane as usize].waiting.front().copied() else {
                return moved;
            };
            let handed = self.fabric.send(state.slot(slot), len, address);
            let send = &mut self.peers[place].sending[lane as usize];
            match handed {
                Handed::NotNow => {
                    self.list(place);
                    return moved;
                }
                Handed::Over => drop(send.waiting.pop_front()),
                Handed::Taken => {
                    send.waiting.pop_front();
                    send.free.push(slot);
                }
                Handed::Broken(why) => {
                    send.waiting.pop_front();
                    send.free.push(slot);
                    self.note_broken(place, why);
                    return true;
                }
            }
            moved = true;
        }
    }

    /// Sends pieces of the body under way in a lane, as far as credits and slots go. Whether anything went.
    pub(crate) fn pump(&mut self, place: usize, lane: Lane) -> bool {
        let mut moved = false;
        loop {
            let state = &mut self.peers[place];
            let block = state.block;
            let send = &mut state.sending[lane as usize];
            let Some((gather, token)) = &mut send.body else { return moved };
            if send.credits == 0 || !send.waiting.is_empty() || state.broken.is_some() {
                return moved;
            }
            let Some(slot) = send.free.pop() else { return moved };
            let len = self.limits.packet.min(usize::try_from(gather.remaining()).unwrap_or(usize::MAX));
            let memory = self.fabric.part(crate::block::SlotName { block, slot }, HEADER, len);
            gather.copy_to(memory);
            if gather.remaining() == 0 {
                self.returned.push(*token);
                send.body = None;
            }
            self.dispatch(place, lane, slot, len, Kind::Piece, 0);
            self.list(place);
            moved = true;
        }
    }

    /// Returns credits in a packet of their own where enough are owed, or bodies were read and the poll before this one has
    /// brought no packet to say so. The first goes as soon as the peer is ready. Whether one went.
    pub(crate) fn return_credits(&mut self, place: usize) -> bool {
        let owed_from = self.owed_from();
        let state = &mut self.peers[place];
        let mut is_due = state.owes_hello;
        for lane in &mut state.receiving {
            is_due |= lane.owed >= owed_from || (lane.read > 0 && lane.has_waited);
            lane.has_waited = lane.read > 0;
        }
        let Link::Ready { address, .. } = state.link else { return false };
        if !is_due || state.broken.is_some() || state.drops() {
            return false;
        }
        let Some(header) = self.header(place, Lane::Request, Kind::Credit, 0) else { return false };
        match self.fabric.inject(&header.emit(), address) {
            Handed::Over | Handed::Taken => {
                self.peers[place].owes_hello = false;
                true
            }
            Handed::NotNow => {
                for (at, lane) in self.peers[place].receiving.iter_mut().enumerate() {
                    lane.owed += u32::from(header.credits[at]);
                    lane.read += header.read[at];
                }
                false
            }
            Handed::Broken(why) => {
                self.note_broken(place, why);
                true
            }
        }
    }

    /// The provider does not reach a peer any more.
    pub(crate) fn note_broken(&mut self, place: usize, why: String) {
        let state = &mut self.peers[place];
        // A peer that has received the goodbye may close before what it sends last is known here.
        let is_here = matches!(state.link, Link::Ready { .. }) && state.parting == Parting::Here;
        if is_here && !state.drops() && state.broken.is_none() {
            state.broken = Some((Instant::now(), why));
            self.broken += 1;
        }
    }
}
