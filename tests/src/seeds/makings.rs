//! Windows and communicators that are made and freed while a program runs: by each thread on communicators of its own, together with
//! the same thread of the other ranks, and so at the same time as by the rank's other threads, in any order between them.
//!
//! A list of makings is the same for one thread of all ranks. Each of them is legal whatever was taken out before it: what frees where
//! nothing is left does nothing, on all ranks.

use super::player::Environment;
use crate::random::Random;
use crate::world::{from, local};
use rma_core::Engine;
use rma_core::epoch::Assert;
use rma_core::error::Result;
use rma_core::host::Group;
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowCreation, WindowFree, WindowSpec};

/// What a thread does on its communicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// Creates a window, puts a value to the next rank in it, and looks at what has come.
    Create {
        /// Ranks that take part, by bit; 0: each of them alone.
        members: u32,
        /// Elements of each rank.
        elements: u64,
    },
    /// Frees one of the windows that are left, counted from the oldest and round again.
    Free {
        /// Which.
        which: u32,
    },
    /// Duplicates the communicator that was made last, and goes on with that.
    Duplicate,
    /// Frees the communicator that was made last. Windows of it may be left.
    Release,
}

/// Draws the makings of a round, by thread.
pub(super) fn draw(random: &mut Random, ranks: u32, threads: u32) -> Vec<Vec<Making>> {
    let making = |random: &mut Random| match random.below(8) {
        0 => Making::Duplicate,
        1 => Making::Release,
        2 | 3 => Making::Free { which: random.below(4) as u32 },
        _ => {
            let all = (1 << ranks) - 1;
            let members = match random.below(3) {
                0 => 0,
                1 => all,
                _ => random.below(all) + 1,
            };
            Making::Create { members: members as u32, elements: 1 + random.below(200) }
        }
    };
    (0..threads).map(|_| (0..random.below(4)).map(|_| making(random)).collect()).collect()
}

/// The makings of one thread of a rank.
#[derive(Default)]
pub(super) struct Workshop {
    /// By making; nothing where this rank takes no part. So all ranks count alike.
    windows: Vec<Option<Window>>,
    made: u64,
    stage: Stage,
}

#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Creating(Box<WindowCreation>),
    /// The first fence, or the second one, behind the put.
    Fencing {
        window: Window,
        sync: Sync,
        value: Box<[u64; 1]>,
        is_second: bool,
    },
    Putting {
        window: Window,
        value: Box<[u64; 1]>,
    },
    Freeing(WindowFree),
    Duplicating,
}

/// Where the work is done.
pub(super) struct Place<'a, G> {
    pub(super) engine: &'a Engine,
    pub(super) environment: &'a mut G,
    pub(super) me: u32,
    pub(super) thread: u32,
}

impl Workshop {
    /// Goes on with a making; whether it is over.
    pub(super) fn make<G: Environment>(&mut self, making: Making, place: &mut Place<'_, G>) -> Result<bool> {
        match std::mem::take(&mut self.stage) {
            Stage::Idle => self.begin(making, place),
            Stage::Creating(mut creation) => {
                match creation.poll()? {
                    None => self.stage = Stage::Creating(creation),
                    Some(window) => {
                        let sync = window.begin_fence(Assert::NO_PRECEDE)?;
                        let group = members_of(making, place).expect("a window of this rank's");
                        let value = Box::new([self.value_of(group.me().0)]);
                        self.stage = Stage::Fencing { window, sync, value, is_second: false };
                        return self.make(making, place);
                    }
                }
                Ok(false)
            }
            Stage::Fencing { window, mut sync, value, is_second } => {
                if !window.poll_sync(&mut sync)? {
                    self.stage = Stage::Fencing { window, sync, value, is_second };
                    return Ok(false);
                }
                let group = members_of(making, place).expect("a window of this rank's");
                if is_second {
                    let expected = self.value_of((group.me().0 + group.size() - 1) % group.size());
                    assert_eq!(local(&window, 0), expected, "a window of {making:?} must be {expected:#x}");
                    self.windows.push(Some(window));
                    return Ok(true);
                }
                self.stage = Stage::Putting { window, value };
                self.make(making, place)
            }
            Stage::Putting { window, value } => {
                let group = members_of(making, place).expect("a window of this rank's");
                let next = Rank((group.me().0 + 1) % group.size());
                if !window.try_put(from(&*value), next, Disp(0))? {
                    self.stage = Stage::Putting { window, value };
                    return Ok(false);
                }
                let sync = window.begin_fence(Assert::NO_SUCCEED)?;
                self.stage = Stage::Fencing { window, sync, value, is_second: true };
                self.make(making, place)
            }
            Stage::Freeing(mut free) => {
                let is_over = free.poll()?;
                if !is_over {
                    self.stage = Stage::Freeing(free);
                }
                Ok(is_over)
            }
            Stage::Duplicating => {
                let is_over = place.environment.duplicate(place.thread)?;
                if !is_over {
                    self.stage = Stage::Duplicating;
                }
                Ok(is_over)
            }
        }
    }

    /// Frees everything that is left; whether it is over.
    pub(super) fn clear<G: Environment>(&mut self, place: &mut Place<'_, G>) -> Result<bool> {
        if self.windows.is_empty() && matches!(self.stage, Stage::Idle) {
            while place.environment.release(place.thread) {}
            return Ok(true);
        }
        while self.make(Making::Free { which: 0 }, place)? {
            if self.windows.is_empty() {
                return self.clear(place);
            }
        }
        Ok(false)
    }

    /// What is under way, for reports.
    pub(super) fn describe(&self) -> String {
        let stage = match &self.stage {
            Stage::Idle => return String::new(),
            Stage::Creating(creation) => format!("{creation:?}"),
            Stage::Fencing { window, is_second, .. } => {
                format!("fence of {:?}, second: {is_second}", window.id())
            }
            Stage::Putting { window, .. } => format!("put in {:?}", window.id()),
            Stage::Freeing(free) => format!("{free:?}"),
            Stage::Duplicating => "duplicate".to_owned(),
        };
        format!(" ({stage}, with {} windows)", self.windows.len())
    }

    fn begin<G: Environment>(&mut self, making: Making, place: &mut Place<'_, G>) -> Result<bool> {
        match making {
            Making::Create { elements, .. } => {
                self.made += 1;
                let Some(group) = members_of(making, place) else {
                    self.windows.push(None);
                    return Ok(true);
                };
                let spec = WindowSpec::Allocate { len: elements * 8, unit: 8 };
                self.stage = Stage::Creating(Box::new(place.engine.begin_window(group, spec)?));
            }
            Making::Free { .. } if self.windows.is_empty() => return Ok(true),
            Making::Free { which } => {
                let at = which as usize % self.windows.len();
                let Some(window) = self.windows.remove(at) else { return Ok(true) };
                self.stage = Stage::Freeing(window.begin_free().map_err(|(_, error)| error)?);
            }
            Making::Duplicate => self.stage = Stage::Duplicating,
            Making::Release => {
                place.environment.release(place.thread);
                return Ok(true);
            }
        }
        // A waiting thread may sleep: what has begun is under way by then.
        self.make(making, place)
    }

    /// What a rank puts into the window made now.
    fn value_of(&self, rank: u32) -> u64 {
        (self.made << 32) | (u64::from(rank) + 1)
    }
}

/// The ranks of a making that this one works with.
fn members_of<G: Environment>(making: Making, place: &Place<'_, G>) -> Option<Group> {
    let Making::Create { members, .. } = making else { return None };
    let whole = place.environment.group(place.thread);
    let all = (1u32 << whole.size()) - 1;
    let members = if members == 0 { 1 << place.me } else { members & all };
    if members == all {
        return Some(whole);
    }
    let ranks = (0..whole.size()).filter(|rank| members >> rank & 1 != 0).collect::<Vec<_>>();
    let me = ranks.iter().position(|rank| *rank == place.me)?;
    let peers = ranks.iter().map(|rank| whole.peer(Rank(*rank))).collect::<Vec<Peer>>();
    // No communicator has such a context.
    let context = 1 << 63 | u64::from(members) << 48 | whole.context();
    Some(Group::of(context, Rank(me as u32), &peers))
}
