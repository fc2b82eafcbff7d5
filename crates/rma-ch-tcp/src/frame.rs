//! Frames: what follows the handshake on a connection, written and read.
//!
//! A frame is a header of eight bytes and what the header announces; `crates/rma-ch-tcp/wire.md` has the table. The
//! [`Decoder`] takes whatever bytes are there and says what they are or how many it needs. Invariants: no
//! input panics; a length is compared with its limit before that many bytes are waited for; what is accepted
//! is what [`packet`], [`bulk`], [`chunk`] and [`goodbye`] can produce in some order that keeps clause C1.
//! Knows no connection and no memory but its input.

use rma_core::channel::Lane;
use std::fmt;

/// Length of every frame header.
pub(crate) const HEADER: usize = 8;
/// Length of what stands before the head in a bulk frame: the header and the body's length.
pub(crate) const BULK_HEADER: usize = HEADER + 8;

const PACKET: u8 = 1;
const BULK: u8 = 2;
const CHUNK: u8 = 3;
const GOODBYE: u8 = 4;

/// What stands before a small packet of `len` bytes.
pub(crate) fn packet(lane: Lane, len: u32) -> [u8; HEADER] {
    header(PACKET, lane, len)
}

/// What stands before the head, of `head_len` bytes, of a bulk packet.
pub(crate) fn bulk(lane: Lane, head_len: u32, body_len: u64) -> [u8; BULK_HEADER] {
    let mut bytes = [0; BULK_HEADER];
    bytes[..HEADER].copy_from_slice(&header(BULK, lane, head_len));
    bytes[HEADER..].copy_from_slice(&body_len.to_le_bytes());
    bytes
}

/// What stands before `len` bytes of a bulk body.
pub(crate) fn chunk(lane: Lane, len: u32) -> [u8; HEADER] {
    header(CHUNK, lane, len)
}

/// The last frame of a connection that is closed in order.
pub(crate) fn goodbye() -> [u8; HEADER] {
    header(GOODBYE, Lane::Request, 0)
}

fn header(kind: u8, lane: Lane, len: u32) -> [u8; HEADER] {
    let [a, b, c, d] = len.to_le_bytes();
    [kind, lane as u8, 0, 0, a, b, c, d]
}

/// One answer of the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// The input does not hold the next frame yet: this many bytes from its start do. Never more than the longest
    /// packet and its header.
    Need(usize),
    /// A small packet; drop `used` bytes of the input.
    Packet { lane: Lane, bytes: &'a [u8], used: usize },
    /// A bulk packet's head; drop `used` bytes of the input.
    Bulk { lane: Lane, head: &'a [u8], body_len: u64, used: usize },
    /// The start of a piece of a body; drop the header. Its bytes are what [`Decoder::body`] then expects.
    Chunk,
    /// The peer has closed in order; drop the header.
    Goodbye,
}

/// The bytes of a body that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// Lane of the bulk packet.
    pub(crate) lane: Lane,
    /// Bytes up to the next frame header.
    pub(crate) chunk_left: u32,
    /// Bytes up to the end of the body.
    pub(crate) body_left: u64,
}

/// Bytes that no process of the job sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    Kind(u8),
    Lane(u8),
    Reserved,
    Empty,
    TooLong { len: u32, limit: u32 },
    BodyTooLong(u64),
    BodyOpen(Lane),
    NoBody(Lane),
    ChunkTooLong { len: u32, left: u64 },
    AfterGoodbye,
}

/// Tells frames apart, and remembers what may follow.
#[derive(Debug)]
pub(crate) struct Decoder {
    longest_packet: u32,
    /// Bytes of each lane's body that have not come yet; a lane with some takes only chunks.
    body_left: [u64; 2],
    /// The chunk under way; its length is not zero.
    chunk: Option<(Lane, u32)>,
    goodbye: bool,
}

impl Decoder {
    /// For a connection whose packets and heads have at most `longest_packet` bytes.
    pub(crate) fn new(longest_packet: u32) -> Self {
        Self { longest_packet, body_left: [0; 2], chunk: None, goodbye: false }
    }

    /// The part of a body that comes next, if it is not a frame.
    pub(crate) fn body(&self) -> Option<Body> {
        let (lane, chunk_left) = self.chunk?;
        Some(Body { lane, chunk_left, body_left: self.body_left[lane as usize] })
    }

    /// Says that `len` bytes of [`Decoder::body`] have come; answers whether the body is complete.
    ///
    /// # Panics
    /// When no or fewer bytes were expected.
    pub(crate) fn body_arrived(&mut self, len: u32) -> bool {
        let (lane, left) = self.chunk.expect("a chunk is under way");
        let left = left.checked_sub(len).expect("no more bytes than the chunk has");
        self.chunk = (left > 0).then_some((lane, left));
        // A chunk is never longer than its body: checked when its header came.
        self.body_left[lane as usize] -= u64::from(len);
        self.body_left[lane as usize] == 0
    }

    /// Whether the peer has closed in order.
    pub(crate) fn said_goodbye(&self) -> bool {
        self.goodbye
    }

    /// Reads the frame at the start of `bytes`. Called between frames: when [`Decoder::body`] expects nothing.
    ///
    /// # Errors
    /// When no process of the job sends such bytes. The decoder is of no use then.
    pub(crate) fn decode<'a>(&mut self, bytes: &'a [u8]) -> Result<Step<'a>, FrameError> {
        debug_assert!(self.chunk.is_none(), "body bytes are not a frame");
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            // Garbage is found as soon as its first byte is there, since nothing can follow it.
            return match bytes.first() {
                Some(_) if self.goodbye => Err(FrameError::AfterGoodbye),
                Some(kind) if !(PACKET..=GOODBYE).contains(kind) => Err(FrameError::Kind(*kind)),
                _ => Ok(Step::Need(HEADER)),
            };
        };
        let [kind, lane, 0, 0, length @ ..] = *header else { return Err(FrameError::Reserved) };
        let len = u32::from_le_bytes(length);
        let lane = Lane::ALL.into_iter().find(|l| *l as u8 == lane).ok_or(FrameError::Lane(lane))?;
        if self.goodbye {
            return Err(FrameError::AfterGoodbye);
        }
        match kind {
            PACKET => {
                self.check_packet(lane, len)?;
                let used = HEADER + len as usize;
                Ok(match rest.get(..len as usize) {
                    Some(bytes) => Step::Packet { lane, bytes, used },
                    None => Step::Need(used),
                })
            }
            BULK => {
                self.check_packet(lane, len)?;
                let used = BULK_HEADER + len as usize;
                let Some((body_len, rest)) = rest.split_first_chunk() else { return Ok(Step::Need(used)) };
                let body_len = u64::from_le_bytes(*body_len);
                match body_len {
                    0 => return Err(FrameError::Empty),
                    // Lengths of memory fit 63 bits.
                    _ if i64::try_from(body_len).is_err() => return Err(FrameError::BodyTooLong(body_len)),
                    _ => {}
                }
                let Some(head) = rest.get(..len as usize) else { return Ok(Step::Need(used)) };
                self.body_left[lane as usize] = body_len;
                Ok(Step::Bulk { lane, head, body_len, used })
            }
            CHUNK => {
                let left = self.body_left[lane as usize];
                match len {
                    0 => Err(FrameError::Empty),
                    _ if left == 0 => Err(FrameError::NoBody(lane)),
                    _ if u64::from(len) > left => Err(FrameError::ChunkTooLong { len, left }),
                    _ => {
                        self.chunk = Some((lane, len));
                        Ok(Step::Chunk)
                    }
                }
            }
            GOODBYE if len != 0 || lane != Lane::Request => Err(FrameError::Reserved),
            GOODBYE => match Lane::ALL.into_iter().find(|lane| self.body_left[*lane as usize] > 0) {
                Some(lane) => Err(FrameError::BodyOpen(lane)),
                None => {
                    self.goodbye = true;
                    Ok(Step::Goodbye)
                }
            },
            _ => Err(FrameError::Kind(kind)),
        }
    }

    fn check_packet(&self, lane: Lane, len: u32) -> Result<(), FrameError> {
        match len {
            0 => Err(FrameError::Empty),
            _ if len > self.longest_packet => Err(FrameError::TooLong { len, limit: self.longest_packet }),
            _ if self.body_left[lane as usize] > 0 => Err(FrameError::BodyOpen(lane)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "a frame of kind {kind}"),
            Self::Lane(lane) => write!(f, "a frame of lane {lane}"),
            Self::Reserved => f.write_str("a frame header with bits that are always zero"),
            Self::Empty => f.write_str("a frame of no bytes"),
            Self::TooLong { len, limit } => write!(f, "a packet of {len} bytes, over the limit of {limit}"),
            Self::BodyTooLong(len) => write!(f, "a body of {len} bytes"),
            Self::BodyOpen(lane) => write!(f, "a frame in the midst of a body of lane {}", *lane as u8),
            Self::NoBody(lane) => write!(f, "a piece of no body in lane {}", *lane as u8),
            Self::ChunkTooLong { len, left } => {
                write!(f, "a piece of {len} bytes of a body that lacks {left}")
            }
            Self::AfterGoodbye => f.write_str("a frame after goodbye"),
        }
    }
}

#[cfg(test)]
mod tests;
