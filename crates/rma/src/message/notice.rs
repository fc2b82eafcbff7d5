//! The packets of fault tolerance: what processes tell each other about communicators that are in trouble. No behaviour but
//! sending.
//!
//! They are short, of a fixed length, and go in the lane of responses, so that no message is before them. After the common header,
//! the kind of all of them and their own kind, one byte each; numbers are little-endian and unaligned:
//!
//! | kind | after the first four bytes |
//! | --- | --- |
//! | revoked | context u64 |
//! | vote, decided | context u64, number u64, ballot |
//! | propose | context u64, number u64, ballot, leader u32 |
//! | accept | context u64, number u64, leader u32 |
//! | absent | making (parent u64, number u64, part u64), peer u32 |
//! | ask | making |
//!
//! A ballot is flags u32, acknowledged u64, failed u64, context u64, floor u64 ([`super::agreement`]).

use super::absent::Making;
use super::agreement::{AgreementName, Ballot, Word};
use super::packet::NOTICE;
use super::state::MessengerState;
use rma_core::channel::{Channel, Lane, MIN_PACKET, Room, Source};
use rma_core::ids::Peer;
use rma_core::wire::{HEADER_LEN, Protocol, header};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// One of these packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoticePacket {
    /// A communicator was revoked.
    Revoked { context: u64 },
    /// A peer has failed in the making of a communicator ([`super::absent`]).
    Absent { making: Making, peer: Peer },
    /// The sender has the communicator of a making, and asks which ranks have not.
    Ask(Making),
    /// A word of an agreement.
    Agreement { name: AgreementName, word: Word },
}

/// Longest packet.
const LONGEST: usize = HEADER_LEN + 2 + 16 + BALLOT_LEN + 4;
const BALLOT_LEN: usize = 36;
const _: () = assert!(LONGEST <= MIN_PACKET);

type NoticeBytes = SmallVec<[u8; LONGEST]>;

impl NoticePacket {
    fn emit(&self) -> NoticeBytes {
        let mut bytes = NoticeBytes::new();
        bytes.extend_from_slice(&header(Protocol::Message));
        bytes.push(NOTICE);
        match self {
            Self::Revoked { context } => {
                bytes.push(1);
                bytes.extend_from_slice(&context.to_le_bytes());
            }
            Self::Absent { making, peer } => {
                bytes.push(6);
                put_making(&mut bytes, making);
                bytes.extend_from_slice(&peer.0.to_le_bytes());
            }
            Self::Ask(making) => {
                bytes.push(7);
                put_making(&mut bytes, making);
            }
            Self::Agreement { name, word } => {
                bytes.push(match word {
                    Word::Vote(_) => 2,
                    Word::Propose { .. } => 3,
                    Word::Accept { .. } => 4,
                    Word::Decided(_) => 5,
                });
                bytes.extend_from_slice(&name.context.to_le_bytes());
                bytes.extend_from_slice(&name.number.to_le_bytes());
                match word {
                    Word::Vote(ballot) | Word::Decided(ballot) => put_ballot(&mut bytes, ballot),
                    Word::Propose { leader, ballot } => {
                        put_ballot(&mut bytes, ballot);
                        bytes.extend_from_slice(&leader.to_le_bytes());
                    }
                    Word::Accept { leader } => bytes.extend_from_slice(&leader.to_le_bytes()),
                }
            }
        }
        bytes
    }

    /// Reads a packet whose common header and first kind have been checked.
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "notice shorter than its kind";
        let (kind, rest) = bytes.get(HEADER_LEN + 1..).and_then(<[u8]>::split_first).ok_or(SHORT)?;
        let mut fields = NoticeFields(rest);
        let notice = match kind {
            1 => Self::Revoked { context: fields.long()? },
            2..=5 => {
                let name = AgreementName { context: fields.long()?, number: fields.long()? };
                let word = match kind {
                    2 => Word::Vote(fields.ballot()?),
                    3 => Word::Propose { ballot: fields.ballot()?, leader: fields.number()? },
                    4 => Word::Accept { leader: fields.number()? },
                    _ => Word::Decided(fields.ballot()?),
                };
                Self::Agreement { name, word }
            }
            6 => Self::Absent { making: fields.making()?, peer: Peer(fields.number()?) },
            7 => Self::Ask(fields.making()?),
            _ => return Err("unknown kind of notice"),
        };
        if fields.0.is_empty() { Ok(notice) } else { Err("notice longer than its kind") }
    }
}

fn put_making(bytes: &mut NoticeBytes, making: &Making) {
    let Making { parent, number, part } = making;
    [parent, number, part].into_iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

fn put_ballot(bytes: &mut NoticeBytes, ballot: &Ballot) {
    let Ballot { flags, acknowledged, failed, context, floor } = ballot;
    bytes.extend_from_slice(&flags.to_le_bytes());
    for number in [acknowledged, failed, context, floor] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

/// Reads fields one after the other.
struct NoticeFields<'a>(&'a [u8]);

impl NoticeFields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or("notice shorter than its kind")?;
        self.0 = rest;
        Ok(*field)
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, &'static str> {
        self.take().map(u64::from_le_bytes)
    }

    fn making(&mut self) -> Result<Making, &'static str> {
        Ok(Making { parent: self.long()?, number: self.long()?, part: self.long()? })
    }

    fn ballot(&mut self) -> Result<Ballot, &'static str> {
        Ok(Ballot {
            flags: self.number()?,
            acknowledged: self.long()?,
            failed: self.long()?,
            context: self.long()?,
            floor: self.long()?,
        })
    }
}

impl MessengerState {
    /// Has the next step tell a peer.
    pub(super) fn tell(&mut self, peer: Peer, notice: NoticePacket) {
        if peer == self.me || self.is_gone(peer) {
            return;
        }
        self.notices.push_back((peer, notice));
        self.signs.is_active.store(true, Relaxed);
        self.signs.is_due.store(true, Relaxed);
    }

    /// Takes such a packet.
    pub(super) fn on_notice(&mut self, from: Peer, bytes: &[u8]) -> Result<(), &'static str> {
        match NoticePacket::parse(bytes)? {
            NoticePacket::Revoked { context } => self.revoke(context),
            NoticePacket::Absent { making, peer } => self.on_absent(peer, making),
            NoticePacket::Ask(making) => self.on_ask(from, making),
            NoticePacket::Agreement { name, word } => self.on_word(from, name, word),
        }
        Ok(())
    }

    /// Sends the notices that have room, in order to each peer; says whether anything left.
    pub(super) fn send_notices(&mut self, channel: &mut dyn Channel) -> bool {
        if self.notices.is_empty() {
            return false;
        }
        let (mut moved, mut full) = (false, SmallVec::<[Peer; 8]>::new());
        for (peer, notice) in std::mem::take(&mut self.notices) {
            if self.is_gone(peer) {
                continue;
            }
            if full.contains(&peer) {
                self.notices.push_back((peer, notice));
                continue;
            }
            let bytes = notice.emit();
            match channel.reserve(peer, Lane::Response, bytes.len()) {
                Ok(Room::Granted) => {
                    channel.fill(Source::Bytes(&bytes));
                    channel.commit();
                    self.packets_sent += 1;
                    moved = true;
                }
                Ok(Room::Full) => {
                    full.push(peer);
                    self.notices.push_back((peer, notice));
                }
                Err(failure) => {
                    moved = true;
                    if !self.has_parted(peer, &failure) {
                        self.on_unreachable(peer, &failure);
                    }
                }
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<NoticePacket> {
        let mut samples = Vec::new();
        for number in [0, 1, u64::from(u32::MAX), u64::MAX] {
            let name = AgreementName { context: number, number: !number };
            let ballot = Ballot {
                flags: number as u32,
                acknowledged: number ^ 5,
                failed: number ^ 6,
                context: number ^ 7,
                floor: number ^ 8,
            };
            let leader = !(number as u32);
            let words = [
                Word::Vote(ballot),
                Word::Propose { leader, ballot },
                Word::Accept { leader },
                Word::Decided(ballot),
            ];
            samples.extend(words.map(|word| NoticePacket::Agreement { name, word }));
            samples.push(NoticePacket::Revoked { context: number });
            let making = Making { parent: number, number: !number, part: number ^ 9 };
            samples.push(NoticePacket::Absent { making, peer: Peer(leader) });
            samples.push(NoticePacket::Ask(making));
        }
        samples
    }

    #[test]
    fn notices_survive_their_bytes_and_nothing_else_is_one() {
        for notice in samples() {
            let bytes = notice.emit();
            assert_eq!(NoticePacket::parse(&bytes), Ok(notice));
            assert!((0..bytes.len()).all(|len| NoticePacket::parse(&bytes[..len]).is_err()), "{notice:?}");
            assert!(NoticePacket::parse(&[&bytes[..], b"x"].concat()).is_err());
            let mut other = bytes.clone();
            other[HEADER_LEN + 1] = 8;
            assert!(NoticePacket::parse(&other).is_err());
        }
    }
}
