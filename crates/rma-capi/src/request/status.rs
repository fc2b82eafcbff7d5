//! `MPI_Status`: how a request ended, as C programs see it (MPI 5.0 §3.2.5).

use crate::abi::*;
use crate::arguments::{In, Out};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

/// What a status tells, but for the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) bytes: u64,
    pub(crate) is_cancelled: bool,
}

/// How something ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) status: Status,
    pub(crate) error: Option<Error>,
}

/// Where a call stores a status; may be `MPI_STATUS_IGNORE`.
pub(crate) type StatusOut = Out<MPI_Status>;

const BYTES_LOW: usize = 0;
const BYTES_HIGH: usize = 1;
/// Which of the words that are the library's says so.
pub(crate) const IS_CANCELLED: usize = 2;

impl Status {
    /// The status of a null request, and of what has none (§3.7.3).
    pub(crate) const EMPTY: Self =
        Self { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, bytes: 0, is_cancelled: false };

    /// The status of a receive from `MPI_PROC_NULL` (§3.10).
    pub(crate) const NO_PROCESS: Self = Self { source: MPI_PROC_NULL, ..Self::EMPTY };

    pub(crate) const CANCELLED: Self = Self { is_cancelled: true, ..Self::EMPTY };

    /// Stores it, unless the place is `MPI_STATUS_IGNORE`. The error field stays as it is (§3.2.5).
    pub(crate) fn store(self, place: StatusOut) {
        if !place.is_null() {
            // Both succeed: the place is not null.
            let error = place.current().one("status").map_or(0, |status| status.MPI_ERROR);
            let _ = place.set("status", self.to_abi(error));
        }
    }

    /// Stores the empty status, of which the error field is a part (§3.7.3).
    pub(crate) fn store_empty(place: StatusOut) {
        Self::EMPTY.store_with(MPI_SUCCESS, place);
    }

    /// As [`Status::store`], with an error code.
    fn store_with(self, error: c_int, place: StatusOut) {
        if !place.is_null() {
            // Succeeds: the place is not null.
            let _ = place.set("status", self.to_abi(error));
        }
    }

    /// Stores which of so many requests of a call have failed, by place and code, and which have not, unless the array is
    /// `MPI_STATUSES_IGNORE`.
    pub(crate) fn set_errors(count: usize, codes: &[(usize, c_int)], statuses: StatusOut) {
        let set = |place: usize, code: c_int| {
            let place = statuses.at(place);
            if let Some(status) = place.value() {
                // Succeeds: there is a place.
                let _ = place.set("status", MPI_Status { MPI_ERROR: code, ..status });
            }
        };
        (0..count).for_each(|place| set(place, MPI_SUCCESS));
        codes.iter().for_each(|(place, code)| set(*place, *code));
    }

    pub(super) fn to_abi(self, error: c_int) -> MPI_Status {
        let mut status =
            MPI_Status { MPI_SOURCE: self.source, MPI_TAG: self.tag, MPI_ERROR: error, MPI_internal: [0; 5] };
        set_bytes(&mut status.MPI_internal, self.bytes);
        status.MPI_internal[IS_CANCELLED] = self.is_cancelled.into();
        status
    }

    /// What a status of the program says.
    pub(super) fn of_abi(status: &MPI_Status) -> Self {
        Self {
            source: status.MPI_SOURCE,
            tag: status.MPI_TAG,
            bytes: bytes_in(&status.MPI_internal),
            is_cancelled: status.MPI_internal[IS_CANCELLED] != 0,
        }
    }
}

impl End {
    pub(crate) fn done() -> Self {
        Self::with(Status::EMPTY)
    }

    pub(crate) fn with(status: Status) -> Self {
        Self { status, error: None }
    }

    /// Stores how several requests ended, one behind the other, unless the array is `MPI_STATUSES_IGNORE`. Their error fields
    /// stay as they are, unless there is an error that they have to tell (§3.2.5).
    pub(crate) fn store_all<'a>(ends: impl ExactSizeIterator<Item = &'a Self> + Clone, statuses: StatusOut) {
        let code = |(place, end): (usize, &Self)| end.error.as_ref().map(|error| (place, error.code()));
        let codes: Vec<_> = ends.clone().enumerate().filter_map(code).collect();
        let count = ends.len();
        ends.enumerate().for_each(|(place, end)| end.status.store(statuses.at(place)));
        if !codes.is_empty() {
            Status::set_errors(count, &codes, statuses);
        }
    }

    /// Whether it is none: a possible source of a receive has failed, and another one may still send.
    pub(crate) fn is_no_end(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.class() == ErrorClass::ProcFailedPending)
    }

    /// As [`End::into_result`], in a call that leaves no request behind: what is no end is one then.
    pub(crate) fn into_blocking(self) -> Result<Status> {
        let is_no_end = self.is_no_end();
        self.into_result().map_err(|error| match is_no_end {
            true => Error::new(ErrorClass::ProcFailed, error.call(), error.cause()),
            false => error,
        })
    }

    pub(crate) fn into_result(self) -> Result<Status> {
        match self.error {
            None => Ok(self.status),
            Some(error) => Err(error),
        }
    }
}

impl From<Result<Status>> for End {
    fn from(result: Result<Status>) -> Self {
        match result {
            Ok(status) => Self::with(status),
            Err(error) => Self { status: Status::EMPTY, error: Some(error) },
        }
    }
}

/// Puts a number of bytes into the words of a status that are the library's.
pub(crate) fn set_bytes(internal: &mut [c_int; 5], bytes: u64) {
    internal[BYTES_LOW] = bytes as u32 as c_int;
    internal[BYTES_HIGH] = (bytes >> 32) as u32 as c_int;
}

/// The number of bytes that a status tells.
pub(crate) fn bytes_of(status: In<MPI_Status>) -> Result<u64> {
    Ok(bytes_in(&status.one("status")?.MPI_internal))
}

fn bytes_in(internal: &[c_int; 5]) -> u64 {
    u64::from(internal[BYTES_LOW] as u32) | u64::from(internal[BYTES_HIGH] as u32) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_64_bits_of_bytes() {
        let status = Status { source: 3, tag: 9, bytes: 0x1_8000_0002, is_cancelled: true }.to_abi(7);
        assert_eq!((status.MPI_SOURCE, status.MPI_TAG, status.MPI_ERROR), (3, 9, 7));
        assert_eq!(status.MPI_internal, [0x8000_0002_u32 as c_int, 1, 1, 0, 0]);
    }
}
