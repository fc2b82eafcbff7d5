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
pub(crate) struct State(pub(crate) *mut c_void);

// SAFETY: handed back only, to a function that is called by one thread at a time, whichever that is.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

/// Longest contribution of a rank; addresses have a few hundred bytes.
const MOST: usize = 1 << 24;

#[derive(Clone, Copy, Debug)]
struct Given {
    rank: u32,
    size: u32,
    function: GatherFunction,
    state: State,
}

static GIVEN: Mutex<Option<Given>> = Mutex::new(None);

/// The next start is this one.
pub(crate) fn give(rank: u32, size: u32, function: GatherFunction, state: State) {
    *GIVEN.lock() = Some(Given { rank, size, function, state });
}

/// The start that was given. All ranks meet in it.
///
/// # Errors
/// When the allgather fails.
pub(crate) fn take() -> Result<Option<Allgather>> {
    let Some(given) = GIVEN.lock().take() else { return Ok(None) };
    Allgather::new(given.rank, given.size, move |mine| given.gather(mine)).map(Some)
}

impl Given {
    /// Contributions of any lengths: first the lengths, then all in blocks of the longest.
    fn gather(self, mine: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let lengths = self.gather_equal(&(mine.len() as u64).to_ne_bytes())?;
        let lengths: Vec<u64> =
            lengths.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let longest =
            lengths.iter().max().and_then(|longest| usize::try_from(*longest).ok()).unwrap_or(usize::MAX);
        if longest > MOST {
            return Err(io::Error::other("a rank is said to have given more than 16 MiB"));
        }
        let mut block = mine.to_vec();
        block.resize(longest, 0);
        let all = if longest > 0 { self.gather_equal(&block)? } else { Vec::new() };
        let of = |(rank, length): (usize, &u64)| all[rank * longest..][..*length as usize].to_vec();
        Ok(lengths.iter().enumerate().map(of).collect())
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
