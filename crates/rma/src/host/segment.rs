//! The making of a segment among the ranks of a group that share a node.
//!
//! ```text
//!   ask       every rank tells the others what it asks for, and where its part lies in an arena of its own
//!   make      only for contiguous data: the lowest rank takes a block for the data of all, and tells where it lies
//!   give      only if a rank has not mapped an arena of another: descriptors go through mailboxes, a few to each at a time
//!   agree     only after that: each rank says whether it could map all; all use it, or none does, or, where a mailbox was
//!             full or a descriptor has not arrived, all give once more
//! ```
//!
//! Control memory is each rank's own, also beside contiguous data: a rank reads it after the lowest has given the block back.
//! Where a rank's data are memory that others cannot map, or there are none, the ranks share their control memory alone.
//!
//! After the first window of its kind every arena is mapped everywhere, and asking is all there is. Ranks that cannot share
//! get memory of their own, if the kind of segment allows; the lowest of those that would but cannot says why, in one line.
//! All ranks go the same way: each decision depends only on what all have told.

use super::arena::{Arena, Block};
use super::huge_pages::are_asked;
use super::layout::SegmentLayout;
use super::memory::{self, Bytes};
use super::node_memory::{NodeMemory, Trouble};
use super::wish::{ArenaPlace, Offer, SegmentWish};
use crate::collective::{AllGather, AllReduce, Barrier, Broadcast, Link, Machine};
use rma_core::datatype::BasicType;
use rma_core::host::{Group, SegmentControl, SegmentKind, SegmentPart, SegmentRequest, SegmentSet};
use rma_core::ids::{Peer, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

/// A segment under way.
#[derive(Debug)]
pub(super) struct SegmentMachine {
    /// The ranks of the group on this node, ascending, and their processes.
    ranks: Vec<Rank>,
    peers: Vec<Peer>,
    /// This rank's place among them.
    place: usize,
    /// Ranks of the whole group.
    group_size: u32,
    /// The link among them, of which each step has a part of its own.
    link: Link,
    node_memory: Option<Arc<NodeMemory>>,
    request: SegmentRequest,
    /// This rank's part.
    blocks: Vec<Block>,
    /// The arenas in which it lies.
    arenas: Vec<Arc<Arena>>,
    wishes: Vec<SegmentWish>,
    /// What keeps this rank from sharing.
    trouble: Option<Trouble>,
    /// Times that descriptors were given.
    attempts: u32,
    step: SegmentStep,
}

#[derive(Debug)]
enum SegmentStep {
    Ask(AllGather),
    Make(Box<Broadcast>),
    Give(Barrier, usize),
    Agree(AllReduce, Option<SegmentParts>),
    Over,
}

/// All members and neighbors, and what keeps their memory.
type SegmentParts = (Vec<SegmentPart>, Vec<SegmentControl>, Vec<Bytes>);

/// Whether the machine goes on, and with which segment it is over.
type Next = Result<Option<SegmentSet>>;

/// Parcels put into a mailbox in a round. Its owner may still be in the barrier of the round before, so there are twice as
/// many at most, and systems keep about ten.
const AT_ONCE: usize = 4;
/// Attempts to give descriptors. One is enough unless mailboxes are kept full, and then each has a chance.
const ATTEMPTS: u32 = 64;
/// What ranks say when they agree; the least is what counts.
const NOT_MAPPED: u64 = 0;
const NOT_YET: u64 = 1;
const MAPPED: u64 = 2;
/// Control blocks are whole cache lines.
const LINE: u64 = 64;
const CALL: &str = "win_allocate";

impl SegmentMachine {
    /// Begins among `ranks` of the group, of which there are at least two. Without `may_share`, only what must be shared is.
    pub(super) fn new(
        group: &Group,
        ranks: Vec<Rank>,
        link: Link,
        node_memory: Option<Arc<NodeMemory>>,
        request: SegmentRequest,
        may_share: bool,
    ) -> Self {
        let place = ranks.iter().position(|rank| *rank == group.me()).unwrap_or_default();
        let mut machine = Self {
            peers: ranks.iter().map(|rank| group.peer(*rank)).collect(),
            ranks,
            place,
            group_size: group.size(),
            link,
            node_memory,
            request,
            blocks: Vec::new(),
            arenas: Vec::new(),
            wishes: Vec::new(),
            trouble: None,
            attempts: 0,
            step: SegmentStep::Over,
        };
        let wish = machine.wish(may_share);
        machine.step = SegmentStep::Ask(AllGather::new(machine.link.step(0), wish.emit()));
        machine
    }

    fn wish(&mut self, may_share: bool) -> SegmentWish {
        let SegmentRequest { kind, control_len, data_len, data_align, given } = self.request;
        let mut wish = SegmentWish {
            kind,
            offer: Offer::Unwilling,
            control_len,
            data_len,
            data_align,
            control: None,
            data: None,
            is_news: false,
        };
        let found = match kind {
            _ if !may_share && !kind.must_be_shared() => return wish,
            SegmentKind::Private => return wish,
            SegmentKind::Contiguous | SegmentKind::Control => Ok(None),
            SegmentKind::Given if given.is_empty() => Ok(None),
            SegmentKind::Given => {
                let found = self.node_memory.as_ref().and_then(|node_memory| node_memory.find(given));
                Ok(found.map(|(arena, offset)| self.hold(&arena, offset)))
            }
            SegmentKind::Separate | SegmentKind::Scattered if data_len == 0 => Ok(None),
            SegmentKind::Separate | SegmentKind::Scattered => {
                self.take(data_len, data_align, wish.wants_huge_pages()).map(Some)
            }
        };
        let both = found.and_then(|data| Ok((self.take(control_len, LINE, false)?, data)));
        match both {
            Ok((control, data)) => {
                (wish.offer, wish.control, wish.data) = (Offer::Ready, Some(control), data);
                wish.is_news = self.has_news();
            }
            // It is not promised that memory of this kind is shared.
            Err(_) if wish.keeps_data() => {}
            Err(why) => (wish.offer, self.trouble) = (Offer::Unable, Some(why.into())),
        }
        wish
    }

    /// Takes a block of this process's memory, on huge pages if there are such.
    fn take(&mut self, len: u64, align: u64, is_huge: bool) -> Result<ArenaPlace, String> {
        let node_memory = self.node_memory.as_ref().ok_or("it has no way to hand memory to others")?;
        let block = node_memory.take(len, align, is_huge)?;
        let (arena, offset) = (Arc::clone(&block.arena), block.offset);
        self.blocks.push(block);
        Ok(self.hold(&arena, offset))
    }

    fn hold(&mut self, arena: &Arc<Arena>, offset: u64) -> ArenaPlace {
        if !self.arenas.iter().any(|held| held.number == arena.number) {
            self.arenas.push(Arc::clone(arena));
        }
        ArenaPlace::new(arena, offset)
    }

    fn others(&self) -> Vec<Peer> {
        self.peers.iter().copied().filter(|peer| *peer != self.peers[self.place]).collect()
    }

    fn has_news(&self) -> bool {
        let others = self.others();
        self.arenas.iter().any(|arena| arena.is_news_to(&others))
    }

    fn on_asked(&mut self, wishes: &[Vec<u8>]) -> Next {
        let wishes: Option<Vec<_>> = wishes.iter().map(|wish| SegmentWish::parse(wish)).collect();
        self.wishes = wishes
            .ok_or_else(|| Error::new(ErrorClass::Intern, CALL, "a rank's wish for memory cannot be read"))?;
        let any = |kind| self.wishes.iter().any(|wish| wish.kind == kind);
        let all_share = self.wishes.iter().all(|wish| wish.kind.must_be_shared());
        // One rank that wants no gaps is enough.
        let is_contiguous = all_share && any(SegmentKind::Contiguous);
        if all_share && self.ranks.len() != self.group_size as usize {
            let cause = format!("only {} of {} ranks are on this node", self.ranks.len(), self.group_size);
            return Err(Error::new(ErrorClass::RmaShared, "win_allocate_shared", cause));
        }
        let is_mixed = self.wishes.iter().any(|wish| wish.kind != self.wishes[0].kind);
        if (is_mixed && !all_share) || self.wishes.iter().any(|wish| wish.offer == Offer::Unwilling) {
            return self.fall_back(None);
        }
        if let Some(unable) = self.wishes.iter().position(|wish| wish.offer == Offer::Unable) {
            let says = self.place == unable;
            let other = || format!("process {} has none", self.peers[unable]);
            let why = self.trouble.take().map_or_else(other, Trouble::text);
            return self.fall_back(Some((why, says)));
        }
        if is_contiguous {
            return self.make();
        }
        if self.wishes.iter().any(|wish| wish.is_news) { self.give(0) } else { self.map_known() }
    }

    /// Contiguous data: the lowest rank takes a block for all. What a hint made a rank take for itself is given back.
    fn make(&mut self) -> Next {
        // Control memory was taken last.
        self.blocks.drain(..self.blocks.len().saturating_sub(1));
        let control = self.wishes[self.place].control.map(|at| at.arena.number);
        self.arenas.retain(|arena| Some(arena.number) == control);
        let mut made = None;
        if self.place == 0 {
            let mut wish = self.wishes[0];
            let block = self.layout().map_err(|error| error.to_string());
            let (align, is_huge) = (self.data_align(), are_asked(self.sum_of_data(), self.data_align()));
            match block.and_then(|layout| self.take(layout.len, align, is_huge)) {
                Ok(place) => {
                    (wish.data, wish.is_news) = (Some(place), self.has_news());
                }
                Err(why) => (wish.offer, self.trouble) = (Offer::Unable, Some(why.into())),
            }
            made = Some(wish.emit());
        }
        let limit = self.wishes[0].emit().len() as u64;
        self.step = SegmentStep::Make(Box::new(Broadcast::new(self.link.step(1), 0, made, limit)));
        Ok(None)
    }

    fn on_made(&mut self, message: &[u8]) -> Next {
        let Some(made) = SegmentWish::parse(message) else {
            return Err(Error::new(ErrorClass::Intern, CALL, "the lowest rank's answer cannot be read"));
        };
        if made.offer != Offer::Ready {
            let (first, sum) = (self.peers[0], self.sum_of_data());
            let other = || format!("process {first} cannot map {sum} bytes for all");
            let why = self.trouble.take().map_or_else(other, Trouble::text);
            return self.fall_back(Some((why, false)));
        }
        self.wishes[0] = made;
        // From now on the others lie where the lowest rank says.
        for wish in &mut self.wishes {
            wish.kind = SegmentKind::Contiguous;
        }
        if self.wishes.iter().any(|wish| wish.is_news) { self.give(0) } else { self.map_known() }
    }

    fn give(&mut self, round: usize) -> Next {
        let count = self.peers.len();
        let distances = (1 + round * AT_ONCE)..(1 + (round + 1) * AT_ONCE).min(count);
        let to: Vec<_> = distances.map(|distance| self.peers[(self.place + distance) % count]).collect();
        if let Some(node_memory) = &self.node_memory {
            let given = self.arenas.iter().map(|arena| node_memory.give(arena, &to));
            let troubles: Vec<_> = given.filter_map(Result::err).collect();
            troubles.into_iter().for_each(|why| self.on_trouble(why));
        }
        let step = u8::try_from(3 + round).map_err(|_| {
            Error::new(ErrorClass::Other, CALL, format!("{count} processes of a node are too many"))
        })?;
        self.step = SegmentStep::Give(Barrier::new(self.link.step(step)), round);
        Ok(None)
    }

    /// What lasts is not forgotten over what passes.
    fn on_trouble(&mut self, why: Trouble) {
        if !matches!(self.trouble, Some(Trouble::Lasting(_))) {
            self.trouble = Some(why);
        }
    }

    /// Makes room for ranks that still give.
    fn look(&mut self) {
        if let Some(Err(why)) = self.node_memory.as_ref().map(|node_memory| node_memory.look()) {
            self.on_trouble(why);
        }
    }

    fn on_given(&mut self, round: usize) -> Next {
        self.look();
        if 1 + (round + 1) * AT_ONCE < self.peers.len() {
            return self.give(round + 1);
        }
        self.attempts += 1;
        let parts = match &self.trouble {
            None => self.map().map_err(|why| self.trouble = Some(why)).ok(),
            Some(_) => None,
        };
        let word = match &self.trouble {
            None => MAPPED,
            Some(Trouble::Passing(_)) => NOT_YET,
            Some(Trouble::Lasting(_)) => NOT_MAPPED,
        };
        let word = word.to_ne_bytes().to_vec();
        let kernel = Kernel::new(ReduceOp::Min, BasicType::U64).expect("a minimum of integers is defined");
        self.step = SegmentStep::Agree(AllReduce::new(self.link.step(2), Arc::new(kernel), word), parts);
        Ok(None)
    }

    /// Every rank has mapped every arena before, so there is nothing to agree on.
    fn map_known(&mut self) -> Next {
        let parts = self.map().map_err(|why| Error::new(ErrorClass::Intern, CALL, why.text()))?;
        Ok(Some(self.finish(parts)))
    }

    fn on_agreed(&mut self, parts: Option<SegmentParts>, word: u64) -> Next {
        match parts {
            Some(parts) if word == MAPPED => {
                let others = self.others();
                self.arenas.iter().for_each(|arena| arena.on_given(&others));
                if self.attempts > 1 {
                    self.forget_copies();
                }
                Ok(Some(self.finish(parts)))
            }
            // The number of attempts is the same on all ranks.
            _ if word == NOT_YET && self.attempts < ATTEMPTS => {
                self.trouble = None;
                self.give(0)
            }
            _ => {
                let other = || "another process of the node could not map it".to_owned();
                let why = self.trouble.take().map_or_else(other, Trouble::text);
                self.fall_back(Some((why, self.place == 0)))
            }
        }
    }

    fn forget_copies(&mut self) {
        self.look();
        let Some(node_memory) = &self.node_memory else { return };
        for (peer, wish) in self.peers.iter().zip(&self.wishes) {
            let places = [wish.control, wish.data].into_iter().flatten();
            places.for_each(|place| node_memory.forget_copies(*peer, place.arena.number));
        }
    }

    fn finish(&mut self, (members, neighbors, bytes): SegmentParts) -> SegmentSet {
        memory::set(members, neighbors, (bytes, std::mem::take(&mut self.blocks)))
    }

    /// Maps what is not mapped yet, and finds every rank's part.
    fn map(&self) -> Result<SegmentParts, Trouble> {
        let mut bytes = Vec::new();
        let mut find = |place: usize, at: ArenaPlace, len: u64| {
            let found = self.arena_of(place, at)?;
            let end = at.offset.checked_add(len).filter(|end| *end <= at.arena.len);
            end.ok_or_else(|| format!("the part of process {} is not in its arena", self.peers[place]))?;
            let span = found.part(at.offset, len);
            bytes.push(found);
            Ok::<_, Trouble>(span)
        };
        let mut members = Vec::with_capacity(self.ranks.len());
        let mut neighbors = Vec::new();
        let keeps_data = self.wishes.iter().any(SegmentWish::keeps_data);
        let mut of_all = None;
        if self.wishes[0].kind == SegmentKind::Contiguous {
            let layout = self.layout().map_err(|error| error.to_string())?;
            of_all = Some((find(0, self.wishes[0].data.ok_or("the data lie nowhere")?, layout.len)?, layout));
        }
        for (place, (rank, wish)) in self.ranks.iter().zip(&self.wishes).enumerate() {
            let control = find(place, wish.control.ok_or("a control block lies nowhere")?, wish.control_len)?;
            if keeps_data && place != self.place {
                neighbors.push(SegmentControl { rank: *rank, control });
                continue;
            }
            let data = match (&of_all, wish.data) {
                (Some((all, layout)), _) => {
                    let range = layout.parts[place].data;
                    all.part(range.offset as usize, range.len as usize)
                }
                (None, Some(at)) if !keeps_data => find(place, at, wish.data_len)?,
                (None, _) => WriteSpan::EMPTY,
            };
            members.push(SegmentPart { rank: *rank, control, data });
        }
        self.advise(&members);
        Ok((members, neighbors, bytes))
    }

    fn arena_of(&self, place: usize, at: ArenaPlace) -> Result<Bytes, Trouble> {
        if place == self.place {
            let own = self.arenas.iter().find(|arena| arena.number == at.arena.number);
            return own.map(|arena| arena.bytes.clone()).ok_or_else(|| "its own arena is gone".into());
        }
        let node_memory = self.node_memory.as_ref().ok_or("it has no way to get memory of others")?;
        node_memory.map(self.peers[place], at.arena)
    }

    fn layout(&self) -> Result<SegmentLayout> {
        let asked: Vec<_> = self.wishes.iter().map(|wish| (0, wish.data_len)).collect();
        SegmentLayout::new(&asked, SegmentKind::Contiguous, self.data_align())
    }

    /// What contiguous data are aligned to: as much as the rank wants that wants most.
    fn data_align(&self) -> u64 {
        self.wishes.iter().map(|wish| wish.data_align).max().unwrap_or(SegmentRequest::PAGE)
    }

    fn sum_of_data(&self) -> u64 {
        self.wishes.iter().fold(0, |sum, wish| sum.saturating_add(wish.data_len))
    }

    /// Asks for huge pages where ranks want them: the process that touches memory first decides. Whose memory it is has said it
    /// if the system has none.
    fn advise(&self, members: &[SegmentPart]) {
        let advise = |data: WriteSpan, len| {
            let _ = memory::advise_huge_pages(data.as_mut_ptr() as usize, len, true);
        };
        if self.wishes.iter().any(SegmentWish::keeps_data) {
            // No data are shared.
        } else if self.wishes[0].kind == SegmentKind::Contiguous {
            let all = self.sum_of_data();
            if let Some(first) = members.first().filter(|_| are_asked(all, self.data_align())) {
                advise(first.data, all);
            }
        } else {
            let wanted = members.iter().zip(&self.wishes).filter(|(_, wish)| wish.wants_huge_pages());
            wanted.for_each(|(member, _)| advise(member.data, member.data.len() as u64));
        }
    }

    /// Memory of this rank alone, or an error where that will not do. With a reason, and whether this rank says it, once.
    fn fall_back(&mut self, why: Option<(String, bool)>) -> Next {
        if self.request.kind.must_be_shared() {
            let why = why.map_or_else(|| "the ranks do not ask for the same".to_owned(), |(why, _)| why);
            let cause = format!("no shared memory for {} bytes of this rank: {why}", self.request.data_len);
            return Err(Error::new(ErrorClass::RmaShared, "win_allocate_shared", cause));
        }
        if let Some((why, true)) = why
            && self.node_memory.as_ref().is_none_or(|node_memory| node_memory.is_first_complaint())
        {
            eprintln!(
                "rma: {} processes of a node do not share window memory, packets are used instead: {why}",
                self.ranks.len()
            );
        }
        private(self.ranks[self.place], &self.request).map(Some)
    }
}

impl Machine for SegmentMachine {
    type Output = SegmentSet;

    fn step(&mut self) -> Result<Option<SegmentSet>> {
        loop {
            let next = match &mut self.step {
                SegmentStep::Ask(gather) => match gather.step()? {
                    None => return Ok(None),
                    Some(wishes) => self.on_asked(&wishes)?,
                },
                SegmentStep::Make(broadcast) => match broadcast.step()? {
                    None => return Ok(None),
                    Some(message) => self.on_made(&message)?,
                },
                SegmentStep::Give(barrier, round) => match barrier.step()? {
                    None => {
                        self.look();
                        return Ok(None);
                    }
                    Some(()) => {
                        let round = *round;
                        self.on_given(round)?
                    }
                },
                SegmentStep::Agree(reduction, parts) => match reduction.step()? {
                    None => return Ok(None),
                    Some(values) => {
                        let parts = parts.take();
                        let word = values.try_into().map_or(NOT_MAPPED, u64::from_ne_bytes);
                        self.on_agreed(parts, word)?
                    }
                },
                SegmentStep::Over => {
                    return Err(Error::new(ErrorClass::Intern, CALL, "the segment is made already"));
                }
            };
            if let Some(segment) = next {
                self.step = SegmentStep::Over;
                return Ok(Some(segment));
            }
        }
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

/// A segment of this rank alone.
pub(super) fn private(rank: Rank, request: &SegmentRequest) -> Result<SegmentSet> {
    let (asked, align) = ([(request.control_len, request.own_len())], request.data_align);
    memory::private(rank, &SegmentLayout::new(&asked, SegmentKind::Private, align)?, align)
}
