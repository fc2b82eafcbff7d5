//! What a wait needs of other processes, as facts that an observer of a whole job can put together.
//!
//! A rank sees its own waits alone. Why none of them ends shows only when those of all ranks lie side by
//! side: a circle, or the one rank that has not come. So a wait says, beside a sentence for users
//! ([`Awaited::text`]), which processes have to do what for it to go on. Processes, not ranks: groups number
//! the same process differently.

use crate::ids::{LockKind, Peer, Rank, WindowId};

/// What a wait waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// A clause behind "for": which ranks, in which window and epoch.
    pub text: String,
    /// All of this has to come, as far as it is known.
    pub needs: Vec<Need>,
    /// Locks that the wait has taken and goes on holding, when nothing else shows that they are held.
    pub holds: Vec<HeldLock>,
}

/// One thing that has to come from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The lock of `target`'s part of a window, from its holder.
    Lock {
        /// The window.
        window: Place,
        /// Whose part.
        target: Peer,
        /// How it is asked for.
        kind: LockKind,
    },
    /// The fence of a window, that these enter it.
    Fence(Place, Vec<Peer>),
    /// The posts of these, for a start call or the operations behind it.
    Posts(Place, Vec<Peer>),
    /// The complete calls of these.
    Completes(Place, Vec<Peer>),
    /// Answers to operations, which these give without a call of their own.
    Answers(Place, Vec<Peer>),
    /// The end of an operation with a request, at a rank of a window. Reports have the answer or lock that it
    /// needs instead.
    Operation(WindowId, Rank),
    /// The release of a window, that these call for it too.
    Free(Place, Vec<Peer>),
    /// The making of a window over a group, that these call for it too.
    Creation(Place, Vec<Peer>),
    /// Another collective over a group: that these join it, or come as far in it.
    Collective(Place, Vec<Peer>),
    /// A message of this process, or of any.
    Message(Option<Peer>),
    /// That this process receives the message that it was sent.
    Receipt(Peer),
    /// Some of several messages, or other things that the wait does not know: these processes may bring them.
    Requests(Vec<Option<Peer>>),
}

/// Where a need is: a window, or a group of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host's name for the group.
    pub context: u64,
    /// The window over it, if it is one.
    pub window: Option<WindowId>,
    /// What the user calls it.
    pub name: String,
    /// Which of the calls of many there it is, where its ranks count them.
    pub instance: Option<Instance>,
}

/// One of the calls of many at a place, by its number there, which is the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// How the ranks meet: numbers of different ways cannot be compared.
    pub way: Way,
    /// Ascending.
    pub number: u64,
}

/// How ranks meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// By messages.
    Messages,
    /// By what they write into shared memory.
    Memory,
    /// By packets of the engine.
    Packets,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The window.
    pub window: Place,
    /// Whose part of it.
    pub target: Peer,
    /// The process that holds it.
    pub holder: Peer,
    /// How.
    pub kind: LockKind,
}

impl From<String> for Awaited {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Awaited {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Awaited {
    /// A sentence with one fact behind it.
    pub fn one(text: String, need: Need) -> Self {
        Self { text, needs: vec![need], holds: Vec::new() }
    }
}
