//! Every error class of table 11.2 of the chapter that the engine raises, and those that later versions add, each provoked
//! on every path. The message names the call, the argument and its value, the limit it breaks, and for an epoch the call
//! that opened the one that is open.
//!
//! Not here: `MPI_ERR_RMA_CONFLICT`, because the standard allows accesses to overlap without an error (§11.7);
//! `MPI_ERR_WIN` of handles that are none and `MPI_ERR_LOCKTYPE`, which the types of Rust exclude: `tests/c/win_errors_misuse.c`.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::{ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::mem::WriteSpan;
use rma_core::window::{Window, WindowSpec};
use rma_tests::world::{Setup, TestRank, from, into, kernel, run, run_all};

/// A row of the table: what is wrong, how it is provoked, and what the error must say.
struct Case {
    name: &'static str,
    provoke: fn(&TestRank, &Window) -> Result<()>,
    class: ErrorClass,
    words: &'static [&'static str],
}

const ME_LEN: u64 = 16;

/// The rows that need no more than a window of 16 elements, with no epoch open before and after.
const CASES: &[Case] = &[
    Case {
        name: "a size over the largest",
        provoke: |rank, _| allocate(rank, 1 << 63, 8),
        class: ErrorClass::Size,
        words: &["win_create", "size 9223372036854775808", "9223372036854775807"],
    },
    Case {
        name: "a displacement unit of nothing",
        provoke: |rank, _| allocate(rank, 8, 0),
        class: ErrorClass::Disp,
        words: &["win_create", "displacement unit 0", "1 to 9223372036854775807"],
    },
    Case {
        name: "an assertion that a fence does not take",
        provoke: |_, window| window.fence(Assert::NO_CHECK),
        class: ErrorClass::Assert,
        words: &["fence", "0x400", "0x7800"],
    },
    Case {
        name: "an assertion that a lock does not take",
        provoke: |_, window| window.lock(Shared, Rank(0), Assert::NO_STORE),
        class: ErrorClass::Assert,
        words: &["lock", "0x2000", "0x400"],
    },
    Case {
        name: "an assertion that a post does not take",
        provoke: |_, window| window.post_to(&[Rank(0)], Assert::NO_SUCCEED),
        class: ErrorClass::Assert,
        words: &["post", "0x4000"],
    },
    Case {
        name: "an operation outside an epoch",
        provoke: |_, window| window.put(from(&[1]), Rank(0), Disp(0)),
        class: ErrorClass::RmaSync,
        words: &["put", "no epoch is open"],
    },
    Case {
        name: "an unlock of what is not locked",
        provoke: |_, window| window.unlock(Rank(0)),
        class: ErrorClass::RmaSync,
        words: &["unlock", "no epoch is open"],
    },
    Case {
        name: "a second lock of one rank",
        provoke: |_, window| {
            window.lock(Shared, Rank(0), Assert::NONE)?;
            let again = window.lock(Exclusive, Rank(0), Assert::NONE);
            window.unlock(Rank(0))?;
            again
        },
        class: ErrorClass::RmaSync,
        words: &["lock", "rank 0", "already"],
    },
    Case {
        name: "lock_all in an epoch of lock",
        provoke: |_, window| {
            window.lock(Shared, Rank(0), Assert::NONE)?;
            let all = window.lock_all(Assert::NONE);
            window.unlock(Rank(0))?;
            all
        },
        class: ErrorClass::RmaSync,
        words: &["lock_all", "rank 0 is locked", "opened by lock"],
    },
    Case {
        name: "start in an epoch of lock_all",
        provoke: |_, window| {
            window.lock_all(Assert::NONE)?;
            let start = window.start(&[Rank(0)], Assert::NONE);
            window.unlock_all()?;
            start
        },
        class: ErrorClass::RmaSync,
        words: &["start", "opened by lock_all"],
    },
    Case {
        name: "unlock in an epoch of fence",
        provoke: |_, window| {
            window.fence(Assert::NONE)?;
            let unlock = window.unlock(Rank(0));
            window.fence(Assert::NO_SUCCEED)?;
            unlock
        },
        class: ErrorClass::RmaSync,
        words: &["unlock", "opened by fence"],
    },
    Case {
        name: "complete without start",
        provoke: |_, window| window.complete(),
        class: ErrorClass::RmaSync,
        words: &["complete", "no epoch is open"],
    },
    Case {
        name: "wait without post",
        provoke: |_, window| window.wait(),
        class: ErrorClass::RmaSync,
        words: &["wait", "post"],
    },
    Case {
        name: "an operation to a rank that start does not name",
        provoke: |rank, window| {
            let (me, other) = (Rank(rank.me), Rank((rank.me + 1) % rank.size));
            window.post_to(&[me], Assert::NONE)?;
            window.start(&[me], Assert::NONE)?;
            let put = window.put(from(&[1]), other, Disp(0));
            window.complete()?;
            window.wait()?;
            put
        },
        class: ErrorClass::RmaSync,
        words: &["put", "start"],
    },
    Case {
        name: "a put behind the end",
        provoke: |_, window| locked(window, |w| w.put(from(&[1]), Rank(0), Disp(ME_LEN))),
        class: ErrorClass::RmaRange,
        words: &["put", "rank 0", "128"],
    },
    Case {
        name: "an accumulate at a displacement that overflows",
        provoke: |_, window| {
            locked(window, |w| w.accumulate(from(&[1]), kernel(ReduceOp::Sum), Rank(0), Disp(u64::MAX)))
        },
        class: ErrorClass::RmaRange,
        words: &["accumulate", "rank 0", "128"],
    },
    Case {
        name: "memory attached to a window that has its own",
        provoke: |_, window| attach(window, KEPT.with(|kept| into(&mut kept.borrow_mut()[..]))),
        class: ErrorClass::RmaFlavor,
        words: &["win_attach", "Allocate", "Dynamic"],
    },
    Case {
        name: "memory detached from a window that has its own",
        provoke: |_, window| window.detach(4096),
        class: ErrorClass::RmaFlavor,
        words: &["win_detach", "Allocate", "Dynamic"],
    },
    Case {
        name: "memory attached twice",
        provoke: |rank, _| {
            dynamic(rank, |window| {
                let memory = KEPT.with(|kept| into(&mut kept.borrow_mut()[..]));
                attach(window, memory)?;
                let again = attach(window, memory.part(8, 8));
                window.detach(memory.as_mut_ptr() as usize)?;
                again
            })
        },
        class: ErrorClass::RmaAttach,
        words: &["win_attach", "8 bytes", "attached"],
    },
    Case {
        name: "memory detached that was not attached",
        provoke: |rank, _| dynamic(rank, |window| window.detach(4096)),
        class: ErrorClass::Base,
        words: &["win_detach", "0x1000"],
    },
    Case {
        name: "shared memory asked of a dynamic window",
        // SAFETY: nothing is used of what is not given.
        provoke: |rank, _| dynamic(rank, |window| unsafe { window.shared_query(None) }.map(drop)),
        class: ErrorClass::RmaFlavor,
        words: &["win_shared_query", "dynamic"],
    },
    Case {
        name: "an address that is not attached",
        provoke: |rank, _| {
            dynamic(rank, |window| locked(window, |w| w.put(from(&[1]), Rank(rank.me), Disp(4096))))
        },
        class: ErrorClass::RmaRange,
        words: &["not attached"],
    },
    Case {
        name: "a target outside the group",
        provoke: |_, window| window.lock(Shared, Rank(77), Assert::NONE),
        class: ErrorClass::Rank,
        words: &["lock", "rank 77", "0 to 1"],
    },
];

thread_local! {
    static KEPT: std::cell::RefCell<[u64; 4]> = const { std::cell::RefCell::new([0; 4]) };
}

fn allocate(rank: &TestRank, len: u64, unit: u64) -> Result<()> {
    rank.engine.create_window(rank.group(), WindowSpec::Allocate { len, unit })?.free()
}

fn attach(window: &Window, memory: WriteSpan) -> Result<()> {
    // SAFETY: the memory belongs to the thread, which outlives the window.
    unsafe { window.attach(memory) }
}

/// Does something with a dynamic window.
fn dynamic(rank: &TestRank, work: impl FnOnce(&Window) -> Result<()>) -> Result<()> {
    let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic)?;
    let outcome = work(&window);
    window.free()?;
    outcome
}

/// Does something under a shared lock of rank 0, or the own one for a dynamic window; the error may come with the unlock.
fn locked(window: &Window, work: impl FnOnce(&Window) -> Result<()>) -> Result<()> {
    window.lock_all(Assert::NONE)?;
    let outcome = work(window);
    outcome.and(window.unlock_all())
}

/// What is wrong with an outcome, if anything.
fn complaint(case: &Case, outcome: Result<()>) -> Option<String> {
    let Err(error) = outcome else { return Some(format!("{}: went through", case.name)) };
    let text = error.to_string();
    let unsaid = case.words.iter().filter(|word| !text.contains(**word)).collect::<Vec<_>>();
    let is_right = error.class() == case.class && unsaid.is_empty() && text.contains(case.class.name());
    (!is_right).then(|| format!("{}: expected {} that says {unsaid:?}: {text}", case.name, case.class))
}

#[test]
fn every_class_is_provoked_and_says_what_is_wrong() {
    run_all(2, |rank| {
        let mut complaints = Vec::new();
        for case in CASES {
            let window = rank.allocate(ME_LEN);
            rank.barrier();
            complaints.extend(complaint(case, (case.provoke)(rank, &window)));
            // What was refused has not happened: an epoch between the ranks works.
            rank.barrier();
            let other = Rank(1 - rank.me);
            window.lock(Exclusive, other, Assert::NONE).unwrap();
            window.put(from(&[5]), other, Disp(3)).unwrap();
            window.unlock(other).unwrap();
            rank.barrier();
            assert_eq!(rma_tests::world::local(&window, 3), 5, "{}", case.name);
            window.free().unwrap();
        }
        assert!(complaints.is_empty(), "rank {}: {complaints:#?}", rank.me);
    });
}

#[test]
fn memory_that_cannot_be_shared() {
    run(&Setup::packets(2), |rank| {
        let spec = WindowSpec::AllocateShared { len: 64, unit: 8, is_contiguous: true };
        let error = rank.engine.create_window(rank.group(), spec).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
        let text = error.to_string();
        assert!(text.contains("2 nodes"), "{text}");
        // The engine goes on.
        rank.allocate(1).free().unwrap();
    });
}

#[test]
fn a_window_that_has_been_freed() {
    run(&Setup::packets(2), |rank| {
        let window = rank.allocate(1);
        window.clone().free().unwrap();
        let error = window.lock(Shared, Rank(1), Assert::NONE).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Win);
        assert!(error.to_string().contains("freed"), "{error}");
    });
}

#[test]
fn an_epoch_error_names_the_call_that_opened_what_is_open() {
    run_all(2, |rank| {
        let window = rank.allocate(1);
        let other = Rank(1 - rank.me);
        let says = |outcome: Result<()>, words: &[&str]| {
            let error = outcome.expect_err("a call in the wrong epoch");
            assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
            let text = error.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
        };
        rank.barrier();
        window.lock_all(Assert::NONE).unwrap();
        says(window.unlock(other), &["unlock", "lock_all"]);
        says(window.fence(Assert::NONE), &["fence", "lock_all"]);
        says(window.complete(), &["complete", "lock_all"]);
        says(window.lock_all(Assert::NONE), &["lock_all"]);
        window.unlock_all().unwrap();
        rank.barrier();
        window.post_to(&[other], Assert::NONE).unwrap();
        says(window.post_to(&[other], Assert::NONE), &["post"]);
        window.start(&[other], Assert::NONE).unwrap();
        says(window.lock(Shared, other, Assert::NONE), &["lock", "start"]);
        says(window.flush(other), &["flush", "start"]);
        says(window.unlock_all(), &["unlock_all", "start"]);
        says(window.fence(Assert::NONE), &["fence"]);
        window.complete().unwrap();
        window.wait().unwrap();
        says(window.wait(), &["wait"]);
        rank.barrier();
        window.free().unwrap();
    });
}
