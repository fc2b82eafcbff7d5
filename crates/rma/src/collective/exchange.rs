//! Exchange of blocks between any pairs of ranks, from and to the memory of the callers: in round k every rank sends to the one
//! k after it and receives from the one k before it, where there is something. A few rounds are under way at a time, so that
//! what is outstanding does not grow with the number of ranks. Blocks may have any lengths.
//!
//! An *even* exchange is one whose blocks should all have one length, by which ranks have chosen this way or
//! that of [`super::short_alltoall`]. Ranks that were given different lengths, which is an error, may have
//! chosen differently and would wait for messages that are never sent. So its first rounds go by powers of
//! two, one after the other, as they do there, with the same partners. The tags differ, and a rank waits for
//! a message of either way: so it learns whether the partner has gone the other one, and, by the length of
//! the message, whether it has the same lengths. A rank that finds a difference sends messages without bytes
//! from then on. After these rounds word of every rank has reached all: if lengths differ, all know, and end;
//! if not, nothing can go wrong in the other rounds.

use super::given::{Given, is_in_place};
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::datatype::Scatter;
use rma_core::{Error, ErrorClass, Result};
use smallvec::SmallVec;

/// An exchange under way; gives, by rank, what has come for this one and does not lie in its memory.
#[derive(Debug)]
pub struct Exchange {
    link: Link,
    /// What is still to be sent, by rank.
    gives: Vec<Option<Given>>,
    /// What is still to be received, by rank.
    takes: Vec<Option<Take>>,
    received: Vec<Option<Vec<u8>>>,
    /// How far away the partners of each round are.
    distances: Vec<u32>,
    /// The next round.
    next: usize,
    even: Option<Even>,
    root: Option<u32>,
    /// What the partner of the round under way sends if it has gone the other way.
    stray: Option<Stray>,
    receives: SmallVec<[(u32, ReceiveRequest); ROUNDS_AT_ONCE]>,
    sends: Sends,
    /// A rank that could not be given its block by one that only gives: the others get theirs first.
    lost: Option<Error>,
    /// The error to end with when no message uses the caller's memory any more.
    failed: Option<Error>,
}

/// Where a rank's block goes.
#[derive(Debug)]
pub enum Take {
    /// To the result.
    Bytes,
    /// To the caller's memory, or, when it is short or not as long as that, to the result.
    Memory(Scatter),
}

/// What all blocks of an even exchange have in common, and what has been found to differ.
#[derive(Debug)]
struct Even {
    len: usize,
    /// So many rounds find out.
    rounds: usize,
    fault: Option<Error>,
}

/// A message of the other way of even exchanges, which only lengths that differ bring about.
#[derive(Debug)]
pub(super) struct Stray {
    from: u32,
    receive: ReceiveRequest,
}

/// The two ways: their messages of round k have tag k beyond this.
pub(super) const SHORT_TAG: u32 = 0;
/// See [`SHORT_TAG`].
pub(super) const LONG_TAG: u32 = 64;

/// Enough to hide the way of a message behind others.
const ROUNDS_AT_ONCE: usize = 8;

impl Exchange {
    /// Begins with what this rank gives to each rank and takes from each; the first step sends. What one rank
    /// gives another must be taken there.
    ///
    /// # Errors
    /// When there are not as many of them as ranks.
    pub fn new(link: Link, gives: Vec<Option<Given>>, takes: Vec<Option<Take>>) -> Result<Self> {
        let size = link.size() as usize;
        if gives.len() != size || takes.len() != size {
            let cause = format!("{} blocks for {size} ranks", gives.len().min(takes.len()));
            return Err(Error::new(ErrorClass::Count, "alltoall", cause));
        }
        let link = link.wide();
        let received = (0..size).map(|_| None).collect();
        let distances = (1..link.size()).collect();
        let (receives, sends) = (SmallVec::new(), Sends::default());
        Ok(Self {
            link,
            gives,
            takes,
            received,
            distances,
            next: 0,
            even: None,
            root: None,
            stray: None,
            receives,
            sends,
            lost: None,
            failed: None,
        })
    }

    /// Says at which rank all blocks begin or end.
    #[must_use]
    pub fn rooted(self, root: u32) -> Self {
        Self { root: Some(root), ..self }
    }

    /// Makes it an even one, in which this rank gives `len` bytes, more than none, to every rank.
    #[must_use]
    pub fn even(mut self, len: usize) -> Self {
        self.distances.sort_by_key(|distance| !distance.is_power_of_two());
        let rounds = self.distances.iter().filter(|distance| distance.is_power_of_two()).count();
        self.even = Some(Even { len, rounds, fault: None });
        self
    }

    /// Takes what has arrived; says whether something has.
    fn collect(&mut self) -> Result<bool> {
        let mut failed = None;
        let Self { receives, received, even, stray, .. } = self;
        let before = receives.len();
        if let Some(even) = even
            && let Some(message) = stray
            && message.has_come()
        {
            even.fault.get_or_insert_with(|| goes_another_way(even.len, message.from));
            *stray = None;
            // It is one or the other.
            receives.retain(|(_, receive)| !receive.release());
            return Ok(true);
        }
        receives.retain(|(from, receive)| match receive.test() {
            None => true,
            Some(Ok(end)) => {
                if let Some(even) = even {
                    even.check(*from, end.len);
                }
                *stray = None;
                received[*from as usize] = end.data;
                false
            }
            Some(Err(error)) => {
                failed = failed.take().or(Some(error));
                false
            }
        });
        failed.map_or(Ok(self.receives.len() < before), Err)
    }

    /// Begins rounds while there may be more under way.
    fn begin(&mut self) -> Result<()> {
        while let Some(distance) = self.distances.get(self.next).copied()
            && self.receives.len() < ROUNDS_AT_ONCE
            && self.sends.len() < ROUNDS_AT_ONCE
        {
            let (mut tag, mut is_void) = (0, false);
            if let Some(even) = &self.even {
                is_void = even.fault.is_some();
                if self.next <= even.rounds && !self.receives.is_empty() {
                    return Ok(());
                }
                match self.next < even.rounds {
                    true => {
                        let (round, from) = (self.next as u32, self.link.before(distance));
                        tag = LONG_TAG + round;
                        self.stray = Some(Stray::new(&self.link, from, SHORT_TAG + round)?);
                    }
                    false if is_void => {
                        self.next = self.distances.len();
                        return Ok(());
                    }
                    false => {}
                }
            }
            self.next += 1;
            let (to, from) = (self.link.after(distance), self.link.before(distance));
            // First the room, then the message: one that comes at once need not be kept.
            let receive = match self.takes[from as usize].take() {
                Some(Take::Memory(room)) if !is_void => {
                    Some(self.link.receive_exactly(from, tag, room, u64::MAX)?)
                }
                Some(_) => Some(self.link.receive(from, tag, u64::MAX)?),
                None => None,
            };
            self.receives.extend(receive.map(|receive| (from, receive)));
            if let Some(given) = self.gives[to as usize].take() {
                let given = if is_void { Given::Bytes(Vec::new()) } else { given };
                match self.link.send_given(to, tag, given) {
                    Ok(send) => self.sends.push(send),
                    Err(error) => self.go_on_without(error)?,
                }
            }
        }
        Ok(())
    }

    /// A rank that gets nothing here need not end because one of the others is lost, while those further away wait for it.
    fn go_on_without(&mut self, error: Error) -> Result<()> {
        if self.receives.is_empty() && self.takes.iter().all(Option::is_none) {
            self.lost.get_or_insert(error);
            return Ok(());
        }
        Err(error)
    }

    /// What this rank gives to itself.
    fn keep_own(&mut self) {
        let me = self.link.me() as usize;
        if let (Some(given), Some(take)) = (self.gives[me].take(), self.takes[me].take()) {
            self.received[me] = given.move_to(take.room());
        }
    }

    fn advance(&mut self) -> Result<bool> {
        self.keep_own();
        loop {
            let has_left = match self.sends.have_left() {
                Ok(has_left) => has_left,
                Err(error) => {
                    self.go_on_without(error)?;
                    self.sends.len() == 0
                }
            };
            let has_arrived = self.collect()?;
            let next = self.next;
            self.begin()?;
            if has_left && self.receives.is_empty() && next == self.distances.len() {
                let fault = self.even.as_mut().and_then(|even| even.fault.take());
                return self.lost.take().or(fault).map_or(Ok(true), Err);
            }
            if !has_arrived && self.next == next {
                return Ok(false);
            }
        }
    }
}

impl Take {
    /// To the caller's memory where the block is long, and otherwise to the result.
    pub fn to(room: &Scatter) -> Self {
        if is_in_place(room) { Self::Memory(room.clone()) } else { Self::Bytes }
    }

    /// The caller's memory.
    pub(crate) fn room(self) -> Option<Scatter> {
        match self {
            Self::Memory(room) => Some(room),
            Self::Bytes => None,
        }
    }
}

/// What says that no message comes.
const OF_LOSSES: [ErrorClass; 4] =
    [ErrorClass::ProcAborted, ErrorClass::ProcFailed, ErrorClass::Revoked, ErrorClass::Other];

impl Stray {
    pub(super) fn new(link: &Link, from: u32, tag: u32) -> Result<Self> {
        Ok(Self { from, receive: link.receive(from, tag, 0)? })
    }

    /// Whether it has come, answered once; its bytes are dropped. A rank that is lost, has quit or has ended its part sends it no
    /// more, but may have sent all that is waited for: the receive on the way of this rank knows.
    pub(super) fn has_come(&mut self) -> bool {
        match self.receive.test() {
            None => false,
            Some(Err(error)) => !OF_LOSSES.contains(&error.class()),
            Some(Ok(_)) => true,
        }
    }
}

impl Even {
    fn check(&mut self, from: u32, len: u64) {
        if self.fault.is_none() && len != self.len as u64 {
            self.fault = Some(differs(self.len, from, len));
        }
    }
}

/// That a rank's part in an even exchange is not what this rank's lengths say.
pub(super) fn differs(ours: usize, from: u32, theirs: u64) -> Error {
    let theirs = match theirs {
        0 => "none, as ranks do that have found others to differ".to_owned(),
        len => len.to_string(),
    };
    let cause = format!("this rank exchanges {ours} bytes with each, where rank {from} gives {theirs}");
    Error::new(ErrorClass::Truncate, "alltoall", cause)
}

/// That a rank's lengths have made it go the other way.
pub(super) fn goes_another_way(ours: usize, from: u32) -> Error {
    let cause = format!("this rank exchanges {ours} bytes with each, and rank {from} another number");
    Error::new(ErrorClass::Truncate, "alltoall", cause)
}

impl Machine for Exchange {
    type Output = Vec<Option<Vec<u8>>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        if self.failed.is_none() {
            match self.advance() {
                Ok(is_over) => return Ok(is_over.then(|| std::mem::take(&mut self.received))),
                Err(error) => self.failed = Some(error),
            }
        }
        self.receives.retain(|(_, receive)| !receive.release());
        let is_free = self.sends.release() && self.receives.is_empty();
        self.failed.take_if(|_| is_free).map_or(Ok(None), Err)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn root(&self) -> Option<u32> {
        self.root
    }
}
