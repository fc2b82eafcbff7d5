//! The start that another runtime gives: an allgather in C as one of bytes of any lengths.

use parking_lot::Mutex;
use rma::{Allgather, Result};
use std::ffi::{c_int, c_void};
use std::io;

/// `MPIX_Gather_function`: gives `length` bytes of this rank, as many as each rank gives, and stores those of all in rank order;
/// answers 0.
pub(crate) type GatherFunction =
    unsafe extern "C" fn(*const c_void, c_int, *mut c_void, *mut c_void) -> c_int;

/// What the function gets last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartState(pub(crate) *mut c_void);

// SAFETY: handed back only, to a function that is called by one thread at a time, whichever that is.
unsafe impl Send for StartState {}
// SAFETY: as above.
unsafe impl Sync for StartState {}

/// Longest contribution of a rank; addresses have a few hundred bytes.
const MOST: usize = 1 << 24;

/// Bytes of a contribution that go with its length: most have no more.
const AT_ONCE: usize = 1016;
const LENGTH: usize = size_of::<u64>();

/// A start that was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) function: GatherFunction,
    pub(crate) state: StartState,
    /// Whether another MPI sends the program's messages, so that before its first window a process has nothing to serve.
    pub(crate) is_of_guest: bool,
}

static GIVEN: Mutex<Option<Given>> = Mutex::new(None);

/// The next start is this one.
pub(crate) fn give(given: Given) {
    *GIVEN.lock() = Some(given);
}

/// The start that was given.
pub(crate) fn take() -> Option<Given> {
    GIVEN.lock().take()
}

impl Given {
    /// The start as an allgather. All ranks meet in it.
    ///
    /// # Errors
    /// When the allgather fails.
    pub(crate) fn meet(self) -> Result<Allgather> {
        Allgather::new(self.rank, self.size, move |mine| self.gather(mine))
    }

    /// Contributions of any lengths: each rank's length with as much as most have, so that one call does; then the rest of all in blocks
    /// of the longest.
    fn gather(self, mine: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut block = (mine.len() as u64).to_le_bytes().to_vec();
        block.extend(mine.iter().take(AT_ONCE));
        block.resize(LENGTH + AT_ONCE, 0);
        let firsts = self.gather_equal(&block)?;
        let firsts = firsts.chunks_exact(LENGTH + AT_ONCE).map(|block| block.split_at(LENGTH));
        let mut all = Vec::new();
        let mut lengths = Vec::new();
        for (length, first) in firsts {
            let length = length.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if length > MOST {
                return Err(io::Error::other("a rank is said to have given more than 16 MiB"));
            }
            all.push(first[..length.min(AT_ONCE)].to_vec());
            lengths.push(length.saturating_sub(AT_ONCE));
        }
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest > 0 {
            let mut block = mine.get(AT_ONCE..).unwrap_or_default().to_vec();
            block.resize(longest, 0);
            let rests = self.gather_equal(&block)?;
            let rests = rests.chunks_exact(longest).zip(&lengths);
            all.iter_mut().zip(rests).for_each(|(all, (rest, length))| all.extend(&rest[..*length]));
        }
        Ok(all)
    }

    fn gather_equal(self, mine: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = vec![0; mine.len() * self.size as usize];
        // SAFETY: what `mpi-ext.h` has the program promise: it reads as many bytes as are there, and stores as many
        // of each rank as there is room for.
        let answer = unsafe {
            (self.function)(mine.as_ptr().cast(), mine.len() as c_int, all.as_mut_ptr().cast(), self.state.0)
        };
        if answer == 0 { Ok(all) } else { Err(io::Error::other(format!("it answered {answer}"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{copy_nonoverlapping, null_mut};

    /// Of a job of two ranks, the other of which gives what this one gives.
    unsafe extern "C" fn twice(mine: *const c_void, len: c_int, all: *mut c_void, _: *mut c_void) -> c_int {
        let len = len as usize;
        // SAFETY: room for as many bytes of two ranks.
        unsafe {
            copy_nonoverlapping(mine.cast::<u8>(), all.cast::<u8>(), len);
            copy_nonoverlapping(mine.cast::<u8>(), all.cast::<u8>().add(len), len);
        }
        0
    }

    #[test]
    fn contributions_of_any_length_are_gathered() {
        let given =
            Given { rank: 0, size: 2, function: twice, state: StartState(null_mut()), is_of_guest: false };
        for len in [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 5000] {
            let mine: Vec<u8> = (0..len).map(|place| place as u8).collect();
            assert_eq!(given.gather(&mine).unwrap(), [mine.clone(), mine], "{len} bytes");
        }
    }
}
