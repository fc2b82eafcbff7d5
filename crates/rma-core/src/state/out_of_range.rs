//! An access outside a window, before it is known which call it is an error of.

use super::NO_SIZE;
use crate::datatype::Layout;
use crate::error::{Error, ErrorClass};
use crate::ids::Rank;

/// In the place of its size: the window was freed there, and its memory was the program's.
const HAS_LEFT: u64 = u64::MAX - 1;

/// An access outside a window: first byte (saturated), number of bytes, and the window's size ([`NO_SIZE`] for a dynamic
/// window).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) size: u64,
}

impl OutOfRange {
    /// An access to a window that has been freed, and had memory of the program.
    pub(crate) const LEFT: Self = Self { start: 0, len: 0, size: HAS_LEFT };

    /// The error of a layout's bytes, counted from byte `start`, or from one past 2^64.
    #[cold]
    pub(crate) fn of_layout(start: Option<u64>, layout: &Layout, size: u64) -> Self {
        let (low, high) = layout.bounds();
        let first = start.map_or(i128::MAX, |start| i128::from(start) + i128::from(low));
        Self { start: u64::try_from(first).unwrap_or(u64::MAX), len: (high - low) as u64, size }
    }

    #[cold]
    pub(crate) fn into_error(self, call: &'static str, target: Rank) -> Error {
        let Self { start, len, size } = self;
        if size == HAS_LEFT {
            let cause = format!("rank {target} has freed the window, and its memory may be gone");
            return Error::new(ErrorClass::ProcAborted, call, cause).about(target);
        }
        let cause = match (start, size) {
            (_, NO_SIZE) => {
                format!("{len} bytes from address {start:#x} are not attached to the window of rank {target}")
            }
            (u64::MAX, _) => {
                format!(
                    "{len} bytes from a byte past 2^64 or before it are not within the window of rank {target}, which has {size} bytes"
                )
            }
            _ => {
                format!(
                    "{len} bytes from byte {start} are not within the window of rank {target}, which has {size} bytes"
                )
            }
        };
        let error = Error::new(ErrorClass::RmaRange, call, cause).about(target);
        if size == NO_SIZE { error } else { error.with_limit(size) }
    }
}
