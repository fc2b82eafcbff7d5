//! The ranks that calls on a communicator name: its own, or those of the remote group (MPI 5.0 §7.6).

use rma::raw::{Intercommunicator, Plane, Scope};
use rma::{Communicator, Result};
use rma_core::ids::Peer;
use std::sync::Arc;

/// The ranks that messages go to and come from.
#[derive(Clone)]
pub(crate) enum Partners {
    Own(Arc<Communicator>),
    Remote(Arc<Intercommunicator>),
}

impl Partners {
    pub(crate) fn size(&self) -> u32 {
        match self {
            Self::Own(comm) => comm.size(),
            Self::Remote(inter) => inter.remote().size(),
        }
    }

    /// The process of a rank.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank.
    pub(crate) fn peer(&self, rank: u32) -> Result<Peer> {
        match self {
            Self::Own(comm) => comm.peer(rank),
            Self::Remote(inter) => inter.peer(rank),
        }
    }

    pub(crate) fn rank_of(&self, peer: Peer) -> Option<u32> {
        match self {
            Self::Own(comm) => comm.rank_of(peer),
            Self::Remote(inter) => inter.rank_of(peer),
        }
    }

    /// What the program's messages are told apart by.
    pub(crate) fn scope(&self) -> Scope {
        self.plane(Plane::User)
    }

    /// The same of its messages in partitions.
    pub(crate) fn scope_of_partitions(&self) -> Scope {
        self.plane(Plane::Partitioned)
    }

    fn plane(&self, plane: Plane) -> Scope {
        match self {
            Self::Own(comm) => comm.scope(plane),
            Self::Remote(inter) => inter.scope(plane),
        }
    }
}
