//! Operations of accumulates. Only predefined ones are allowed (MPI 5.0 §12.3.4).

use crate::abi::{Handle, OPERATIONS};
use crate::errors::{ERR_OP, Failure};
use crate::fixed::{FACTORS, Fixed};
use crate::library::host;
use crate::memory::handle;
use crate::ours;
use crate::table::Table;

static KNOWN: Table<32> = Table::new();

/// The library's codes of these, in the highest 16 bits.
static PREDEFINED: Fixed<256, { FACTORS[2] }> = Fixed::new();

/// The library's codes of an operation, from bit 48 on, if they are found at once, as for datatypes.
#[inline(always)]
pub(crate) fn find_predefined(op: Handle) -> Option<u64> {
    PREDEFINED.find(op).map(|codes| codes as u64)
}

/// The library's operation.
#[inline(always)]
pub(crate) fn find(op: Handle) -> Result<Handle, Box<Failure>> {
    KNOWN.find(handle(op)).ok_or_else(|| {
        Failure::new(ERR_OP, "op is none of the predefined operations, which alone are allowed here")
    })
}

/// Enters the predefined ones.
pub(crate) fn enter_predefined() {
    for named in OPERATIONS {
        let theirs = host().handle_of(named);
        if theirs != 0 {
            KNOWN.insert(theirs, named.standard);
            PREDEFINED.insert(theirs, (ours::codes_of_op(named.standard) << 48) as usize);
        }
    }
}
