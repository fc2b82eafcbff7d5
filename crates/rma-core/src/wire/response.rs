//! Response packets: what a target answers. They travel in the response lane and never ask for anything.
//!
//! Every response names the sequence number of the request it answers, and thereby acknowledges all requests up to it:
//! a target applies in order (lessons, decision 5).

use super::fields::{FIXED, Head, Reader, Start, fixed, head};
use super::header::HEADER_LEN;
use crate::ids::{RequestId, Sequence, WindowId};
use std::fmt;

/// What a response says besides its kind.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ResponseFlags(u8);

impl ResponseFlags {
    /// Nothing but the acknowledgement.
    pub const NONE: Self = Self(0);
    /// The lock that the request asked for is held.
    pub const GRANT: Self = Self(1);
    /// The lock request is queued, but what came with it was dropped: the origin sends it again after the grant.
    pub const REFUSED: Self = Self(2);
    /// An error that acknowledges nothing, as no acknowledgement was asked for: no operation has to wait for
    /// it.
    pub const NOTE: Self = Self(4);
    /// With a grant: a process died with the lock, and this origin is the first to have it since.
    pub const BEQUEATHED: Self = Self(8);

    /// Any bits: for names, which need no legal packet.
    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether all of `other`'s flags are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and `other`'s.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for ResponseFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "",
            1 => "grant",
            2 => "refused",
            4 => "note",
            9 => "grant, bequeathed",
            _ => "several",
        })
    }
}

/// A response packet's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The window at the origin.
    pub window: WindowId,
    /// What else is said.
    pub flags: ResponseFlags,
    /// The request that is answered.
    pub sequence: Sequence,
    /// The answer.
    pub kind: ResponseKind,
}

/// What a response brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// Only what head and flags say.
    Ack,
    /// The data that operation `to` waits for, behind the head or as a bulk body.
    Data {
        /// The operation of the origin.
        to: RequestId,
    },
    /// The request was not carried out.
    Error {
        /// The operation of the origin that gets no data, if it waits for some.
        to: Option<RequestId>,
        /// First byte that the request would have accessed, from the window's start; saturated.
        start: u64,
        /// Number of bytes that it would have accessed.
        len: u64,
        /// Size of the target's window in bytes.
        size: u64,
    },
    /// The request ended an access epoch of start, but no exposure epoch was open to its sender. Always a note.
    NotPosted,
    /// All ranks that live have left the window. Always a note.
    Over,
    /// How the memory of the window is reached without its owner's code. Acknowledges nothing.
    Key {
        /// The network's key.
        key: u64,
        /// What the network counts offsets from.
        base: u64,
        /// Size of the memory in bytes; 0 when it cannot be reached so.
        size: u64,
        /// Displacement unit in bytes.
        unit: u64,
    },
}

/// Longest head of an acknowledgement or of data.
pub(crate) const SHORT_HEAD: usize = FIXED + 8;

/// Length of what an acknowledgement says of the target's memory.
const MEMORY_LEN: usize = 16;

const ACK: u8 = 1;
const DATA: u8 = 2;
const ERROR: u8 = 3;
const NOT_POSTED: u8 = 4;
const OVER: u8 = 5;
const KEY: u8 = 6;
const NO_REQUEST: u64 = u64::MAX;

impl Response {
    /// Puts the head of an acknowledgement or of data at the front of a packet and answers how long it is; `None` for the others, whose
    /// heads are longer or rare.
    #[inline]
    pub(crate) fn put_head(&self, packet: &mut [u8; SHORT_HEAD]) -> Option<usize> {
        let Self { window, flags, sequence, kind } = *self;
        let (code, to, len) = match kind {
            ResponseKind::Ack => (ACK, 0, FIXED),
            ResponseKind::Data { to } => (DATA, to.to_bits(), SHORT_HEAD),
            ResponseKind::Error { .. } | ResponseKind::Key { .. } => return None,
            ResponseKind::NotPosted | ResponseKind::Over => return None,
        };
        packet[..FIXED].copy_from_slice(&fixed(code, flags.0, window, sequence));
        packet[FIXED..].copy_from_slice(&to.to_le_bytes());
        Some(len)
    }

    /// The head as bytes.
    pub fn emit(&self) -> Head {
        let mut short = [0; SHORT_HEAD];
        if let Some(len) = self.put_head(&mut short) {
            return Head::from_slice(&short[..len]);
        }
        let (code, fields) = match self.kind {
            ResponseKind::Error { to, start, len, size } => {
                (ERROR, [to.map_or(NO_REQUEST, RequestId::to_bits), start, len, size])
            }
            ResponseKind::Key { key, base, size, unit } => (KEY, [key, base, size, unit]),
            ResponseKind::Over => return head(OVER, self.flags.0, self.window, self.sequence),
            _ => return head(NOT_POSTED, self.flags.0, self.window, self.sequence),
        };
        let mut head = head(code, self.flags.0, self.window, self.sequence);
        for field in fields {
            head.extend_from_slice(&field.to_le_bytes());
        }
        head
    }

    /// Size in bytes and displacement unit of the target's memory, if these data behind an acknowledgement bring them.
    #[inline]
    pub(crate) fn memory(&self, data: &[u8]) -> Option<(u64, u64)> {
        if self.kind != ResponseKind::Ack {
            return None;
        }
        let (size, unit) = data.split_first_chunk()?;
        Some((u64::from_le_bytes(*size), u64::from_le_bytes(unit.try_into().ok()?)))
    }

    /// Whether it grants a lock with which a process had died.
    pub(crate) fn is_bequeathed(&self) -> bool {
        self.flags.has(ResponseFlags::BEQUEATHED)
    }

    /// Whether a packet of the response lane is a wake-up, which is a request by form.
    pub fn is_wake_up(packet: &[u8]) -> bool {
        packet.get(HEADER_LEN) == Some(&super::request::WAKE_UP)
    }

    /// The head at the front of a one-sided packet, and the data behind it.
    ///
    /// # Errors
    /// Why no process of this job sends such a packet.
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let mut fields = Reader::new(packet);
        let Start { code, flags, window, sequence } = fields.start()?;
        let flags = ResponseFlags(flags);
        if !matches!(flags.0, 0 | 1 | 2 | 4 | 9) {
            return Err("unknown response flag");
        }
        if flags == ResponseFlags::REFUSED && code != ACK {
            return Err("a refusal that brings something");
        }
        let kind = match code {
            ACK => ResponseKind::Ack,
            DATA => ResponseKind::Data { to: RequestId::from_bits(fields.u64()?) },
            ERROR => ResponseKind::Error {
                to: Some(fields.u64()?).filter(|bits| *bits != NO_REQUEST).map(RequestId::from_bits),
                start: fields.u64()?,
                len: fields.u64()?,
                size: fields.u64()?,
            },
            KEY if flags == ResponseFlags::NONE => ResponseKind::Key {
                key: fields.u64()?,
                base: fields.u64()?,
                size: fields.u64()?,
                unit: fields.u64()?,
            },
            NOT_POSTED if flags == ResponseFlags::NOTE => ResponseKind::NotPosted,
            OVER if flags == ResponseFlags::NOTE => ResponseKind::Over,
            _ => return Err("unknown response kind"),
        };
        let data = fields.rest();
        match kind {
            ResponseKind::Data { .. } => {}
            ResponseKind::Ack if data.len() == MEMORY_LEN => {}
            _ if data.is_empty() => {}
            _ => return Err("data behind a response that brings none"),
        }
        Ok((Self { window, flags, sequence, kind }, data))
    }
}

/// The name of the response with this code, for traces.
pub(super) fn name_of(code: u8, flags: ResponseFlags) -> &'static str {
    match code {
        ACK if flags.has(ResponseFlags::GRANT) => "grant",
        ACK if flags.has(ResponseFlags::REFUSED) => "refused",
        ACK => "ack",
        DATA => "data",
        ERROR => "error",
        OVER => "over",
        KEY => "key",
        _ => "unknown",
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} window {} {:?}", self.sequence, self.kind, self.window, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Response> {
        let to = RequestId { index: 1, generation: 2 };
        let kinds = [
            ResponseKind::Ack,
            ResponseKind::Data { to },
            ResponseKind::Error { to: None, start: u64::MAX, len: 1, size: 0 },
            ResponseKind::Error { to: Some(to), start: 5, len: 6, size: 7 },
        ];
        let window = WindowId { index: 1, generation: 1 };
        kinds
            .into_iter()
            .map(|kind| Response { window, flags: ResponseFlags::GRANT, sequence: Sequence(3), kind })
            .chain([ResponseKind::NotPosted, ResponseKind::Over].map(|kind| Response {
                window,
                flags: ResponseFlags::NOTE,
                sequence: Sequence(4),
                kind,
            }))
            .chain([Response {
                window,
                flags: ResponseFlags::GRANT.with(ResponseFlags::BEQUEATHED),
                sequence: Sequence(5),
                kind: ResponseKind::Ack,
            }])
            .chain([Response {
                window,
                flags: ResponseFlags::NONE,
                sequence: Sequence(0),
                kind: ResponseKind::Key { key: u64::MAX, base: 1, size: 2, unit: 3 },
            }])
            .collect()
    }

    #[test]
    fn every_response_survives_its_wire_form_and_no_cut_one_is_accepted() {
        for response in samples() {
            let head = response.emit();
            assert_eq!(Response::parse(&head), Ok((response, &[][..])));
            assert!(!Response::is_wake_up(&head));
            for len in 0..head.len() {
                assert!(Response::parse(&head[..len]).is_err());
            }
        }
    }

    #[test]
    fn unknown_flags_and_stray_data_are_refused() {
        // A bequest is of a grant.
        for flags in [3, 5, 8, 10, 11] {
            let mut head = samples()[0].emit();
            head[3] = flags;
            assert!(Response::parse(&head).is_err(), "flags {flags}");
        }
        for response in samples() {
            let head = response.emit();
            let bring = |len: usize| Response::parse(&[&head[..], &vec![0; len]].concat()).is_ok();
            let legal = [0, 1, 15, 16, 17].map(bring);
            let expected = match response.kind {
                ResponseKind::Data { .. } => [true; 5],
                ResponseKind::Ack => [true, false, false, true, false],
                _ => [true, false, false, false, false],
            };
            assert_eq!(legal, expected, "{response:?}");
        }
        for flags in [ResponseFlags::NONE, ResponseFlags::GRANT] {
            for kind in [ResponseKind::NotPosted, ResponseKind::Over] {
                let unasked = Response { flags, kind, ..samples()[0] };
                assert!(Response::parse(&unasked.emit()).is_err(), "it acknowledges nothing");
            }
        }
    }

    #[test]
    fn a_refusal_brings_nothing() {
        for (response, is_legal) in samples().into_iter().zip([true, false, false, false, false, false, true])
        {
            let refusal = Response { flags: ResponseFlags::REFUSED, ..response };
            assert_eq!(Response::parse(&refusal.emit()).is_ok(), is_legal, "{refusal:?}");
        }
    }
}
