//! Binomial trees: ranks counted from a root as places. The parent of a place is the one without its lowest bit, its
//! children are those with one lower bit more.

use super::link::Link;

/// This rank's place in the tree of a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    root: u32,
    place: u64,
    size: u64,
}

impl Tree {
    pub(super) fn new(link: &Link, root: u32) -> Self {
        Self { root, place: link.before(root).into(), size: link.size().into() }
    }

    /// The rank at place 0.
    pub(super) fn root(&self) -> u32 {
        self.root
    }

    pub(super) fn place(&self) -> u64 {
        self.place
    }

    /// Whether there is such a place.
    pub(super) fn has(&self, place: u64) -> bool {
        place < self.size
    }

    /// The rank at a place.
    pub(super) fn rank(&self, place: u64) -> u32 {
        ((place + u64::from(self.root)) % self.size) as u32
    }

    /// The rank that this one hears from, or reports to; the root is its own.
    pub(super) fn parent(&self) -> u32 {
        self.rank(self.place & self.place.wrapping_sub(1))
    }

    /// The first bit that no place below this one has: this place and those below it fit into as many.
    pub(super) fn own_bit(&self) -> u64 {
        match self.place {
            0 => self.size.next_power_of_two(),
            place => place & place.wrapping_neg(),
        }
    }

    /// The bits that tell this place's children from it, the largest subtree first.
    pub(super) fn child_bits(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { place, size, .. } = *self;
        let halves = std::iter::successors(Some(self.own_bit() >> 1), |bit| Some(bit >> 1));
        halves.take_while(|bit| *bit > 0).filter(move |bit| place + bit < size)
    }
}
