//! A collective of the host that a creation has begun, and what came of it.

use crate::error::{Error, ErrorClass, Result};
use crate::host::{Host, HostRequest, Outcome, SegmentSet};
use smallvec::SmallVec;
use std::fmt;

/// A collective of the host, and what came of it.
pub(super) enum Pending {
    Waiting(HostRequest),
    Came(Result<Outcome>),
}

impl Pending {
    pub(super) fn started(request: Result<HostRequest>) -> Self {
        request.map_or_else(|error| Self::Came(Err(error)), Self::Waiting)
    }

    /// Advances; answers whether it has come.
    pub(super) fn poll(&mut self, host: &dyn Host) -> bool {
        if let Self::Waiting(request) = self {
            match host.poll(*request) {
                Ok(None) => return false,
                Ok(Some(outcome)) => *self = Self::Came(Ok(outcome)),
                Err(error) => *self = Self::Came(Err(error)),
            }
        }
        true
    }

    /// Leaves the collective, if it has not come to its end.
    pub(super) fn abandon(self, host: &dyn Host) {
        if let Self::Waiting(request) = self {
            host.abandon(request);
        }
    }

    /// Why it has failed, if it has.
    pub(super) fn failure(&self) -> Option<Error> {
        match self {
            Self::Came(Err(error)) => Some(error.clone()),
            Self::Came(Ok(_)) | Self::Waiting(_) => None,
        }
    }

    /// The values that it has given, if it has.
    pub(super) fn success(&self) -> Option<&[u64]> {
        match self {
            Self::Came(Ok(Outcome::Values(values))) => Some(values),
            Self::Came(_) | Self::Waiting(_) => None,
        }
    }

    pub(super) fn values(self) -> Result<SmallVec<[u64; 8]>> {
        match self {
            Self::Came(Ok(Outcome::Values(values))) => Ok(values),
            Self::Came(Err(error)) => Err(error),
            Self::Came(Ok(outcome)) => Err(unexpected(&outcome)),
            Self::Waiting(_) => Err(Error::new(ErrorClass::Intern, "win_create", "a reduction is not over")),
        }
    }

    pub(super) fn segment(self) -> Result<SegmentSet> {
        match self {
            Self::Came(Ok(Outcome::Segment(segment))) => Ok(segment),
            Self::Came(Err(error)) => Err(error),
            Self::Came(Ok(outcome)) => Err(unexpected(&outcome)),
            Self::Waiting(_) => Err(Error::new(ErrorClass::Intern, "win_create", "the segment is not made")),
        }
    }
}

#[cold]
pub(super) fn unexpected(outcome: &dyn fmt::Debug) -> Error {
    let cause = format!("the host answered a step of the creation with {outcome:?}");
    Error::new(ErrorClass::Intern, "win_create", cause)
}
