//! Envelope and contents of a datatype of the host.

use crate::abi::{Aint, Combiner, Handle};
use crate::errors::{ERR_TYPE, Failure};
use crate::library::host;
use crate::memory::Handles;
use crate::theirs;
use std::ffi::c_int;

/// How a datatype was made, and of what.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) combiner: Combiner,
    pub(super) numbers: Vec<c_int>,
    pub(super) addresses: Vec<Aint>,
    pub(super) kinds: Vec<Handle>,
}

impl Contents {
    /// Asks the host. Datatypes among the contents that are not predefined are the caller's to free.
    ///
    /// # Safety
    /// A datatype of the host.
    pub(super) unsafe fn of(kind: Handle) -> Result<Self, Box<Failure>> {
        let [mut n, mut a, mut k, mut combiner] = [0; 4];
        // SAFETY: as the caller promises; room for four numbers.
        let code =
            unsafe { theirs::type_get_envelope(kind, &raw mut n, &raw mut a, &raw mut k, &raw mut combiner) };
        let known = Combiner::of(host().family, combiner).filter(|_| code == 0);
        let Some(combiner) = known else {
            return Err(Failure::new(
                ERR_TYPE,
                format!("a datatype whose combiner is {combiner} is not known"),
            ));
        };
        let (mut numbers, mut addresses) = (vec![0; n as usize + 1], vec![0; a as usize + 1]);
        let mut kinds = Handles::new(k as usize);
        if combiner != Combiner::Named {
            // SAFETY: as the caller promises; there is as much room as the envelope asks for.
            let code = unsafe {
                theirs::type_get_contents(
                    kind,
                    n,
                    a,
                    k,
                    numbers.as_mut_ptr(),
                    addresses.as_mut_ptr(),
                    kinds.room(),
                )
            };
            if code != 0 {
                return Err(Failure::new(ERR_TYPE, "the contents of a datatype are not told"));
            }
        }
        numbers.truncate(n as usize);
        addresses.truncate(a as usize);
        let kinds = (0..k as usize).map(|index| kinds.get(index)).collect();
        Ok(Self { combiner, numbers, addresses, kinds })
    }
}
