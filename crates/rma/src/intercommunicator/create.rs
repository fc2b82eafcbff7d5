//! How two groups meet, part and become one.
//!
//! ```text
//!   leaders     exchange what they propose: a context, their group
//!   locally     each tells its group what the other has said; the lower process's context counts, and its group is the first
//! ```

use super::handle::{Intercommunicator, Sides};
use crate::collective::{Broadcast, Link, Machine, Mapped, Swap, Then};
use crate::communicator::{Communicator, Creation, accept, propose};
use crate::group::Group;
use crate::message::{Making, Plane};
use crate::runtime::CollectiveRequest;
use crate::runtime::Runtime;
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result, host};
use std::sync::{Arc, Weak};

/// What a leader says of its side: the process that stands for it, the context it proposes, its part of the making, and a few words
/// more.
struct Proposal {
    leader: u32,
    context: u64,
    making: Making,
    rest: Vec<u8>,
}

/// The other leader's rank on the way between them.
const PARTNER: u32 = 1;

impl Communicator {
    /// Makes a communicator between this one's group and another: every rank of both calls it on the communicator of its own
    /// group. The ranks `leader` of the groups also give a communicator in which both of them are, with the other one's rank
    /// there, and the same `tag`; it does not matter what the other ranks give (MPI 4.1 §7.6.2).
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such leader; `MPI_ERR_COMM` when the groups have a process in common; `MPI_ERR_OTHER`
    /// when the leader has refused ([`Communicator::refuse_inter`]); when a rank is lost.
    pub fn create_inter(
        &self,
        leader: u32,
        bridge: Option<(&Self, u32)>,
        tag: u32,
    ) -> Result<Intercommunicator> {
        const CALL: &str = "intercomm_create";
        let runtime = self.runtime();
        let own = self.link();
        let checked = self.peer(leader).and_then(|_| match bridge {
            Some((bridge, remote)) if self.rank() == leader => bridge.peer(remote).map(Some),
            None if self.rank() == leader => {
                let cause = "the leader gives no communicator with the other leader";
                Err(Error::new(ErrorClass::Comm, CALL, cause))
            }
            _ => Ok(None),
        });
        let partner = checked.map_err(|fault| self.refuse_as(CALL, &own, fault))?;
        let link = match (bridge, partner) {
            (Some((bridge, _)), Some(partner)) => self.link_of_bridge(bridge, partner, tag),
            _ => self.link_without_peers(),
        };
        let local = self.members();
        let mut words = Vec::new();
        local.write(&mut words);
        let partner_rank = partner.map(|_| PARTNER);
        let context = partner.map_or(0, |_| propose(runtime));
        let proposals = exchange((runtime.me, context), link, partner_rank, own.clone(), leader, words);
        let runtime = Arc::downgrade(runtime);
        let function = move |[ours, theirs]: [Proposal; 2]| {
            let is_first = ours.leader < theirs.leader;
            let context = accept(if is_first { ours.context } else { theirs.context })?;
            let remote = Group::read(&theirs.rest).ok_or_else(|| malformed(CALL))?;
            let sides = Sides { context, local: local.clone(), remote, is_first };
            let made = Intercommunicator::new(upgrade(&runtime)?, sides)?;
            Ok(made.made_by("MPI_Intercomm_create").made_beside(theirs.making))
        };
        self.runtime().run(CALL, Creation::new(own, proposals, function).with(partner))
    }

    /// Takes part in the making of an intercommunicator with an argument that the caller has found wrong, as one that is no leader, so
    /// that the others of this group get an error. Gives the error to report here.
    pub fn refuse_inter_local(&self, fault: Error) -> Error {
        self.refuse_as("intercomm_create", &self.link(), fault)
    }

    fn refuse_as(&self, call: &'static str, link: &Link, fault: Error) -> Error {
        link.quit(fault.class());
        link.messenger().fail_making(link.making(), link.members());
        self.engine().poll();
        fault.in_call(call)
    }

    /// Takes part, as the leader, in the making of an intercommunicator with arguments that the caller has
    /// found wrong, so that the other ranks of this group get an error and do not wait. The other group's
    /// leader is notified if `bridge` names it, and cannot be otherwise. Gives the error to report here:
    /// `fault`, or what kept this rank from taking part.
    pub fn refuse_inter(&self, fault: Error, bridge: Option<(&Self, u32)>, tag: u32) -> Error {
        const CALL: &str = "intercomm_create";
        let nothing = Broadcast::new(self.link(), self.rank(), Some(Vec::new()), u64::MAX);
        let exchanged = self.runtime().run(CALL, nothing).and_then(|_| match bridge {
            Some((bridge, remote)) => {
                let link = self.link_of_bridge(bridge, bridge.peer(remote)?, tag);
                let swap = Swap::with(link, Some(PARTNER), Vec::new());
                self.runtime().run(CALL, swap).map(drop)
            }
            None => Ok(()),
        });
        exchanged.map_or_else(|error| error, |()| fault.in_call(CALL))
    }

    /// The way from leader to leader, which concerns no other rank of the communicator that both are in.
    fn link_of_bridge(&self, bridge: &Self, partner: Peer, tag: u32) -> Link {
        let scope = bridge.scope(Plane::Creation);
        let both = host::Group::of(bridge.context(), Rank(0), &[self.runtime().me, partner]);
        Link::new(self.runtime().messenger.clone(), both, scope, u64::from(tag)).step(1)
    }

    /// For ranks that have no message to exchange.
    fn link_without_peers(&self) -> Link {
        Link::new(self.runtime().messenger.clone(), self.group(), self.scope(Plane::Creation), 0)
    }
}

impl Intercommunicator {
    /// Makes a communicator of all ranks of both groups. The group whose ranks say `true` comes behind the other; if both say
    /// the same, either may be the first, the same one for all (MPI 4.1 §7.6.2).
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn merge(&self, is_high: bool) -> Result<Communicator> {
        const CALL: &str = "intercomm_merge";
        let (local, remote, counts_first) = (self.members(), self.remote().clone(), self.is_first());
        let weak = Arc::downgrade(self.runtime());
        let link = self.link();
        let proposals = self.proposals(&link, vec![u8::from(is_high)]);
        let machine = Creation::new(link, proposals, move |[ours, theirs]: [Proposal; 2]| {
            let is_first = match (&ours.rest[..], &theirs.rest[..]) {
                ([ours], [theirs]) if ours != theirs => ours < theirs,
                _ => counts_first,
            };
            let context = accept(if is_first { ours.context } else { theirs.context })?;
            let all = if is_first { local.union(&remote) } else { remote.union(&local) };
            let runtime = upgrade(&weak)?;
            let me = all.rank(runtime.me).ok_or_else(|| malformed(CALL))?;
            let made = Communicator::new(runtime, all.with_context(context, me));
            Ok(made.made_by("MPI_Intercomm_merge"))
        });
        self.runtime().run(CALL, machine)
    }

    /// Makes an intercommunicator of the same groups.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn duplicate(&self) -> Result<Self> {
        self.begin_duplicate().wait()
    }

    /// Begins to make an intercommunicator of the same groups.
    pub fn begin_duplicate(&self) -> CollectiveRequest<Self> {
        self.runtime().begin("comm_dup", self.duplication())
    }

    /// Begins to make one that this rank is not to have; see [`Communicator::begin_duplicate_for_others`].
    pub fn begin_duplicate_for_others(&self) -> CollectiveRequest<Self> {
        self.runtime().begin("comm_dup", self.duplication().disowned())
    }

    fn duplication(
        &self,
    ) -> Creation<
        impl Machine<Output = [Proposal; 2]> + Send + use<> + 'static,
        impl FnMut([Proposal; 2]) -> Result<Self> + Send + use<> + 'static,
    > {
        let (sides, weak, link) = (self.sides(), Arc::downgrade(self.runtime()), self.link());
        let proposals = self.proposals(&link, Vec::new());
        Creation::new(link, proposals, move |[ours, theirs]: [Proposal; 2]| {
            let context = accept(if sides.is_first { ours.context } else { theirs.context })?;
            let made = Self::new(upgrade(&weak)?, Sides { context, ..sides.clone() })?;
            Ok(made.made_by("MPI_Comm_dup"))
        })
    }

    /// The proposals of both groups' ranks 0.
    fn proposals(
        &self,
        link: &Link,
        rest: Vec<u8>,
    ) -> impl Machine<Output = [Proposal; 2]> + Send + use<> + 'static {
        let (me, partner) = (self.runtime().me, self.partner());
        let context = partner.map_or(0, |_| propose(self.runtime()));
        exchange((me, context), link.clone(), partner, self.local(link, 1), 0, rest)
    }
}

/// The leaders, which have a partner and a context to propose, exchange proposals through `bridge`, and pass both on to their groups.
fn exchange(
    (me, context): (Peer, u64),
    bridge: Link,
    partner: Option<u32>,
    local: Link,
    leader: u32,
    rest: Vec<u8>,
) -> impl Machine<Output = [Proposal; 2]> + Send + use<> + 'static {
    let ours = Proposal { leader: me.0, context, making: local.making(), rest }.emit();
    let swap = Swap::with(bridge, partner, ours.clone());
    let exchanged = Then::new(swap, move |theirs: Option<Vec<u8>>| {
        let both = theirs.map(|theirs| {
            let mut both = (ours.len() as u64).to_le_bytes().to_vec();
            both.extend_from_slice(&ours);
            both.extend_from_slice(&theirs);
            both
        });
        Ok(Broadcast::new(local, leader, both, u64::MAX))
    });
    Mapped::new(exchanged, |both: Vec<u8>| {
        if both.is_empty() {
            let cause = "the group's leader has called it with a wrong argument";
            return Err(Error::new(ErrorClass::Other, "intercomm_create", cause));
        }
        let parts = || {
            let (len, rest) = both.split_first_chunk::<8>()?;
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
        };
        let (ours, theirs) = parts().ok_or_else(|| malformed("intercomm_create"))?;
        if theirs.is_empty() {
            let cause = "the other group's leader has called it with a wrong argument";
            return Err(Error::new(ErrorClass::Other, "intercomm_create", cause));
        }
        let both = Proposal::parse(ours).zip(Proposal::parse(theirs));
        both.map(<[Proposal; 2]>::from).ok_or_else(|| malformed("intercomm_create"))
    })
}

impl Proposal {
    fn emit(&self) -> Vec<u8> {
        let Making { parent, number, part } = self.making;
        let mut bytes = self.leader.to_le_bytes().to_vec();
        for number in [self.context, parent, number, part] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (leader, mut bytes) = bytes.split_first_chunk::<4>()?;
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_le_bytes(*number))
        };
        let context = number()?;
        let making = Making { parent: number()?, number: number()?, part: number()? };
        Some(Self { leader: u32::from_le_bytes(*leader), context, making, rest: bytes.to_vec() })
    }
}

fn upgrade(runtime: &Weak<Runtime>) -> Result<Arc<Runtime>> {
    runtime.upgrade().ok_or_else(|| {
        Error::new(ErrorClass::Intern, "intercomm_create", "the process has ended its part in the job")
    })
}

fn malformed(call: &'static str) -> Error {
    Error::new(ErrorClass::Intern, call, "the other group's leader called something else")
}

#[cfg(test)]
#[path = "tests_of_makings.rs"]
mod tests_of_makings;
