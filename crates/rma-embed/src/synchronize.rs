//! Synchronization calls.

use crate::entry::entry;
use crate::pointer::{In, Out};
use crate::under_way::{EngineCall, enter_started};
use crate::window::WINDOWS;
use rma_ch_c::bad;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::Rank;
use rma_core::{Error, ErrorClass, Result};
use std::ffi::c_int;

entry! {
    /// `rma_post`.
    fn rma_post(window: u64, ranks: In<u32>, count: usize, assertion: c_int) {
        WINDOWS.get(window)?.try_post_to(&group(ranks, count)?, assert(assertion))
    }

    /// `rma_test`.
    fn rma_test(window: u64, done: Out<c_int>) {
        let place = done.needed("done")?;
        place.set(c_int::from(WINDOWS.get(window)?.test()?));
        Ok(())
    }

    /// `rma_sync`.
    fn rma_sync(window: u64) {
        WINDOWS.get(window)?.sync()
    }
}

/// Declares entry points that begin a synchronization call.
macro_rules! synchronize {
    ($($name:ident($($arg:ident: $ty:ty),*) = |$window:ident| $begin:expr;)*) => {
        entry! {$(
            #[doc = concat!("`", stringify!($name), "`.")]
            fn $name(window: u64, $($arg: $ty,)* call: Out<u64>) {
                let place = call.needed("call")?;
                let $window = WINDOWS.get(window)?;
                let sync = $begin?;
                place.set(enter_started(EngineCall::Sync($window, sync))?);
                Ok(())
            }
        )*}
    };
}

synchronize! {
    rma_fence(assertion: c_int) = |window| window.begin_fence(assert(assertion));
    rma_lock(kind: c_int, target: u32, assertion: c_int) =
        |window| window.begin_lock(lock_kind(kind)?, Rank(target), assert(assertion));
    rma_unlock(target: u32) = |window| window.begin_unlock(Rank(target));
    rma_lock_all(assertion: c_int) = |window| window.begin_lock_all(assert(assertion));
    rma_unlock_all() = |window| window.begin_unlock_all();
    rma_flush(target: u32) = |window| window.begin_flush(Rank(target));
    rma_flush_local(target: u32) = |window| window.begin_flush_local(Rank(target));
    rma_flush_all() = |window| window.begin_flush_all();
    rma_flush_local_all() = |window| window.begin_flush_local_all();
    rma_start(ranks: In<u32>, count: usize, assertion: c_int) =
        |window| window.begin_start(&group(ranks, count)?, assert(assertion));
    rma_complete() = |window| window.begin_complete();
    rma_wait() = |window| window.begin_wait();
}

/// `RMA_NOCHECK` and so on; the call refuses what it does not take.
fn assert(bits: c_int) -> Assert {
    Assert::from_bits(bits as u32)
}

fn lock_kind(kind: c_int) -> Result<LockKind> {
    match kind {
        1 => Ok(LockKind::Exclusive),
        2 => Ok(LockKind::Shared),
        _ => {
            let cause = format!("lock type {kind} is neither RMA_LOCK_EXCLUSIVE (1) nor RMA_LOCK_SHARED (2)");
            Err(Error::new(ErrorClass::Locktype, "rma", cause))
        }
    }
}

fn group(ranks: In<u32>, count: usize) -> Result<Vec<Rank>> {
    if count > u32::MAX as usize {
        return Err(bad(format!("a group of {count} ranks")));
    }
    Ok(ranks.list(count, "ranks")?.into_iter().map(Rank).collect())
}
