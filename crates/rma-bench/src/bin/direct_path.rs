//! One call of the direct path, many times: the program that `cargo xtask callgrind` counts instructions in.
//!
//! `direct-path CALL COUNT` repeats one call on a window of one rank. The rank is its own target; the direct path treats
//! every mapped rank alike, and without a second rank the count of instructions is the same in every run. The channels that
//! are polled now and then are those of a process, as in a program from C. Each call has a function of its own, so that callgrind
//! can collect in it alone. They use the engine's window, on which both the typed windows and other interfaces stand; those
//! that begin with `typed` use the handle of a typed window.

use rma::window::LockAll;
use rma::{LockKind, ReduceOp, World};
use rma_core::datatype::BasicType;
use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{Window, WindowSpec};
use std::process::ExitCode;

const USAGE: &str = "usage: direct-path CALL COUNT, where CALL is one of";

/// The calls by name, and whether they are made while a lock is held.
const CALLS: &[(&str, Measured, bool)] = &[
    ("put", measured::put, true),
    ("get", measured::get, true),
    ("accumulate", measured::accumulate, true),
    ("fetch_and_op", measured::fetch_and_op, true),
    ("compare_and_swap", measured::compare_and_swap, true),
    ("flush", measured::flush, true),
    ("lock_unlock", measured::lock_unlock, false),
];

/// The calls of a typed window by name.
const TYPED: &[(&str, Typed)] = &[
    ("typed_put", measured::typed_put),
    ("typed_get", measured::typed_get),
    ("typed_fetch_op", measured::typed_fetch_op),
    ("typed_fetch_add", measured::typed_fetch_add),
    ("typed_flush", measured::typed_flush),
];

/// Makes one call for each of the elements, which it may use as its buffer.
type Typed = for<'scope> fn(&LockAll<'scope, u64>, &'scope mut [u64]);

/// Makes one call so many times.
type Measured = fn(&Subject, u64);

/// What a call works on: eight bytes here, and eight in the window.
struct Subject {
    window: Window,
    origin: ReadSpan,
    result: WriteSpan,
    sum: Kernel,
    compare: CompareAndSwap,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [call, count] = &arguments[..] else { return usage() };
    let Ok(count) = count.parse() else { return usage() };
    let typed = TYPED.iter().find(|(name, _)| name == call);
    let call = CALLS.iter().find(|(name, ..)| name == call);
    let ended = match (call, typed) {
        (Some((_, call, is_locked)), _) => {
            World::init().and_then(|world| run(&world, *call, *is_locked, count))
        }
        (None, Some((_, call))) => World::init().and_then(|world| run_typed(&world, *call, count)),
        (None, None) => return usage(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("direct-path: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    let typed = TYPED.iter().map(|(name, _)| *name);
    let names: Vec<_> = CALLS.iter().map(|(name, ..)| *name).chain(typed).collect();
    eprintln!("{USAGE} {}", names.join(", "));
    ExitCode::from(2)
}

fn run(world: &World, call: Measured, is_locked: bool, count: u64) -> rma::Result<()> {
    let (value, mut result) = (1u64, 0u64);
    let window = world.engine().create_window(world.group(), WindowSpec::Allocate { len: 64, unit: 8 })?;
    let subject = Subject {
        window: window.clone(),
        // SAFETY: the value outlives the epoch below, which completes the operations that use it.
        origin: unsafe { ReadSpan::new((&raw const value).cast(), size_of::<u64>()) },
        // SAFETY: as above, and the result is not used before the epoch is over.
        result: unsafe { WriteSpan::new((&raw mut result).cast(), size_of::<u64>()) },
        sum: Kernel::new(ReduceOp::Sum, BasicType::U64).expect("sums are defined on integers"),
        compare: CompareAndSwap::new(BasicType::U64).expect("integers can be compared"),
    };
    if is_locked {
        window.lock(LockKind::Shared, Rank(0), Assert::NONE)?;
    }
    call(&subject, count);
    if is_locked {
        window.unlock(Rank(0))?;
    }
    drop(subject);
    window.free()
}

fn run_typed(world: &World, call: Typed, count: u64) -> rma::Result<()> {
    let mut elements = vec![1; count as usize];
    let mut window = world.allocate(8)?;
    let places = &mut elements[..];
    window.lock_all(move |all| {
        call(all, places);
        Ok(())
    })?;
    window.free()
}

/// The loops, one function each; names that xtask knows.
mod measured {
    use super::{Assert, Disp, LockAll, LockKind, Rank, ReduceOp, Subject};
    use std::hint::black_box;

    const TARGET: Rank = Rank(0);
    const AT: Disp = Disp(3);

    #[inline(never)]
    pub(super) fn put(subject: &Subject, count: u64) {
        let Subject { window, origin, .. } = subject;
        for _ in 0..count {
            window.put(black_box(*origin), black_box(TARGET), black_box(AT)).expect("a legal put");
        }
    }

    #[inline(never)]
    pub(super) fn get(subject: &Subject, count: u64) {
        let Subject { window, result, .. } = subject;
        for _ in 0..count {
            window.get(black_box(*result), black_box(TARGET), black_box(AT)).expect("a legal get");
        }
    }

    #[inline(never)]
    pub(super) fn accumulate(subject: &Subject, count: u64) {
        let Subject { window, origin, sum, .. } = subject;
        for _ in 0..count {
            window
                .accumulate(black_box(*origin), black_box(*sum), black_box(TARGET), black_box(AT))
                .expect("a legal accumulate");
        }
    }

    #[inline(never)]
    pub(super) fn fetch_and_op(subject: &Subject, count: u64) {
        let Subject { window, result, sum, .. } = subject;
        let operand = 1u64.to_ne_bytes();
        for _ in 0..count {
            window
                .fetch_and_op(black_box(&operand), *result, black_box(*sum), black_box(TARGET), black_box(AT))
                .expect("a legal fetch_and_op");
        }
    }

    #[inline(never)]
    pub(super) fn compare_and_swap(subject: &Subject, count: u64) {
        let Subject { window, result, compare, .. } = subject;
        let (new, old) = (1u64.to_ne_bytes(), 0u64.to_ne_bytes());
        for _ in 0..count {
            let (new, old) = (black_box(&new), black_box(&old));
            window
                .compare_and_swap(new, old, *result, black_box(*compare), black_box(TARGET), black_box(AT))
                .expect("a legal compare_and_swap");
        }
    }

    #[inline(never)]
    pub(super) fn flush(subject: &Subject, count: u64) {
        for _ in 0..count {
            subject.window.flush(black_box(TARGET)).expect("a legal flush");
        }
    }

    #[inline(never)]
    pub(super) fn lock_unlock(subject: &Subject, count: u64) {
        for _ in 0..count {
            let window = black_box(&subject.window);
            window.lock(LockKind::Exclusive, TARGET, Assert::NONE).expect("a legal lock");
            window.unlock(TARGET).expect("a legal unlock");
        }
    }

    #[inline(never)]
    pub(super) fn typed_put<'scope>(all: &LockAll<'scope, u64>, places: &'scope mut [u64]) {
        for place in places.chunks_exact(1) {
            all.put(place, black_box(0u32), black_box(3)).expect("a legal put");
        }
    }

    #[inline(never)]
    pub(super) fn typed_get<'scope>(all: &LockAll<'scope, u64>, places: &'scope mut [u64]) {
        for place in places.chunks_exact_mut(1) {
            all.get(place, black_box(0u32), black_box(3)).expect("a legal get");
        }
    }

    #[inline(never)]
    pub(super) fn typed_fetch_op<'scope>(all: &LockAll<'scope, u64>, places: &'scope mut [u64]) {
        for place in places {
            let operand = black_box(1);
            all.fetch_op(operand, place, ReduceOp::Sum, black_box(0u32), black_box(3))
                .expect("a legal fetch_op");
        }
    }

    #[inline(never)]
    pub(super) fn typed_fetch_add<'scope>(all: &LockAll<'scope, u64>, places: &'scope mut [u64]) {
        let rank = all.rank(0).expect("there is a rank 0");
        for place in places {
            *place = rank.fetch_add(black_box(3), black_box(1)).expect("a legal fetch_add");
        }
    }

    #[inline(never)]
    pub(super) fn typed_flush<'scope>(all: &LockAll<'scope, u64>, places: &'scope mut [u64]) {
        for _ in places {
            all.flush(black_box(0u32)).expect("a legal flush");
        }
    }
}
