//! Communicators made from communicators.

use super::context::{Creation, accept};
use super::handle::Communicator;
use super::wish::Wish;
use crate::collective::{AllGather, Link};
use crate::group::Group;
use crate::message::Plane;
use crate::runtime::CollectiveRequest;
use rma_core::host::Locality;
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result, host};
use std::sync::Arc;

impl Communicator {
    /// Makes a communicator of the same ranks.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn duplicate(&self) -> Result<Self> {
        let made = self.runtime().run("comm_dup", self.duplication("MPI_Comm_dup"));
        // Others hear of it now: the caller may not come back for long.
        made.inspect_err(|_| {
            self.engine().poll();
        })
    }

    /// Begins to make a communicator of the same ranks.
    pub fn begin_duplicate(&self) -> CollectiveRequest<Self> {
        self.runtime().begin("comm_idup", self.duplication("MPI_Comm_idup"))
    }

    fn duplication(&self, maker: &'static str) -> Creation {
        Creation::new(self.runtime(), self.members(), self.link(), maker)
    }

    /// The communicator of this process alone (`MPI_COMM_SELF`). All that this gives on one process share a context, and
    /// so their collectives; ask once.
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
        // The others of the group get an error, and the collectives that follow have the same number on all.
        let checked = self.checked(CALL, group).inspect_err(|error| {
            link.quit(error.class());
            link.fail_making();
            self.engine().poll();
        });
        let group = self.runtime().noted(checked)?;
        match group.rank(self.runtime().me) {
            Some(me) => {
                let link = link.apart(group.with_context(self.context(), me));
                let creation = Creation::new(self.runtime(), group.clone(), link, "MPI_Comm_create");
                self.runtime().run(CALL, creation).map(Some)
            }
            None => {
                self.engine().poll();
                Ok(None)
            }
        }
    }

    /// Makes a communicator of a group's members, who alone call it, with the same `tag`. Several may be under way in
    /// different threads, if their tags differ (MPI 4.1 §7.4.2).
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` when a member is not one of this communicator's ranks, or the caller is not a member; when a rank is
    /// lost.
    pub fn create_group(&self, group: &Group, tag: u32) -> Result<Self> {
        const CALL: &str = "comm_create_group";
        let group = self.runtime().noted(self.checked(CALL, group))?;
        let me = group.rank(self.runtime().me).ok_or_else(|| {
            let cause = format!("process {} is not a member of the group", self.runtime().me);
            Error::new(ErrorClass::Group, CALL, cause)
        });
        let known = group.with_context(self.context(), self.runtime().noted(me)?);
        let messenger = self.runtime().messenger.clone();
        let link = Link::new(messenger, known, self.scope(Plane::Creation), u64::from(tag));
        let creation = Creation::new(self.runtime(), group.clone(), link, "MPI_Comm_create_group");
        self.runtime().run(CALL, creation)
    }

    /// Makes a communicator for each color, of the ranks that give it, ordered by `key` and then by rank. A rank that gives
    /// `None` is in none of them.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when a rank has refused ([`Communicator::refuse_split`]); when a rank is lost.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>> {
        self.split_by("comm_split", Wish::of(self.runtime(), color, key))
    }

    /// Makes a communicator for each node, of the ranks that can share memory there, ordered by `key` and then by rank
    /// (`MPI_COMM_TYPE_SHARED`). Virtual nodes count as nodes. A rank that gives `None` is in none of them.
    ///
    /// # Errors
    /// As [`Communicator::split`].
    pub fn split_by_node(&self, key: Option<i64>) -> Result<Option<Self>> {
        let is_here = |rank: &u32| {
            let peer = self.group().peer(Rank(*rank));
            self.runtime().locality(peer) != Locality::Remote
        };
        // The lowest rank of a node, which is the same for all of them, stands for the node.
        let node = (0..self.size()).find(is_here).unwrap_or_else(|| self.rank());
        let wish = Wish::of(self.runtime(), key.map(|_| node), key.unwrap_or_default());
        self.split_by("comm_split_type", wish)
    }

    /// Takes part in a split with arguments that the caller has found wrong, so that the other ranks get an error and do not
    /// wait; gives the error to report here: `fault`, or what kept this rank from taking part.
    pub fn refuse_split(&self, fault: Error) -> Error {
        const CALL: &str = "comm_split";
        match self.wishes(CALL, Wish::refused(self.runtime()), &self.link()) {
            Ok(_) => fault.in_call(CALL),
            Err(error) => error,
        }
    }

    fn split_by(&self, call: &'static str, mine: Wish) -> Result<Option<Self>> {
        let link = self.link();
        let all = self.wishes(call, mine, &link)?;
        Wish::none_refused(&all, call, "")?;
        let Some(color) = mine.color() else { return Ok(None) };
        let members = Wish::chosen(&all, color);
        let first = members.first().map_or(self.rank(), |rank| *rank);
        let context = self.runtime().noted(accept(all[first as usize].context()))?;
        let me = members.iter().position(|rank| *rank == self.rank()).unwrap_or_default();
        let own = self.group();
        let peers: Vec<Peer> = members.iter().map(|rank| own.peer(Rank(*rank))).collect();
        let group = host::Group::of(context, Rank(me as u32), &peers);
        let maker = if call == "comm_split" { "MPI_Comm_split" } else { "MPI_Comm_split_type" };
        let made = Self::new(Arc::clone(self.runtime()), group).made_by(maker);
        link.note_made(context);
        Ok(Some(made))
    }

    /// What every rank says.
    fn wishes(&self, call: &'static str, mine: Wish, link: &Link) -> Result<Vec<Wish>> {
        let checked = self.check_members(call);
        let told = checked.and_then(|()| self.runtime().run(call, AllGather::new(link.clone(), mine.emit())));
        let blocks = told.inspect_err(|_| {
            link.fail_making();
            self.engine().poll();
        })?;
        self.runtime().noted(blocks.iter().map(|block| Wish::parse(block, call)).collect())
    }

    fn checked<'g>(&self, call: &'static str, group: &'g Group) -> Result<&'g Group> {
        match group.difference(&self.members()).peer(0) {
            None => Ok(group),
            Some(stranger) => {
                let cause = format!("process {stranger} is not one of the communicator's");
                Err(Error::new(ErrorClass::Group, call, cause))
            }
        }
    }
}
