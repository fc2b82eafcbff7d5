//! Creating a window: collective, in steps that never wait.
//!
//! ```text
//!   together  every rank's arguments are good?  same size and unit everywhere?
//!             an index that is free on all ranks
//!             the host maps control blocks, and for windows with memory of the library the memory
//!   agree     only if what the ranks offered first has no index in common ([`super::agree`])
//!   meet      the window is entered in the table before the ranks meet, so that no packet can come too early
//!   learn     once all have met, the units that mapped ranks have published
//! ```
//!
//! The first three need nothing of each other, so they are begun at once and a window costs two rounds of the host. A rank with a bad
//! argument takes part in them, and one that cannot make its segment in the meeting: all ranks get an error and none hangs.

use super::Window;
use super::agree::{Agreed, Agreeing};
use super::cells::{Cells, left_out, ranks_of_node, too_short};
use super::pending::{Pending, unexpected};
use super::spec::WindowSpec;
use crate::control::{ControlBlock, ControlShape, Holder, NodeDomain, Published, TargetDomain};
use crate::engine::Engine;
use crate::error::{Error, ErrorClass, Result};
use crate::fork;
use crate::host::{Combine, Group, HostRequest, Outcome, SegmentSet};
use crate::ids::WindowId;
use crate::notification::Notification;
use crate::progress::Core;
use crate::state::indices::Agreement;
use crate::state::verdict;
use crate::state::{
    AccessState, FastSync, FenceGate, Flavor, Hints, MappedTarget, NodeRank, RemoteAccess, Scale, Shared,
    StoreFence, ThreadLevel, WindowState,
};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The creation of a window under way.
pub struct WindowCreation {
    pub(crate) engine: Engine,
    group: Group,
    spec: WindowSpec,
    hints: Hints,
    fault: Option<Error>,
    number: u64,
    phase: CreationPhase,
}

#[allow(clippy::large_enum_variant)] // one value for each creation under way, which is moved little
enum CreationPhase {
    Together {
        compare: Pending,
        offer: Pending,
        segment: Pending,
    },
    Agree {
        agreeing: Agreeing,
        compared: Compared,
        segment: Result<SegmentSet>,
    },
    /// `shared` is missing on a rank that could not make its part, and then `fault` says why.
    Meet {
        request: HostRequest,
        id: WindowId,
        shared: Option<Arc<Shared>>,
    },
    /// It has failed, but others may have the window, and transfers of theirs be under way to the memory.
    Withdraw(WindowId, Error),
    Over,
}

const CALL: &str = "win_create";

impl WindowCreation {
    pub(crate) fn begin(engine: Engine, group: Group, spec: WindowSpec, hints: Hints) -> Result<Self> {
        let fault = spec.check(CALL).err();
        Self::begin_with(engine, group, spec, hints, fault)
    }

    /// Takes part in a creation that cannot succeed, because of what is wrong with this rank's arguments.
    pub(crate) fn begin_faulty(engine: Engine, group: Group, fault: Error) -> Result<Self> {
        Self::begin_with(engine, group, WindowSpec::Dynamic, Hints::default(), Some(fault))
    }

    fn begin_with(
        engine: Engine,
        group: Group,
        spec: WindowSpec,
        hints: Hints,
        fault: Option<Error>,
    ) -> Result<Self> {
        let (len, unit) = (spec.len(), spec.unit());
        // A rank whose arguments are wrong asks for no memory.
        let asks = if fault.is_none() { spec } else { WindowSpec::Dynamic };
        let (number, phase) = engine.with(|core| {
            let (windows, state, host) = (&mut core.windows, &mut core.state, engine.host());
            state.needs_step = true;
            let shape = ControlShape::of(&state.config);
            let control_len = Notification::control_len(shape, ranks_of_node(host, &group), hints.counters());
            let alike = verdict::alike(state.config.alike(), spec.flavor());
            let word = verdict::word(group.me(), spec.flavor(), fault.as_ref());
            let mine = [len, !len, unit, !unit, !windows.indices.clock(), word, alike, !alike];
            let compare = host.begin_reduce(&group, Combine::Min, &mine)?;
            let (number, offer) = windows.indices.begin();
            let phase = CreationPhase::Together {
                compare: Pending::Waiting(compare),
                offer: Pending::started(host.begin_reduce(&group, Combine::BitAnd, &offer)),
                segment: Pending::started(
                    host.begin_segment(&group, asks.segment(control_len, hints.alignment())),
                ),
            };
            Ok((number, phase))
        })?;
        Ok(Self { engine, group, spec, hints, fault, number, phase })
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Advances; gives the window once every rank has it. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// The rank's own bad argument; `MPI_ERR_OTHER` when another rank's was bad, the ranks make windows of different kinds, or no window id
    /// is left; whatever the host says, here or to another rank, of a segment it could not make.
    pub fn poll(&mut self) -> Result<Option<Window>> {
        let engine = self.engine.clone();
        engine.with(|core| self.poll_in(core))
    }

    pub(crate) fn poll_in(&mut self, core: &mut Core) -> Result<Option<Window>> {
        let polled = self.go_on(core);
        if core.windows.indices.take_news() {
            // Other threads' creations may have waited for this one's end.
            self.engine.waiting().on_moved();
        }
        polled
    }

    fn go_on(&mut self, core: &mut Core) -> Result<Option<Window>> {
        let engine = self.engine.clone();
        let host = engine.host();
        loop {
            match std::mem::replace(&mut self.phase, CreationPhase::Over) {
                CreationPhase::Together { mut compare, mut offer, mut segment } => {
                    // None of them moves unless it is polled.
                    let came = [compare.poll(host), offer.poll(host), segment.poll(host)];
                    // A reduction fails because a rank is lost. A rank that then waited for the rest could wait for one that has failed in
                    // the rest and waits for this one. That of the offers may also fail because ranks offer different numbers of windows,
                    // which the comparison, that all of them take part in, has to say.
                    let unlike = compare.success().and_then(|values| self.unlike(core, values));
                    let failed = compare.failure().or(offer.failure().filter(|_| came[0]));
                    if let Some(error) = unlike.or(failed) {
                        core.windows.indices.withdraw(self.number);
                        [compare, offer, segment].into_iter().for_each(|pending| pending.abandon(host));
                        core.state.needs_step = true;
                        return Err(error);
                    }
                    if came != [true; 3] {
                        self.phase = CreationPhase::Together { compare, offer, segment };
                        return Ok(None);
                    }
                    let decided = self.on_together(core, compare, offer, segment);
                    decided.inspect_err(|_| core.windows.indices.withdraw(self.number))?;
                }
                CreationPhase::Agree { mut agreeing, compared, segment } => {
                    let agreed = agreeing.poll(&mut core.windows.indices, &mut core.state.needs_step, host);
                    match agreed.inspect_err(|_| core.windows.indices.withdraw(self.number))? {
                        None => {
                            self.phase = CreationPhase::Agree { agreeing, compared, segment };
                            return Ok(None);
                        }
                        Some(Agreed::Index(index)) => self.on_agreed(core, index, &compared, segment)?,
                        Some(Agreed::UsedUp) => {
                            core.windows.indices.withdraw(self.number);
                            return Err(used_up(core.windows.indices.most()));
                        }
                    }
                }
                CreationPhase::Meet { request, id, shared } => match host.poll(request) {
                    Ok(None) => {
                        self.phase = CreationPhase::Meet { request, id, shared };
                        return Ok(None);
                    }
                    Ok(Some(Outcome::Values(values))) => {
                        return self.on_met(core, id, shared, &values).map(Some);
                    }
                    failed => {
                        leave(core, id, shared.as_ref());
                        let error = failed.map_or_else(|error| error, |outcome| unexpected(&outcome));
                        self.phase = CreationPhase::Withdraw(id, error);
                    }
                },
                CreationPhase::Withdraw(id, error) if core.state.is_reached(id, &mut *core.channel) => {
                    self.phase = CreationPhase::Withdraw(id, error);
                    return Ok(None);
                }
                CreationPhase::Withdraw(_, error) => return Err(error),
                CreationPhase::Over => {
                    return Err(Error::new(ErrorClass::Request, CALL, "the creation is over already"));
                }
            }
        }
    }

    /// All that was begun together is there: the same decision on all ranks, but for what a lost rank causes.
    fn on_together(
        &mut self,
        core: &mut Core,
        compare: Pending,
        offer: Pending,
        segment: Pending,
    ) -> Result<()> {
        let compared = self.on_compared(core, &compare.values()?)?;
        // From here on in no order with what else the communicator is used for, another creation included.
        self.group = self.group.part(part_of(compared.time));
        match core.windows.indices.agree(self.number, &offer.values()?) {
            Agreement::Index(index) => self.on_agreed(core, index, &compared, segment.segment()),
            Agreement::Retry | Agreement::Disjoint => {
                let group = self.group.clone();
                let agreeing = Agreeing::begin(&mut core.windows.indices, self.number, compared.time, group);
                self.phase = CreationPhase::Agree { agreeing, compared, segment: segment.segment() };
                Ok(())
            }
        }
    }

    fn on_agreed(
        &mut self,
        core: &mut Core,
        index: u16,
        compared: &Compared,
        segment: Result<SegmentSet>,
    ) -> Result<()> {
        let id = WindowId { index, generation: compared.time as u16 };
        let made = segment.and_then(|segment| self.on_segment(core, id, compared.uniform, segment));
        self.meet(core, id, made)
    }

    /// The error of a number that must be the same in all processes, and is not: otherwise ranks would wait
    /// for what another one does not send, or misread it.
    fn unlike(&mut self, core: &Core, values: &[u64]) -> Option<Error> {
        let [.., first, least, greatest] = values else { return None };
        let own = (core.state.config.alike(), self.spec.flavor());
        let cause = verdict::difference(own, *least, !*greatest, *first)?;
        Some(self.fault.take().unwrap_or_else(|| Error::new(ErrorClass::Other, CALL, cause)))
    }

    fn on_compared(&mut self, core: &mut Core, values: &[u64]) -> Result<Compared> {
        let [min_len, max_len, min_unit, max_unit, clock, first, _, _] = values else {
            return Err(Error::new(ErrorClass::Intern, CALL, "the host reduced to another number of values"));
        };
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if let Some(error) = verdict::bad_argument(*first, CALL) {
            return Err(error);
        }
        // The memory of a dynamic window has no bounds to check here.
        let has_bounds = self.spec.flavor() != Flavor::Dynamic;
        let is_uniform = has_bounds && *min_len == !*max_len && *min_unit == !*max_unit;
        let time = !*clock + 1;
        core.windows.indices.note_time(time);
        Ok(Compared { uniform: is_uniform.then_some((*min_len, *min_unit)), time })
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
            is_mapped: shared.maps_others(),
        });
        let state = &mut core.state;
        state.needs_step = true;
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
        let (slots, fence_packets) = (state.config.slots as usize, state.config.fence_packets);
        let remote = RemoteAccess::new(&state.config, &mut *core.channel, shared.flavor);
        let window = WindowState::new(Arc::clone(&shared), slots, ops, targets, fence_packets, remote);
        core.windows.insert(window);
        Ok(shared)
    }

    /// Lets the other ranks know whether this one has made its part.
    fn meet(&mut self, core: &mut Core, id: WindowId, made: Result<Arc<Shared>>) -> Result<()> {
        core.state.needs_step = true;
        let shared = made.map_err(|error| self.fault = Some(error)).ok();
        let word = verdict::word(self.group.me(), self.spec.flavor(), self.fault.as_ref());
        match self.engine.host().begin_reduce(&self.group, Combine::Min, &[word]) {
            Ok(request) => {
                self.phase = CreationPhase::Meet { request, id, shared };
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
        let fault = self.fault.take().or_else(|| verdict::no_part(values, CALL));
        match (shared, fault) {
            (Some(shared), None) => {
                for mapped in shared.mapped.iter() {
                    let unit = mapped.control.published().map_or(1, |published| published.disp_unit);
                    mapped.scale.set(unit, mapped.span);
                }
                self.engine.observation().on_window_made(id, shared.flavor);
                Ok(Window::new(self.engine.clone(), shared))
            }
            (shared, fault) => {
                discard(core, id, shared.is_some());
                Err(fault.unwrap_or_else(left_out))
            }
        }
    }

    fn share(&self, id: WindowId, uniform: Option<(u64, u64)>, segment: SegmentSet) -> Result<Shared> {
        let (flavor, own_memory) = (self.spec.flavor(), self.spec.own_memory());
        let mut mapped: SmallVec<[MappedTarget; 8]> = SmallVec::new();
        let shape = ControlShape::of(self.engine.config());
        let control_block = |span| ControlBlock::new(span, shape).ok_or_else(too_short);
        let cells = Cells::new(self.group.me(), &segment, shape)?;
        let (ranks, counters) = (ranks_of_node(self.engine.host(), &self.group), self.hints.counters());
        let notification = Notification::new(self.group.me(), &segment, shape, ranks, counters);
        for part in segment.parts() {
            let control = control_block(part.control)?;
            let is_own = part.rank == self.group.me();
            let span = own_memory.filter(|_| is_own).unwrap_or(part.data);
            mapped.push(MappedTarget {
                node_rank: NodeRank::new(part.rank, control, cells.own(part.rank)?),
                span,
                // Others may be done with the creation, and send packets, before this rank has seen its end.
                scale: Scale::new(if is_own { self.spec.unit() } else { 1 }, span),
                target_domain: TargetDomain::new(control, part.rank, span),
                regions: (flavor == Flavor::Dynamic).then(Box::default),
            });
        }
        mapped.sort_by_key(|mapped| mapped.rank);
        let node_rank = |rank, control| Ok(NodeRank::new(rank, control_block(control)?, cells.own(rank)?));
        let node_targets = segment.controls().iter().map(|part| node_rank(part.rank, part.control));
        let mut node_targets = node_targets.collect::<Result<Box<[NodeRank]>>>()?;
        node_targets.sort_by_key(|node_rank| node_rank.rank);
        let own = mapped.iter().position(|mapped| mapped.rank == self.group.me()).ok_or_else(left_out)?;
        let me = self.group.peer(self.group.me());
        let holder = Holder::new(me).ok_or_else(|| {
            let cause = format!("process {me} is past the {} that locks can tell apart", Holder::MAX_PEERS);
            Error::new(ErrorClass::Other, CALL, cause)
        })?;
        let blocks = mapped.iter().map(|mapped| mapped.control).collect();
        let host = self.engine.host();
        let level = ThreadLevel::promised(self.engine.has_one_caller());
        let node_domain =
            NodeDomain::new(blocks, mapped[own].control, holder, host.barriers(), host.vitals());
        // An iterator of a length that is known fills the shared slice in place.
        let mut mapped = mapped.into_iter();
        let mapped: Arc<[_]> = (0..mapped.len()).map(|_| mapped.next().expect("one for each")).collect();
        let first = mapped[0].rank;
        let fast = if self.engine.observation().is_on() { Arc::default() } else { Arc::clone(&mapped) };
        let mapped_counts = self.engine.keeps_statistics().then(Box::default);
        let silent = if mapped_counts.is_some() { Arc::default() } else { Arc::clone(&fast) };
        Ok(Shared {
            id,
            holder,
            // Windows are in no order with each other, nor with what the group is used for besides.
            group: self.group.part(id.to_bits()),
            flavor,
            mapped,
            fast,
            silent,
            mapped_counts,
            node_targets,
            cells: cells.of_others()?,
            first,
            own,
            node_domain,
            uniform,
            fence_gate: FenceGate::default(),
            access: AccessState::new(level),
            store_fence: StoreFence::new(level),
            active: FastSync::new(level),
            notification: notification.ok_or_else(too_short)?,
            has_pack: AtomicBool::new(false),
            has_dropped: AtomicBool::new(false),
            hints: Mutex::new(self.hints.clone()),
            _segment: segment,
        })
    }
}

/// What the ranks' arguments are together.
struct Compared {
    uniform: Option<(u64, u64)>,
    /// One more than the latest that the ranks' clocks showed: its low bits are the window's generation.
    time: u64,
}

/// The name of a creation's part of its communicator. The parts of windows have their ids for names, whose
/// index is never so high: `RMA_WINDOWS` is at most 2^15.
fn part_of(time: u64) -> u32 {
    const NO_INDEX: u16 = 1 << 15;
    WindowId { index: NO_INDEX | (time >> 16) as u16, generation: time as u16 }.to_bits()
}

#[cold]
fn used_up(most: usize) -> Error {
    let cause = format!(
        "the {most} windows that a process can have (RMA_WINDOWS) are in use, or being made by other threads, on some ranks of the group"
    );
    Error::new(ErrorClass::Other, CALL, cause)
}

/// Ends a meeting that has failed: others may have seen it end, and have the window.
fn leave(core: &mut Core, id: WindowId, shared: Option<&Arc<Shared>>) {
    if shared.is_some() {
        let _ = core.state.leave_window(&mut core.windows, id);
        core.state.withdraw_all(&mut *core.channel);
    } else {
        discard(core, id, false);
    }
}

/// Gives back the id that was agreed on, and the window if it has been entered.
fn discard(core: &mut Core, id: WindowId, is_entered: bool) {
    if is_entered {
        let _ = core.state.remove_window(&mut core.windows, id);
        core.state.withdraw_all(&mut *core.channel);
    } else {
        core.windows.indices.give_back(id.index);
    }
}

impl Drop for WindowCreation {
    /// A creation that is given up is not in the way of this process's others. Its other ranks wait for it, as for a lost one.
    fn drop(&mut self) {
        let Self { engine, number, phase, .. } = self;
        let phase = std::mem::replace(phase, CreationPhase::Over);
        // What a forked child drops goes on in its parent.
        if matches!(phase, CreationPhase::Over) || fork::is_child() {
            return;
        }
        engine.with(|core| {
            core.windows.indices.withdraw(*number);
            let host = engine.host();
            match phase {
                CreationPhase::Together { compare, offer, segment } => {
                    [compare, offer, segment].into_iter().for_each(|pending| pending.abandon(host));
                }
                CreationPhase::Agree { agreeing, .. } => agreeing.abandon(host),
                CreationPhase::Meet { request, id, shared } => {
                    host.abandon(request);
                    leave(core, id, shared.as_ref());
                }
                CreationPhase::Withdraw(..) | CreationPhase::Over => {}
            }
            core.state.needs_step = true;
            if core.windows.indices.take_news() {
                engine.waiting().on_moved();
            }
        });
    }
}

impl fmt::Debug for WindowCreation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowCreation").field("spec", &self.spec).finish_non_exhaustive()
    }
}
