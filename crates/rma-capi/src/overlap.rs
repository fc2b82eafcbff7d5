//! Buffers of one call that must have no byte in common (MPI 5.0 §2.3, and §3.9, §6 and §12.3.4 for the calls).
//!
//! What is compared are the bytes that a buffer is sure to touch: all of elements that lie side by side, and of others the
//! first byte. So whatever is refused overlaps; elements with gaps may lie between each other, and are not looked through.

use crate::arguments::Memory;
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::Datatype;

/// Bytes that a buffer touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    start: usize,
    len: u64,
}

impl Touched {
    /// Those of so many elements; nothing when these have no bytes.
    pub(crate) fn by(memory: Memory, count: u64, datatype: &Datatype) -> Option<Self> {
        if count == 0 || datatype.size() == 0 {
            return None;
        }
        Some(match datatype.dense_len(count) {
            // Other checks name it.
            Some(_) if memory.is_no_place() => return None,
            Some(len) => Self { start: memory.address(), len },
            None => Self { start: memory.offset(datatype.true_lower_bound()).address(), len: 1 },
        })
    }

    fn end(self) -> usize {
        self.start.saturating_add(usize::try_from(self.len).unwrap_or(usize::MAX))
    }
}

/// Checks that what a call reads and what it writes have no byte in common. `names` are the arguments', in this order.
///
/// # Errors
/// `MPI_ERR_BUFFER`: where they meet.
pub(crate) fn check_apart(
    names: [&str; 2],
    reads: impl Iterator<Item = Touched> + Clone,
    writes: impl Iterator<Item = Touched> + Clone,
) -> Result<()> {
    let (Some((first, end)), Some((other, other_end))) = (hull(reads.clone()), hull(writes.clone())) else {
        return Ok(());
    };
    // Nearly always all that has to be looked at.
    if end <= other || other_end <= first {
        return Ok(());
    }
    let mut pieces: Vec<(Touched, usize)> =
        reads.map(|piece| (piece, 0)).chain(writes.map(|piece| (piece, 1))).collect();
    pieces.sort_unstable_by_key(|(piece, _)| piece.start);
    // Of each side, the piece so far that goes furthest.
    let mut furthest: [Option<Touched>; 2] = [None; 2];
    for (piece, side) in pieces {
        if let Some(before) = furthest[1 - side]
            && piece.start < before.end()
        {
            return Err(refused(names, if side == 0 { [piece, before] } else { [before, piece] }));
        }
        let longer = furthest[side].filter(|own| own.end() >= piece.end());
        furthest[side] = Some(longer.unwrap_or(piece));
    }
    Ok(())
}

/// The same for two buffers of `len` bytes each.
#[inline]
pub(crate) fn check_spans_apart(names: [&str; 2], reads: Memory, writes: Memory, len: u64) -> Result<()> {
    match are_apart(reads, writes, len) {
        true => Ok(()),
        false => Err(refused(names, [reads, writes].map(|memory| Touched { start: memory.address(), len }))),
    }
}

/// Whether two buffers of `len` bytes each have none in common.
#[inline(always)]
pub(crate) fn are_apart(one: Memory, other: Memory, len: u64) -> bool {
    one.address().abs_diff(other.address()) as u64 >= len
}

fn hull(pieces: impl Iterator<Item = Touched>) -> Option<(usize, usize)> {
    pieces
        .map(|piece| (piece.start, piece.end()))
        .reduce(|(start, end), (other, other_end)| (start.min(other), end.max(other_end)))
}

#[cold]
fn refused(names: [&str; 2], [reads, writes]: [Touched; 2]) -> Error {
    let [read, written] = names;
    let cause = format!(
        "{read} at {:#x} and {written} at {:#x}, {} and {} bytes long, overlap, but must have no byte in common",
        reads.start, writes.start, reads.len, writes.len
    );
    Error::new(ErrorClass::Buffer, "", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(reads: &[(usize, u64)], writes: &[(usize, u64)]) -> bool {
        let touched = |pieces: &[(usize, u64)]| -> Vec<Touched> {
            pieces.iter().map(|&(start, len)| Touched { start, len }).collect()
        };
        let (reads, writes) = (touched(reads), touched(writes));
        let end = check_apart(["sendbuf", "recvbuf"], reads.iter().copied(), writes.iter().copied());
        end.is_err_and(|error| error.class() == ErrorClass::Buffer)
    }

    #[test]
    fn pieces_of_the_two_sides_may_not_meet_and_those_of_one_may() {
        assert!(!meets(&[], &[(8, 8)]) && !meets(&[(8, 8)], &[]));
        assert!(!meets(&[(8, 8)], &[(16, 8)]) && !meets(&[(16, 8)], &[(8, 8)]));
        assert!(meets(&[(8, 8)], &[(15, 8)]) && meets(&[(15, 8)], &[(8, 8)]) && meets(&[(8, 1)], &[(8, 1)]));
        // Side by side in turn, and the pieces of one side over each other.
        assert!(!meets(&[(0, 4), (8, 4), (8, 2), (8, 4)], &[(4, 4), (12, 4)]));
        // A long piece reaches beyond short ones that come after it.
        assert!(meets(&[(0, 100), (4, 4), (20, 4)], &[(50, 4)]));
        assert!(meets(&[(50, 4)], &[(0, 100), (4, 4), (20, 4)]));
        assert!(meets(&[(usize::MAX - 3, 100)], &[(usize::MAX - 1, 1)]));
    }

    /// Against every byte, for small pieces in a small room.
    #[test]
    fn they_meet_when_they_have_a_byte_in_common() {
        for case in 0u32..1 << 14 {
            let piece = |at: u32| ((case >> at & 7) as usize, u64::from(case >> (at + 3) & 1) * 2 + 1);
            let (reads, writes) =
                ([piece(0), piece(4)], [(((case >> 8) & 7) as usize, 2), ((case >> 11) as usize, 1)]);
            let bytes = |pieces: [(usize, u64); 2]| {
                pieces
                    .map(|(start, len)| ((1u64 << len) - 1) << start)
                    .into_iter()
                    .fold(0, |all, piece| all | piece)
            };
            assert_eq!(meets(&reads, &writes), bytes(reads) & bytes(writes) != 0, "{reads:?} {writes:?}");
        }
    }
}
