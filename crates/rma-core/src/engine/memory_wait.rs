//! Waits of a protocol above for what other processes write into memory that they share with this one.
//!
//! A store to memory wakes no thread by itself. So a wait first looks without the engine's lock, for about as
//! long as others need that are on their way, and then goes on as every wait does; before it sleeps it is
//! asked to announce that in the shared memory, and a process that writes afterwards notifies it
//! ([`Engine::notify`]).

use super::Engine;
use crate::error::Result;
use crate::host::Awaited;
use crate::ids::Peer;
use crate::progress::Core;
use crate::state::State;
use crate::strategy::Counted;

/// Looks in a row, and looks with a pause in between, of a process that has a core of its own: a few microseconds. Few in a row: a look
/// that comes while the line is on its way to its writer calls it back, and the store takes up to half as long again. Yet so many that
/// the store of a target that answers at once does not fall into the first pause.
const LOOKS: Counted = Counted::new(20, 64, 0);
/// Yields in a row: most processes that share this core have had a yield then. Others are served afterwards.
const YIELDS: u64 = 6;

impl Engine {
    /// Looks for something that other processes are about to write, without the engine's lock: spins, or yields
    /// where ranks outnumber cores, by the rules of all waits. `false` when it takes long: then the wait goes on with
    /// [`Engine::wait_in_memory`].
    pub fn look_for(&self, mut look: impl FnMut() -> bool) -> bool {
        if look() {
            return true;
        }
        if self.patience().0 > 0 {
            return self.look_spinning(look);
        }
        for _ in 0..self.config().yields.min(YIELDS) {
            if !self.waiting().yield_history.try_yield(self.host()) {
                return false;
            }
            if look() {
                return true;
            }
        }
        false
    }

    /// [`Engine::look_for`] that never yields: where waits do not spin it looks once.
    #[inline]
    pub(crate) fn look_spinning(&self, mut look: impl FnMut() -> bool) -> bool {
        if look() {
            return true;
        }
        // Where waits are configured not to spin, this one does not.
        self.patience().0 > 0 && LOOKS.look_for(|| look().then_some(())).is_some()
    }

    /// Drives the engine until `ready` gives a value. The argument of `ready` is whether this process may
    /// sleep after the look: then it says so where others see it, before it looks. It runs under the engine's
    /// lock and must not call the engine.
    ///
    /// # Errors
    /// Whatever `ready` answers.
    pub fn wait_in_memory<T, W: Into<Awaited>>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> W,
        ready: &mut dyn FnMut(bool) -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait(call, &|_| describe().into(), &mut |core: &mut Core| ready(!core.state.is_spinning))
    }

    /// Makes other processes look again that sleep in [`Engine::wait_in_memory`]. They are woken before this
    /// returns, since no later step does it and the caller may compute for long.
    ///
    /// # Errors
    /// None now; waits have errors.
    pub fn notify(&self, call: &'static str, peers: impl Iterator<Item = Peer>) -> Result<()> {
        self.wake_up(peers);
        let describe = |_: &Core| "room to wake the processes that sleep".into();
        self.wait(call, &describe, &mut |core: &mut Core| Ok(core.state.wake_ups.is_empty().then_some(())))
    }

    /// Sends a packet that says nothing to other processes: it makes contact, and from then on their end is noticed.
    pub fn wake_up(&self, peers: impl Iterator<Item = Peer>) {
        self.with(|core| {
            let State { wake_ups, counters, .. } = &mut core.state;
            for peer in peers {
                if !wake_ups.contains(&peer) {
                    counters.on_wake_ups_sent(1);
                    wake_ups.push(peer);
                }
            }
        });
        self.poll();
    }
}
