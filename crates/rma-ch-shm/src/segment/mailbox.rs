//! A mailbox: descriptors from processes of the same job on the same node.
//!
//! A parcel comes over a connection of its own: the sender connects, puts the parcel in, and leaves, all without waiting.
//!
//! Invariants: nothing blocks; what does not come from a process of this user with the proof of the job's secret is dropped
//! and counted, descriptors and all. A mailbox has no name in a file system. Connections that bring nothing keep no parcel
//! out: those of other users are closed as they are seen, and of this user's the oldest make way.
//!
//! When more connections wait than the backlog has room for, [`Mailbox::try_send`] answers "later". The mailbox's descriptor
//! becomes readable when a parcel comes; with a registrar, which tells of changes only, look until [`Mailbox::try_receive`]
//! answers that there is none.

use crate::identity::{Identity, PROOF_LEN, Service};
use crate::reception::{News, Reception};
use crate::sockets::{self, Received};
use rma_core::ids::Peer;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const MAGIC: [u8; 4] = *b"RMAp";
const VERSION: u32 = 2;

/// Bytes of a parcel before the proof: magic, version, sender, receiver, tag.
const PROVEN: usize = 24;
const PARCEL: usize = PROVEN + PROOF_LEN;

/// Connections that may wait for a look: more than the processes of a node.
const BACKLOG: u64 = 4096;

/// Where peers of the node put descriptors for this process.
#[derive(Debug)]
pub struct Mailbox {
    reception: Reception,
    /// Parcels that were not asked for yet.
    heard: VecDeque<Parcel>,
    identity: Identity,
    me: Peer,
    /// Messages that were no parcels.
    dropped: u64,
}

/// A descriptor that arrived.
#[derive(Debug)]
pub struct Parcel {
    /// Its sender.
    pub from: Peer,
    /// What the sender calls it.
    pub tag: u64,
    /// The descriptor, to be looked at with suspicion.
    pub descriptor: OwnedFd,
}

impl Mailbox {
    /// Opens the mailbox of process `me` of the job.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(me: Peer, job: &str, secret: [u8; 32]) -> io::Result<Self> {
        let identity = Identity::new(job.to_owned(), secret);
        let reception =
            Reception::open(identity.addresses(Service::Mailbox, me), BACKLOG).map_err(|error| {
                let error = sockets::explain(error);
                io::Error::new(error.kind(), format!("process {me} cannot open its mailbox: {error}"))
            })?;
        Ok(Self { reception, heard: VecDeque::new(), identity, me, dropped: 0 })
    }

    /// Sends a copy of a descriptor. `false` means that the receiver's mailbox is full now.
    ///
    /// # Errors
    /// When the receiver has no mailbox (any more), or the system refuses.
    pub fn try_send(&self, to: Peer, tag: u64, descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        let connection = sockets::connect_to(self.identity.addresses(Service::Mailbox, to));
        let sent = connection
            .and_then(|connection| sockets::send(&connection, &self.parcel(to, tag), &[descriptor]));
        match sent {
            Ok(()) => Ok(true),
            Err(error) => match error.kind() {
                // Closed before it was used: others have pushed it out of the line.
                io::ErrorKind::WouldBlock | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                    Ok(false)
                }
                kind => {
                    let error = sockets::explain(error);
                    Err(io::Error::new(kind, format!("process {to} cannot be handed a descriptor: {error}")))
                }
            },
        }
    }

    /// The next parcel, if one is there: every one whose sending was over when this was called is found.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn try_receive(&mut self) -> io::Result<Option<Parcel>> {
        if self.heard.is_empty() {
            let Self { reception, heard, identity, me, dropped } = self;
            let mut has_lost_some = false;
            let swept = reception.sweep(&mut Vec::new(), |news| {
                for item in news.drain(..) {
                    // The connection has served.
                    let News::Greeting(_, message) = item else { continue };
                    has_lost_some |= message.has_lost_some;
                    match parcel_of(identity, *me, message) {
                        Some(parcel) => heard.push_back(parcel),
                        None => *dropped += 1,
                    }
                }
            });
            if heard.is_empty() {
                swept.map_err(sockets::explain)?;
                if has_lost_some {
                    return Err(sockets::out_of_files());
                }
            }
        }
        Ok(self.heard.pop_front())
    }

    /// How many connections and messages were dropped because they did not come from a process of this job.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.reception.unauthenticated()
    }

    fn parcel(&self, to: Peer, tag: u64) -> [u8; PARCEL] {
        let mut bytes = [0; PARCEL];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.me.0.to_le_bytes());
        bytes[12..16].copy_from_slice(&to.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&tag.to_le_bytes());
        let proof = self.identity.proof(&bytes[..PROVEN]);
        bytes[PROVEN..].copy_from_slice(&proof);
        bytes
    }
}

/// What a message for process `me` brought, if it is a parcel.
fn parcel_of(identity: &Identity, me: Peer, mut message: Received<PARCEL>) -> Option<Parcel> {
    let bytes: &[u8; PARCEL] = message.bytes().try_into().ok()?;
    let (proven, proof) = bytes.split_at(PROVEN);
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| proven[at + i]));
    let (head, from_to, tag) = (word(0), word(8), word(16));
    let expected = u64::from(u32::from_le_bytes(MAGIC)) | u64::from(VERSION) << 32;
    let is_for_me = head == expected && (from_to >> 32) as u32 == me.0;
    let is_good = is_for_me && identity.is_proof(proven, proof) && message.descriptors.len() == 1;
    let descriptor = message.descriptors.pop()?;
    is_good.then_some(Parcel { from: Peer(from_to as u32), tag, descriptor })
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reception.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::net::{AddressFamily, SocketType, bind, socket};
    use std::fs::File;
    use std::io::{Read, Write};

    fn job(name: &str) -> String {
        format!("{name}-{}", std::process::id())
    }

    fn pipe_end(text: &str) -> OwnedFd {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        File::from(writer).write_all(text.as_bytes()).unwrap();
        reader
    }

    fn text_of(parcel: Parcel) -> String {
        let mut text = String::new();
        File::from(parcel.descriptor).read_to_string(&mut text).unwrap();
        text
    }

    /// A connection to the mailbox of process 0.
    fn connection(from: &Mailbox) -> OwnedFd {
        sockets::connect_to(from.identity.addresses(Service::Mailbox, Peer(0))).unwrap()
    }

    #[test]
    fn parcels_arrive_in_order_from_each_sender() {
        let job = job("mailbox-order");
        let senders = [1, 2].map(|i| Mailbox::open(Peer(i), &job, [3; 32]).unwrap());
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        assert!(receiver.try_receive().unwrap().is_none());
        for i in 0..100 {
            let pipe = pipe_end(&format!("parcel {i}"));
            assert!(senders[i % 2].try_send(Peer(0), i as u64, pipe.as_fd()).unwrap());
        }
        for i in 0..100 {
            let parcel = receiver.try_receive().unwrap().unwrap();
            assert_eq!((parcel.from, parcel.tag), (Peer(1 + i as u32 % 2), i as u64));
            let flags = rustix::io::fcntl_getfd(&parcel.descriptor).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            assert_eq!(text_of(parcel), format!("parcel {i}"));
        }
        assert!(receiver.try_receive().unwrap().is_none());
        assert_eq!(receiver.dropped(), 0);
    }

    #[test]
    fn unauthenticated_connections_are_dropped_and_counted() {
        let job = job("mailbox-unauthenticated");
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        let peer = Mailbox::open(Peer(1), &job, [3; 32]).unwrap();
        let say = |bytes: &[u8], descriptors: &[BorrowedFd<'_>]| {
            sockets::send(connection(&peer), bytes, descriptors).unwrap();
        };
        let good = peer.parcel(Peer(0), 5);
        let pipe = pipe_end("x");
        let mut bad: Vec<Vec<u8>> = vec![vec![], vec![0; 7], vec![255; 500], good[..PARCEL - 1].to_vec()];
        bad.push([&good[..], &[0]].concat());
        bad.push(peer.parcel(Peer(2), 5).to_vec());
        for at in 0..PARCEL {
            let mut changed = good;
            changed[at] ^= 16;
            bad.push(changed.to_vec());
        }
        let count = bad.len() as u64;
        for bytes in bad {
            say(&bytes, &[pipe.as_fd()]);
            assert!(receiver.try_receive().unwrap().is_none(), "{bytes:?}");
        }
        assert_eq!(receiver.dropped(), count);
        say(&good, &[]);
        say(&good, &[pipe.as_fd(), pipe.as_fd()]);
        assert!(receiver.try_receive().unwrap().is_none());
        assert_eq!(receiver.dropped(), count + 2);
        say(&good, &[pipe.as_fd()]);
        assert_eq!(receiver.try_receive().unwrap().unwrap().tag, 5);
    }

    #[test]
    fn a_name_that_is_taken_is_not_waited_for_and_silent_connections_keep_nothing_out() {
        let job = job("mailbox-taken");
        let peer = Mailbox::open(Peer(1), &job, [3; 32]).unwrap();
        // Another process has guessed the first two names.
        let squat = |attempt: usize, kind| {
            let address = peer.identity.addresses(Service::Mailbox, Peer(0)).nth(attempt).unwrap();
            let socket = socket(AddressFamily::UNIX, kind, None).unwrap();
            bind(&socket, &address.unwrap()).unwrap();
            socket
        };
        let _squatters = [squat(0, SocketType::SEQPACKET), squat(1, SocketType::DGRAM)];
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        let mut silent = Vec::new();
        for round in 0..4 {
            silent.extend((0..200).map(|_| connection(&peer)));
            assert!(peer.try_send(Peer(0), round, pipe_end("x").as_fd()).unwrap());
            let parcel = receiver.try_receive().unwrap().expect("it is behind those that say nothing");
            assert_eq!((parcel.from, parcel.tag), (Peer(1), round));
        }
        assert!(receiver.dropped() >= 800 - 256 - 1, "{}", receiver.dropped());
        // The newest of them may still turn out to be peers of the node.
        let last = silent.pop().unwrap();
        sockets::send(&last, &peer.parcel(Peer(0), 9), &[pipe_end("x").as_fd()]).unwrap();
        assert_eq!(receiver.try_receive().unwrap().unwrap().tag, 9);
    }

    #[test]
    fn a_full_mailbox_says_later_tells_of_parcels_and_goes_with_its_owner() {
        let job = job("mailbox-full");
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        let sender = Mailbox::open(Peer(1), &job, [3; 32]).unwrap();
        let is_readable = |mailbox: &Mailbox| {
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut [PollFd::new(mailbox, PollFlags::IN)], Some(&now)).unwrap() == 1
        };
        assert!(!is_readable(&receiver));
        let pipe = pipe_end("x");
        let mut sent = 0;
        while sender.try_send(Peer(0), sent, pipe.as_fd()).unwrap() {
            sent += 1;
            assert!(sent <= BACKLOG + 1, "the mailbox is never full");
        }
        assert!(sent > 100 && is_readable(&receiver));
        for tag in 0..sent {
            assert_eq!(receiver.try_receive().unwrap().unwrap().tag, tag);
        }
        assert!(sender.try_send(Peer(0), 7, pipe.as_fd()).unwrap());
        assert_eq!(receiver.try_receive().unwrap().unwrap().tag, 7);
        drop(receiver);
        let gone = sender.try_send(Peer(0), 0, pipe.as_fd()).unwrap_err();
        assert!(gone.to_string().contains("process 0"), "{gone}");
    }
}
