//! Setting the number of counters: collective, in steps that never wait.
//!
//! ```text
//!   compare   is every rank's number good, and all the same?
//!   meet      each has reset its counters; where numbers differ, all are learnt, in rounds of as many as a host must combine
//! ```
//!
//! With one bad number all ranks get an error, and every counter is as it was.

use crate::engine::Engine;
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Combine, HostRequest, Need, Outcome, Place};
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::gone;
use crate::window::Window;
use std::fmt;

const CALL: &str = "set_counters";
/// Numbers of a round.
const ROUND: u32 = 32;

/// All ranks of a window set how many counters they have in use.
pub struct CounterSetting {
    window: Window,
    number: u32,
    fault: Option<Error>,
    phase: SettingPhase,
    /// Where they differ, the numbers of the first ranks.
    learnt: Vec<u32>,
}

#[derive(Clone, Copy)]
enum SettingPhase {
    Compare(HostRequest),
    Meet(HostRequest, Alike),
    Over,
}

/// What all ranks have in use, if that is the same number.
type Alike = Option<u32>;

/// Sets how many counters this rank has in use of a window, and all of them to zero; collective, and over when all ranks have done so. Each
/// gives a number of its own.
///
/// # Errors
/// `MPI_ERR_ARG` on all ranks, and nothing is changed, when one of them has no room for so many: the hint
/// `mpi_assert_max_num_notify` asks for it when the window is made. `MPI_ERR_WIN`; whatever the host says of a lost rank.
pub fn set_counters(window: &Window, number: u32) -> Result<()> {
    let _call = window.trace(CALL, None);
    CounterSetting::begin(window, Ok(number))?.wait()
}

/// How many counters a rank has in use.
///
/// # Errors
/// `MPI_ERR_RANK`.
pub fn counters_of(window: &Window, rank: Rank) -> Result<u32> {
    window.shared().check_rank(rank, "counters_of")?;
    Ok(window.shared().notification.in_use(rank))
}

/// How many counters this rank can have in use.
pub fn room_for_counters(window: &Window) -> u32 {
    window.shared().notification.own().map_or(0, |block| block.capacity())
}

impl CounterSetting {
    /// The steps of [`set_counters`]. With an error instead of a number this rank only takes part, so that no other waits for it, and
    /// answers that error in the end.
    ///
    /// # Errors
    /// As [`set_counters`].
    pub fn begin(window: &Window, number: Result<u32>) -> Result<Self> {
        let room = room_for_counters(window);
        let number =
            number.and_then(|number| if number > room { Err(no_room(number, room)) } else { Ok(number) });
        let (number, fault) = number.map_or_else(|fault| (0, Some(fault)), |number| (number, None));
        let (wide, is_good) = (u64::from(number), u64::from(fault.is_none()));
        let (engine, group) = (window.engine(), &window.shared().group);
        let compare = engine.with(|core| {
            let window = core.windows.get(window.id()).ok_or_else(|| gone(CALL))?;
            window.check_open(CALL)?;
            core.state.needs_step = true;
            engine.host().begin_reduce(group, Combine::Min, &[wide, !wide, is_good])
        })?;
        let phase = SettingPhase::Compare(compare);
        Ok(Self { window: window.clone(), number, fault, phase, learnt: Vec::new() })
    }

    /// Waits until all ranks have set their numbers.
    ///
    /// # Errors
    /// As [`set_counters`].
    pub fn wait(mut self) -> Result<()> {
        let (engine, window) = (self.window.engine().clone(), self.window.clone());
        let describe = |_: &Core| awaited(&engine, &window);
        engine.wait(CALL, &describe, &mut |core| Ok(self.poll_in(core)?.then_some(())))
    }

    /// Advances; answers whether all ranks have set their numbers. Progress of the engine is the caller's business.
    ///
    /// # Errors
    /// As [`set_counters`].
    pub fn poll(&mut self) -> Result<bool> {
        let engine = self.window.engine().clone();
        engine.with(|core| self.poll_in(core))
    }

    fn poll_in(&mut self, core: &mut Core) -> Result<bool> {
        let window = self.window.clone();
        let (host, notification) = (window.engine().host(), &window.shared().notification);
        loop {
            let request = match self.phase {
                SettingPhase::Compare(request) | SettingPhase::Meet(request, _) => request,
                SettingPhase::Over => {
                    return Err(Error::new(ErrorClass::Request, CALL, "the call is over already"));
                }
            };
            let values = match host.poll(request) {
                Ok(None) => return Ok(false),
                Ok(Some(Outcome::Values(values))) => values,
                outcome => {
                    self.phase = SettingPhase::Over;
                    return Err(outcome.err().unwrap_or_else(unexpected).in_call(CALL));
                }
            };
            let phase = std::mem::replace(&mut self.phase, SettingPhase::Over);
            if let SettingPhase::Meet(_, alike) = phase {
                if let Some(number) = alike {
                    notification.learn_alike(number);
                    return Ok(true);
                }
                self.learnt.extend(values.iter().map(|number| *number as u32));
                if self.learnt.len() < window.shared().group.size() as usize {
                    self.phase = self.meet(core, None)?;
                    continue;
                }
                notification.learn(std::mem::take(&mut self.learnt));
                return Ok(true);
            }
            let [least, greatest, are_good] = values[..] else { return Err(unexpected()) };
            if let Some(fault) = self.fault.take() {
                return Err(fault.in_call(CALL));
            }
            if are_good == 0 {
                let cause = "another rank gave a bad number of counters, so all are as they were";
                return Err(Error::new(ErrorClass::Arg, CALL, cause));
            }
            // Before the others can know that all have agreed, and so before any of them may raise one.
            if let Some(own) = notification.own() {
                own.set_in_use(self.number);
            }
            let alike = (least == !greatest).then_some(self.number);
            self.phase = self.meet(core, alike)?;
        }
    }

    /// Begins to learn the numbers of the next ranks, if they differ; else only to meet.
    fn meet(&self, core: &mut Core, alike: Alike) -> Result<SettingPhase> {
        let group = &self.window.shared().group;
        let known = self.learnt.len() as u32;
        let next = known..group.size().min(known + ROUND);
        let number = |rank| if rank == group.me().0 { self.number.into() } else { u64::MAX };
        let mine = if alike.is_some() { vec![0] } else { next.map(number).collect() };
        core.state.needs_step = true;
        Ok(SettingPhase::Meet(self.window.engine().host().begin_reduce(group, Combine::Min, &mine)?, alike))
    }
}

impl Drop for CounterSetting {
    /// One that is given up is waited for by the other ranks, as a window's creation is; where the host can, their calls fail.
    fn drop(&mut self) {
        let phase = std::mem::replace(&mut self.phase, SettingPhase::Over);
        if let SettingPhase::Compare(request) | SettingPhase::Meet(request, _) = phase
            && !crate::fork::is_child()
        {
            let engine = self.window.engine();
            engine.with(|core| {
                engine.host().abandon(request);
                core.state.needs_step = true;
            });
        }
    }
}

impl fmt::Debug for CounterSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterSetting").field("window", &self.window).finish_non_exhaustive()
    }
}

fn awaited(engine: &Engine, window: &Window) -> Awaited {
    let group = &window.shared().group;
    let name = engine.observation().describe_window(window.id());
    let text = format!("all {} ranks to set their numbers of counters ({name})", group.size());
    let others = (0..group.size()).map(Rank).filter(|rank| *rank != group.me());
    let others = others.map(|rank| group.peer(rank)).collect();
    let place = Place { context: group.context(), window: Some(window.id()), name, instance: None };
    Awaited::one(text, Need::Collective(place, others))
}

#[cold]
fn no_room(number: u32, room: u32) -> Error {
    let cause = format!(
        "{number} counters, but this rank has room for {room}: ask for more with mpi_assert_max_num_notify when the window is made"
    );
    Error::new(ErrorClass::Arg, CALL, cause)
}

#[cold]
fn unexpected() -> Error {
    Error::new(ErrorClass::Intern, CALL, "the host reduced to another number of values")
}
