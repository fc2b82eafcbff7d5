//! Communicators made from communicators.

use super::context::{Creation, OfName, naming, of_members};
use super::faults::has_ended;
use super::handle::Communicator;
use super::wish::SplitWish;
use crate::collective::{AllGather, Broadcast, Link, Mapped};
use crate::group::Group;
use crate::message::{Making, Plane};
use crate::runtime::CollectiveRequest;
use rma_core::ids::Rank;
use rma_core::{Error, ErrorClass, Result, host};
use std::sync::Arc;

impl Communicator {
    /// Makes a communicator of the same ranks.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn duplicate(&self) -> Result<Self> {
        self.runtime().run("comm_dup", self.duplication("MPI_Comm_dup"))
    }

    /// Begins to make a communicator of the same ranks.
    pub fn begin_duplicate(&self) -> CollectiveRequest<Self> {
        self.runtime().begin("comm_idup", self.duplication("MPI_Comm_idup"))
    }

    /// Begins to make one that this rank is not to have, because the other ranks may be about to; see [`Communicator::disown`].
    #[doc(hidden)]
    pub fn begin_duplicate_for_others(&self) -> CollectiveRequest<Self> {
        self.runtime().begin("comm_idup", self.duplication("MPI_Comm_idup").disowned())
    }

    fn duplication(&self, maker: &'static str) -> Creation<Broadcast, impl OfName> {
        let link = self.link();
        let words = naming(self.runtime(), &link);
        Creation::new(link, words, of_members(self.runtime(), self.members(), self.rank(), maker))
    }

    /// Lets go of a communicator that other ranks may go on to use: there, this one counts as one that has not got it.
    #[doc(hidden)]
    pub fn disown(&self) {
        self.runtime().messenger().disown(self.context());
        self.engine().poll();
    }

    /// The communicator of this process alone (`MPI_COMM_SELF`). All that this gives on one process share a context, and
    /// so their collectives; ask once.
    #[doc(hidden)]
    pub fn own(&self) -> Self {
        let runtime = self.runtime();
        let group = host::Group::strided(runtime.own_context(), Rank(0), runtime.me, 1, 1);
        Self::new(Arc::clone(runtime), group)
    }

    /// Makes a communicator of a group's members, and gives it to them; the other ranks get `None`. Every rank calls it;
    /// ranks may name different groups, if these have no member in common (MPI 4.1 §7.4.2).
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` when a member is not one of this communicator's ranks; when a rank is lost.
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        const CALL: &str = "comm_create";
        let link = self.link();
        let group = self.runtime().noted(self.checked(CALL, group, &link, link.making()))?;
        match group.rank(self.runtime().me) {
            Some(me) => {
                let link = link.apart(group.with_context(self.context(), me));
                let words = naming(self.runtime(), &link);
                let function = of_members(self.runtime(), group.clone(), me, "MPI_Comm_create");
                self.runtime().run(CALL, Creation::new(link, words, function)).map(Some)
            }
            None => {
                self.engine().poll();
                Ok(None)
            }
        }
    }

    /// Makes a communicator of a group's members. Only they call it, with the same `tag`. Several may be
    /// under way in different threads, if their tags differ (MPI 4.1 §7.4.2).
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` when a member is not one of this communicator's ranks, or the caller is not a member; when a rank is
    /// lost.
    pub fn create_group(&self, group: &Group, tag: u32) -> Result<Self> {
        const CALL: &str = "comm_create_group";
        let me = group.rank(self.runtime().me).ok_or_else(|| {
            let cause = format!("process {} is not a member of the group", self.runtime().me);
            Error::new(ErrorClass::Group, CALL, cause)
        });
        let me = self.runtime().noted(me)?;
        let known = group.with_context(self.context(), me);
        let messenger = self.runtime().messenger.clone();
        let making = messenger.next_making(&known, tag);
        let link = Link::new(messenger, known, self.scope(Plane::Creation), u64::from(tag));
        let group = self.runtime().noted(self.checked(CALL, group, &link, making))?;
        let words = naming(self.runtime(), &link);
        let function = of_members(self.runtime(), group.clone(), me, "MPI_Comm_create_group");
        self.runtime().run(CALL, Creation::named(making, link, words, function))
    }

    /// Makes a communicator for each color, of the ranks that give it, ordered by `key` and then by rank. A rank that gives
    /// `None` is in none of them.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when a rank has refused ([`Communicator::refuse_split`]); when a rank is lost.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>> {
        self.split_by("comm_split", SplitWish::of(self.runtime(), color, key))
    }

    /// Makes a communicator for each node, of the ranks that can share memory there, ordered by `key` and then by rank
    /// (`MPI_COMM_TYPE_SHARED`). Virtual nodes count as nodes. A rank that gives `None` is in none of them.
    ///
    /// # Errors
    /// As [`Communicator::split`].
    pub fn split_by_node(&self, key: Option<i64>) -> Result<Option<Self>> {
        let wish = SplitWish::of(self.runtime(), key.map(|_| self.node()), key.unwrap_or_default());
        self.split_by("comm_split_type", wish)
    }

    /// The lowest rank of this one's node, which is the same for all of them and stands for the node.
    pub fn node(&self) -> u32 {
        self.runtime().first_here(&self.group()).unwrap_or_else(|| self.rank())
    }

    /// Takes part in a split with arguments that the caller has found wrong, so that the other ranks get an error and do not
    /// wait; gives the error to report here: `fault`, or what kept this rank from taking part.
    #[doc(hidden)]
    pub fn refuse_split(&self, fault: Error) -> Error {
        const CALL: &str = "comm_split";
        match self.split_by(CALL, SplitWish::refused(self.runtime())) {
            Err(error) if error.class() != ErrorClass::Other => error,
            _ => fault.in_call(CALL),
        }
    }

    fn split_by(&self, call: &'static str, mine: SplitWish) -> Result<Option<Self>> {
        let link = self.link();
        let wishes = Mapped::new(AllGather::new(link.clone(), mine.emit()), move |blocks: Vec<Vec<u8>>| {
            blocks.iter().map(|block| SplitWish::parse(block, call)).collect::<Result<Vec<_>>>()
        });
        let (runtime, members, me) = (Arc::downgrade(self.runtime()), self.members(), self.rank());
        let maker = if call == "comm_split" { "MPI_Comm_split" } else { "MPI_Comm_split_type" };
        let choose = move |all: Vec<SplitWish>| {
            SplitWish::none_refused(&all, call, "")?;
            let Some(color) = mine.color() else { return Ok(None) };
            let chosen = SplitWish::chosen(&all, color);
            let first = chosen.first().map_or(me, |rank| *rank);
            let place = chosen.iter().position(|rank| *rank == me).unwrap_or_default() as u32;
            let named = all[first as usize].context().to_le_bytes().to_vec();
            let runtime = runtime.upgrade().ok_or_else(has_ended)?;
            of_members(&runtime, members.incl(&chosen)?, place, maker)(named).map(Some)
        };
        self.runtime().run(call, Creation::new(link, wishes, move |all| Ok(choose(all))))?
    }

    /// The group, if it is of this communicator. Otherwise the others of it get an error, and the collectives that follow have the same
    /// number on all.
    fn checked<'g>(
        &self,
        call: &'static str,
        group: &'g Group,
        link: &Link,
        making: Making,
    ) -> Result<&'g Group> {
        let Some(outsider) = group.difference(&self.members()).peer(0) else { return Ok(group) };
        let cause = format!("process {outsider} is not one of the communicator's");
        link.quit(ErrorClass::Group);
        link.messenger().fail_making(making, link.members());
        self.engine().poll();
        Err(Error::new(ErrorClass::Group, call, cause))
    }
}
