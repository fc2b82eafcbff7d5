//! Intercommunicators made from parts of both groups of one (MPI 4.1 §7.4.2).
//!
//! ```text
//!   locally     every rank tells its group what it wishes
//!   leaders     exchange what their groups wish
//!   locally     each tells its group what the other one wishes; then every rank computes the same new groups
//! ```

use super::handle::{Intercommunicator, Sides};
use crate::collective::{AllGather, Broadcast, Link, Machine, Mapped, Swap, Then, join, split};
use crate::communicator::{Creation, SplitWish, accept, has_ended};
use crate::group::Group;
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

impl Intercommunicator {
    /// Makes an intercommunicator for each color that ranks of both groups give, of these ranks, ordered by
    /// `key` and then by rank. A rank that gives `None`, or a color that no rank of the other group gives, is
    /// in none of them.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when a rank has refused ([`Intercommunicator::refuse_split`]); when a rank is lost.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>> {
        self.split_by("comm_split", SplitWish::of(self.runtime(), color, key))
    }

    /// Makes an intercommunicator for each node, of the ranks of both groups that can share memory there
    /// (`MPI_COMM_TYPE_SHARED`), ordered by `key` and then by rank. A rank that gives `None`, or whose node has no rank of the other
    /// group, is in none of them.
    ///
    /// # Errors
    /// As [`Intercommunicator::split`].
    pub fn split_by_node(&self, key: Option<i64>) -> Result<Option<Self>> {
        // The ranks of both groups have one numbering, so one number names the node on both sides.
        let node = key.and_then(|_| self.runtime().first_here(&self.both()));
        self.split_by("comm_split_type", SplitWish::of(self.runtime(), node, key.unwrap_or_default()))
    }

    /// Makes an intercommunicator of a part of each group: all ranks of a group name the same part of it. Ranks that are in
    /// neither part get `None`, and so do all when one of the parts is empty.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` when a member is not one of the local group; as [`Intercommunicator::split`].
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        const CALL: &str = "comm_create";
        if let Some(outsider) = group.difference(&self.members()).peer(0) {
            let cause = format!("process {outsider} is not one of the communicator's local group");
            return Err(self.refuse_split(Error::new(ErrorClass::Group, CALL, cause)));
        }
        let place = group.rank(self.runtime().me);
        self.split_by(CALL, SplitWish::of(self.runtime(), place.map(|_| 0), place.unwrap_or_default().into()))
    }

    /// Takes part in a split with arguments that the caller has found wrong, so that the other ranks get an error and do not
    /// wait; gives the error to report here: `fault`, or what kept this rank from taking part.
    pub fn refuse_split(&self, fault: Error) -> Error {
        const CALL: &str = "comm_split";
        match self.split_by(CALL, SplitWish::refused(self.runtime())) {
            Err(error) if error.class() != ErrorClass::Other => error,
            _ => fault.in_call(CALL),
        }
    }

    fn split_by(&self, call: &'static str, mine: SplitWish) -> Result<Option<Self>> {
        let link = self.link();
        let wishes = self.wishes(&link, call, mine);
        let (runtime, sides) = (Arc::downgrade(self.runtime()), self.sides());
        let maker = if call == "comm_split_type" { "MPI_Comm_split_type" } else { "MPI_Comm_split" };
        let choose = move |wishes: [Vec<SplitWish>; 2]| {
            SplitWish::none_refused(&wishes[0], call, "")?;
            SplitWish::none_refused(&wishes[1], call, " of the remote group")?;
            let Some(color) = mine.color() else { return Ok(None) };
            let [ours, theirs] = wishes.each_ref().map(|wishes| SplitWish::chosen(wishes, color));
            let [Some(our_first), Some(their_first)] = [ours.first(), theirs.first()] else {
                return Ok(None);
            };
            // Both groups take the word of the same rank.
            let first = match sides.is_first {
                true => &wishes[0][*our_first as usize],
                false => &wishes[1][*their_first as usize],
            };
            let context = accept(first.context())?;
            let (local, remote) = (sides.local.incl(&ours)?, sides.remote.incl(&theirs)?);
            let sides = Sides { context, local, remote, is_first: sides.is_first };
            let runtime = runtime.upgrade().ok_or_else(has_ended)?;
            Ok(Some(Self::new(runtime, sides)?.made_by(maker)))
        };
        self.runtime().run(call, Creation::new(link, wishes, move |wishes| Ok(choose(wishes))))?
    }

    /// What the ranks of the local group wish, and those of the remote one.
    fn wishes(
        &self,
        link: &Link,
        call: &'static str,
        mine: SplitWish,
    ) -> impl Machine<Output = [Vec<SplitWish>; 2]> + Send + use<> + 'static {
        let partner = self.partner();
        let (first, last, link) = (self.local(link, 0), self.local(link, 2), link.step(1));
        let (size, remote_size) = (self.size(), self.remote().size());
        let both = Then::new(AllGather::new(first, mine.emit()), move |ours: Vec<Vec<u8>>| {
            let ours = join(&ours);
            let swap = Swap::with(link, partner, ours.clone());
            let exchanged = Then::new(swap, move |news| Ok(Broadcast::new(last, 0, news, u64::MAX)));
            Ok(Mapped::new(exchanged, move |theirs: Vec<u8>| Ok([ours.clone(), theirs])))
        });
        let parse = move |blocks: &[u8], count| {
            split(blocks, count)?
                .iter()
                .map(|block| SplitWish::parse(block, call))
                .collect::<Result<Vec<_>>>()
        };
        Mapped::new(both, move |[ours, theirs]: [Vec<u8>; 2]| {
            Ok([parse(&ours, size)?, parse(&theirs, remote_size)?])
        })
    }
}
