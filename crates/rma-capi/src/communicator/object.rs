//! A communicator and its table, and how one is made from another.

use super::hints::Hints;
use super::partners::Partners;
use crate::abi::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_Comm};
use crate::attributes::{AttributeOwner, Attributes, OwnerKind};
use crate::errors::{Attached, Raiser, Subject};
use crate::handle::Table;
use crate::name::Name;
use crate::topology::{Neighborhood, Topology};
use rma::raw::Intercommunicator;
use rma::{Communicator, Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::{Arc, OnceLock};

/// A communicator of the program.
pub(crate) struct Comm {
    /// The ranks that it is made of; of an intercommunicator, those of the local group.
    pub(crate) inner: Arc<Communicator>,
    /// With the other group, if there is one.
    pub(crate) inter: Option<Arc<Intercommunicator>>,
    pub(crate) handler: Arc<Attached>,
    pub(crate) name: Name,
    pub(crate) attributes: Attributes,
    pub(crate) hints: Hints,
    pub(crate) topology: Option<Arc<Topology>>,
    /// This rank's place in it, looked up once.
    neighborhood: OnceLock<Neighborhood>,
    partners: Partners,
}

/// The highest tag that messages can have.
pub(crate) const TAG_UB: c_int = c_int::MAX;

pub(crate) static COMMS: Table<MPI_Comm, Comm> = Table::new();

impl Comm {
    /// One of the two that are there from the start.
    pub(crate) fn predefined(inner: Arc<Communicator>, name: &str) -> Self {
        let initial = &inner.runtime().configuration().runtime.initial_errhandler;
        Self {
            handler: Arc::new(Attached::initial(initial)),
            partners: Partners::Own(Arc::clone(&inner)),
            inner,
            inter: None,
            name: Name::of(name),
            attributes: Attributes::new(),
            hints: Hints::default(),
            topology: None,
            neighborhood: OnceLock::new(),
        }
    }

    /// Its topology.
    ///
    /// # Errors
    /// `MPI_ERR_TOPOLOGY` when it has none.
    pub(crate) fn topology(&self) -> Result<&Topology> {
        self.topology.as_deref().ok_or_else(|| Error::new(ErrorClass::Topology, "", "comm has no topology"))
    }

    /// The neighbors of this rank.
    ///
    /// # Errors
    /// As [`Comm::topology`].
    pub(crate) fn neighborhood(&self) -> Result<&Neighborhood> {
        let topology = self.topology()?;
        Ok(self.neighborhood.get_or_init(|| topology.neighborhood(self.inner.rank())))
    }

    /// Enters a communicator made from this one. It has this one's error handler, and neither name nor attributes.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub(crate) fn enter(&self, inner: Communicator, hints: Hints) -> Result<MPI_Comm> {
        self.offspring(hints).enter_itself(Arc::new(inner), None)
    }

    /// Enters an intercommunicator made from this one; see [`Comm::enter`].
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub(crate) fn enter_inter(&self, inter: Intercommunicator, hints: Hints) -> Result<MPI_Comm> {
        self.offspring(hints).enter_inter(inter)
    }

    /// What a communicator made from this one has before its ranks are known.
    pub(crate) fn offspring(&self, hints: Hints) -> Offspring {
        let handler = Arc::new(Attached::inherited(&self.handler));
        Offspring { handler, attributes: Attributes::new(), hints, topology: None }
    }

    /// What a duplicate of this one has before its ranks are known.
    pub(crate) fn duplicate(&self, hints: Hints) -> Offspring {
        Offspring { topology: self.topology.clone(), ..self.offspring(hints) }
    }

    /// The communicator of one group.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` when it is an intercommunicator.
    pub(crate) fn intra(&self) -> Result<&Arc<Communicator>> {
        match self.inter {
            None => Ok(&self.inner),
            Some(_) => Err(Error::new(
                ErrorClass::Comm,
                "",
                "comm is an intercommunicator, which the call does not take",
            )),
        }
    }

    /// The handler for errors of what outlives a call; `handle` is this communicator's.
    pub(crate) fn raiser(&self, handle: MPI_Comm) -> Raiser {
        match handle {
            // They are never freed.
            MPI_COMM_WORLD | MPI_COMM_SELF => Raiser::Comm(handle),
            _ => Raiser::Known(Arc::clone(&self.handler), Subject::Comm(handle)),
        }
    }

    /// The ranks that calls name.
    pub(crate) fn partners(&self) -> &Partners {
        &self.partners
    }
}

/// A communicator that is being made from another.
pub(crate) struct Offspring {
    handler: Arc<Attached>,
    pub(crate) attributes: Attributes,
    hints: Hints,
    pub(crate) topology: Option<Arc<Topology>>,
}

/// A communicator's ranks and topology under a handle of their own, which stays good when the program frees the communicator.
pub(crate) struct CommTwin(MPI_Comm);

impl CommTwin {
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub(crate) fn of(comm: &Comm) -> Result<Self> {
        let twin = comm.duplicate(Hints::default());
        twin.enter_itself_or(Arc::clone(&comm.inner), comm.inter.clone(), || {}).map(Self)
    }

    pub(crate) fn handle(&self) -> MPI_Comm {
        self.0
    }
}

impl Drop for CommTwin {
    fn drop(&mut self) {
        COMMS.remove(self.0);
    }
}

impl Offspring {
    /// What a communicator has that is made from none.
    pub(crate) fn orphan(handler: Attached, hints: Hints) -> Self {
        Self { handler: Arc::new(handler), attributes: Attributes::new(), hints, topology: None }
    }

    pub(crate) fn enter_inter(self, inter: Intercommunicator) -> Result<MPI_Comm> {
        let local = Arc::new(inter.local_ranks());
        self.enter_itself(local, Some(Arc::new(inter)))
    }

    pub(crate) fn enter_itself(
        self,
        inner: Arc<Communicator>,
        inter: Option<Arc<Intercommunicator>>,
    ) -> Result<MPI_Comm> {
        let (own, between) = (Arc::clone(&inner), inter.clone());
        self.enter_itself_or(inner, inter, || disown(&own, between.as_deref()))
    }

    /// As [`Offspring::enter_itself`], with what happens when no handle is left.
    fn enter_itself_or(
        self,
        inner: Arc<Communicator>,
        inter: Option<Arc<Intercommunicator>>,
        give_up: impl FnOnce(),
    ) -> Result<MPI_Comm> {
        let Self { handler, attributes, hints, topology } = self;
        let partners = match &inter {
            None => Partners::Own(Arc::clone(&inner)),
            Some(inter) => Partners::Remote(Arc::clone(inter)),
        };
        let (name, neighborhood) = (Name::default(), OnceLock::new());
        let comm = Comm { inner, inter, handler, name, attributes, hints, topology, neighborhood, partners };
        COMMS.insert(comm).ok_or_else(|| {
            give_up();
            Error::new(ErrorClass::NoMem, "", "no handle is left for another communicator")
        })
    }
}

/// Lets go of a communicator of which the program gets no handle: its other ranks wait for this one no more.
pub(crate) fn disown(comm: &Communicator, inter: Option<&Intercommunicator>) {
    match inter {
        None => comm.disown(),
        Some(inter) => inter.disown(),
    }
}

/// A communicator as passed to the functions of its attributes.
pub(crate) fn owner(comm: MPI_Comm) -> AttributeOwner {
    AttributeOwner { kind: OwnerKind::Comm, handle: comm.0 }
}
