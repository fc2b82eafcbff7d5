//! What arrives: whose it is, whether it may be, and where it goes.

use crate::block::{Purpose, SlotName};
use crate::channel::{OfiChannel, Turn};
use crate::fabric::Handed;
use crate::peer::{Arrival, Arriving, Link};
use crate::pull::Pull;
use crate::wire::{Header, Kind, Offer, split_head};
use rma_core::channel::{Delivery, Failure, FailureKind, Lane, Placement};
use rma_core::ids::Peer;
use std::hint::black_box;

/// Collections of one poll.
const ROUNDS: usize = 8;

/// What became of a packet.
enum Verdict {
    /// It spent a credit, which goes back.
    Used,
    /// It spent none, or has no known sender.
    Free,
    Wrong(&'static str),
}

impl OfiChannel {
    /// Takes back what the provider is done with. Everything there was, if there was little.
    pub(crate) fn collect(&mut self, turn: &mut Turn<'_>) {
        let mut done = std::mem::take(&mut self.done);
        self.is_drained = false;
        for _ in 0..ROUNDS {
            let more = self.fabric.collect(&mut done);
            if done.is_empty() || !more {
                self.is_drained = !more;
                if !more {
                    break;
                }
            }
        }
        for done in done.drain(..) {
            turn.moved = true;
            let name = done.place;
            if done.purpose == Purpose::Receive {
                self.posted -= 1;
                match done.outcome {
                    Ok(len) => {
                        let len = len.min(self.fabric.slot_len(name.block));
                        self.arrived.push_back(Arrival { name, len, is_counted: false });
                    }
                    // Longer than any packet, from whomever.
                    Err(_) => self.unposted.push(name),
                }
                continue;
            }
            if done.purpose == Purpose::Transfer {
                self.on_transfer_over(done, turn);
                continue;
            }
            let Some(place) = self.by_block.get(&name.block).copied() else { continue };
            if done.purpose == Purpose::Read {
                self.pulled(place, done, turn);
                continue;
            }
            let state = &mut self.peers[place];
            let slots = self.limits.credits;
            state.sending[usize::from(name.slot >= slots)].free.push(name.slot);
            if let Err(why) = done.outcome {
                self.note_broken(place, why);
            }
            self.list(place);
        }
        self.done = done;
    }

    /// Posts buffers again that the provider refused, up to the first that it refuses again.
    pub(crate) fn post_again(&mut self) {
        while let Some(name) = self.unposted.pop() {
            let before = self.posted;
            self.post(name);
            if self.posted == before {
                return;
            }
        }
    }

    /// Hands a buffer over, now or later.
    pub(crate) fn post(&mut self, name: SlotName) {
        if self.fabric.post(name) == Handed::Over {
            self.posted += 1;
        } else if self.fabric.is_open() {
            self.unposted.push(name);
        }
    }

    /// Hands over what has arrived, as far as the budget goes.
    pub(crate) fn deliver(&mut self, turn: &mut Turn<'_>) {
        while let Some(arrival) = self.arrived.front().copied() {
            if turn.is_over() {
                return;
            }
            self.arrived.pop_front();
            turn.moved = true;
            let Arrival { name, len, .. } = arrival;
            let bytes = self.fabric.read(name, len);
            let Some((header, content)) = Header::parse(bytes).map(|(header, rest)| (header, rest.len()))
            else {
                self.post(name);
                continue;
            };
            let Some(place) = self.sender(&header) else {
                self.post(name);
                continue;
            };
            self.peers[place].is_heard = true;
            let counted = if arrival.is_counted { Ok(()) } else { self.take_credits(place, &header) };
            let verdict = match counted {
                Ok(()) if self.is_early(place, &header) => {
                    if self.keep_early(place, &header, arrival) {
                        continue;
                    }
                    Verdict::Wrong("a packet out of order")
                }
                Ok(()) => self.hand_over(place, &header, (name, len, content), turn),
                Err(why) => Verdict::Wrong(why),
            };
            // Posted again before the credit says so.
            self.post(name);
            match verdict {
                Verdict::Used => {
                    let receive = &mut self.peers[place].receiving[header.lane as usize];
                    receive.owed += 1;
                    self.release_early(place, header.lane);
                    self.list(place);
                }
                Verdict::Free => {}
                Verdict::Wrong(why) => {
                    let peer = self.peers[place].peer;
                    let detail = format!("process {peer} sent what no process of this job sends: {why}");
                    self.fail(place, Failure { kind: FailureKind::Protocol, detail }, true);
                }
            }
            self.part_if_over(place);
        }
    }

    /// Whether what was sent before a packet, with its body, has not arrived.
    fn is_early(&self, place: usize, header: &Header) -> bool {
        let receive = &self.peers[place].receiving[header.lane as usize];
        let is_behind =
            header.sequence != receive.sequence || matches!(receive.body, Some(Arriving::Pull(_)));
        header.kind != Kind::Credit && is_behind
    }

    /// Goes on with the next packet of a lane, if it is here and what was before it is in place.
    pub(crate) fn release_early(&mut self, place: usize, lane: Lane) {
        let receive = &mut self.peers[place].receiving[lane as usize];
        let next = receive.sequence;
        if matches!(receive.body, Some(Arriving::Pull(_))) {
            return;
        }
        if let Some(at) = receive.early.iter().position(|(number, _)| *number == next) {
            self.arrived.push_front(receive.early.swap_remove(at).1);
        }
    }

    /// Keeps an early packet in its buffer; not one that cannot have been sent.
    fn keep_early(&mut self, place: usize, header: &Header, arrival: Arrival) -> bool {
        let most = self.limits.credits;
        let receive = &mut self.peers[place].receiving[header.lane as usize];
        let ahead = header.sequence.wrapping_sub(receive.sequence);
        let is_new = receive.early.iter().all(|(number, _)| *number != header.sequence);
        if ahead < most && is_new {
            receive.early.push((header.sequence, Arrival { is_counted: true, ..arrival }));
        }
        ahead < most && is_new
    }

    /// The peer that a packet is from, if it shows its token and is not given up.
    fn sender(&self, header: &Header) -> Option<usize> {
        let place = *self.places.get(&Peer(header.from))?;
        let state = &self.peers[place];
        let mut difference = 0;
        for (shown, own) in header.token.iter().zip(state.token) {
            difference |= shown ^ own;
        }
        // All bytes are looked at, whichever differs.
        let is_known = black_box(difference) == 0;
        (is_known && !matches!(state.link, Link::Failed(_))).then_some(place)
    }

    fn take_credits(&mut self, place: usize, header: &Header) -> Result<(), &'static str> {
        let most = self.limits.credits;
        let state = &mut self.peers[place];
        for (lane, credits) in state.sending.iter_mut().zip(header.credits) {
            lane.credits += u32::from(credits);
            // Before the peer's greeting none was spent.
            if lane.credits > most {
                return Err("more credits than there are");
            }
        }
        for (lane, read) in state.sending.iter_mut().zip(header.read) {
            for _ in 0..read {
                let (exposed, token) =
                    lane.offered.pop_front().ok_or("more bodies read than were offered")?;
                self.fabric.withdraw(exposed);
                self.returned.push(token);
            }
        }
        if (header.credits, header.read) != ([0; 2], [0; 2]) {
            self.list(place);
        }
        Ok(())
    }

    fn hand_over(
        &mut self,
        place: usize,
        header: &Header,
        (name, len, content): (SlotName, usize, usize),
        turn: &mut Turn<'_>,
    ) -> Verdict {
        let state = &mut self.peers[place];
        let (peer, lane) = (state.peer, header.lane);
        let receive = &mut state.receiving[lane as usize];
        if header.kind == Kind::Credit {
            return Verdict::Free;
        }
        receive.sequence = receive.sequence.wrapping_add(1);
        let bytes = &self.fabric.read(name, len)[len - content..];
        turn.bytes += content;
        match (header.kind, &mut receive.body) {
            (Kind::Small, None) if content > 0 => {
                turn.packets += 1;
                match turn.sink.packet(peer, lane, bytes) {
                    Delivery::Accepted => Verdict::Used,
                    Delivery::Refused(why) => Verdict::Wrong(why),
                }
            }
            (Kind::Head, None) if header.body > 0 => {
                let parts = split_head(bytes).filter(|(_, first)| first.len() as u64 <= header.body);
                let Some((head, first)) = parts else { return Verdict::Wrong("a head of another length") };
                turn.packets += 1;
                match turn.sink.bulk(peer, lane, head, header.body) {
                    Placement::Into(mut scatter) => {
                        scatter.write(first);
                        match header.body - first.len() as u64 {
                            0 => turn.sink.bulk_received(peer, lane),
                            more => receive.body = Some(Arriving::Pieces(scatter, more)),
                        }
                        Verdict::Used
                    }
                    Placement::Refused(why) => Verdict::Wrong(why),
                }
            }
            (Kind::Offer, None) if header.body > 0 => {
                let Some((offer, head)) = Offer::parse(bytes).filter(|(_, head)| !head.is_empty()) else {
                    return Verdict::Wrong("an offer without a head");
                };
                turn.packets += 1;
                match turn.sink.bulk(peer, lane, head, header.body) {
                    Placement::Into(scatter) => {
                        let may_be_direct = self.fabric.reads_in_place();
                        let pull = Pull::new(scatter, offer, header.body, lane, may_be_direct);
                        receive.body = Some(Arriving::Pull(pull));
                        self.begin_pull(place, lane)
                    }
                    Placement::Refused(why) => Verdict::Wrong(why),
                }
            }
            (Kind::Piece, Some(Arriving::Pieces(scatter, remaining)))
                if content > 0 && content as u64 <= *remaining =>
            {
                scatter.write(bytes);
                *remaining -= content as u64;
                if *remaining == 0 {
                    receive.body = None;
                    turn.sink.bulk_received(peer, lane);
                }
                Verdict::Used
            }
            _ => Verdict::Wrong("a packet that does not follow the one before"),
        }
    }

    fn begin_pull(&mut self, place: usize, lane: Lane) -> Verdict {
        if self.fabric.longest_read().is_none() {
            return Verdict::Wrong("an offer, though this process reads nothing");
        }
        if let Err(why) = self.read_block(place) {
            self.note_broken(place, why);
        }
        self.pull(place, lane);
        Verdict::Used
    }
}
