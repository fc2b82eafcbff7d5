//! Errors: an MPI error class, the call that failed, and a sentence with argument, value and limit.
//!
//! One type serves the whole workspace, so that a class decided where an error is detected reaches the C caller
//! unchanged. Detection happens before memory is touched; an [`Error`] is a value, never a log line.

use crate::ids::{Rank, WindowId};
use std::fmt;

/// Error classes of MPI that one-sided communication raises (MPI 3.1 table 11.2 and §8.4), with the values of the
/// MPI 5.0 standard ABI. The ABI has no values for those of fault tolerance: they are MPICH's, which lie below
/// `MPI_ERR_LASTCODE` as those of any implementation must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is the MPI constant of the same name
pub enum ErrorClass {
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Unknown = 14,
    Truncate = 15,
    Other = 16,
    Intern = 17,
    Pending = 18,
    InStatus = 19,
    Assert = 22,
    Base = 24,
    Conversion = 25,
    Disp = 26,
    InfoKey = 31,
    InfoNokey = 32,
    InfoValue = 33,
    Info = 34,
    Keyval = 36,
    Locktype = 37,
    NoMem = 39,
    RmaAttach = 46,
    RmaConflict = 47,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Size = 52,
    UnsupportedOperation = 55,
    Win = 56,
    RmaFlavor = 57,
    ProcAborted = 58,
    ValueTooLarge = 59,
    Session = 60,
    Errhandler = 61,
    Abi = 62,
    ProcFailed = 101,
    ProcFailedPending = 102,
    Revoked = 103,
    RmaNotification = 104,
}

impl ErrorClass {
    /// Every class, in the order of the values.
    const ALL: [Self; 48] = [
        Self::Buffer,
        Self::Count,
        Self::Type,
        Self::Tag,
        Self::Comm,
        Self::Rank,
        Self::Request,
        Self::Root,
        Self::Group,
        Self::Op,
        Self::Topology,
        Self::Dims,
        Self::Arg,
        Self::Unknown,
        Self::Truncate,
        Self::Other,
        Self::Intern,
        Self::Pending,
        Self::InStatus,
        Self::Assert,
        Self::Base,
        Self::Conversion,
        Self::Disp,
        Self::InfoKey,
        Self::InfoNokey,
        Self::InfoValue,
        Self::Info,
        Self::Keyval,
        Self::Locktype,
        Self::NoMem,
        Self::RmaAttach,
        Self::RmaConflict,
        Self::RmaRange,
        Self::RmaShared,
        Self::RmaSync,
        Self::Size,
        Self::UnsupportedOperation,
        Self::Win,
        Self::RmaFlavor,
        Self::ProcAborted,
        Self::ValueTooLarge,
        Self::Session,
        Self::Errhandler,
        Self::Abi,
        Self::ProcFailed,
        Self::ProcFailedPending,
        Self::Revoked,
        Self::RmaNotification,
    ];

    /// The class with this value, if it is one of these.
    pub fn with_value(value: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|class| *class as i32 == value)
    }

    /// The constant's name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffer => "MPI_ERR_BUFFER",
            Self::Count => "MPI_ERR_COUNT",
            Self::Type => "MPI_ERR_TYPE",
            Self::Tag => "MPI_ERR_TAG",
            Self::Comm => "MPI_ERR_COMM",
            Self::Rank => "MPI_ERR_RANK",
            Self::Request => "MPI_ERR_REQUEST",
            Self::Root => "MPI_ERR_ROOT",
            Self::Group => "MPI_ERR_GROUP",
            Self::Op => "MPI_ERR_OP",
            Self::Topology => "MPI_ERR_TOPOLOGY",
            Self::Dims => "MPI_ERR_DIMS",
            Self::Arg => "MPI_ERR_ARG",
            Self::Unknown => "MPI_ERR_UNKNOWN",
            Self::Truncate => "MPI_ERR_TRUNCATE",
            Self::Other => "MPI_ERR_OTHER",
            Self::Intern => "MPI_ERR_INTERN",
            Self::Pending => "MPI_ERR_PENDING",
            Self::InStatus => "MPI_ERR_IN_STATUS",
            Self::Assert => "MPI_ERR_ASSERT",
            Self::Base => "MPI_ERR_BASE",
            Self::Disp => "MPI_ERR_DISP",
            Self::InfoKey => "MPI_ERR_INFO_KEY",
            Self::InfoNokey => "MPI_ERR_INFO_NOKEY",
            Self::InfoValue => "MPI_ERR_INFO_VALUE",
            Self::Info => "MPI_ERR_INFO",
            Self::Keyval => "MPI_ERR_KEYVAL",
            Self::Locktype => "MPI_ERR_LOCKTYPE",
            Self::NoMem => "MPI_ERR_NO_MEM",
            Self::RmaAttach => "MPI_ERR_RMA_ATTACH",
            Self::RmaConflict => "MPI_ERR_RMA_CONFLICT",
            Self::RmaRange => "MPI_ERR_RMA_RANGE",
            Self::RmaShared => "MPI_ERR_RMA_SHARED",
            Self::RmaSync => "MPI_ERR_RMA_SYNC",
            Self::Size => "MPI_ERR_SIZE",
            Self::UnsupportedOperation => "MPI_ERR_UNSUPPORTED_OPERATION",
            Self::Win => "MPI_ERR_WIN",
            Self::RmaFlavor => "MPI_ERR_RMA_FLAVOR",
            Self::ProcAborted => "MPI_ERR_PROC_ABORTED",
            Self::ValueTooLarge => "MPI_ERR_VALUE_TOO_LARGE",
            Self::Session => "MPI_ERR_SESSION",
            Self::Conversion => "MPI_ERR_CONVERSION",
            Self::Errhandler => "MPI_ERR_ERRHANDLER",
            Self::Abi => "MPI_ERR_ABI",
            Self::ProcFailed => "MPIX_ERR_PROC_FAILED",
            Self::ProcFailedPending => "MPIX_ERR_PROC_FAILED_PENDING",
            Self::Revoked => "MPIX_ERR_REVOKED",
            Self::RmaNotification => "MPIX_ERR_RMA_NOTIFICATION",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The result type of every fallible call of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: class, call, and a sentence that names argument, value and limit.
///
/// One pointer wide, so that the success path of a hot call stays in registers.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Clone, PartialEq, Eq)]
struct Details {
    class: ErrorClass,
    code: i32,
    call: &'static str,
    cause: String,
    rank: Option<Rank>,
    limit: Option<u64>,
    window: Option<WindowId>,
}

impl Error {
    /// An error of `class` raised by `call`; `cause` is lower case and names argument, value and limit.
    #[cold]
    pub fn new(class: ErrorClass, call: &'static str, cause: impl Into<String>) -> Self {
        let (code, cause) = (class as i32, cause.into());
        Self(Box::new(Details { class, code, call, cause, rank: None, limit: None, window: None }))
    }

    /// A rank that is outside of its group; `argument` names what was given.
    #[cold]
    pub fn rank_outside(call: &'static str, argument: &str, rank: i64, size: u32) -> Self {
        let cause = format!("{argument} {rank} is not in {}", Below(size.into()));
        let error = Self::new(ErrorClass::Rank, call, cause).with_limit(size.into());
        match u32::try_from(rank) {
            Ok(rank) => error.about(Rank(rank)),
            Err(_) => error,
        }
    }

    /// The MPI error class.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The number for the program: that of the class, unless a function of the program has answered another
    /// one.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// The same error, with a number that a function of the program has answered.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = code;
        self
    }

    /// The call that failed, `put` for example.
    pub fn call(&self) -> &'static str {
        self.0.call
    }

    /// The sentence without class and call.
    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// The rank that was lost, is outside of its group, or whose memory or epoch the call missed; none for errors of no single rank.
    pub fn rank(&self) -> Option<u32> {
        self.0.rank.map(|rank| rank.0)
    }

    /// What the argument named in the sentence must keep to: the number of ranks, of counters, the bytes of the rank's memory.
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// The window whose call failed, as [`Window::id`](crate::window::Window::id) names it; none where it was not made yet.
    pub fn window(&self) -> Option<WindowId> {
        self.0.window
    }

    /// The same error, of a call on a window.
    #[cold]
    #[must_use]
    pub fn in_window(mut self, window: WindowId) -> Self {
        self.0.window = Some(window);
        self
    }

    /// The same error, of a rank.
    #[must_use]
    pub fn about(mut self, rank: Rank) -> Self {
        self.0.rank = Some(rank);
        self
    }

    /// The same error, of an argument with a limit.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.0.limit = Some(limit);
        self
    }

    /// The same error, reported by the call the user made instead of the inner one that noticed.
    #[must_use]
    pub fn in_call(mut self, call: &'static str) -> Self {
        self.0.call = call;
        self
    }
}

/// The numbers from 0 on that are below this one, as messages name them: by the first and the last.
#[derive(Clone, Copy, Debug)]
pub struct Below(pub u64);

impl fmt::Display for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(1) {
            None => f.write_str("an empty range"),
            Some(last) => write!(f, "0 to {last}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.0.call, self.0.cause, self.0.class)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_and_says_all_it_knows() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
        let error = Error::new(ErrorClass::Rank, "put", "target rank 7 is not in 0 to 3");
        assert_eq!(error.to_string(), "put: target rank 7 is not in 0 to 3 (MPI_ERR_RANK)");
        assert_eq!(error.in_call("rput").call(), "rput");
        assert_eq!([0, 1, 9].map(|limit| Below(limit).to_string()), ["an empty range", "0 to 0", "0 to 8"]);
    }
}
