//! What one collective uses of the messenger: a group, a number of its own, and rounds.

use super::doubling::Doubling;
use super::given::Given;
use crate::message::{Making, Messenger, Plane, ReceiveRequest, Received, Scope, SendRequest, tag_of};
use rma_core::datatype::Scatter;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::{Engine, Error, ErrorClass, Result};
use smallvec::SmallVec;
use std::sync::Arc;

/// A collective under way.
pub trait Machine {
    /// What it gives.
    type Output;

    /// Does what can be done now; gives the result once.
    ///
    /// # Errors
    /// When a rank that it depends on is lost, or sends what no rank of this collective sends.
    fn step(&mut self) -> Result<Option<Self::Output>>;

    /// Its way to the other ranks, if it has any. The code that has driven the machine to its end says so
    /// there ([`Link::quit`], [`Link::leave`]).
    fn link(&self) -> Option<&Link>;

    /// The rank that it goes to, or comes from, for reports of what it waits for: ranks that name different ones wait for ever.
    fn root(&self) -> Option<u32> {
        None
    }
}

/// A collective as the engine's steps see it.
pub(crate) trait CollectiveStep: Send + Sync {
    /// Does what can be done now; says whether it has ended.
    fn step(&self) -> bool;
}

/// Does what can be done now; gives the result once. The other ranks hear of an error, and then wait for this one no more.
///
/// # Errors
/// As [`Machine::step`].
pub(crate) fn drive<M: Machine>(machine: &mut M) -> Result<Option<M::Output>> {
    let outcome = machine.step();
    match (&outcome, machine.link()) {
        (Ok(None), _) | (_, None) => {}
        (Ok(Some(_)), Some(link)) => link.leave(),
        (Err(error), Some(link)) => link.quit(error.class()),
    }
    outcome
}

/// A machine whose result is made into another by a function.
pub(crate) struct Mapped<M, F> {
    machine: M,
    function: F,
}

/// The way of one collective to the ranks of its group.
#[derive(Clone, Debug)]
pub struct Link {
    messenger: Messenger,
    group: Group,
    /// All that the collective may concern.
    whole: Arc<Group>,
    scope: Scope,
    number: u64,
    step: u8,
    is_wide: bool,
    root: u32,
}

/// A rank that leaves tells all others, if they are not more, and otherwise those that any tree or round has it talk to.
const FEW: u32 = 64;

/// Messages that a machine has sent and that have not left yet.
#[derive(Debug, Default)]
pub(super) struct Sends {
    under_way: SmallVec<[SendRequest; 4]>,
    /// Why one of those that have ended has not left.
    failed: Option<Error>,
}

impl<M: Machine, T, F: FnMut(M::Output) -> Result<T>> Mapped<M, F> {
    pub(crate) fn new(machine: M, function: F) -> Self {
        Self { machine, function }
    }
}

impl<M: Machine, T, F: FnMut(M::Output) -> Result<T>> Machine for Mapped<M, F> {
    type Output = T;

    fn step(&mut self) -> Result<Option<T>> {
        self.machine.step()?.map(&mut self.function).transpose()
    }

    fn link(&self) -> Option<&Link> {
        self.machine.link()
    }

    fn root(&self) -> Option<u32> {
        self.machine.root()
    }
}

impl Link {
    /// The link of collective number `number` of its scope and group.
    pub fn new(messenger: Messenger, group: Group, scope: Scope, number: u64) -> Self {
        messenger.enter(scope, number);
        let whole = Arc::new(group.clone());
        Self { messenger, group, whole, scope, number, step: 0, is_wide: false, root: 0 }
    }

    /// Says that this rank leaves the collective with an error of class `why`, to those that may wait for it; takes and sends nothing of it
    /// any more. The second time nothing is done.
    pub fn quit(&self, why: ErrorClass) {
        let size = self.whole.size();
        let tell = match self.is_wide || size <= FEW {
            true => self.members().collect(),
            false => self.partners(),
        };
        self.messenger.quit(self.scope, self.number, &self.whole, why, tell.into_iter());
    }

    /// That no rank of the collective has died, and its communicator was not revoked: also where it has no messages.
    pub(crate) fn check(&self) -> Result<()> {
        self.messenger.check_circle(&self.whole)
    }

    /// The name of the communicator that the collective makes.
    pub(crate) fn making(&self) -> Making {
        debug_assert!(
            self.scope.plane == Plane::Collective,
            "others are not told apart by their numbers alone"
        );
        Making { parent: self.scope.context, number: self.number, part: 0 }
    }

    /// All that the collective may concern.
    pub(crate) fn members(&self) -> impl Iterator<Item = Peer> + '_ {
        (0..self.whole.size()).map(|rank| self.whole.peer(Rank(rank)))
    }

    pub(crate) fn messenger(&self) -> &Messenger {
        &self.messenger
    }

    /// This rank is through with the collective.
    pub fn leave(&self) {
        self.messenger.leave(self.scope, self.number);
    }

    /// A collective in which every rank may wait for every other one.
    pub(super) fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    /// One in which this rank may be waited for by that one, besides those of [`Link::partners`].
    pub(super) fn toward(mut self, root: u32) -> Self {
        self.root = root;
        self
    }

    /// The partners of this rank in rounds and trees, among all or among the ranks of a part.
    fn partners(&self) -> Vec<Peer> {
        let mut partners = vec![self.group.peer(Rank(self.root))];
        for group in [&*self.whole, &self.group] {
            let (me, size) = (u64::from(group.me().0), u64::from(group.size()));
            let distances = (0..u32::BITS).map(|bit| 1u64 << bit).take_while(|distance| *distance < size);
            let ranks =
                distances.flat_map(|distance| [(me + distance) % size, (me + size - distance) % size]);
            let doubling = Doubling::new(group.size()).partners(group.me().0);
            let ranks = ranks.map(|rank| rank as u32).chain(doubling).chain([0]);
            partners.extend(ranks.map(|rank| group.peer(Rank(rank))));
        }
        partners.sort_unstable();
        partners.dedup();
        partners
    }

    /// The same collective among some ranks of the group only, this one included, in this order.
    ///
    /// # Panics
    /// When this rank is not among them.
    #[must_use]
    pub fn among(&self, ranks: &[Rank]) -> Self {
        let peers: Vec<Peer> = ranks.iter().map(|rank| self.group.peer(*rank)).collect();
        let me = ranks.iter().position(|rank| *rank == self.group.me());
        let me = me.unwrap_or_else(|| panic!("rank {} is not among {ranks:?}", self.group.me()));
        let group = Group::of(self.group.context(), Rank(me as u32), &peers);
        Self { group, root: 0, ..self.clone() }
    }

    /// The same collective among the processes of another group, this one included, all of which know it.
    #[must_use]
    pub fn within(&self, group: Group) -> Self {
        Self { group, root: 0, ..self.clone() }
    }

    /// As [`Link::within`], for a collective that concerns only that group.
    #[must_use]
    pub fn apart(&self, group: Group) -> Self {
        Self { whole: Arc::new(group.clone()), ..self.within(group) }
    }

    /// A part of the collective whose messages do not mix with those of its other parts; for collectives made of some.
    #[must_use]
    pub fn step(&self, step: u8) -> Self {
        Self { step, ..self.clone() }
    }

    /// Whether the ranks of this job outnumber the cores, as rank 0 of the job has found: all ranks answer the same.
    pub(super) fn is_oversubscribed(&self) -> bool {
        self.messenger.is_oversubscribed()
    }

    pub(crate) fn me(&self) -> u32 {
        self.group.me().0
    }

    pub(super) fn size(&self) -> u32 {
        self.group.size()
    }

    /// The rank `distance` after this one, counted round.
    pub(super) fn after(&self, distance: u32) -> u32 {
        (u64::from(self.me()) + u64::from(distance)).rem_euclid(u64::from(self.size())) as u32
    }

    /// The rank `distance` before this one, counted round.
    pub(super) fn before(&self, distance: u32) -> u32 {
        let size = u64::from(self.size());
        ((u64::from(self.me()) + size - u64::from(distance) % size) % size) as u32
    }

    pub(super) fn send(&self, to: u32, round: u32, message: Vec<u8>) -> Result<SendRequest> {
        let to = self.group.peer(Rank(to));
        let send = self.messenger.begin_send(to, self.scope, self.tag(round), message)?;
        Ok(send.among(&self.whole))
    }

    pub(super) fn send_shared(&self, to: u32, round: u32, message: Arc<Vec<u8>>) -> Result<SendRequest> {
        let to = self.group.peer(Rank(to));
        let send = self.messenger.begin_send_shared(to, self.scope, self.tag(round), message)?;
        Ok(send.among(&self.whole))
    }

    /// As [`Link::send`], for bytes that may lie in the caller's memory.
    pub(super) fn send_given(&self, to: u32, round: u32, given: Given) -> Result<SendRequest> {
        match given {
            Given::Bytes(message) => self.send(to, round, message),
            Given::Memory(message) => {
                let to = self.group.peer(Rank(to));
                let send = self.messenger.begin_send_lent(to, self.scope, self.tag(round), message)?;
                Ok(send.among(&self.whole))
            }
        }
    }

    /// Sends a short block that lies in one piece at once, as [`Messenger::send_fast`] does. `false` when [`Link::send_given`] has to.
    pub(super) fn has_left(&self, engine: &Engine, to: u32, round: u32, given: &Given) -> bool {
        let span = match given {
            Given::Memory(memory) => memory.peek(usize::MAX).filter(|span| span.len() == given.len()),
            Given::Bytes(_) => None,
        };
        let (to, tag) = (self.group.peer(Rank(to)), self.tag(round));
        span.is_some_and(|span| self.messenger.send_fast(engine, to, self.scope, tag, span))
    }

    /// Receives into the caller's memory if the message is just as long as that, and otherwise as [`Link::receive`].
    pub(super) fn receive_exactly(
        &self,
        from: u32,
        round: u32,
        room: Scatter,
        limit: u64,
    ) -> Result<ReceiveRequest> {
        let from = self.group.peer(Rank(from));
        let receive = self.messenger.begin_receive_exactly(self.scope, from, self.tag(round), room, limit)?;
        Ok(receive.among(&self.whole))
    }

    pub(super) fn receive(&self, from: u32, round: u32, limit: u64) -> Result<ReceiveRequest> {
        let from = self.group.peer(Rank(from));
        let receive = self.messenger.begin_receive(self.scope, Some(from), Some(self.tag(round)), limit)?;
        Ok(receive.among(&self.whole))
    }

    /// What messages call a process of the collective.
    pub(super) fn name_of(&self, peer: Peer) -> String {
        self.whole.rank(peer).map_or_else(|| format!("process {peer}"), |rank| format!("rank {rank}"))
    }

    /// 2⁴⁸ collectives on one communicator take longer than any job.
    fn tag(&self, round: u32) -> u64 {
        debug_assert!(round < 256);
        tag_of(self.number, u16::from(self.step) << 8 | round as u16)
    }
}

impl Sends {
    pub(super) fn push(&mut self, send: SendRequest) {
        self.under_way.push(send);
    }

    /// The message that is waited for, once it has come. Meanwhile a message that cannot be sent is an error: the one that is
    /// waited for may depend on it. A receive that fails stays, and knows what was refused.
    pub(super) fn until(&mut self, receive: &mut Option<ReceiveRequest>) -> Result<Option<Received>> {
        match receive.as_mut().and_then(ReceiveRequest::test) {
            None => self.have_left().map(|_| None),
            Some(end) => {
                let received = end?;
                *receive = None;
                Ok(Some(received))
            }
        }
    }

    /// Lets go of the caller's memory, as far as no channel reads it now; says whether nothing of it is used any more.
    pub(super) fn release(&mut self) -> bool {
        self.under_way.retain(|send| !send.release());
        self.under_way.is_empty()
    }

    /// How many have not been seen to leave.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Drops those that have ended.
    pub(super) fn forget_ended(&mut self) {
        let failed = &mut self.failed;
        self.under_way.retain(|send| match send.test() {
            None => true,
            Some(end) => {
                *failed = failed.take().or(end.err());
                false
            }
        });
    }

    /// Whether all have left.
    pub(super) fn have_left(&mut self) -> Result<bool> {
        self.forget_ended();
        self.failed.take().map_or(Ok(self.under_way.is_empty()), Err)
    }
}
