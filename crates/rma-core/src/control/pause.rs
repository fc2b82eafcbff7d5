//! How a thread waits for a word that another process holds for a moment: it spins, then gives its core away, and in the end
//! asks whether the holder still lives.
//!
//! The holder of such a word never waits while it has it, so the moment is short unless the process is stopped or killed in
//! the middle. Who waits may be the engine itself, with its lock held, and then nothing tells it of deaths; so it asks the
//! host ([`crate::host::Vitals`]). What a dead holder was changing is half done, as after any death.

use super::shim::{AtomicU64, Ordering, spin_loop, yield_now};
use super::state::Holder;

/// Tries before the processor is given away: the holder may need it, ranks may outnumber cores.
const SPINS: u32 = 64;

/// Times that the processor is given away from one question after the holder to the next: asking costs a system call.
const PATIENCE: u32 = 1000;

/// What a thread has done so far to wait.
#[derive(Debug, Default)]
pub(super) struct Pause {
    spins: u32,
    yields: u32,
}

impl Pause {
    /// Waits a little; answers whether it is time to ask after the holder.
    pub(super) fn wait(&mut self) -> bool {
        if self.spins < SPINS && !cfg!(all(test, loom)) {
            self.spins += 1;
            spin_loop();
            return false;
        }
        yield_now();
        self.yields = (self.yields + 1) % PATIENCE;
        self.yields == 0
    }
}

/// Takes a word that is 0 when free and else its holder's code. The caller orders what it guards: the take is an acquire.
#[inline]
pub(super) fn take(word: &AtomicU64, holder: Holder, has_ended: &dyn Fn(u64) -> bool) {
    let mut pause = Pause::default();
    while word.compare_exchange_weak(0, holder.code(), Ordering::Acquire, Ordering::Relaxed).is_err() {
        if pause.wait() {
            free_of_ended(word, has_ended);
        }
    }
}

/// Frees a word in the place of a holder that has ended.
#[cold]
fn free_of_ended(word: &AtomicU64, has_ended: &dyn Fn(u64) -> bool) {
    let code = word.load(Ordering::Relaxed);
    if code != 0 && has_ended(code) {
        // Fails when another has freed it before: no code comes back after its process has ended. As the holder's own release.
        let _ = word.compare_exchange(code, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}
