//! The two sides of a call on a window, each with its datatype: what any call has that does not go on the fast path.

use super::object::Win;
use super::synchronize::target;
use crate::abi::{MPI_Aint, MPI_Datatype, MPI_PROC_NULL};
use crate::arguments::{Memory, Wide, count};
use crate::datatype::committed_shared;
use crate::overlap::{Touched, check_apart};
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::Datatype;
use rma_core::ids::{Disp, Rank};
use rma_core::window::{self, Destination, Flavor, TargetArea};
use std::ffi::c_int;

/// The origin's side of a call.
#[derive(Clone, Copy)]
pub(crate) struct Origin<C> {
    pub(crate) address: Memory,
    pub(crate) count: C,
    pub(crate) datatype: MPI_Datatype,
}

/// The target's side of a call.
#[derive(Clone, Copy)]
pub(crate) struct Target<C> {
    pub(super) rank: c_int,
    pub(super) disp: MPI_Aint,
    pub(crate) count: C,
    pub(crate) datatype: MPI_Datatype,
}

/// The two buffers of the calls that fetch, which must have no byte in common (§12.3.4).
pub(crate) const ORIGIN_AND_RESULT: [&str; 2] = ["origin_addr", "result_addr"];

impl<C> Origin<C> {
    #[inline(always)]
    pub(crate) fn new(address: Memory, count: C, datatype: MPI_Datatype) -> Self {
        Self { address, count, datatype }
    }
}

impl<C: Wide> Target<C> {
    #[inline(always)]
    pub(crate) fn new(rank: c_int, disp: MPI_Aint, count: C, datatype: MPI_Datatype) -> Self {
        Self { rank, disp, count, datatype }
    }

    /// Rank and displacement as the program gave them.
    #[inline(always)]
    pub(crate) fn as_given(&self) -> (c_int, MPI_Aint) {
        (self.rank, self.disp)
    }

    /// Where the target is; `None` for what [`Target::nowhere`] sees to.
    #[inline]
    pub(crate) fn place(&self) -> Option<(Rank, Disp)> {
        // One look at both signs.
        (self.rank as isize | self.disp >= 0).then_some((Rank(self.rank as u32), Disp(self.disp as u64)))
    }

    /// The result of a call whose target has no place: nothing for `MPI_PROC_NULL`, and errors.
    #[cold]
    pub(crate) fn nowhere(&self) -> Result<()> {
        if target(self.rank)?.is_none() {
            return Ok(());
        }
        let cause = format!("target_disp is {}, but must not be negative", self.disp);
        Err(Error::new(ErrorClass::Disp, "", cause))
    }
}

/// One side of a call, with its datatype.
#[derive(Clone, Copy)]
pub(super) struct SideElements<'t> {
    pub(super) address: Memory,
    pub(super) count: u64,
    pub(super) datatype: &'t Datatype,
}

impl<'t> SideElements<'t> {
    /// `names` are the arguments'. The address does not matter when nothing is done with it. Inlined, as all that makes sides: moved,
    /// they would be read in other pieces than they were just written in.
    #[inline(always)]
    fn new<C: Wide>(names: [&str; 3], side: &Origin<C>, target: &Target<C>) -> Result<Self> {
        let datatype = committed_shared(names[2], side.datatype)?;
        let count = count(names[1], side.count)?;
        if target.rank != MPI_PROC_NULL {
            side.address.check_elements(names[0], count, datatype)?;
        }
        Ok(Self { address: side.address, count, datatype })
    }

    #[inline(always)]
    pub(super) fn of_origin<C: Wide>(side: &Origin<C>, target: &Target<C>) -> Result<Self> {
        Self::new(["origin_addr", "origin_count", "origin_datatype"], side, target)
    }

    pub(super) fn of_result<C: Wide>(side: &Origin<C>, target: &Target<C>) -> Result<Self> {
        Self::new(["result_addr", "result_count", "result_datatype"], side, target)
    }

    #[inline(always)]
    pub(super) fn at_target<C: Wide>(target: &Target<C>) -> Result<Self> {
        let datatype = committed_shared("target_datatype", target.datatype)?;
        Ok(Self { address: Memory::NULL, count: count("target_count", target.count)?, datatype })
    }

    /// [`Elements::at_target`] of a call whose origin's elements these are: mostly of one type, which then is looked up once.
    #[inline(always)]
    fn also_at_target<C: Wide>(&self, origin: &Origin<C>, target: &Target<C>) -> Result<Self> {
        if origin.datatype != target.datatype {
            return Self::at_target(target);
        }
        Ok(Self { address: Memory::NULL, count: count("target_count", target.count)?, ..*self })
    }

    /// The same place by a displacement that is its first byte's, and elements whose first byte has none, whose type is put into
    /// `own`; `None` where it has no address.
    #[cold]
    fn by_its_first_byte<C: Wide>(
        self,
        target: &Target<C>,
        own: &'t mut Option<Datatype>,
    ) -> Result<Option<(Rank, Disp, Self)>> {
        let first = self.datatype.true_lower_bound();
        let disp = (target.disp as i64).checked_add(first).and_then(|disp| u64::try_from(disp).ok());
        let (Some(disp), Some(back)) = (disp.filter(|_| target.rank >= 0), first.checked_neg()) else {
            return Ok(None);
        };
        let datatype = own.insert(Datatype::hindexed([(1, back)], self.datatype)?);
        Ok(Some((Rank(target.rank as u32), Disp(disp), Self { datatype, ..self })))
    }

    /// Checks that what this side reads and what the other writes have no byte in common.
    pub(super) fn check_apart(&self, result: &Self) -> Result<()> {
        let [reads, writes] = [self, result].map(|side| Touched::by(side.address, side.count, side.datatype));
        check_apart(ORIGIN_AND_RESULT, reads.into_iter(), writes.into_iter())
    }

    pub(super) fn destination(&self) -> Destination<'t> {
        Destination { base: self.address.as_mut_ptr(), count: self.count, ty: self.datatype }
    }
}

/// Both sides of a call with their datatypes, and where its target is.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'t> {
    pub(super) here: SideElements<'t>,
    there: SideElements<'t>,
    pub(crate) rank: Rank,
    disp: Disp,
}

/// Runs a call with one buffer on its sides; `None` when its target is `MPI_PROC_NULL`.
#[inline(always)]
pub(crate) fn with_sides<C: Wide, R>(
    window: &Win,
    origin: &Origin<C>,
    target: &Target<C>,
    run: impl FnOnce(Sides<'_>) -> Result<R>,
) -> Result<Option<R>> {
    let here = SideElements::of_origin(origin, target)?;
    let there = here.also_at_target(origin, target)?;
    let mut own = None;
    Sides::new(window, here, there, target, &mut own)?.map(run).transpose()
}

impl<'t> Sides<'t> {
    /// `None` when the target is `MPI_PROC_NULL`. A type that has to be made is put into `own`.
    #[inline(always)]
    pub(super) fn new<C: Wide>(
        window: &Win,
        here: SideElements<'t>,
        there: SideElements<'t>,
        target: &Target<C>,
        own: &'t mut Option<Datatype>,
    ) -> Result<Option<Self>> {
        if let Some((rank, disp)) = target.place() {
            return Ok(Some(Self { here, there, rank, disp }));
        }
        // In a dynamic window only the sum of displacement and datatype is an address (§12.2.4).
        if window.inner.flavor() == Flavor::Dynamic
            && let Some((rank, disp, there)) = there.by_its_first_byte(target, own)?
        {
            return Ok(Some(Self { here, there, rank, disp }));
        }
        target.nowhere().map(|()| None)
    }

    pub(crate) fn origin(&self) -> window::Origin<'t> {
        window::Origin { base: self.here.address.as_ptr(), count: self.here.count, ty: self.here.datatype }
    }

    pub(crate) fn destination(&self) -> Destination<'t> {
        self.here.destination()
    }

    pub(crate) fn area(&self) -> TargetArea<'t> {
        TargetArea { disp: self.disp, count: self.there.count, ty: self.there.datatype }
    }
}
