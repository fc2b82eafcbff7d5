//! Halo exchange of `heat2d`: each rank's edge rows, put into its neighbours' windows.
//!
//! A rank's window holds two rows from each neighbour, for even and odd steps. With fences the two epochs of
//! a step keep writers and readers apart. With locks no rank waits for all others: a counter per neighbour
//! and parity says for which step a row is. A row of step *k* + 2 cannot overwrite one of step *k* that is
//! still to be read, because its writer has had this rank's row of step *k* + 1, which leaves only after step
//! *k* was computed.

use super::heat::{Block, Side};
use rma::{Communicator, ReduceOp, Result, Window, World};

/// How ranks synchronize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Synchronization {
    /// All together, once a step (MPI 3.1 §11.5.1).
    Fence,
    /// Neighbour with neighbour (MPI 3.1 §11.5.3).
    Lock,
}

/// Both ends of the exchange on one rank.
#[derive(Debug)]
pub(crate) struct Halo<'world> {
    rows: Window<'world, f64>,
    /// Per parity and side, one more than the step that the row there is for.
    steps: Window<'world, u64>,
    synchronization: Synchronization,
    cols: usize,
    north: Option<u32>,
    south: Option<u32>,
    step: u64,
}

impl<'world> Halo<'world> {
    /// Collective. `block` is this rank's; ranks without rows take part in what is collective, and have no neighbours.
    ///
    /// # Errors
    /// When a window cannot be made.
    pub(crate) fn new(
        world: &'world World,
        block: &Block,
        cols: usize,
        synchronization: Synchronization,
    ) -> Result<Self> {
        let (north, south) = neighbours(world, block)?;
        Ok(Self {
            rows: world.allocate(4 * cols)?,
            steps: world.allocate(4)?,
            synchronization,
            cols,
            north,
            south,
            step: 0,
        })
    }

    /// Fills the block's halo rows with the neighbours' edge rows. Collective with fences.
    ///
    /// # Errors
    /// When a neighbour is lost.
    pub(crate) fn exchange(&mut self, block: &mut Block) -> Result<()> {
        let parity = (self.step % 2) as usize;
        match self.synchronization {
            Synchronization::Fence => self.put_all(block, parity)?,
            Synchronization::Lock => {
                self.put_to_each(block, parity)?;
                self.wait_for_each(parity)?;
            }
        }
        for (side, neighbour) in [(Side::North, self.north), (Side::South, self.south)] {
            if let (Some(_), Some(halo)) = (neighbour, block.halo_mut(side)) {
                self.rows.local().read(place(parity, side) * self.cols, halo);
            }
        }
        self.step += 1;
        Ok(())
    }

    /// Ends the exchange; collective.
    ///
    /// # Errors
    /// When a rank is lost.
    pub(crate) fn free(self) -> Result<()> {
        self.rows.free()?;
        self.steps.free()
    }

    fn put_all(&mut self, block: &Block, parity: usize) -> Result<()> {
        let (cols, targets) = (self.cols, self.targets());
        self.rows.fence_epoch(|epoch| {
            for (side, target) in targets {
                if let Some(row) = block.edge(side) {
                    epoch.put(row, target, place(parity, side.opposite()) * cols)?;
                }
            }
            Ok(())
        })
    }

    fn put_to_each(&mut self, block: &Block, parity: usize) -> Result<()> {
        let stamp = [self.step + 1];
        for (side, target) in self.targets() {
            let Some(row) = block.edge(side) else { continue };
            let there = place(parity, side.opposite());
            self.rows.exclusive(target, |rank| rank.put(row, there * self.cols))?;
            // The unlock has completed the row at the target, so a rank that sees the stamp sees the row.
            self.steps.shared(target, |rank| rank.accumulate(&stamp, ReduceOp::Replace, there))?;
        }
        Ok(())
    }

    fn wait_for_each(&mut self, parity: usize) -> Result<()> {
        let me = self.steps.rank();
        for (side, _) in self.targets() {
            let wanted = self.step + 1;
            while self.steps.shared(me, |own| own.fetch_op(place(parity, side), 0, ReduceOp::NoOp))? < wanted
            {
                // Ranks may outnumber cores, and the row comes from one that is not running.
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    fn targets(&self) -> impl Iterator<Item = (Side, u32)> + use<> {
        [(Side::North, self.north), (Side::South, self.south)]
            .into_iter()
            .filter_map(|(side, neighbour)| Some((side, neighbour?)))
    }
}

/// The nearest ranks with rows on either side.
fn neighbours(world: &Communicator, block: &Block) -> Result<(Option<u32>, Option<u32>)> {
    let has_rows = world.allgather(&[u64::from(!block.rows().is_empty())])?;
    if block.rows().is_empty() {
        return Ok((None, None));
    }
    let with_rows = |rank: &u32| has_rows[*rank as usize][0] == 1;
    let north = (0..world.rank()).rev().find(with_rows);
    let south = (world.rank() + 1..world.size()).find(with_rows);
    Ok((north, south))
}

/// Which of the four rows of a window is for this parity and side.
fn place(parity: usize, side: Side) -> usize {
    2 * parity
        + match side {
            Side::North => 0,
            Side::South => 1,
        }
}
