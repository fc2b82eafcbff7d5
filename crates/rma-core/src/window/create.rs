//! Creating a window: collective, in steps that never wait.
//!
//! ```text
//!   agree     every rank's arguments are good?  same size and unit everywhere?  an id that is free on all ranks
//!   segment   the host maps control blocks, and for allocated windows the memory
//!   meet      the window is entered in the table before the ranks meet, so that no packet can come too early
//!   learn     once all have met, the units that mapped ranks have published
//! ```
//!
//! A rank with a bad argument takes part in the first step, and one that cannot make its segment in the last: all ranks get
//! an error and none hangs.

use super::calls::Window;
use super::shared::{Flavor, Member, Shared};
use super::state::WindowState;
use super::table::Agreement;
use crate::control::{CONTROL_LEN, ControlBlock, Holder, Published};
use crate::engine::Engine;
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Combine, Group, HostRequest, Outcome, SegmentKind, SegmentRequest, SegmentSet};
use crate::ids::WindowId;
use crate::mem::WriteSpan;
use crate::progress::Core;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What a rank brings to the creation of a window.
#[derive(Clone, Copy, Debug)]
pub enum WindowSpec {
    /// The library allocates `len` zeroed bytes (`MPI_Win_allocate`).
    Allocate {
        /// Bytes on this rank; may be 0.
        len: u64,
        /// Displacement unit in bytes.
        unit: u64,
    },
    /// The user's memory (`MPI_Win_create`). Whoever made the span has promised that it outlives the window.
    Create {
        /// The memory on this rank; may be empty.
        memory: WriteSpan,
        /// Displacement unit in bytes.
        unit: u64,
    },
}

/// The creation of a window under way.
pub struct WindowCreation {
    engine: Engine,
    group: Group,
    spec: WindowSpec,
    fault: Option<Error>,
    number: u64,
    phase: Phase,
}

enum Phase {
    Compare(HostRequest),
    Agree {
        index_of: HostRequest,
        uniform: Option<(u64, u64)>,
        generation: u16,
    },
    Segment {
        request: HostRequest,
        id: WindowId,
        uniform: Option<(u64, u64)>,
    },
    /// `shared` is missing on a rank that could not make its part, and then `fault` says why.
    Meet {
        request: HostRequest,
        id: WindowId,
        shared: Option<Arc<Shared>>,
    },
    Over,
}

const CALL: &str = "win_create";

impl WindowCreation {
    pub(crate) fn begin(engine: Engine, group: Group, spec: WindowSpec) -> Result<Self> {
        let fault = spec.check().err();
        let (len, unit) = (spec.len(), spec.unit());
        let (number, request) = engine.with(|core| {
            core.state.begun = true;
            core.state.creations += 1;
            let created = core.state.windows.created();
            let mine = [len, !len, unit, !unit, !created, u64::from(fault.is_none())];
            Ok((core.state.creations, engine.host().begin_reduce(&group, Combine::Min, &mine)?))
        })?;
        Ok(Self { engine, group, spec, fault, number, phase: Phase::Compare(request) })
    }

    /// Advances; gives the window once every rank has it. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// The rank's own bad argument; `MPI_ERR_OTHER` when another rank's was bad or no window id is left; whatever the host
    /// says of a segment it could not make.
    pub fn poll(&mut self) -> Result<Option<Window>> {
        let engine = self.engine.clone();
        engine.with(|core| self.poll_in(core))
    }

    pub(crate) fn poll_in(&mut self, core: &mut Core) -> Result<Option<Window>> {
        loop {
            let request = match &self.phase {
                Phase::Compare(request)
                | Phase::Agree { index_of: request, .. }
                | Phase::Segment { request, .. }
                | Phase::Meet { request, .. } => *request,
                Phase::Over => {
                    return Err(Error::new(ErrorClass::Request, CALL, "the creation is over already"));
                }
            };
            let outcome = match self.engine.host().poll(request) {
                Ok(None) => return Ok(None),
                Ok(Some(outcome)) => outcome,
                Err(error) if matches!(self.phase, Phase::Segment { .. }) => {
                    let Phase::Segment { id, .. } = std::mem::replace(&mut self.phase, Phase::Over) else {
                        continue;
                    };
                    self.meet(core, id, Err(error))?;
                    continue;
                }
                Err(error) => {
                    self.undo(core);
                    return Err(error);
                }
            };
            match (std::mem::replace(&mut self.phase, Phase::Over), outcome) {
                (Phase::Compare(_), Outcome::Values(values)) => self.on_compared(core, &values)?,
                (Phase::Agree { uniform, generation, .. }, Outcome::Values(values)) => {
                    self.on_offered(core, &values, uniform, generation)?;
                }
                (Phase::Segment { id, uniform, .. }, Outcome::Segment(segment)) => {
                    let made = self.on_segment(core, id, uniform, segment);
                    self.meet(core, id, made)?;
                }
                (Phase::Meet { id, shared, .. }, Outcome::Values(values)) => {
                    return self.on_met(core, id, shared, &values).map(Some);
                }
                (_, outcome) => {
                    let cause = format!("the host answered a step of the creation with {outcome:?}");
                    return Err(Error::new(ErrorClass::Intern, CALL, cause));
                }
            }
        }
    }

    /// Gives back what the failed step and those before it took.
    fn undo(&mut self, core: &mut Core) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Compare(_) | Phase::Over => {}
            Phase::Agree { .. } => core.state.windows.withdraw(self.number),
            Phase::Segment { id, .. } => core.state.windows.give_back(id.index),
            // Nobody has it: no rank leaves the meeting before all have come.
            Phase::Meet { id, shared, .. } => discard(core, id, shared.is_some()),
        }
    }

    fn on_compared(&mut self, core: &mut Core, values: &[u64]) -> Result<()> {
        let [min_len, max_len, min_unit, max_unit, created, all_good] = values else {
            return Err(Error::new(ErrorClass::Intern, CALL, "the host reduced to another number of values"));
        };
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if *all_good == 0 {
            let cause = "another rank of the group gave a bad argument, so no window was made";
            return Err(Error::new(ErrorClass::Other, CALL, cause));
        }
        let is_uniform = *min_len == !*max_len && *min_unit == !*max_unit;
        let number = !*created + 1;
        core.state.windows.set_created(number);
        self.offer(core, is_uniform.then_some((*min_len, *min_unit)), number as u16)
    }

    fn offer(&mut self, core: &mut Core, uniform: Option<(u64, u64)>, generation: u16) -> Result<()> {
        core.state.begun = true;
        let offer = core.state.windows.offer(self.number);
        let request = self.engine.host().begin_reduce(&self.group, Combine::BitAnd, &offer);
        let index_of = request.inspect_err(|_| core.state.windows.withdraw(self.number))?;
        self.phase = Phase::Agree { index_of, uniform, generation };
        Ok(())
    }

    fn on_offered(
        &mut self,
        core: &mut Core,
        values: &[u64],
        uniform: Option<(u64, u64)>,
        generation: u16,
    ) -> Result<()> {
        let index = match core.state.windows.agree(self.number, values) {
            Agreement::Retry => return self.offer(core, uniform, generation),
            Agreement::UsedUp => {
                let cause = format!(
                    "all {} window ids are in use on some rank of the group",
                    super::table::MAX_WINDOWS
                );
                return Err(Error::new(ErrorClass::Other, CALL, cause));
            }
            Agreement::Index(index) => index,
        };
        let request = match self.spec {
            WindowSpec::Allocate { len, .. } => {
                SegmentRequest { control_len: CONTROL_LEN as u64, data_len: len, kind: SegmentKind::Separate }
            }
            WindowSpec::Create { .. } => {
                SegmentRequest { control_len: CONTROL_LEN as u64, data_len: 0, kind: SegmentKind::Private }
            }
        };
        core.state.begun = true;
        let id = WindowId { index, generation };
        match self.engine.host().begin_segment(&self.group, request) {
            Ok(request) => {
                self.phase = Phase::Segment { request, id, uniform };
                Ok(())
            }
            Err(error) => self.meet(core, id, Err(error)),
        }
    }

    fn on_segment(
        &mut self,
        core: &mut Core,
        id: WindowId,
        uniform: Option<(u64, u64)>,
        segment: SegmentSet,
    ) -> Result<Arc<Shared>> {
        let shared = Arc::new(self.share(id, uniform, segment)?);
        shared.own().control.publish(Published {
            data_len: self.spec.len(),
            disp_unit: self.spec.unit(),
            is_mapped: shared.flavor == Flavor::Allocate,
        });
        let state = &mut core.state;
        state.begun = true;
        let no_elements =
            |_| Error::new(ErrorClass::NoMem, CALL, "the element pools cannot reserve a window's share");
        let ops = state.pools.ops.open_share(state.config.op_pool_window as u32).map_err(no_elements)?;
        let targets = match state.pools.targets.open_share(state.config.target_pool_window as u32) {
            Ok(targets) => targets,
            Err(exhausted) => {
                let _ = state.pools.ops.close_share(ops);
                return Err(no_elements(exhausted));
            }
        };
        let slots = state.config.slots as usize;
        state.windows.insert(WindowState::new(Arc::clone(&shared), slots, ops, targets));
        Ok(shared)
    }

    /// Tells the other ranks whether this one has made its part.
    fn meet(&mut self, core: &mut Core, id: WindowId, made: Result<Arc<Shared>>) -> Result<()> {
        core.state.begun = true;
        let shared = made.map_err(|error| self.fault = Some(error)).ok();
        match self.engine.host().begin_reduce(&self.group, Combine::Min, &[u64::from(shared.is_some())]) {
            Ok(request) => {
                self.phase = Phase::Meet { request, id, shared };
                Ok(())
            }
            Err(error) => {
                discard(core, id, shared.is_some());
                Err(self.fault.take().unwrap_or(error))
            }
        }
    }

    fn on_met(
        &mut self,
        core: &mut Core,
        id: WindowId,
        shared: Option<Arc<Shared>>,
        values: &[u64],
    ) -> Result<Window> {
        match shared {
            Some(shared) if values == [1] => {
                for member in &shared.members {
                    let unit = member.control.published().map_or(1, |published| published.disp_unit);
                    member.unit.store(unit, Relaxed);
                }
                Ok(Window::new(self.engine.clone(), shared))
            }
            shared => {
                discard(core, id, shared.is_some());
                Err(self.fault.take().unwrap_or_else(|| {
                    let cause = "another rank of the group could not make its part, so no window was made";
                    Error::new(ErrorClass::Other, CALL, cause)
                }))
            }
        }
    }

    fn share(&self, id: WindowId, uniform: Option<(u64, u64)>, segment: SegmentSet) -> Result<Shared> {
        let (flavor, own_memory) = match self.spec {
            WindowSpec::Allocate { .. } => (Flavor::Allocate, None),
            WindowSpec::Create { memory, .. } => (Flavor::Create, Some(memory)),
        };
        let mut members: SmallVec<[Member; 8]> = SmallVec::new();
        for part in segment.members() {
            let control = ControlBlock::new(part.control).ok_or_else(|| {
                Error::new(ErrorClass::Intern, CALL, "the host's control memory is too short or not aligned")
            })?;
            let is_own = part.rank == self.group.me();
            members.push(Member {
                rank: part.rank,
                span: own_memory.filter(|_| is_own).unwrap_or(part.data),
                // Others may be done with the creation, and send packets, before this rank has seen its end.
                unit: AtomicU64::new(if is_own { self.spec.unit() } else { 1 }),
                control,
                open: AtomicBool::new(false),
            });
        }
        members.sort_by_key(|member| member.rank);
        let own = members.iter().position(|member| member.rank == self.group.me()).ok_or_else(|| {
            Error::new(ErrorClass::Intern, CALL, "the host's segment leaves out the rank that asked for it")
        })?;
        let me = self.group.peer(self.group.me());
        let holder = Holder::new(me).ok_or_else(|| {
            let cause = format!("process {me} is past the {} that locks can tell apart", Holder::MAX_PEERS);
            Error::new(ErrorClass::Other, CALL, cause)
        })?;
        Ok(Shared {
            id,
            holder,
            group: self.group.clone(),
            flavor,
            members: members.into_vec().into_boxed_slice(),
            own,
            uniform,
            open_to_all: AtomicBool::new(false),
            _segment: segment,
        })
    }
}

/// Gives back the id that was agreed on, and the window if it has been entered.
fn discard(core: &mut Core, id: WindowId, is_entered: bool) {
    if is_entered {
        let _ = core.state.remove_window(id);
    } else {
        core.state.windows.give_back(id.index);
    }
}

impl WindowSpec {
    fn len(&self) -> u64 {
        match self {
            Self::Allocate { len, .. } => *len,
            Self::Create { memory, .. } => memory.len() as u64,
        }
    }

    fn unit(&self) -> u64 {
        match self {
            Self::Allocate { unit, .. } | Self::Create { unit, .. } => *unit,
        }
    }

    fn check(&self) -> Result<()> {
        if self.len() > isize::MAX as u64 {
            let cause = format!("size {} is over the largest possible, {}", self.len(), isize::MAX);
            return Err(Error::new(ErrorClass::Size, CALL, cause));
        }
        if self.unit() == 0 || self.unit() > isize::MAX as u64 {
            let cause = format!("displacement unit {} is not in 1..={}", self.unit(), isize::MAX);
            return Err(Error::new(ErrorClass::Disp, CALL, cause));
        }
        Ok(())
    }
}

impl fmt::Debug for WindowCreation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowCreation").field("spec", &self.spec).finish_non_exhaustive()
    }
}
