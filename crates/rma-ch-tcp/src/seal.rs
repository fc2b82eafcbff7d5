//! Records: the stream of frames in sealed pieces, where `RMA_TCP_AUTHENTICATE` asks for it.
//!
//! ```text
//!   length, 4 bytes │ tag of the length, 16 │ a piece of the stream, that many bytes │ tag of the piece, 16
//! ```
//!
//! A tag is the first half of HMAC-SHA-256 under a key of this connection and direction ([`Keys`]), over which of the two it is,
//! the record's number, which is not sent, and the bytes. So a record holds in its place only: one that was changed, left out, put
//! in, sent again or moved is found. The length has a tag of its own, so that no receiver waits for bytes that were never announced.
//!
//! Invariants: no byte of a piece is handed out before its tag was compared, in constant time; what is sealed lies in memory of
//! this file's own, since memory that others may write would change behind its tag. Knows no frames and no peers.

use crate::mac::Mac;
use crate::sys::ReceiveVec;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// The longest piece. A tag costs the same for each byte, so longer ones would save system calls only.
const PIECE: usize = 32 << 10;
const TAG: usize = 16;
/// The length and its tag.
const HEADER: usize = 4 + TAG;
/// The longest record.
pub(crate) const RECORD: usize = HEADER + PIECE + TAG;

/// The keys of a connection, one for each direction.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) send: [u8; 32],
    pub(crate) receive: [u8; 32],
}

/// Seals what is sent.
pub(crate) struct Sealer {
    tags: Tags,
    record: Vec<u8>,
    /// The part of the record that is sealed and not sent.
    start: usize,
    end: usize,
}

/// Opens what has arrived.
pub(crate) struct Opener {
    tags: Tags,
    bytes: Vec<u8>,
    /// The part of the bytes that has arrived and is not taken: `start .. end`.
    start: usize,
    end: usize,
    /// Length of the record under way, once its tag was right.
    len: Option<usize>,
    /// Bytes from `start` on whose tag was right.
    opened: usize,
    /// The system had no more when it was asked last.
    is_drained: bool,
}

/// A record is not the one that was sent in this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forged {
    record: u64,
}

/// What a tag is for.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Of {
    Length = 1,
    Piece = 2,
}

/// The key of one direction, and the number of the record that is next.
struct Tags {
    key: Mac,
    record: u64,
}

impl Tags {
    fn new(key: &[u8; 32]) -> Self {
        Self { key: Mac::new(key), record: 0 }
    }

    fn hash(&self, of: Of, bytes: &[u8]) -> Mac {
        let mut hash = self.key.clone();
        let mut place = [0; 9];
        place[0] = of as u8;
        place[1..].copy_from_slice(&self.record.to_le_bytes());
        hash.update(&place);
        hash.update(bytes);
        hash
    }

    fn write(&self, of: Of, bytes: &[u8], tag: &mut [u8]) {
        tag.copy_from_slice(&self.hash(of, bytes).finish()[..TAG]);
    }

    fn check(&self, of: Of, bytes: &[u8], tag: &[u8]) -> Result<(), Forged> {
        if self.hash(of, bytes).begins_with(tag) { Ok(()) } else { Err(self.forged()) }
    }

    fn forged(&self) -> Forged {
        Forged { record: self.record }
    }
}

impl Sealer {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self { tags: Tags::new(key), record: vec![0; RECORD], start: 0, end: 0 }
    }

    /// Where the next piece is written, as much as there is; then [`Sealer::seal`] is called. Only when nothing waits.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.is_idle(), "a sealed record waits");
        &mut self.record[HEADER..HEADER + PIECE]
    }

    /// Seals the first `len` bytes of the room, at least one.
    pub(crate) fn seal(&mut self, len: usize) {
        debug_assert!((1..=PIECE).contains(&len));
        // At most `PIECE`, which is such a number.
        let length = (len as u32).to_le_bytes();
        self.record[..4].copy_from_slice(&length);
        self.tags.write(Of::Length, &length, &mut self.record[4..HEADER]);
        let (piece, tag) = self.record[HEADER..].split_at_mut(len);
        self.tags.write(Of::Piece, piece, &mut tag[..TAG]);
        // 2⁶⁴ records are more than a connection can carry.
        self.tags.record += 1;
        (self.start, self.end) = (0, HEADER + len + TAG);
    }

    /// What is sealed and waits to be sent.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.record[self.start..self.end]
    }

    /// Takes sent bytes off what waits.
    pub(crate) fn sent(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.end);
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.start == self.end
    }
}

impl Opener {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self {
            tags: Tags::new(key),
            bytes: vec![0; RECORD],
            start: 0,
            end: 0,
            len: None,
            opened: 0,
            is_drained: false,
        }
    }

    /// Bytes of the stream that are proven and not taken; none when the next record has not arrived wholly.
    ///
    /// # Errors
    /// When a tag is wrong. The opener is of no use then.
    pub(crate) fn opened(&mut self) -> Result<&[u8], Forged> {
        if self.opened == 0 {
            self.open()?;
        }
        Ok(&self.bytes[self.start..self.start + self.opened])
    }

    /// Takes bytes off what [`Opener::opened`] has answered.
    pub(crate) fn took(&mut self, len: usize) {
        debug_assert!((1..=self.opened).contains(&len));
        self.opened -= len;
        self.start += len;
        if self.opened == 0 {
            self.start += TAG;
            self.len = None;
            self.tags.record += 1;
        }
    }

    /// Reads once; says how many bytes. Only when nothing is opened.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        debug_assert_eq!(self.opened, 0, "proven bytes are taken first");
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let mut vector = ReceiveVec::new();
        vector.push(&mut self.bytes[self.end..]);
        let room = vector.len();
        let len = vector.receive(socket)?;
        self.end += len;
        self.is_drained = len < room;
        Ok(len)
    }

    /// A call begins that is to read what the system has now: that it had no more in an earlier one says nothing, since what has come
    /// meanwhile was reported then.
    pub(crate) fn begin(&mut self) {
        self.is_drained = false;
    }

    /// Whether the system had no more when it was asked last.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Whether something has arrived that is not taken, or may have.
    pub(crate) fn may_have_more(&self) -> bool {
        self.start < self.end || !self.is_drained
    }

    /// Opens the next record, if it is there.
    fn open(&mut self) -> Result<(), Forged> {
        let arrived = &self.bytes[self.start..self.end];
        let len = match self.len {
            Some(len) => len,
            None => {
                let Some(header) = arrived.get(..HEADER) else { return Ok(()) };
                let (length, tag) = header.split_at(4);
                self.tags.check(Of::Length, length, tag)?;
                let mut word = [0; 4];
                word.copy_from_slice(length);
                let len = u32::from_le_bytes(word) as usize;
                if !(1..=PIECE).contains(&len) {
                    return Err(self.tags.forged());
                }
                *self.len.insert(len)
            }
        };
        let Some(piece) = arrived.get(HEADER..HEADER + len + TAG) else { return Ok(()) };
        let (piece, tag) = piece.split_at(len);
        self.tags.check(Of::Piece, piece, tag)?;
        self.start += HEADER;
        self.opened = len;
        Ok(())
    }
}

impl fmt::Display for Forged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "record {} of the connection has a wrong tag: it was changed, repeated, moved or put in on the way \
             (RMA_TCP_AUTHENTICATE)",
            self.record
        )
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("record", &self.tags.record).finish_non_exhaustive()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("record", &self.tags.record).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
