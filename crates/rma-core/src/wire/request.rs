//! Request packets: what an origin asks a target to do. They travel in the request lane, except [`RequestKind::Nudge`].
//!
//! An operation's data follows the head: in the same packet when small, as the body of a bulk packet otherwise. Their
//! length is the packet's; the target derives counts from it.

use super::fields::{Head, Reader};
use super::header::{HEADER_LEN, Protocol, header};
use crate::datatype::BasicType;
use crate::ids::{Disp, RequestId, Sequence, WindowId};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use std::fmt;

/// What rides on a request besides its operation.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestFlags(u8);

impl RequestFlags {
    /// Nothing rides along.
    pub const NONE: Self = Self(0);
    /// Acquire a shared lock first.
    pub const LOCK_SHARED: Self = Self(1);
    /// Acquire an exclusive lock first.
    pub const LOCK_EXCLUSIVE: Self = Self(2);
    /// The origin already holds a lock of the same lock_all epoch (lessons, decision 2).
    pub const HOLDS: Self = Self(4);
    /// Acknowledge when everything up to this packet has been applied.
    pub const ACK: Self = Self(8);
    /// Release the origin's lock afterwards.
    pub const UNLOCK: Self = Self(16);

    const ALL: u8 = 31;

    /// Whether all of `other`'s flags are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a lock is asked for.
    pub fn locks(self) -> bool {
        self.0 & (Self::LOCK_SHARED.0 | Self::LOCK_EXCLUSIVE.0) != 0
    }

    /// These flags and `other`'s.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags without `other`'s.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn parse(bits: u8) -> Result<Self, &'static str> {
        let flags = Self(bits);
        if bits & !Self::ALL != 0 {
            return Err("unknown request flag");
        }
        if flags.has(Self::LOCK_SHARED.with(Self::LOCK_EXCLUSIVE)) {
            return Err("shared and exclusive lock in one request");
        }
        Ok(flags)
    }
}

impl fmt::Debug for RequestFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 5] = ["lock-shared", "lock-exclusive", "holds", "ack", "unlock"];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, name)| *name);
        f.write_str(&set.collect::<Vec<_>>().join("+"))
    }
}

/// Where an operation begins at the target: displacement as the user gave it, and bytes from there (for later pieces of a
/// streamed operation). Scaled and checked at the target (lessons, decision 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In units of the target's displacement unit.
    pub disp: Disp,
    /// In bytes.
    pub offset: u64,
}

/// A request packet's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The window at the target.
    pub window: WindowId,
    /// What rides along.
    pub flags: RequestFlags,
    /// The packet's number from this origin to this target on this window; 0 on a nudge.
    pub sequence: Sequence,
    /// What to do.
    pub kind: RequestKind,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Only what the flags say: lock, acknowledge, unlock.
    Sync,
    /// Store the data.
    Put(Place),
    /// Send `len` bytes back to request `reply_to`.
    Get {
        /// Where to read.
        place: Place,
        /// How many bytes.
        len: u64,
        /// Which operation of the origin gets them.
        reply_to: RequestId,
    },
    /// Combine the data with the elements there.
    Accumulate {
        /// The first element.
        place: Place,
        /// How to combine, and what the elements are.
        kernel: Kernel,
    },
    /// Combine one element and send back what was there; the data is the operand.
    FetchOp {
        /// The element.
        place: Place,
        /// How to combine, and what the element is.
        kernel: Kernel,
        /// Which operation of the origin gets the old value.
        reply_to: RequestId,
    },
    /// Replace one element if it equals the first half of the data by the second; send back what was there.
    CompareSwap {
        /// The element.
        place: Place,
        /// What the element is.
        kernel: CompareAndSwap,
        /// Which operation of the origin gets the old value.
        reply_to: RequestId,
    },
    /// Look again: a lock that this process may wait for has been released. Travels in the response lane.
    Nudge,
}

const SYNC: u8 = 1;
const PUT: u8 = 2;
const GET: u8 = 3;
const ACCUMULATE: u8 = 4;
const FETCH_OP: u8 = 5;
const COMPARE_SWAP: u8 = 6;
/// Code of a nudge; responses have other codes, because both travel in the response lane.
pub(super) const NUDGE: u8 = 15;

impl Request {
    /// The head as bytes.
    pub fn emit(&self) -> Head {
        let mut head = Head::new();
        head.extend_from_slice(&header(Protocol::OneSided));
        head.push(self.kind.code());
        head.push(self.flags.0);
        head.extend_from_slice(&self.window.to_bits().to_le_bytes());
        head.extend_from_slice(&self.sequence.0.to_le_bytes());
        match self.kind {
            RequestKind::Sync | RequestKind::Nudge => {}
            RequestKind::Put(place) => emit_place(&mut head, place),
            RequestKind::Get { place, len, reply_to } => {
                emit_place(&mut head, place);
                head.extend_from_slice(&len.to_le_bytes());
                head.extend_from_slice(&reply_to.to_bits().to_le_bytes());
            }
            RequestKind::Accumulate { place, kernel } => {
                emit_place(&mut head, place);
                head.extend_from_slice(&[kernel.op().code(), kernel.ty().code()]);
            }
            RequestKind::FetchOp { place, kernel, reply_to } => {
                emit_place(&mut head, place);
                head.extend_from_slice(&[kernel.op().code(), kernel.ty().code()]);
                head.extend_from_slice(&reply_to.to_bits().to_le_bytes());
            }
            RequestKind::CompareSwap { place, kernel, reply_to } => {
                emit_place(&mut head, place);
                head.push(kernel.ty().code());
                head.extend_from_slice(&reply_to.to_bits().to_le_bytes());
            }
        }
        head
    }

    /// The head at the front of a one-sided packet, and the data behind it.
    ///
    /// # Errors
    /// Why no process of this job sends such a packet.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut fields = Reader::new(packet);
        fields.bytes::<HEADER_LEN>()?;
        let code = fields.u8()?;
        let flags = RequestFlags::parse(fields.u8()?)?;
        let window = WindowId::from_bits(fields.u32()?);
        let sequence = Sequence(fields.u64()?);
        let kind = match code {
            SYNC => RequestKind::Sync,
            PUT => RequestKind::Put(parse_place(&mut fields)?),
            GET => RequestKind::Get {
                place: parse_place(&mut fields)?,
                len: fields.u64()?,
                reply_to: RequestId::from_bits(fields.u64()?),
            },
            ACCUMULATE => {
                let place = parse_place(&mut fields)?;
                RequestKind::Accumulate { place, kernel: parse_kernel(&mut fields)? }
            }
            FETCH_OP => {
                let place = parse_place(&mut fields)?;
                let kernel = parse_kernel(&mut fields)?;
                RequestKind::FetchOp { place, kernel, reply_to: RequestId::from_bits(fields.u64()?) }
            }
            COMPARE_SWAP => {
                let place = parse_place(&mut fields)?;
                let basic = BasicType::from_code(fields.u8()?).ok_or("unknown basic type")?;
                let kernel =
                    CompareAndSwap::new(basic).ok_or("compare-and-swap on a type it is not defined for")?;
                RequestKind::CompareSwap { place, kernel, reply_to: RequestId::from_bits(fields.u64()?) }
            }
            NUDGE => RequestKind::Nudge,
            _ => return Err("unknown request kind"),
        };
        let data = fields.rest();
        let request = Self { window, flags, sequence, kind };
        if !kind.takes_data() && !data.is_empty() {
            return Err("data behind a request that takes none");
        }
        Ok((request, data))
    }
}

impl RequestKind {
    /// Whether data follows the head.
    pub fn takes_data(self) -> bool {
        !matches!(self, Self::Sync | Self::Get { .. } | Self::Nudge)
    }

    /// The request of the origin that waits for data, for those that send some back.
    pub fn reply_to(self) -> Option<RequestId> {
        match self {
            Self::Get { reply_to, .. }
            | Self::FetchOp { reply_to, .. }
            | Self::CompareSwap { reply_to, .. } => Some(reply_to),
            Self::Sync | Self::Put(_) | Self::Accumulate { .. } | Self::Nudge => None,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Sync => SYNC,
            Self::Put(_) => PUT,
            Self::Get { .. } => GET,
            Self::Accumulate { .. } => ACCUMULATE,
            Self::FetchOp { .. } => FETCH_OP,
            Self::CompareSwap { .. } => COMPARE_SWAP,
            Self::Nudge => NUDGE,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} window {} {:?}", self.sequence, self.kind, self.window, self.flags)
    }
}

fn emit_place(head: &mut Head, place: Place) {
    head.extend_from_slice(&place.disp.0.to_le_bytes());
    head.extend_from_slice(&place.offset.to_le_bytes());
}

fn parse_place(fields: &mut Reader<'_>) -> Result<Place, &'static str> {
    Ok(Place { disp: Disp(fields.u64()?), offset: fields.u64()? })
}

fn parse_kernel(fields: &mut Reader<'_>) -> Result<Kernel, &'static str> {
    let op = ReduceOp::from_code(fields.u8()?).ok_or("unknown reduce operation")?;
    let basic = BasicType::from_code(fields.u8()?).ok_or("unknown basic type")?;
    Kernel::new(op, basic).ok_or("reduce operation on a type it is not defined for")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Request> {
        let place = Place { disp: Disp(u64::MAX), offset: 1 << 40 };
        let reply_to = RequestId { index: 7, generation: u32::MAX };
        let kinds = [
            RequestKind::Sync,
            RequestKind::Put(place),
            RequestKind::Get { place, len: u64::MAX, reply_to },
            RequestKind::Accumulate { place, kernel: Kernel::new(ReduceOp::Sum, BasicType::F64).unwrap() },
            RequestKind::FetchOp {
                place,
                kernel: Kernel::new(ReduceOp::NoOp, BasicType::I8).unwrap(),
                reply_to,
            },
            RequestKind::CompareSwap {
                place,
                kernel: CompareAndSwap::new(BasicType::U16).unwrap(),
                reply_to,
            },
            RequestKind::Nudge,
        ];
        let flags = [RequestFlags::NONE, RequestFlags::LOCK_EXCLUSIVE.with(RequestFlags::UNLOCK)];
        let window = WindowId { index: 300, generation: 9 };
        kinds
            .into_iter()
            .flat_map(|kind| flags.map(|flags| Request { window, flags, sequence: Sequence(1 << 50), kind }))
            .collect()
    }

    #[test]
    fn every_request_survives_its_wire_form() {
        for request in samples() {
            let head = request.emit();
            assert!(head.len() <= 64 && !head.spilled(), "{request}");
            assert_eq!(Request::parse(&head), Ok((request, &[][..])));
            let mut with_data = head.clone();
            with_data.extend_from_slice(b"data");
            match Request::parse(&with_data) {
                Ok((again, data)) => assert_eq!((again, data), (request, &b"data"[..])),
                Err(_) => assert!(!request.kind.takes_data()),
            }
        }
    }

    #[test]
    fn shortened_and_damaged_heads_are_refused_or_legal_but_never_panic() {
        for request in samples() {
            let head = request.emit();
            for len in 0..head.len() {
                assert!(Request::parse(&head[..len]).is_err(), "{request} cut to {len}");
            }
            for at in 2..head.len() {
                for bit in 0..8 {
                    let mut damaged = head.clone();
                    damaged[at] ^= 1 << bit;
                    if let Ok((other, _)) = Request::parse(&damaged) {
                        assert_ne!(other, request);
                        assert_eq!(Request::parse(&other.emit()).map(|(r, _)| r), Ok(other));
                    }
                }
            }
        }
    }

    #[test]
    fn contradictory_locks_and_illegal_operations_are_refused() {
        let both = RequestFlags::LOCK_SHARED.with(RequestFlags::LOCK_EXCLUSIVE);
        let request = Request { flags: both, ..samples()[0] };
        assert!(Request::parse(&request.emit()).is_err());
        let mut head = samples()[6].emit();
        assert!(Request::parse(&head).is_ok());
        head[32] = ReduceOp::BitXor.code();
        assert!(Request::parse(&head).is_err(), "bitwise operation on floating point");
    }
}
