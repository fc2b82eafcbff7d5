//! Putting one packet on the channel: small with its data behind the head, or bulk with its data left in place.

use crate::channel::{BulkToken, Capabilities, Channel, Lane, MIN_PACKET, Room, Source};
use crate::datatype::Gather;
use crate::ids::{Disp, Peer, Sequence, WindowId};
use crate::mem::ReadSpan;
use crate::stats::Counters;
use crate::wire::{RequestFlags, SHORT_STORE, STORE_HEAD, Store, put_store_head};
use smallvec::SmallVec;

/// Longest head of a one-sided packet, apart from a shape.
pub(crate) const MAX_HEAD: usize = 64;

/// Most data that is copied together with its head: filling twice costs more than the copy.
const SHORT_DATA: usize = 64;
/// Longest packet that is put together before it is filled.
const SHORT_PACKET: usize = MAX_HEAD + SHORT_DATA;

const _: () = assert!(STORE_HEAD + SHORT_STORE <= MIN_PACKET);

/// A store of consecutive bytes that is one small packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortStore {
    pub(crate) store: Store,
    pub(crate) disp: Disp,
    /// First byte counted from the displacement.
    pub(crate) run: u64,
    pub(crate) data: ReadSpan,
}

/// Whether head and data are put together before the channel has them.
fn is_short(head: &[u8], data_len: usize) -> bool {
    head.len() <= MAX_HEAD && data_len <= SHORT_DATA
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is the channel's now.
    Yes,
    /// No room: try again when the channel says so.
    Full,
    /// The peer is lost; the channel's failure notice says the rest.
    Lost,
}

/// The channel with the counters that every packet changes.
pub(crate) struct Outbox<'a> {
    pub(crate) channel: &'a mut dyn Channel,
    pub(crate) counters: &'a mut Counters,
    /// Packets by the name of the channel that took them.
    pub(crate) by_channel: &'a mut ByChannel,
}

/// Packets by the name of the channel that took them.
#[derive(Default)]
pub(crate) struct ByChannel {
    counts: SmallVec<[(&'static str, u64); 2]>,
    /// The receiver of the last packet, and the place of its channel, which is the same for the channel's
    /// life.
    last: Option<(Peer, usize)>,
}

impl ByChannel {
    /// The names of the channels that have taken packets, each with their number.
    pub(crate) fn to_vec(&self) -> Vec<(&'static str, u64)> {
        self.counts.to_vec()
    }

    /// Counts a packet to a peer; `name` is asked for the name of its channel.
    fn count(&mut self, peer: Peer, name: impl FnOnce() -> &'static str) {
        let at = match self.last {
            Some((last, at)) if last == peer => at,
            _ => self.look_up(peer, name()),
        };
        self.counts[at].1 += 1;
    }

    #[inline(never)]
    fn look_up(&mut self, peer: Peer, name: &'static str) -> usize {
        // A name is one constant of its channel, so most often its address is enough.
        let is_it = |known: &str| std::ptr::eq(known, name) || known == name;
        let known = self.counts.iter().position(|(known, _)| is_it(known));
        let at = known.unwrap_or_else(|| {
            self.counts.push((name, 0));
            self.counts.len() - 1
        });
        self.last = Some((peer, at));
        at
    }
}

impl Outbox<'_> {
    /// What the way to `peer` can carry.
    pub(crate) fn capabilities(&self, peer: Peer) -> Capabilities {
        self.channel.capabilities_for(peer)
    }

    /// Sends head and data as one small packet. A gather may have been read although there was no room.
    pub(crate) fn small(&mut self, peer: Peer, lane: Lane, head: &[u8], data: Source<'_>) -> Sent {
        let data_len = data.len();
        if data_len == 0 {
            return self.whole(peer, lane, head, 0);
        }
        if is_short(head, data_len) {
            return self.short(peer, lane, head, data_len, |room| match data {
                Source::Bytes(bytes) => room.copy_from_slice(bytes),
                Source::Memory(gather) => gather.read(room),
            });
        }
        match self.channel.reserve(peer, lane, head.len() + data_len) {
            Ok(Room::Granted) => {}
            Ok(Room::Full) => return self.full(),
            Err(_) => return Sent::Lost,
        }
        self.channel.fill(Source::Bytes(head));
        self.channel.fill(data);
        self.channel.commit();
        self.sent(peer, data_len as u64)
    }

    /// Sends head and data of a small packet, of which the data lie in one span.
    pub(crate) fn small_span(&mut self, peer: Peer, lane: Lane, head: &[u8], data: ReadSpan) -> Sent {
        if !is_short(head, data.len()) {
            return self.small(peer, lane, head, Source::Memory(&mut Gather::span(data)));
        }
        self.short(peer, lane, head, data.len(), |room| data.read(room))
    }

    /// Sends head and data as one packet that is put together here.
    #[inline]
    fn short(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        data_len: usize,
        read: impl FnOnce(&mut [u8]),
    ) -> Sent {
        let mut packet = [0; SHORT_PACKET];
        let (start, rest) = packet.split_at_mut(head.len());
        start.copy_from_slice(head);
        read(&mut rest[..data_len]);
        self.whole(peer, lane, &packet[..head.len() + data_len], data_len)
    }

    /// Sends a store that is one small packet.
    #[inline]
    pub(crate) fn store(
        &mut self,
        peer: Peer,
        window: WindowId,
        flags: RequestFlags,
        sequence: Sequence,
        ShortStore { store, disp, run, data }: ShortStore,
    ) -> Sent {
        if data.len() > SHORT_STORE {
            let mut head = [0; STORE_HEAD];
            let len = put_store_head(&mut head, window, flags, sequence, store, disp, run);
            return self.small_span(peer, Lane::Request, &head[..len], data);
        }
        let mut packet = [0; STORE_HEAD + SHORT_STORE];
        let (head, _) = packet.split_first_chunk_mut().expect("a packet longer than the head");
        let len = put_store_head(head, window, flags, sequence, store, disp, run);
        let end = len + data.len();
        data.read(&mut packet[len..end]);
        self.whole(peer, Lane::Request, &packet[..end], data.len())
    }

    /// Sends a small packet that has been put together, with so many bytes of data.
    pub(crate) fn whole(&mut self, peer: Peer, lane: Lane, packet: &[u8], data_len: usize) -> Sent {
        match self.channel.send(peer, lane, packet) {
            Ok(Room::Granted) => self.sent(peer, data_len as u64),
            Ok(Room::Full) => self.full(),
            Err(_) => Sent::Lost,
        }
    }

    /// Sends head and body as a bulk packet; `token` comes back when the body has left.
    pub(crate) fn bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Sent {
        let data_len = body.remaining();
        match self.channel.send_bulk(peer, lane, head, body, token) {
            Ok(Room::Granted) => self.sent(peer, data_len),
            Ok(Room::Full) => self.full(),
            Err(_) => Sent::Lost,
        }
    }

    fn sent(&mut self, peer: Peer, data_len: u64) -> Sent {
        self.by_channel.count(peer, || self.channel.capabilities_for(peer).name);
        self.counters.on_packets_sent(1);
        self.counters.on_bytes_sent(data_len);
        Sent::Yes
    }

    fn full(&mut self) -> Sent {
        self.counters.on_channel_full(1);
        Sent::Full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_the_channel_of_each_peer() {
        let mut counts = ByChannel::default();
        let is_even = |peer: u32| peer.is_multiple_of(2);
        for peer in [2, 2, 3, 2, 4, 4, 5, 3, 3, 3] {
            counts.count(Peer(peer), || if is_even(peer) { "even" } else { "odd" });
        }
        assert_eq!(counts.to_vec(), [("even", 5), ("odd", 5)]);
    }

    #[test]
    fn a_channel_is_asked_once_for_packets_to_one_peer_in_a_row() {
        let (mut counts, mut asked) = (ByChannel::default(), 0);
        for peer in [1, 1, 1, 2, 2, 1] {
            counts.count(Peer(peer), || {
                asked += 1;
                "even"
            });
        }
        assert_eq!((counts.to_vec(), asked), (vec![("even", 6)], 3));
    }
}
