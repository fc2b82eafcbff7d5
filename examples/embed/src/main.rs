//! Four ranks of Mini use windows: fence, locks, post/start/complete/wait, with put, get and accumulate. Each checks what it
//! finds in memory.

use embed::Mini;
use rma_core::Result;
use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind};
use rma_core::host::Combine;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};

const SIZE: u32 = 4;
/// Longer than a packet of Mini, so that it travels as bulk.
const LEN: usize = 1000;

fn main() -> Result<()> {
    let sums = Mini::run(SIZE, rank)?;
    assert_eq!(sums, [10; SIZE as usize]);
    println!("{SIZE} ranks of Mini have put, got and accumulated; every byte is where it should be");
    Ok(())
}

fn rank(mini: &Mini) -> Result<u64> {
    let me = mini.world().me().0;
    let (left, right) = (Rank((me + SIZE - 1) % SIZE), Rank((me + 1) % SIZE));
    let mut creation = mini
        .engine
        .begin_window(mini.world().clone(), WindowSpec::Allocate { len: 8 * LEN as u64, unit: 8 })?;
    let window = mini.until(|| creation.poll())?;
    let finish = |mut call: Sync| mini.until(|| Ok(window.poll_sync(&mut call)?.then_some(())));

    // Fence: a row for the right neighbour.
    let row = [u64::from(me) + 1; LEN];
    finish(window.begin_fence(Assert::NONE)?)?;
    mini.until(|| Ok(window.try_put(read(&row), right, Disp(0))?.then_some(())))?;
    finish(window.begin_fence(Assert::NONE)?)?;
    assert_eq!(local(&window), [u64::from(left.0) + 1; LEN]);
    mini.barrier()?;

    // Locks: all ranks add to a counter of rank 0, and read it when all have.
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).expect("a sum of integers");
    let (mine, mut total) = ([u64::from(me) + 1], [0]);
    finish(window.begin_lock(LockKind::Exclusive, Rank(0), Assert::NONE)?)?;
    mini.until(|| Ok(window.try_accumulate(read(&mine), sum, Rank(0), Disp(7))?.then_some(())))?;
    finish(window.begin_unlock(Rank(0))?)?;
    mini.barrier()?;
    finish(window.begin_lock(LockKind::Shared, Rank(0), Assert::NONE)?)?;
    mini.until(|| Ok(window.try_get(write(&mut total), Rank(0), Disp(7))?.then_some(())))?;
    finish(window.begin_unlock(Rank(0))?)?;
    assert_eq!(total, [u64::from(SIZE) + 10], "rank 3 had put {SIZE} there");

    // Post, start, complete, wait: a row from the left neighbour.
    mini.barrier()?;
    let mut taken = [0; LEN];
    window.try_post_to(&[right], Assert::NONE)?;
    finish(window.begin_start(&[left], Assert::NONE)?)?;
    mini.until(|| Ok(window.try_get(write(&mut taken), left, Disp(0))?.then_some(())))?;
    finish(window.begin_complete()?)?;
    finish(window.begin_wait()?)?;
    assert_eq!(taken[8..], [u64::from((left.0 + SIZE - 1) % SIZE) + 1; LEN - 8]);

    let mut free = window.begin_free().map_err(|(_, error)| error)?;
    mini.until(|| Ok(free.poll()?.then_some(())))?;
    Ok(mini.reduce(Combine::Sum, &[u64::from(me) + 1])?[0])
}

/// A buffer that stays in place until its operation is complete.
fn read(buffer: &[u64]) -> ReadSpan {
    // SAFETY: every buffer of `rank` outlives the synchronization call that completes the operation on it.
    unsafe { ReadSpan::new(buffer.as_ptr().cast(), size_of_val(buffer)) }
}

fn write(buffer: &mut [u64]) -> WriteSpan {
    // SAFETY: as in `read`; the buffer is not read before that call.
    unsafe { WriteSpan::new(buffer.as_mut_ptr().cast(), size_of_val(buffer)) }
}

/// The window's own memory, outside all epochs.
fn local(window: &Window) -> [u64; LEN] {
    let mut values = [0u64; LEN];
    // SAFETY: the window lives.
    write(&mut values).write_from(unsafe { window.local() }.as_read());
    values
}
