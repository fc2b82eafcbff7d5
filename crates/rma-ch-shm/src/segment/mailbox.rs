//! A mailbox: descriptors from siblings of the same job on the same node.
//!
//! Invariants: nothing blocks; what does not come from a process of this user with the proof of the job's secret is dropped
//! and counted, descriptors and all. A mailbox has no name in a file system.
//!
//! The system keeps about ten parcels for a receiver that does not look; then [`Mailbox::try_send`] answers "later". The
//! mailbox's descriptor becomes readable when a parcel comes; with a registrar, which tells of changes only, look until
//! [`Mailbox::try_receive`] answers that there is none.

use crate::identity::{Identity, PROOF_LEN, Service};
use crate::sockets;
use rma_core::ids::Peer;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const MAGIC: [u8; 4] = *b"RMAp";
const VERSION: u32 = 1;

/// Bytes of a parcel before the proof: magic, version, sender, receiver, tag.
const PROVEN: usize = 24;
const PARCEL: usize = PROVEN + PROOF_LEN;

/// Strangers' parcels that one look throws away at most.
const STRANGERS_AT_ONCE: usize = 1024;

/// Where siblings put descriptors for this process.
#[derive(Debug)]
pub struct Mailbox {
    socket: OwnedFd,
    identity: Identity,
    me: Peer,
    dropped: u64,
}

/// A descriptor that arrived.
#[derive(Debug)]
pub struct Parcel {
    /// Who sent it.
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
    /// When the system refuses, or a process of this number has one already.
    pub fn open(me: Peer, job: &str, secret: [u8; 32]) -> io::Result<Self> {
        let identity = Identity::new(job.to_owned(), secret);
        let address = identity.address(Service::Mailbox, me)?;
        let socket = sockets::datagrams_at(&address).map_err(|error| {
            io::Error::new(error.kind(), format!("process {me} cannot open its mailbox: {error}"))
        })?;
        Ok(Self { socket, identity, me, dropped: 0 })
    }

    /// Sends a copy of a descriptor. `false` means that the receiver's mailbox is full now.
    ///
    /// # Errors
    /// When the receiver has no mailbox (any more), or the system refuses.
    pub fn try_send(&self, to: Peer, tag: u64, descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        let address = self.identity.address(Service::Mailbox, to)?;
        match sockets::send(&self.socket, Some(&address), &self.parcel(to, tag), &[descriptor]) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("process {to} cannot be handed a descriptor: {error}"),
            )),
        }
    }

    /// The next parcel, if one is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn try_receive(&mut self) -> io::Result<Option<Parcel>> {
        for _ in 0..STRANGERS_AT_ONCE {
            let mut message = match sockets::receive::<PARCEL>(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                other => other?,
            };
            let sender = message.is_own_user.then(|| self.read(message.bytes())).flatten();
            let descriptor = message.descriptors.pop();
            if let (Some((from, tag)), Some(descriptor), true) =
                (sender, descriptor, message.descriptors.is_empty())
            {
                return Ok(Some(Parcel { from, tag, descriptor }));
            }
            self.dropped += 1;
        }
        Ok(None)
    }

    /// How many parcels were dropped because they did not come from a process of this job.
    pub fn dropped(&self) -> u64 {
        self.dropped
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

    /// Sender and tag of a parcel for this process.
    fn read(&self, bytes: &[u8]) -> Option<(Peer, u64)> {
        let bytes: &[u8; PARCEL] = bytes.try_into().ok()?;
        let (proven, proof) = bytes.split_at(PROVEN);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| proven[at + i]));
        let (head, from_to) = (word(0), word(8));
        let expected = u64::from(u32::from_le_bytes(MAGIC)) | u64::from(VERSION) << 32;
        let is_for_me = head == expected && (from_to >> 32) as u32 == self.me.0;
        (is_for_me && self.identity.is_proof(proven, proof)).then(|| (Peer(from_to as u32), word(16)))
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

    #[test]
    fn parcels_arrive_in_order_from_each_sender_and_a_full_mailbox_says_later() {
        let job = job("mailbox-order");
        let senders = [1, 2].map(|i| Mailbox::open(Peer(i), &job, [3; 32]).unwrap());
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        assert!(receiver.try_receive().unwrap().is_none());
        let mut sent = 0;
        while senders[sent % 2]
            .try_send(Peer(0), sent as u64, pipe_end(&format!("parcel {sent}")).as_fd())
            .unwrap()
        {
            sent += 1;
            assert!(sent < 10_000, "the mailbox is never full");
        }
        assert!(sent > 1);
        for i in 0..sent {
            let parcel = receiver.try_receive().unwrap().unwrap();
            assert_eq!((parcel.from, parcel.tag), (Peer(1 + i as u32 % 2), i as u64));
            let flags = rustix::io::fcntl_getfd(&parcel.descriptor).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            assert_eq!(text_of(parcel), format!("parcel {i}"));
        }
        assert!(receiver.try_receive().unwrap().is_none());
        assert!(senders[0].try_send(Peer(0), 7, pipe_end("again").as_fd()).unwrap());
        assert_eq!(text_of(receiver.try_receive().unwrap().unwrap()), "again");
        assert_eq!(receiver.dropped(), 0);
    }

    #[test]
    fn strangers_are_dropped_and_counted() {
        let job = job("mailbox-strangers");
        let mut receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        let sibling = Mailbox::open(Peer(1), &job, [3; 32]).unwrap();
        let address = receiver.identity.address(Service::Mailbox, Peer(0)).unwrap();
        let good = sibling.parcel(Peer(0), 5);
        let pipe = pipe_end("x");
        let mut bad: Vec<Vec<u8>> = vec![vec![], vec![0; 7], vec![255; 500], good[..PARCEL - 1].to_vec()];
        bad.push([&good[..], &[0]].concat());
        bad.push(sibling.parcel(Peer(2), 5).to_vec());
        for at in 0..PARCEL {
            let mut changed = good;
            changed[at] ^= 16;
            bad.push(changed.to_vec());
        }
        let count = bad.len() as u64;
        for bytes in bad {
            sockets::send(&sibling.socket, Some(&address), &bytes, &[pipe.as_fd()]).unwrap();
            assert!(receiver.try_receive().unwrap().is_none(), "{bytes:?}");
        }
        assert_eq!(receiver.dropped(), count);
        sockets::send(&sibling.socket, Some(&address), &good, &[]).unwrap();
        sockets::send(&sibling.socket, Some(&address), &good, &[pipe.as_fd(), pipe.as_fd()]).unwrap();
        assert!(receiver.try_receive().unwrap().is_none());
        assert_eq!(receiver.dropped(), count + 2);
        sockets::send(&sibling.socket, Some(&address), &good, &[pipe.as_fd()]).unwrap();
        assert_eq!(receiver.try_receive().unwrap().unwrap().tag, 5);
    }

    #[test]
    fn a_mailbox_is_unique_tells_of_parcels_and_goes_with_its_owner() {
        let job = job("mailbox-unique");
        let receiver = Mailbox::open(Peer(0), &job, [3; 32]).unwrap();
        let sender = Mailbox::open(Peer(1), &job, [3; 32]).unwrap();
        let taken = Mailbox::open(Peer(0), &job, [3; 32]).unwrap_err();
        assert!(taken.to_string().contains("process 0 cannot open its mailbox"), "{taken}");
        let is_readable = |mailbox: &Mailbox| {
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut [PollFd::new(mailbox, PollFlags::IN)], Some(&now)).unwrap() == 1
        };
        assert!(!is_readable(&receiver));
        assert!(sender.try_send(Peer(0), 0, pipe_end("x").as_fd()).unwrap());
        assert!(is_readable(&receiver));
        drop(receiver);
        let gone = sender.try_send(Peer(0), 0, pipe_end("x").as_fd()).unwrap_err();
        assert!(gone.to_string().contains("process 0"), "{gone}");
    }
}
