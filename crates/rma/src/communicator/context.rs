//! How the ranks of a new communicator agree on its context, without a table that anybody would have to keep.
//!
//! A context is the process number of the new communicator's rank 0 and a number that this process has not used before, so
//! it is never used twice in a job: late messages of a communicator that is gone find nothing, nothing has to be given back,
//! and two threads of a process can make communicators at the same time. Rank 0 tells the others; what does not depend on
//! the others' answers needs none.

use super::handle::Communicator;
use crate::collective::{Broadcast, Link, Machine};
use crate::group::Group;
use crate::runtime::Runtime;
use rma_core::{Error, ErrorClass, Result};
use std::sync::{Arc, Weak};

/// The making of a communicator of a group's members, under way.
#[derive(Debug)]
pub(super) struct Creation {
    /// The runtime owns what steps this, so this does not own the runtime.
    runtime: Weak<Runtime>,
    members: Group,
    me: u32,
    broadcast: Broadcast,
    maker: &'static str,
}

/// What a rank 0 that has no context left tells the others.
pub(super) const NO_CONTEXT: u64 = u64::MAX;

impl Creation {
    /// Begins among the members, whose ranks are those of `link`, in the call of C that is called `maker`.
    pub(super) fn new(runtime: &Arc<Runtime>, members: Group, link: Link, maker: &'static str) -> Self {
        let me = link.me();
        let named = (me == 0).then(|| propose(runtime).to_le_bytes().to_vec());
        let broadcast = Broadcast::new(link, 0, named, size_of::<u64>() as u64);
        Self { runtime: Arc::downgrade(runtime), members, me, broadcast, maker }
    }
}

impl Machine for Creation {
    type Output = Communicator;

    fn step(&mut self) -> Result<Option<Communicator>> {
        let made = self.advance();
        match (&made, self.link()) {
            (Ok(Some(made)), Some(link)) => link.note_made(made.context()),
            (Err(_), Some(link)) => link.fail_making(),
            (Ok(_), _) | (_, None) => {}
        }
        made
    }

    fn link(&self) -> Option<&Link> {
        self.broadcast.link()
    }
}

impl Creation {
    fn advance(&mut self) -> Result<Option<Communicator>> {
        if let Some(link) = self.link() {
            link.check()?;
        }
        let Some(named) = self.broadcast.step()? else { return Ok(None) };
        let context = named.try_into().map_or(NO_CONTEXT, u64::from_le_bytes);
        let context = accept(context)?;
        let runtime = self.runtime.upgrade().ok_or_else(|| {
            Error::new(ErrorClass::Intern, "comm_create", "the process has ended its part in the job")
        })?;
        let made = Communicator::new(runtime, self.members.with_context(context, self.me));
        Ok(Some(made.made_by(self.maker)))
    }
}

/// A context for a communicator of which this process is rank 0; the others are told also when there is none.
pub(crate) fn propose(runtime: &Runtime) -> u64 {
    runtime.new_context().unwrap_or(NO_CONTEXT)
}

/// What rank 0 has proposed, if it is a context.
pub(crate) fn accept(context: u64) -> Result<u64> {
    match context {
        NO_CONTEXT => {
            let cause = "rank 0 of the new communicator has named all contexts that a process can";
            Err(Error::new(ErrorClass::Other, "comm_create", cause))
        }
        context => Ok(context),
    }
}
