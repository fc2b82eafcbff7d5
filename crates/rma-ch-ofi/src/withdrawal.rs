//! The end of an exposure, where closing a registration ends no transfer under way: the peers that have the key end theirs.
//!
//! ```text
//!   owner                            holder of the key
//!      ── withdrawn (key) ─────────▶ begins no transfer to it any more
//!      ◀─────────── unused (key) ─── the provider has come back from those that were under way
//! ```
//!
//! Both are letters, which engines answer when they poll. A holder that is lost answers nothing: its connection is closed before its
//! failure is reported, and that ends its transfers ([`crate::fabric::Fabric::forgets`]). One that says goodbye has ended them.
//! The registration is closed behind all that, so no transfer of a peer that lives finds it gone and breaks the connection.

use crate::channel::{OfiChannel, Turn};
use crate::peer::{Link, PeerState};
use crate::wire::Letter;
use rma_core::channel::{Exposure, TransferError, Withdrawal};

impl OfiChannel {
    /// Ends an exposure, as far as that has come.
    pub(crate) fn end_exposure(&mut self, exposure: Exposure, is_idle: bool) -> Withdrawal {
        let Some(exposed) = self.transfers.exposures.get_mut(&exposure.0) else { return Withdrawal::Over };
        if is_idle || self.fabric.pins() {
            exposed.holders.clear();
        }
        let (key, is_first) = (exposed.memory.key, !std::mem::replace(&mut exposed.is_withdrawn, true));
        exposed.holders.retain(|place| may_write(&self.peers[*place]));
        if exposed.holders.is_empty() {
            if let Some(exposed) = self.transfers.exposures.remove(&exposure.0) {
                self.fabric.withdraw(exposed.memory);
            }
            return Withdrawal::Over;
        }
        if is_first {
            let holders = exposed.holders.clone();
            for place in holders {
                self.post_letter(self.peers[place].peer, &Letter::Withdrawn { key });
            }
        }
        Withdrawal::Pending
    }

    /// A peer has withdrawn memory.
    pub(crate) fn hear_withdrawn(&mut self, place: usize, key: u64) {
        let state = &mut self.peers[place];
        state.gone.add(key);
        if !self.transfers.has_under_way(place, key) {
            let peer = state.peer;
            self.post_letter(peer, &Letter::Unused { key });
        } else if !state.gone.ending.contains(&key) {
            state.gone.ending.push(key);
        }
    }

    /// A transfer has succeeded.
    pub(crate) fn note_transferred(&mut self, place: usize, key: u64) {
        let ending = &mut self.peers[place].gone.ending;
        if ending.contains(&key) && !self.transfers.has_under_way(place, key) {
            ending.retain(|other| *other != key);
            self.post_letter(self.peers[place].peer, &Letter::Unused { key });
        }
    }

    /// A peer uses a key no more.
    pub(crate) fn hear_unused(&mut self, place: usize, key: u64) {
        let of_key = self.transfers.exposures.values_mut().find(|exposed| exposed.memory.key == key);
        if let Some(exposed) = of_key.filter(|exposed| exposed.is_withdrawn) {
            exposed.holders.retain(|holder| *holder != place);
        }
    }

    pub(crate) fn report_refused(&mut self, turn: &mut Turn<'_>) {
        for token in self.transfers.refused.drain(..) {
            turn.sink.transferred(token, Err(TransferError::Refused));
            turn.moved = true;
        }
    }
}

/// Whether a transfer of a peer that has a key may be under way.
fn may_write(peer: &PeerState) -> bool {
    matches!(peer.link, Link::Greeting | Link::Ready { .. }) && peer.goodbye.is_none()
}
