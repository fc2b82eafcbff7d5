//! Peers come and go: greetings, goodbyes, and losses.
//!
//! ```text
//!   Greeting --greeting--> Ready --goodbye, and all it announced--> Closed
//!      |                     |
//!      +------- loss --------+----> Failed
//! ```

use crate::block::{Purpose, SlotName};
use crate::channel::{CREDIT_PACKETS, OfiChannel, Turn};
use crate::life::News;
use crate::peer::{Link, Parting, PeerState};
use crate::wire::Letter;
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use rma_core::random::random;
use std::time::Instant;

impl OfiChannel {
    /// The place of a peer; greets it if this is the first contact.
    pub(crate) fn contact(&mut self, peer: Peer) -> Result<usize, Failure> {
        if let Some(place) = self.places.get(&peer) {
            return match &self.peers[*place].link {
                Link::Failed(failure) => Err(failure.clone()),
                Link::Greeting | Link::Ready { .. } | Link::Closed => Ok(*place),
            };
        }
        if peer == self.me || peer.0 >= self.size {
            let detail =
                format!("process {peer} is none of the {} that process {} reaches", self.size, self.me);
            return Err(Failure { kind: FailureKind::Unreachable, detail });
        }
        let place = match self.prepare(peer) {
            Ok(place) => place,
            Err(why) => {
                let detail = format!("process {peer} cannot be reached over libfabric: {why}");
                let failure = Failure { kind: FailureKind::Unreachable, detail };
                let place = self.add(PeerState::new(peer, [0; 16], u32::MAX, 0));
                self.fail(place, failure.clone(), true);
                return Err(failure);
            }
        };
        let greeting = Letter::Greeting {
            packet: self.limits.packet as u32,
            credits: self.limits.credits,
            token: self.peers[place].token,
            address: self.fabric.address().to_vec(),
        };
        self.post_letter(peer, &greeting);
        Ok(place)
    }

    /// Makes a peer's buffers.
    fn prepare(&mut self, peer: Peer) -> Result<usize, String> {
        let token = random::<16>().map_err(|error| error.to_string())?;
        let (slot_len, credits) = (self.limits.slot_len(), self.limits.credits);
        let receive = 2 * credits + CREDIT_PACKETS;
        let block = self.fabric.add_block(slot_len, receive, Purpose::Receive)?;
        (0..receive).for_each(|slot| self.post(SlotName { block, slot }));
        let block = self.fabric.add_block(slot_len, 2 * credits, Purpose::Send)?;
        let place = self.add(PeerState::new(peer, token, block, credits));
        self.by_block.insert(block, place);
        Ok(place)
    }

    fn add(&mut self, state: PeerState) -> usize {
        let place = self.peers.len();
        self.places.insert(state.peer, place);
        self.peers.push(state);
        self.greeting += 1;
        place
    }

    fn set_link(&mut self, place: usize, link: Link) {
        if matches!(self.peers[place].link, Link::Greeting) {
            self.greeting -= 1;
        }
        self.peers[place].link = link;
    }

    pub(crate) fn post_letter(&mut self, to: Peer, letter: &Letter) {
        if !self.is_life_closing {
            self.life.post(to, letter);
        }
    }

    /// Gives a peer up, once.
    pub(crate) fn fail(&mut self, place: usize, failure: Failure, tells: bool) {
        let state = &mut self.peers[place];
        if matches!(state.link, Link::Failed(_) | Link::Closed) {
            return;
        }
        let peer = state.peer;
        self.returned.extend(state.drop_all(&mut self.fabric));
        state.receiving.iter_mut().for_each(|lane| lane.body = None);
        let early = state.receiving.iter_mut().flat_map(|lane| std::mem::take(&mut lane.early));
        self.unposted.extend(early.map(|(_, arrival)| arrival.name));
        state.lost = None;
        if state.broken.take().is_some() {
            self.broken -= 1;
        }
        if let Link::Ready { address, .. } = self.peers[place].link {
            self.fabric.forget(address);
        }
        self.set_link(place, Link::Failed(failure.clone()));
        if tells {
            self.post_letter(peer, &Letter::GivenUp(failure.detail.clone()));
        }
        self.note_failure(peer, failure);
    }

    /// Lets a peer go that has said goodbye, once everything it sent has been handed over.
    pub(crate) fn part_if_over(&mut self, place: usize) {
        let state = &mut self.peers[place];
        if !matches!(state.link, Link::Ready { .. }) || !state.has_everything() {
            return;
        }
        let peer = state.peer;
        if state.broken.take().is_some() {
            self.broken -= 1;
        }
        self.set_link(place, Link::Closed);
        self.list(place);
        self.post_letter(peer, &Letter::Received);
    }

    pub(crate) fn poll_life(&mut self, turn: &mut Turn<'_>) {
        let mut news = Vec::new();
        self.is_news_due = false;
        turn.moved |= self.life.poll(&mut news);
        for news in news {
            match news {
                News::Letter(peer, letter) => self.read_letter(peer, letter),
                News::Lost(peer, failure) => self.hear_of_loss(peer, failure),
            }
        }
    }

    fn read_letter(&mut self, peer: Peer, letter: Letter) {
        // A peer that writes first is contacted in turn.
        let Ok(place) = self.contact(peer) else { return };
        match letter {
            Letter::Greeting { packet, credits, token, address } => {
                if let Err(why) = self.greeted(place, (packet, credits), token, &address) {
                    let detail = format!("process {peer} cannot be reached over libfabric: {why}");
                    self.fail(place, Failure { kind: FailureKind::Protocol, detail }, true);
                }
            }
            Letter::Goodbye(sent) => {
                let state = &mut self.peers[place];
                state.goodbye = Some(sent);
                self.returned.extend(state.drop_all(&mut self.fabric));
                self.list(place);
                self.part_if_over(place);
            }
            Letter::Received => self.peers[place].parting = Parting::Done,
            Letter::GivenUp(reason) => {
                let detail = format!("process {peer} has given this process up: {reason}");
                self.hear_of_loss(peer, Failure { kind: FailureKind::Protocol, detail });
            }
            Letter::Withdrawn { key } => self.hear_withdrawn(place, key),
            Letter::Unused { key } => self.hear_unused(place, key),
        }
    }

    fn greeted(
        &mut self,
        place: usize,
        (packet, credits): (u32, u32),
        token: [u8; 16],
        address: &[u8],
    ) -> Result<(), String> {
        if !matches!(self.peers[place].link, Link::Greeting) {
            return Err("it greets twice".to_owned());
        }
        if packet as usize != self.limits.packet {
            let own = self.limits.packet;
            return Err(format!("RMA_OFI_PACKET_BYTES is {packet} there and {own} here"));
        }
        let address = self.fabric.insert(address)?;
        self.set_link(place, Link::Ready { address, token });
        let most = self.limits.credits;
        for lane in &mut self.peers[place].sending {
            lane.credits = credits.min(most);
        }
        self.peers[place].owes_hello = true;
        self.connecting.push((place, Instant::now()));
        self.list(place);
        Ok(())
    }

    fn hear_of_loss(&mut self, peer: Peer, failure: Failure) {
        let known = self.places.get(&peer).copied();
        let place = known.unwrap_or_else(|| self.add(PeerState::new(peer, [0; 16], u32::MAX, 0)));
        let state = &mut self.peers[place];
        state.parting = Parting::Done;
        if matches!(state.link, Link::Greeting | Link::Ready { .. }) && state.lost.is_none() {
            state.lost = Some(failure);
            self.lost.push(place);
        }
    }
}
