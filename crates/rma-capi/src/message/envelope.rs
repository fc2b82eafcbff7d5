//! The source and destination of a message: ranks and tags of the program, and what the runtime calls them
//! (MPI 5.0 §3.2.3, §3.2.4).

use crate::abi::*;
use crate::communicator::{Partners, TAG_UB};
use crate::request::Status;
use rma::raw::{Received, Scope, Waiting};
use rma::{Below, Error, ErrorClass, Result};
use rma_core::ids::Peer;
use std::ffi::c_int;

/// What a receive or a probe takes.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) scope: Scope,
    pub(crate) source: Option<Peer>,
    /// The rank of the source, or `MPI_ANY_SOURCE`.
    pub(crate) rank: c_int,
    pub(crate) tag: Option<u64>,
}

/// Whose message a receive takes, as its status tells it.
pub(crate) enum Sender {
    Rank(c_int),
    /// Any of these, which stay known when another thread frees the communicator.
    OneOf(Partners),
}

/// Where a message goes.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub(crate) scope: Scope,
    pub(crate) to: Peer,
    pub(crate) tag: u64,
}

impl Wanted {
    /// `None` stands for `MPI_PROC_NULL`, from which nothing comes.
    pub(crate) fn new(partners: &Partners, source: c_int, tag: c_int) -> Result<Option<Self>> {
        let tag = match tag {
            MPI_ANY_TAG => None,
            tag => Some(tag_of(tag, ", and is not MPI_ANY_TAG")?),
        };
        let rank = source;
        let source = match rank {
            MPI_PROC_NULL => return Ok(None),
            MPI_ANY_SOURCE => None,
            rank => Some(peer(partners, "source", rank)?),
        };
        Ok(Some(Self { scope: partners.scope(), source, rank, tag }))
    }

    /// The sender of what this takes from some of these.
    pub(crate) fn sender(&self, partners: &Partners) -> Sender {
        match self.rank {
            MPI_ANY_SOURCE => Sender::OneOf(partners.clone()),
            rank => Sender::Rank(rank),
        }
    }
}

impl Sender {
    /// The status of a message that was received.
    pub(crate) fn status_of(&self, received: &Received) -> Status {
        self.status(received.source, received.tag, received.len)
    }

    /// The status of a message that waits.
    pub(crate) fn status_of_waiting(&self, waiting: Waiting) -> Status {
        self.status(waiting.source, waiting.tag, waiting.len)
    }

    fn status(&self, source: Peer, tag: u64, bytes: u64) -> Status {
        match self {
            Self::Rank(rank) => status(*rank, tag, bytes),
            Self::OneOf(partners) => status(rank_of(partners, source), tag, bytes),
        }
    }
}

impl Address {
    /// `None` stands for `MPI_PROC_NULL`, to which nothing goes.
    pub(crate) fn new(partners: &Partners, dest: c_int, tag: c_int) -> Result<Option<Self>> {
        let tag = tag_of(tag, "")?;
        match dest {
            MPI_PROC_NULL => Ok(None),
            dest => Ok(Some(Self { scope: partners.scope(), to: peer(partners, "dest", dest)?, tag })),
        }
    }
}

/// The status of a message that waits.
pub(crate) fn status_of_waiting(partners: &Partners, waiting: Waiting) -> Status {
    status(rank_of(partners, waiting.source), waiting.tag, waiting.len)
}

fn rank_of(partners: &Partners, source: Peer) -> c_int {
    // Messages of a communicator come from its ranks, with tags that were checked there.
    partners.rank_of(source).map_or(MPI_ANY_SOURCE, |rank| rank as c_int)
}

fn status(source: c_int, tag: u64, bytes: u64) -> Status {
    Status { source, tag: tag as c_int, bytes, is_cancelled: false }
}

fn peer(partners: &Partners, name: &str, rank: c_int) -> Result<Peer> {
    let size = partners.size();
    match u32::try_from(rank) {
        Ok(rank) if rank < size => partners.peer(rank),
        _ => {
            let cause = format!("{name} is rank {rank}, which is not in {}", Below(size.into()));
            Err(Error::new(ErrorClass::Rank, "", cause))
        }
    }
}

fn tag_of(tag: c_int, besides: &str) -> Result<u64> {
    u64::try_from(tag)
        .map_err(|_| Error::new(ErrorClass::Tag, "", format!("tag {tag} is not in 0 to {TAG_UB}{besides}")))
}
