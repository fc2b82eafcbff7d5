//! How the ranks of a new communicator agree on its context, without a table kept anywhere.
//!
//! A context is the process number of the new communicator's rank 0 and a number that this process has not used before, so
//! it is never used twice in a job: late messages of a communicator that is gone find nothing, nothing has to be given back,
//! and two threads of a process can make communicators at the same time. Rank 0 tells the others; what does not depend on
//! the others' answers needs none.

use super::handle::Communicator;
use crate::collective::{Broadcast, Link, Machine};
use crate::group::Group;
use crate::message::Making;
use crate::runtime::Runtime;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

/// The making of a communicator, under way: of what the ranks have told each other, a function makes it, on
/// each rank from the same words and so with the same success. A rank that misses a word, because another
/// rank has died or left, says so to those that may have all ([`Making`]).
pub(crate) struct Creation<M, F> {
    words: M,
    function: F,
    link: Link,
    making: Making,
    /// One beyond the ranks of the link that may have all words, by a way of its own.
    partner: Option<Peer>,
    /// Whether the ranks have told each other: what is wrong from then on is so on all.
    is_announced: bool,
    is_disowned: bool,
}

/// What a creation gives: a communicator, or none for this rank.
pub(crate) trait Created {
    fn made(&self) -> Option<u64>;

    /// The making of the other group, with its ranks, if the groups have made it each for itself.
    fn beside(&self) -> Option<(Making, Vec<Peer>)> {
        None
    }
}

/// What a rank 0 that has no context left tells the others.
pub(super) const NO_CONTEXT: u64 = u64::MAX;

impl<M: Machine, F> Creation<M, F> {
    /// Begins with the collective `link`, of which `words` is the first part or all.
    pub(crate) fn new(link: Link, words: M, function: F) -> Self {
        let making = link.making();
        Self::named(making, link, words, function)
    }

    /// As [`Creation::new`], where the number of the link does not name the making.
    pub(crate) fn named(making: Making, link: Link, words: M, function: F) -> Self {
        Self { words, function, link, making, partner: None, is_announced: false, is_disowned: false }
    }

    /// One more process may get it.
    #[must_use]
    pub(crate) fn with(self, partner: Option<Peer>) -> Self {
        Self { partner, ..self }
    }

    /// This rank takes part because others may wait for it, and lets go of what is made.
    #[must_use]
    pub(crate) fn disowned(self) -> Self {
        Self { is_disowned: true, ..self }
    }
}

impl<M: Machine, T: Created, F: FnMut(M::Output) -> Result<T>> Machine for Creation<M, F> {
    type Output = T;

    fn step(&mut self) -> Result<Option<T>> {
        let stepped = self.link.check().and_then(|()| self.words.step());
        let words = stepped.inspect_err(|error| {
            if let (Some(_), Some(link)) = (self.partner, self.words.link()) {
                link.quit(error.class());
            }
            let all = self.link.members().chain(self.partner);
            self.link.messenger().fail_making(self.making, all);
        })?;
        let Some(words) = words else { return Ok(None) };
        self.link.leave();
        self.is_announced = true;
        let made = (self.function)(words)?;
        let messenger = self.link.messenger();
        match made.made() {
            Some(context) => {
                messenger.note_made(self.making, made.beside(), context);
                if self.is_disowned {
                    messenger.disown(context);
                }
            }
            None => messenger.leave_making(self.making),
        }
        Ok(Some(made))
    }

    fn link(&self) -> Option<&Link> {
        (!self.is_announced).then_some(&self.link)
    }
}

impl<T: Created> Created for Option<T> {
    fn made(&self) -> Option<u64> {
        self.as_ref().and_then(T::made)
    }

    fn beside(&self) -> Option<(Making, Vec<Peer>)> {
        self.as_ref().and_then(T::beside)
    }
}

/// What all ranks find alike to be wrong with the words exchanged.
impl<T: Created> Created for Result<T> {
    fn made(&self) -> Option<u64> {
        self.as_ref().ok().and_then(T::made)
    }

    fn beside(&self) -> Option<(Making, Vec<Peer>)> {
        self.as_ref().ok().and_then(T::beside)
    }
}

impl Created for Communicator {
    fn made(&self) -> Option<u64> {
        Some(self.context())
    }
}

/// What the members of a new communicator say: rank 0 names its context. Their ranks are those of `link`.
pub(super) fn naming(runtime: &Runtime, link: &Link) -> Broadcast {
    let named = (link.me() == 0).then(|| propose(runtime).to_le_bytes().to_vec());
    Broadcast::new(link.clone(), 0, named, size_of::<u64>() as u64)
}

/// What makes a communicator of the name that rank 0 has told.
pub(super) trait OfName: FnMut(Vec<u8>) -> Result<Communicator> + Send + 'static {}

impl<F: FnMut(Vec<u8>) -> Result<Communicator> + Send + 'static> OfName for F {}

/// Makes a communicator of its members when it has a name; `maker` is the call of C.
pub(super) fn of_members(
    runtime: &Arc<Runtime>,
    members: Group,
    me: u32,
    maker: &'static str,
) -> impl OfName {
    // The runtime owns what steps this, so this does not own the runtime.
    let runtime = Arc::downgrade(runtime);
    move |named: Vec<u8>| {
        let context = accept(named.try_into().map_or(NO_CONTEXT, u64::from_le_bytes))?;
        let runtime = runtime.upgrade().ok_or_else(|| {
            Error::new(ErrorClass::Intern, "comm_create", "the process has ended its part in the job")
        })?;
        Ok(Communicator::new(runtime, members.with_context(context, me)).made_by(maker))
    }
}

/// A context for a communicator of which this process is rank 0; the others get a word also when there is
/// none.
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
