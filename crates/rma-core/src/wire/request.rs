//! Request packets: what an origin asks a target to do. They travel in the request lane, except [`RequestKind::WakeUp`].
//!
//! An operation's data follows the head: in the same packet when small, as the body of a bulk packet otherwise. Their
//! length is the packet's; the target derives counts from it.

use super::fields::{FIXED, Head, Reader, Start, fixed};
use super::flags::RequestFlags;
use super::header::HEADER_LEN;
use super::place::TargetPlace;
use crate::datatype::BasicType;
use crate::ids::{RequestId, Sequence, WindowId};

use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use std::fmt;

/// A request packet's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The window at the target.
    pub window: WindowId,
    /// What rides along.
    pub flags: RequestFlags,
    /// The packet's number from this origin to this target on this window; 0 on a wake-up.
    pub sequence: Sequence,
    /// What to do.
    pub kind: RequestKind,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Only what the flags say: lock, acknowledge, unlock.
    Sync,
    /// Store the data.
    Put(TargetPlace),
    /// Send `len` bytes back to request `reply_to`.
    Get {
        /// Where to read.
        place: TargetPlace,
        /// How many bytes.
        len: u64,
        /// Which operation of the origin gets them.
        reply_to: RequestId,
    },
    /// Combine the data with the elements there.
    Accumulate {
        /// The first element.
        place: TargetPlace,
        /// How to combine, and what the elements are.
        kernel: Kernel,
    },
    /// Combine one element and send back what was there; the data is the operand.
    FetchOp {
        /// The element.
        place: TargetPlace,
        /// How to combine, and what the element is.
        kernel: Kernel,
        /// Which operation of the origin gets the old value.
        reply_to: RequestId,
    },
    /// Combine the data with the elements there and send back what was there, `len` bytes of it. Without data when the
    /// operation reads none.
    GetAccumulate {
        /// The elements.
        place: TargetPlace,
        /// How to combine, and what the elements are.
        kernel: Kernel,
        /// How many bytes.
        len: u64,
        /// Which operation of the origin gets the old values.
        reply_to: RequestId,
    },
    /// Replace one element if it equals the first half of the data by the second; send back what was there.
    CompareSwap {
        /// The element.
        place: TargetPlace,
        /// What the element is.
        kernel: CompareAndSwap,
        /// Which operation of the origin gets the old value.
        reply_to: RequestId,
    },
    /// Send back which operations of dead processes may be half done here; the first `acknowledged` of those
    /// that were listed have been put right.
    Unfinished {
        /// How many.
        acknowledged: u64,
        /// Which operation of the origin gets the list.
        reply_to: RequestId,
    },
    /// Carry out the puts and accumulates that the data are, in their order; see [`PackEntries`](super::PackEntries). Never
    /// with a lock.
    Pack,
    /// The sender has opened an exposure epoch to the receiver.
    Post,
    /// The sender has freed the window, and not together with all ranks; the receiver says when all have
    /// left.
    Left,
    /// The window was revoked.
    Revoked,
    /// Send back what reaches the memory of the window without its owner's code.
    Key,
    /// Look again: a lock that this process may wait for has been released. Travels in the response lane.
    WakeUp,
}

/// Where the place of a request ends, but for a shape: a displacement, and an offset.
pub(super) const PLACED: usize = FIXED + 16;
/// Most bytes behind the place: operation and type, length, and where the reply goes.
const TAIL: usize = 18;
/// Longest head without a shape.
pub(crate) const RUN_HEAD: usize = PLACED + TAIL;

const SYNC: u8 = 1;
pub(super) const PUT: u8 = 2;
const GET: u8 = 3;
pub(super) const ACCUMULATE: u8 = 4;
const FETCH_OP: u8 = 5;
const COMPARE_SWAP: u8 = 6;
const POST: u8 = 7;
const GET_ACCUMULATE: u8 = 8;
const PACK: u8 = 9;
const LEFT: u8 = 10;
const REVOKED: u8 = 11;
const UNFINISHED: u8 = 12;
const KEY: u8 = 13;
/// Set in the code of a request whose place has a shape.
pub(super) const SHAPED: u8 = 0x40;
/// Set in the code of a request with a notice: the counter ends the head.
const NOTIFIED: u8 = 0x80;
/// Code of a wake-up; responses have other codes, because both travel in the response lane.
pub(super) const WAKE_UP: u8 = 15;

impl Request {
    /// The head as bytes.
    pub fn emit(&self) -> Head {
        let mut packet = [0; RUN_HEAD];
        let mut head = match self.put_head(&mut packet) {
            Some(len) => Head::from_slice(&packet[..len]),
            None => {
                let (mut head, (tail, len)) = (Head::from_slice(&packet[..PLACED]), self.kind.tail());
                if let Some(place) = self.kind.place() {
                    place.append_shape(&mut head);
                }
                head.extend_from_slice(&tail[..len]);
                head
            }
        };
        if let Some(counter) = self.flags.counter() {
            head[HEADER_LEN] |= NOTIFIED;
            head.extend_from_slice(&counter.to_le_bytes());
        }
        head
    }

    /// Puts the head at the front of a packet, but for a notice, and answers how long it is; `None` for one with a shape, of which only
    /// what comes before that is there.
    #[inline]
    pub(crate) fn put_head(&self, packet: &mut [u8; RUN_HEAD]) -> Option<usize> {
        packet[..FIXED].copy_from_slice(&fixed(
            self.kind.code(),
            self.flags.bits(),
            self.window,
            self.sequence,
        ));
        let Some(place) = self.kind.place() else {
            let (tail, len) = self.kind.tail();
            packet[FIXED..FIXED + TAIL].copy_from_slice(&tail);
            return Some(FIXED + len);
        };
        packet[FIXED..FIXED + 8].copy_from_slice(&place.disp.0.to_le_bytes());
        packet[FIXED + 8..PLACED].copy_from_slice(&place.first().to_le_bytes());
        if place.is_shaped() {
            return None;
        }
        let (tail, len) = self.kind.tail();
        packet[PLACED..].copy_from_slice(&tail);
        Some(PLACED + len)
    }

    /// The head at the front of a one-sided packet, and the data behind it.
    ///
    /// # Errors
    /// Why no process of this job sends such a packet.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut fields = Reader::new(packet);
        let Start { code, flags, window, sequence } = fields.start()?;
        let flags = RequestFlags::parse(flags)?;
        let (is_shaped, is_notified) = (code & SHAPED != 0, code & NOTIFIED != 0);
        let place = |fields: &mut Reader<'_>| TargetPlace::parse(fields, is_shaped);
        let kind = match code & !(SHAPED | NOTIFIED) {
            SYNC => RequestKind::Sync,
            PUT => RequestKind::Put(place(&mut fields)?),
            GET => RequestKind::Get {
                place: place(&mut fields)?,
                len: fields.u64()?,
                reply_to: RequestId::from_bits(fields.u64()?),
            },
            ACCUMULATE => {
                let place = place(&mut fields)?;
                RequestKind::Accumulate { place, kernel: parse_kernel(&mut fields)? }
            }
            FETCH_OP => {
                let place = place(&mut fields)?;
                let kernel = parse_kernel(&mut fields)?;
                RequestKind::FetchOp { place, kernel, reply_to: RequestId::from_bits(fields.u64()?) }
            }
            GET_ACCUMULATE => RequestKind::GetAccumulate {
                place: place(&mut fields)?,
                kernel: parse_kernel(&mut fields)?,
                len: fields.u64()?,
                reply_to: RequestId::from_bits(fields.u64()?),
            },
            COMPARE_SWAP => {
                let place = place(&mut fields)?;
                let basic = BasicType::from_code(fields.u8()?).ok_or("unknown basic type")?;
                let kernel =
                    CompareAndSwap::new(basic).ok_or("compare-and-swap on a type it is not defined for")?;
                RequestKind::CompareSwap { place, kernel, reply_to: RequestId::from_bits(fields.u64()?) }
            }
            UNFINISHED => RequestKind::Unfinished {
                acknowledged: fields.u64()?,
                reply_to: RequestId::from_bits(fields.u64()?),
            },
            PACK if flags.locks() => return Err("a pack that asks for a lock"),
            PACK => RequestKind::Pack,
            POST => RequestKind::Post,
            LEFT | REVOKED | KEY if flags != RequestFlags::NONE => {
                return Err("a flag in a request that is nothing but a word");
            }
            LEFT => RequestKind::Left,
            REVOKED => RequestKind::Revoked,
            KEY => RequestKind::Key,
            WAKE_UP => RequestKind::WakeUp,
            _ => return Err("unknown request kind"),
        };
        if is_shaped && !kind.takes_shape() {
            return Err("a shape of a request that has none");
        }
        if flags.has(RequestFlags::MORE) && !kind.takes_shape() {
            return Err("more of an operation that is one packet");
        }
        let flags = if is_notified { parse_notice(&mut fields, &kind, flags)? } else { flags };
        let data = fields.rest();
        if !kind.takes_data() && !data.is_empty() {
            return Err("data behind a request that takes none");
        }
        Ok((Self { window, flags, sequence, kind }, data))
    }
}

impl RequestKind {
    /// What comes behind the place, and how long it is.
    #[inline]
    fn tail(&self) -> ([u8; TAIL], usize) {
        let mut tail = [0; TAIL];
        let mut put = |at: usize, field: u64| tail[at..at + 8].copy_from_slice(&field.to_le_bytes());
        let len = match self {
            Self::Put(_) => 0,
            Self::Sync | Self::Pack | Self::Post | Self::Left | Self::Revoked => 0,
            Self::Key | Self::WakeUp => 0,
            Self::Get { len, reply_to, .. } => {
                put(0, *len);
                put(8, reply_to.to_bits());
                16
            }
            Self::Unfinished { acknowledged, reply_to } => {
                put(0, *acknowledged);
                put(8, reply_to.to_bits());
                16
            }
            Self::Accumulate { kernel, .. } => {
                tail[..2].copy_from_slice(&[kernel.op().code(), kernel.ty().code()]);
                2
            }
            Self::FetchOp { kernel, reply_to, .. } => {
                put(2, reply_to.to_bits());
                tail[..2].copy_from_slice(&[kernel.op().code(), kernel.ty().code()]);
                10
            }
            Self::GetAccumulate { kernel, len, reply_to, .. } => {
                put(2, *len);
                put(10, reply_to.to_bits());
                tail[..2].copy_from_slice(&[kernel.op().code(), kernel.ty().code()]);
                18
            }
            Self::CompareSwap { kernel, reply_to, .. } => {
                put(1, reply_to.to_bits());
                tail[0] = kernel.ty().code();
                9
            }
        };
        (tail, len)
    }

    /// Whether data follows the head.
    pub fn takes_data(&self) -> bool {
        !matches!(self, Self::Get { .. } | Self::Unfinished { .. }) && !self.is_bare()
    }

    /// The request of the origin that waits for data, for those that send some back.
    pub fn reply_to(&self) -> Option<RequestId> {
        match self {
            Self::Get { reply_to, .. }
            | Self::FetchOp { reply_to, .. }
            | Self::GetAccumulate { reply_to, .. }
            | Self::CompareSwap { reply_to, .. }
            | Self::Unfinished { reply_to, .. } => Some(*reply_to),
            Self::Put(_) | Self::Accumulate { .. } | Self::Pack => None,
            Self::Sync | Self::Post | Self::Left | Self::Revoked | Self::Key | Self::WakeUp => None,
        }
    }

    /// Where the request accesses memory, if it does.
    pub fn place(&self) -> Option<&TargetPlace> {
        match self {
            Self::Put(place)
            | Self::Get { place, .. }
            | Self::Accumulate { place, .. }
            | Self::FetchOp { place, .. }
            | Self::GetAccumulate { place, .. }
            | Self::CompareSwap { place, .. } => Some(place),
            Self::Sync | Self::Pack | Self::Post | Self::Left | Self::Revoked => None,
            Self::Key | Self::WakeUp | Self::Unfinished { .. } => None,
        }
    }

    /// Whether there is nothing but the head.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self, Self::Sync | Self::Post | Self::Left | Self::Revoked | Self::Key | Self::WakeUp)
    }

    /// Whether the request may access more than one run of bytes; such operations may also be cut into several packets.
    pub(super) fn takes_shape(&self) -> bool {
        matches!(self, Self::Put(_) | Self::Get { .. } | Self::Accumulate { .. } | Self::GetAccumulate { .. })
    }

    fn code(&self) -> u8 {
        let code = match self {
            Self::Sync => SYNC,
            Self::Put(_) => PUT,
            Self::Get { .. } => GET,
            Self::Accumulate { .. } => ACCUMULATE,
            Self::FetchOp { .. } => FETCH_OP,
            Self::GetAccumulate { .. } => GET_ACCUMULATE,
            Self::CompareSwap { .. } => COMPARE_SWAP,
            Self::Pack => PACK,
            Self::Post => POST,
            Self::Left => LEFT,
            Self::Revoked => REVOKED,
            Self::Unfinished { .. } => UNFINISHED,
            Self::Key => KEY,
            Self::WakeUp => WAKE_UP,
        };
        if self.place().is_some_and(TargetPlace::is_shaped) { code | SHAPED } else { code }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} window {} {:?}", self.sequence, self.kind, self.window, self.flags)
    }
}

/// The name of the request with this code, for traces; without an operation it is what rides on it.
pub(super) fn name_of(code: u8, flags: RequestFlags) -> &'static str {
    match code & !(SHAPED | NOTIFIED) {
        SYNC if flags.locks() => "lock",
        SYNC if flags.has(RequestFlags::UNLOCK) => "unlock",
        SYNC if flags.has(RequestFlags::DONE) => "done",
        SYNC if flags.has(RequestFlags::FENCE) => "fence",
        SYNC => "ack request",
        PUT => "put",
        GET => "get",
        ACCUMULATE => "accumulate",
        FETCH_OP => "fetch_and_op",
        GET_ACCUMULATE => "get_accumulate",
        COMPARE_SWAP => "compare_and_swap",
        PACK => "pack",
        POST => "post",
        LEFT => "left",
        REVOKED => "revoked",
        UNFINISHED => "unfinished",
        KEY => "ask for key",
        _ => "unknown",
    }
}

/// The flags with the notice that stands behind the rest of the head.
#[inline(never)]
fn parse_notice(
    fields: &mut Reader<'_>,
    kind: &RequestKind,
    flags: RequestFlags,
) -> Result<RequestFlags, &'static str> {
    if !kind.takes_shape() || flags.has(RequestFlags::MORE) {
        return Err("a notice in a request that ends no operation that has one");
    }
    Ok(flags.with(RequestFlags::notice(u32::from_le_bytes(fields.bytes()?))))
}

pub(super) fn parse_kernel(fields: &mut Reader<'_>) -> Result<Kernel, &'static str> {
    let op = ReduceOp::from_code(fields.u8()?).ok_or("unknown reduce operation")?;
    let basic = BasicType::from_code(fields.u8()?).ok_or("unknown basic type")?;
    Kernel::new(op, basic).ok_or("reduce operation on a type it is not defined for")
}
