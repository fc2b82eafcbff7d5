//! The making of a segment among the ranks of a group that share a node.
//!
//! ```text
//!   ask       every rank tells the others how much it wants; all compute the same layout
//!   make      the lowest rank makes the memory, gives it to the others, and says that it has (or that it could not)
//!   agree     everybody says whether it could map it: all use it, or none does
//! ```
//!
//! Ranks that cannot share fall back to memory of their own, if the kind of segment allows, and the lowest rank says so in
//! one line.

use super::layout::SegmentLayout;
use super::memory;
use super::siblings::Siblings;
use crate::collective::{AllGather, Broadcast, Link, Machine, Reduction};
use rma_ch_shm::segment::Mapping;
use rma_core::datatype::BasicType;
use rma_core::host::{Group, SegmentKind, SegmentRequest, SegmentSet};
use rma_core::ids::{Peer, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
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
    /// The link among them, of which each step has a part of its own.
    link: Link,
    siblings: Arc<Siblings>,
    request: SegmentRequest,
    layout: SegmentLayout,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Ask(AllGather),
    Make(Broadcast),
    Agree(Reduction, Result<Mapping, String>),
}

/// What the lowest rank says instead of a number when it could not make the memory.
const NOT_MADE: u64 = u64::MAX;

impl SegmentMachine {
    /// Begins among `ranks` of the group, of which there are at least two.
    pub(super) fn new(
        group: &Group,
        ranks: Vec<Rank>,
        link: Link,
        siblings: Arc<Siblings>,
        request: SegmentRequest,
    ) -> Self {
        let mut wish = request.control_len.to_le_bytes().to_vec();
        wish.extend_from_slice(&request.data_len.to_le_bytes());
        let place = ranks.iter().position(|rank| *rank == group.me()).unwrap_or_default();
        Self {
            peers: ranks.iter().map(|rank| group.peer(*rank)).collect(),
            ranks,
            place,
            siblings,
            request,
            layout: SegmentLayout { parts: Vec::new(), len: 0 },
            step: Step::Ask(AllGather::new(link.step(0), wish)),
            link,
        }
    }

    fn on_asked(&mut self, wishes: &[Vec<u8>]) -> Result<()> {
        let wishes: Option<Vec<_>> = wishes.iter().map(|wish| parse_wish(wish)).collect();
        let wishes = wishes.ok_or_else(|| {
            Error::new(ErrorClass::Intern, "win_allocate", "a rank's wish for memory is not two numbers")
        })?;
        self.layout = SegmentLayout::new(&wishes, self.request.kind)?;
        let mut made = None;
        let mut own = Err(String::new());
        if self.place == 0 {
            let shared = self.siblings.share(self.layout.len, &self.peers[1..]);
            made = Some(shared.as_ref().map_or(NOT_MADE, |(number, _)| *number).to_le_bytes().to_vec());
            own = shared.map(|(_, mapping)| mapping);
        }
        let broadcast = Broadcast::new(self.link.step(1), 0, made, 8);
        if self.place == 0 {
            // The lowest rank has its mapping already; the broadcast is on its way when the agreement is.
            return self.agree(own, Some(broadcast));
        }
        self.step = Step::Make(broadcast);
        Ok(())
    }

    fn on_made(&mut self, message: &[u8]) -> Result<()> {
        let number = message.try_into().map(u64::from_le_bytes).unwrap_or(NOT_MADE);
        let mapping = match number {
            NOT_MADE => Err(format!("process {} could not make it", self.peers[0])),
            number => self.siblings.take(self.peers[0], number, self.layout.len),
        };
        self.agree(mapping, None)
    }

    fn agree(&mut self, mapping: Result<Mapping, String>, broadcast: Option<Broadcast>) -> Result<()> {
        // Sends of a machine that is dropped go on by themselves.
        if let Some(mut broadcast) = broadcast {
            let _ = broadcast.step()?;
        }
        let good = u64::from(mapping.is_ok()).to_ne_bytes().to_vec();
        let kernel = Kernel::new(ReduceOp::Min, BasicType::U64).expect("a minimum of integers is defined");
        let reduction = Reduction::new(self.link.step(2), kernel, good)?;
        self.step = Step::Agree(reduction, mapping);
        Ok(())
    }

    fn on_agreed(&mut self, all_good: bool) -> Result<SegmentSet> {
        let Step::Agree(_, mapping) = &mut self.step else { unreachable!("only called in this step") };
        let mapping = std::mem::replace(mapping, Err(String::new()));
        let why = match mapping {
            Ok(mapping) if all_good => return Ok(memory::shared(&self.ranks, &self.layout, mapping)),
            Ok(_) => "another process of the node could not map it".to_owned(),
            Err(why) => why,
        };
        if self.request.kind == SegmentKind::Contiguous {
            let cause = format!("no shared memory of {} bytes: {why}", self.layout.len);
            return Err(Error::new(ErrorClass::RmaShared, "win_allocate_shared", cause));
        }
        if self.place == 0 {
            eprintln!(
                "rma: {} processes of a node do not share {} bytes of window memory, packets are used instead: {why}",
                self.ranks.len(),
                self.layout.len
            );
        }
        private(self.ranks[self.place], &self.request)
    }
}

impl Machine for SegmentMachine {
    type Output = SegmentSet;

    fn step(&mut self) -> Result<Option<SegmentSet>> {
        loop {
            match &mut self.step {
                Step::Ask(gather) => match gather.step()? {
                    None => return Ok(None),
                    Some(wishes) => self.on_asked(&wishes)?,
                },
                Step::Make(broadcast) => match broadcast.step()? {
                    None => return Ok(None),
                    Some(message) => self.on_made(&message)?,
                },
                Step::Agree(reduction, _) => match reduction.step()? {
                    None => return Ok(None),
                    Some(values) => {
                        let all_good = values == 1u64.to_ne_bytes();
                        return self.on_agreed(all_good).map(Some);
                    }
                },
            }
        }
    }
}

/// A segment of this rank alone.
pub(super) fn private(rank: Rank, request: &SegmentRequest) -> Result<SegmentSet> {
    let layout = SegmentLayout::new(&[(request.control_len, request.data_len)], SegmentKind::Private)?;
    memory::private(rank, &layout)
}

fn parse_wish(wish: &[u8]) -> Option<(u64, u64)> {
    let (control, data) = wish.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*control), u64::from_le_bytes(data.try_into().ok()?)))
}
