//! The packets of messages. No behaviour.
//!
//! Every packet starts with the common header, its kind and the plane, in four bytes; numbers are little-endian and
//! unaligned. [`Packet::parse`] is total; [`Packet::emit`] writes what it reads.
//!
//! | kind | lane | after the first four bytes |
//! | --- | --- | --- |
//! | eager | request | context u64, tag u64, credit u32, then the message |
//! | announce | request | context u64, tag u64, credit u32, sender's id u64, length u64 |
//! | accept | response | sender's id u64, receiver's id u64 |
//! | body (head of a bulk packet) | request | receiver's id u64 |
//! | credit | response | credit u32 |
//! | farewell | request | nothing |
//! | decline | response | sender's id u64, dead process u32 (all ones: none) |
//! | quit | request | context u64, number u64 |
//! | death | request | process u32 |
//! | withdraw | request | sender's id u64 |
//! | withdrawn | response | sender's id u64 |
//! | notice | response | what [`super::notice`] says |
//!
//! Credit is a number of bytes of eager messages that the receiver has taken out of its buffer; it rides on whatever goes
//! to that peer, and travels alone only when nothing does.

use super::request::RequestId;
use rma_core::ErrorClass;
use rma_core::ids::Peer;
use rma_core::wire::{HEADER_LEN, Protocol, header};

/// Length of an eager packet without its message.
pub(super) const EAGER_LEN: usize = 24;
/// The kind of packets that [`super::notice`] knows more of.
pub(super) const NOTICE: u8 = 16;
/// Longest head of any packet.
pub(super) const HEAD_MAX: usize = 40;

/// No process has so high a number.
const NO_PROCESS: u32 = u32::MAX;

const SHORTER: &str = "message packet shorter than its kind";
const EAGER: u8 = 1;
const KIND: usize = HEADER_LEN;
const PLANE: usize = KIND + 1;
const FIELDS: usize = PLANE + 1;

/// Which kind of receive a message is for, beyond its communicator: messages of users and of the library do
/// not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Plane {
    /// Messages of users.
    User = 0,
    /// Collectives of users.
    Collective = 1,
    /// Collectives that the engine asks its host for.
    Host = 2,
    /// The making of communicators by some of a communicator's ranks.
    Creation = 3,
    /// Collectives of a window, that the engine asks its host for.
    Window = 4,
    /// Messages of users in partitions, which meet no others.
    Partitioned = 5,
}

impl Plane {
    /// Those of calls that users make.
    pub(crate) const OF_USERS: [Self; 4] = [Self::User, Self::Collective, Self::Creation, Self::Partitioned];
    /// Those of the engine.
    pub(crate) const OF_THE_ENGINE: [Self; 2] = [Self::Host, Self::Window];
}

/// What messages are told apart by before their tag: the communicator, and the plane in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The communicator's context.
    pub context: u64,
    /// The plane.
    pub plane: Plane,
}

impl Scope {
    /// The scope of the meeting in which the processes of a job end their part. It goes on after farewells.
    pub const LAST: Self = Self { context: u64::MAX, plane: Plane::Host };
}

/// What stands in front of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) scope: Scope,
    pub(super) tag: u64,
}

/// A packet without its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    /// A small message, which follows the head.
    Eager { label: Label, credit: u32 },
    /// A message waits at the sender.
    Announce { label: Label, credit: u32, sender: RequestId, len: u64 },
    /// The receiver is ready for it.
    Accept { sender: RequestId, receiver: RequestId },
    /// The message itself, as the body of this head.
    Body { receiver: RequestId },
    /// The receiver has taken eager messages out of its buffer.
    Credit { credit: u32 },
    /// The sender will begin no message any more, but for the last meeting of all.
    Farewell,
    /// The sender waits for the receiver, and is among those that hear of its farewell.
    Greeting,
    /// The receiver has left the collective of an announced message with an error of this class, perhaps because a process has
    /// died.
    Decline { sender: RequestId, dead: Option<Peer>, why: ErrorClass },
    /// A process has died, as the sender has found or learned.
    Death { peer: Peer },
    /// The sender has left a collective with an error of this class.
    Quit { scope: Scope, number: u64, why: ErrorClass },
    /// An announced message is to be forgotten, unless a receive has taken it.
    Withdraw { sender: RequestId },
    /// It is forgotten.
    Withdrawn { sender: RequestId },
    /// Something about a communicator in trouble.
    Notice,
}

/// A packet's head as bytes.
pub(super) struct PacketHead {
    bytes: [u8; HEAD_MAX],
    len: usize,
}

impl Packet {
    /// Reads a packet; also answers where the message starts. The common header has been checked.
    ///
    /// # Errors
    /// The reason for a refusal.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, usize), &'static str> {
        match bytes.first_chunk() {
            Some(head) if head[KIND] == EAGER => Self::parse_eager(head).map(|packet| (packet, EAGER_LEN)),
            _ => Self::parse_any(bytes),
        }
    }

    /// A small message, which most packets are: one look at the length.
    fn parse_eager(head: &[u8; EAGER_LEN]) -> Result<Self, &'static str> {
        let mut fields = PacketFields { bytes: head, at: FIELDS };
        let label = fields.label(head[PLANE])?;
        Ok(Self::Eager { label, credit: fields.number()? })
    }

    fn parse_any(bytes: &[u8]) -> Result<(Self, usize), &'static str> {
        let kind = *bytes.get(KIND).ok_or("shorter than a message packet's head")?;
        let plane = *bytes.get(PLANE).ok_or("shorter than a message packet's head")?;
        let mut fields = PacketFields { bytes, at: FIELDS };
        let packet = match kind {
            EAGER => return Err(SHORTER),
            2 => Self::Announce {
                label: fields.label(plane)?,
                credit: fields.number()?,
                sender: RequestId::from_bits(fields.long()?),
                len: fields.long()?,
            },
            3 => Self::Accept {
                sender: RequestId::from_bits(fields.long()?),
                receiver: RequestId::from_bits(fields.long()?),
            },
            4 => Self::Body { receiver: RequestId::from_bits(fields.long()?) },
            5 => Self::Credit { credit: fields.number()? },
            6 => Self::Farewell,
            7 => Self::Decline {
                sender: RequestId::from_bits(fields.long()?),
                dead: Some(fields.number()?).filter(|dead| *dead != NO_PROCESS).map(Peer),
                why: fields.class()?,
            },
            8 => {
                let Label { scope, tag } = fields.label(plane)?;
                Self::Quit { scope, number: tag, why: fields.class()? }
            }
            9 => Self::Death { peer: Peer(fields.number()?) },
            10 => Self::Withdraw { sender: RequestId::from_bits(fields.long()?) },
            11 => Self::Withdrawn { sender: RequestId::from_bits(fields.long()?) },
            12 => Self::Greeting,
            NOTICE => Self::Notice,
            _ => return Err("unknown kind of message packet"),
        };
        if fields.at < bytes.len() && packet != Self::Notice {
            return Err("message packet longer than its kind");
        }
        Ok((packet, fields.at))
    }

    /// The packet's bytes, without its message.
    pub(super) fn emit(&self) -> PacketHead {
        let (kind, plane) = match self {
            Self::Eager { label, .. } => (EAGER, label.scope.plane as u8),
            Self::Announce { label, .. } => (2, label.scope.plane as u8),
            Self::Accept { .. } => (3, 0),
            Self::Body { .. } => (4, 0),
            Self::Credit { .. } => (5, 0),
            Self::Farewell => (6, 0),
            Self::Decline { .. } => (7, 0),
            Self::Quit { scope, .. } => (8, scope.plane as u8),
            Self::Death { .. } => (9, 0),
            Self::Withdraw { .. } => (10, 0),
            Self::Withdrawn { .. } => (11, 0),
            Self::Greeting => (12, 0),
            Self::Notice => (NOTICE, 0),
        };
        let mut head = PacketHead { bytes: [0; HEAD_MAX], len: 0 };
        head.put(&header(Protocol::Message));
        head.put(&[kind, plane]);
        match *self {
            Self::Eager { label, credit } => {
                head.put_label(label);
                head.put(&credit.to_le_bytes());
            }
            Self::Announce { label, credit, sender, len } => {
                head.put_label(label);
                head.put(&credit.to_le_bytes());
                head.put(&sender.to_bits().to_le_bytes());
                head.put(&len.to_le_bytes());
            }
            Self::Accept { sender, receiver } => {
                head.put(&sender.to_bits().to_le_bytes());
                head.put(&receiver.to_bits().to_le_bytes());
            }
            Self::Body { receiver } => head.put(&receiver.to_bits().to_le_bytes()),
            Self::Credit { credit } => head.put(&credit.to_le_bytes()),
            Self::Farewell | Self::Greeting | Self::Notice => {}
            Self::Decline { sender, dead, why } => {
                head.put(&sender.to_bits().to_le_bytes());
                head.put(&dead.map_or(NO_PROCESS, |dead| dead.0).to_le_bytes());
                head.put(&(why as i32).to_le_bytes());
            }
            Self::Death { peer } => head.put(&peer.0.to_le_bytes()),
            Self::Withdraw { sender } | Self::Withdrawn { sender } => {
                head.put(&sender.to_bits().to_le_bytes());
            }
            Self::Quit { scope, number, why } => {
                head.put_label(Label { scope, tag: number });
                head.put(&(why as i32).to_le_bytes());
            }
        }
        head
    }
}

impl PacketHead {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_label(&mut self, label: Label) {
        self.put(&label.scope.context.to_le_bytes());
        self.put(&label.tag.to_le_bytes());
    }
}

impl AsRef<[u8]> for PacketHead {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Plane {
    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::User),
            1 => Some(Self::Collective),
            2 => Some(Self::Host),
            3 => Some(Self::Creation),
            4 => Some(Self::Window),
            5 => Some(Self::Partitioned),
            _ => None,
        }
    }
}

/// Reads fields one after the other.
struct PacketFields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl PacketFields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        self.at += N;
        field.copied().ok_or(SHORTER)
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, &'static str> {
        self.take().map(u64::from_le_bytes)
    }

    fn class(&mut self) -> Result<ErrorClass, &'static str> {
        ErrorClass::with_value(self.number()? as i32).ok_or("unknown class of an error")
    }

    fn label(&mut self, plane: u8) -> Result<Label, &'static str> {
        let plane = Plane::from_code(plane).ok_or("unknown plane of a message")?;
        Ok(Label { scope: Scope { context: self.long()?, plane }, tag: self.long()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::wire::check_header;

    fn samples() -> Vec<Packet> {
        let id = |index, generation| RequestId { index, generation };
        let planes =
            [Plane::User, Plane::Collective, Plane::Host, Plane::Creation, Plane::Window, Plane::Partitioned];
        let mut samples = Vec::new();
        for (plane, number) in planes.into_iter().zip([0, 1, u64::MAX, 7, 8, 9]) {
            let label = Label { scope: Scope { context: number, plane }, tag: !number };
            let (a, b) = (id(number as u32, 7), id(9, number as u32 & 0x7fff_ffff));
            samples.extend([
                Packet::Eager { label, credit: number as u32 },
                Packet::Announce { label, credit: 3, sender: a, len: number },
                Packet::Accept { sender: a, receiver: b },
                Packet::Body { receiver: b },
                Packet::Credit { credit: number as u32 },
                Packet::Farewell,
                Packet::Greeting,
                Packet::Decline { sender: a, dead: None, why: ErrorClass::Truncate },
                Packet::Decline { sender: a, dead: Some(Peer(7)), why: ErrorClass::ProcFailed },
                Packet::Quit { scope: label.scope, number, why: ErrorClass::ProcAborted },
                Packet::Death { peer: Peer(number as u32) },
                Packet::Withdraw { sender: a },
                Packet::Withdrawn { sender: b },
            ]);
        }
        samples
    }

    #[test]
    fn packets_survive_their_bytes() {
        for packet in samples() {
            let head = packet.emit();
            let bytes = head.as_ref();
            assert_eq!(check_header(bytes), Ok(Protocol::Message));
            assert_eq!(Packet::parse(bytes), Ok((packet, bytes.len())));
            assert!(bytes.len() <= HEAD_MAX);
            if let Packet::Eager { .. } = packet {
                assert_eq!(bytes.len(), EAGER_LEN);
                let longer = [bytes, b"message"].concat();
                assert_eq!(Packet::parse(&longer), Ok((packet, EAGER_LEN)));
            } else {
                assert!(Packet::parse(&[bytes, b"x"].concat()).is_err());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_packet_or_a_refusal() {
        for packet in samples() {
            let head = packet.emit();
            for len in 0..head.as_ref().len() {
                assert!(Packet::parse(&head.as_ref()[..len]).is_err(), "{packet:?} cut to {len}");
            }
            for at in 0..head.as_ref().len() {
                for value in 0..=u8::MAX {
                    let mut bytes = head.as_ref().to_vec();
                    bytes[at] = value;
                    if let Ok((other, at)) = Packet::parse(&bytes) {
                        assert!(at <= bytes.len());
                        assert_eq!(Packet::parse(other.emit().as_ref()).map(|p| p.0), Ok(other));
                    }
                }
            }
        }
    }
}
