//! Each public function of windows in scopes that end in every way: closures that return, fail and panic, requests that are
//! dropped, forgotten and awaited, handles and views that are forgotten. Afterwards the window works, and buffers are the
//! program's again.
//!
//! [`CALLED`] names all of them. A function that is not there, or that nothing here calls, fails the last test.

// Whether a type has a destructor is no matter of its user.
#![allow(clippy::forget_non_drop)]

use super::on_both_paths;
use rma::window::{
    AccessEpoch, Batch, BatchOfAll, Epoch, Exposure, Fence, Hints, Layout, LockAll, Locked, Place, Request,
    Window, WindowBuilder,
};
use rma::{Error, ErrorClass, LockKind, ReduceOp, Result, World};
use std::collections::BTreeSet;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How a closure is left.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaves {
    Returns,
    Fails,
    Panics,
}

impl Leaves {
    fn leave(self) -> Result<()> {
        match self {
            Self::Returns => Ok(()),
            Self::Fails => Err(Error::new(ErrorClass::Arg, "test", "the closure fails")),
            // Not printed, unlike `panic!`.
            Self::Panics => resume_unwind(Box::new("the closure panics")),
        }
    }
}

/// What operations use.
#[derive(Default)]
struct Buffers {
    origin: [u64; 4],
    results: [[u64; 4]; 8],
    words: [u64; 4],
}

const LEN: usize = 16;

/// Runs a scope on a window of two ranks whose closure is left in each way; the window is as good as before each time.
fn in_each_way(scope: impl Fn(&World, &mut Window<'_, u64>, &mut Buffers, Leaves) -> Result<()> + Sync) {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(LEN)?;
        window.set_notifications(2)?;
        let me = world.rank();
        for leaves in [Leaves::Returns, Leaves::Fails, Leaves::Panics] {
            let mut buffers = Buffers { origin: [1, 2, 3, 4], ..Buffers::default() };
            let ended = catch_unwind(AssertUnwindSafe(|| scope(world, &mut window, &mut buffers, leaves)));
            match ended {
                Ok(Ok(())) => assert_eq!(leaves, Leaves::Returns),
                Ok(Err(error)) => {
                    assert_eq!((leaves, error.class()), (Leaves::Fails, ErrorClass::Arg), "{error}")
                }
                Err(panic) => {
                    let text = panic.downcast_ref::<&str>().copied().unwrap_or("a failed assertion");
                    assert_eq!((leaves, text), (Leaves::Panics, "the closure panics"));
                }
            }
            // No operation uses the buffers any more.
            buffers = Buffers { origin: [9; 4], results: [[9; 4]; 8], words: [9; 4] };
            window.exclusive(me, |own| own.store(15, 7).and_then(|()| own.load(15)).map(drop))?;
            world.barrier()?;
            assert_eq!(window.local().get(15), 7);
            assert_eq!((buffers.origin, buffers.results, buffers.words), ([9; 4], [[9; 4]; 8], [9; 4]));
        }
        window.free()
    });
}

/// All that every epoch has.
fn every_operation<'s, K>(epoch: &Epoch<'s, u64, K>, buffers: &'s mut Buffers, to: u32) -> Result<()> {
    let Buffers { origin, results: [a, b, c, d, e, f, ..], words: [v, w, ..] } = buffers;
    let origin = &*origin;
    let (two, apart) = (Layout::contiguous(2)?, Layout::blocks([0..1, 2..3])?);
    epoch.put(origin, to, 0)?;
    epoch.put_value(5, to, 4)?;
    epoch.get(a, to, 0)?;
    epoch.accumulate(origin, ReduceOp::Sum, to, 5)?;
    epoch.accumulate_value(1, ReduceOp::Sum, to, 5)?;
    epoch.get_accumulate(origin, b, ReduceOp::Sum, to, 5)?;
    epoch.fetch(c, to, 5)?;
    epoch.fetch_op(1, v, ReduceOp::Sum, to, 5)?;
    epoch.compare_and_swap(0, 1, w, to, 9)?;
    epoch.put_layout(origin, &apart, to, 10, &two)?;
    epoch.get_layout(d, &apart, to, 10, &two)?;
    epoch.accumulate_layout(origin, &apart, ReduceOp::Sum, to, 5, &two)?;
    epoch.get_accumulate_layout(origin, &two, e, &apart, ReduceOp::Sum, to, (5, &two))?;
    let view = ndarray::ArrayView1::from(origin.as_slice());
    epoch.put_array(view, to, 0, &Layout::contiguous(4)?)?;
    epoch.get_array(ndarray::ArrayViewMut1::from(f.as_mut_slice()), to, 0, &Layout::contiguous(4)?)?;
    forget(epoch.local());
    Ok(())
}

/// All that a lock of one rank has, and a batch within.
fn every_operation_on_one<'s>(
    locked: &Locked<'s, u64>,
    buffers: &'s mut Buffers,
    leaves: Leaves,
) -> Result<()> {
    let Buffers { origin, results: [a, b, c, d, e, f, g, h], words: [v, w, x, y] } = buffers;
    let origin = &*origin;
    let (two, four) = (Layout::contiguous(2)?, Layout::contiguous(4)?);
    locked.put(origin, 0)?;
    locked.put_value(5, 4)?;
    locked.get(a, 0)?;
    locked.accumulate(origin, ReduceOp::Sum, 5)?;
    locked.accumulate_value(1, ReduceOp::Sum, 5)?;
    locked.get_accumulate(origin, b, ReduceOp::Sum, 5)?;
    locked.fetch(c, 5)?;
    locked.put_layout(origin, &two, 10, &two)?;
    locked.get_layout(d, &two, 10, &two)?;
    locked.accumulate_layout(origin, &two, ReduceOp::Sum, 5, &two)?;
    locked.get_accumulate_layout(origin, &two, e, &two, ReduceOp::Sum, (5, &two))?;
    locked.put_array(ndarray::ArrayView1::from(origin.as_slice()), 0, &four)?;
    locked.get_array(ndarray::ArrayViewMut1::from(f.as_mut_slice()), 0, &four)?;
    locked.put_notify(origin, 0, 1)?;
    locked.put_value_notify(3, 0, 1)?;
    locked.get_notify(g, 0, 1)?;
    locked.accumulate_notify(origin, ReduceOp::Sum, 5, 1)?;
    locked.get_accumulate_notify(origin, h, ReduceOp::Sum, 5, 1)?;
    locked.flush_local()?;
    locked.flush()?;
    locked.sync()?;
    let (_, _) = (locked.fetch_add(5, 1)?, locked.fetch_op(5, 1, ReduceOp::Max)?);
    let _ = (locked.compare_and_swap(9, 0, 1)?, locked.is_poisoned()?, locked.unfinished()?);
    locked.acknowledge_unfinished(0)?;
    forget((locked.mapped(), locked.local(), locked.notifications(), locked.notified(1, u64::MAX)?));
    assert!(locked.rank() < 2 && locked.region(Place::NULL).is_none());
    let in_batch = |batch: &Batch<'_, u64>, mine: &mut [u64; 4]| {
        batch.put_value(mine[0], 4)?;
        Ok::<_, Error>(())
    };
    locked.batch(|batch| {
        in_batch(batch, &mut [0; 4])?;
        batch.fetch_op(1, v, ReduceOp::Sum, 5)?;
        batch.compare_and_swap(0, 1, w, 9)
    })?;
    // A batch that is left in this way leaves the lock in it too.
    locked.batch(|batch| {
        batch.fetch_op(1, x, ReduceOp::Sum, 5)?;
        batch.compare_and_swap(0, 1, y, 9)?;
        leaves.leave()
    })
}

/// All that a lock of all ranks has beyond that.
fn every_operation_of_all<'s>(
    all: &LockAll<'s, u64>,
    buffers: &'s mut Buffers,
    leaves: Leaves,
) -> Result<()> {
    let Buffers { origin, results: [a, b, ..], words: [v, w, ..] } = buffers;
    let origin = &*origin;
    all.put_notify(origin, 1, 0, 1)?;
    all.put_value_notify(3, 1, 0, 1)?;
    all.get_notify(a, 1, 0, 1)?;
    all.accumulate_notify(origin, ReduceOp::Sum, 1, 5, 1)?;
    all.get_accumulate_notify((origin, b), ReduceOp::Sum, 1, 5, 1)?;
    all.flush_local(1)?;
    all.flush(1)?;
    all.flush_local_all()?;
    all.flush_all()?;
    all.sync()?;
    forget((all.mapped(1)?, all.notifications(), all.notified(1, u64::MAX)?, all.rank(0)?));
    let in_batch = |batch: &BatchOfAll<'_, u64>| batch.put_value(1, 1, 4);
    all.batch(|batch| {
        in_batch(batch)?;
        batch.fetch_op(1, v, ReduceOp::Sum, 1, 5)?;
        batch.fetch_op(1, w, ReduceOp::Sum, 0, 5)?;
        leaves.leave()
    })
}

#[test]
fn active_epochs_of_all_ranks() {
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.fence_epoch(|epoch| every_operation(epoch, buffers, other).and_then(|()| leaves.leave()))
    });
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.fence_epochs(|fences| {
            fences.epoch(|epoch: &Epoch<'_, u64, Fence>| every_operation(epoch, buffers, other))?;
            forget(fences.local());
            fences.epoch(|_| leaves.leave())
        })
    });
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.read_epoch(|reads| {
            let Buffers { results: [a, b, ..], .. } = buffers;
            reads.get(a, other, 0)?;
            reads.get_layout(b, &Layout::contiguous(2)?, other, 0, &Layout::contiguous(2)?)?;
            leaves.leave()
        })
    });
}

/// Within an exposure epoch to the other rank, an access epoch to it.
fn exposed<'s>(
    exposure: &mut Exposure<'s, u64, Error>,
    buffers: &mut Buffers,
    other: u32,
    leaves: Leaves,
) -> Result<()> {
    forget(exposure.local());
    exposure.access(&[other], |epoch: &AccessEpoch<'_, u64>| {
        every_operation(epoch, buffers, other)?;
        leaves.leave()
    })?;
    while !exposure.test()? {}
    Ok(())
}

#[test]
fn active_epochs_of_groups() {
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.expose(&[other], |exposure| exposed(exposure, buffers, other, leaves))
    });
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        // One is the origin, the other one the target.
        match other {
            1 => window.access(&[other], |epoch| {
                every_operation(epoch, buffers, other).and_then(|()| leaves.leave())
            }),
            _ => window.expose(&[other], |_| leaves.leave()),
        }
    });
    in_each_way(|world, window, buffers, leaves| {
        let other = 1 - window.rank();
        assert_eq!(window.size(), 2);
        match other {
            // Without checks the other one's post comes first, as it says.
            1 => {
                world.receive::<u8>(Some(1), None)?;
                window.unchecked().access(&[other], |epoch| {
                    every_operation(epoch, buffers, other).and_then(|()| leaves.leave())
                })
            }
            _ => window.unchecked().expose(&[other], |_| {
                world.send(0, 0, &[0u8])?;
                leaves.leave()
            }),
        }
    });
}

#[test]
fn locks() {
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.exclusive(other, |locked| {
            every_operation_on_one(locked, buffers, leaves).and_then(|()| leaves.leave())
        })
    });
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.shared(other, |locked| every_operation_on_one(locked, buffers, leaves))
    });
    in_each_way(|_, window, buffers, leaves| {
        window.lock_set(&[(0, LockKind::Shared), (1, LockKind::Shared)], |set| {
            every_operation_on_one(&set.ranks()[1], buffers, leaves)
        })
    });
    in_each_way(|_, window, buffers, leaves| {
        let other = 1 - window.rank();
        window.lock_all(|all| every_operation(all, buffers, other).and_then(|()| leaves.leave()))
    });
    in_each_way(|_, window, buffers, leaves| {
        window.lock_all(|all| every_operation_of_all(all, buffers, leaves))
    });
}

/// Each of these is the only one that locks.
#[test]
fn locks_that_are_not_checked() {
    in_each_way(|_, window, buffers, leaves| match window.rank() {
        0 => window.unchecked().exclusive(0, |locked| every_operation_on_one(locked, buffers, leaves)),
        _ => window.unchecked().shared(1, |locked| every_operation_on_one(locked, buffers, leaves)),
    });
    in_each_way(|_, window, buffers, leaves| {
        window.unchecked().lock_all(|all| every_operation_of_all(all, buffers, leaves))
    });
}

/// What becomes of requests before a closure is left.
#[derive(Clone, Copy)]
enum Requests {
    Awaited,
    Dropped,
    Forgotten,
}

#[test]
fn requests() {
    for fate in [Requests::Awaited, Requests::Dropped, Requests::Forgotten] {
        in_each_way(|_, window, buffers, leaves| {
            let other = 1 - window.rank();
            window.shared(other, |locked| {
                let Buffers { origin, results: [a, b, c, d, ..], .. } = buffers;
                let (origin, two) = (&*origin, Layout::contiguous(2)?);
                let lent = [
                    locked.rget(&mut a[..], 0)?,
                    locked.rget_layout(&mut b[..], &two, 0, &two)?,
                    locked.rget_accumulate(origin, &mut c[..], ReduceOp::Sum, 5)?,
                    locked.rget(&mut d[..], 5)?,
                ];
                drop((
                    locked.rput_notify(vec![1; 4], 0, 1)?,
                    locked.raccumulate_notify(vec![1; 4], ReduceOp::Sum, 5, 1)?,
                ));
                forget((
                    locked.rget_notify(vec![0; 4], 0, 1)?,
                    locked.rget_accumulate_notify(origin, vec![0; 4], ReduceOp::Sum, 5, 1)?,
                ));
                let owned = vec![
                    locked.rput(vec![1; 4], 0)?,
                    locked.rput_layout(vec![1; 4], &two, 0, &two)?,
                    locked.raccumulate(vec![1; 4], ReduceOp::Sum, 5)?,
                    locked.rget(vec![0; 4], 0)?,
                ];
                match fate {
                    Requests::Awaited => {
                        let mut owned = owned;
                        while !owned[0].test()? {}
                        let (_, first) = Request::wait_any(&mut owned).expect("four requests");
                        first?;
                        if let Some((_, next)) = Request::test_any(&mut owned) {
                            next?;
                        }
                        Request::wait_all(owned)?;
                        lent.into_iter().try_for_each(|request| request.wait().map(drop))?;
                    }
                    Requests::Dropped => drop((lent, owned)),
                    Requests::Forgotten => forget((lent, owned)),
                }
                leaves.leave()
            })
        });
    }
}

/// What the program allocates behind a dropped request is not where its operation reads and writes.
#[test]
fn buffers_of_dropped_requests_stay_until_the_scope_ends() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(LEN)?;
        let other = 1 - world.rank();
        world.barrier()?;
        let new = window.shared(other, |locked| {
            drop([locked.rput(vec![1; 4], 0)?, locked.rget(vec![0; 4], 8)?]);
            // As long, so they would take the places of those if these were released.
            Ok(std::array::from_fn::<_, 4, _>(|_| vec![9u64; 4]))
        })?;
        assert_eq!(new.concat(), [9; 16]);
        world.barrier()?;
        assert_eq!(window.local().to_vec()[..4], [1; 4]);
        window.free()
    });
}

#[test]
fn windows_over_memory_of_the_program() {
    on_both_paths(2, |world| {
        for leaves in [Leaves::Returns, Leaves::Fails, Leaves::Panics] {
            let (mut memory, mut region) = ([0u64; 4], [0u64; 4]);
            let (me, other) = (world.rank(), 1 - world.rank());
            let lent = catch_unwind(AssertUnwindSafe(|| {
                world.window().lend(&mut memory, |window: &mut Window<'_, u64>| {
                    window.fence_epoch(|epoch| epoch.put_value(3, other, 0))?;
                    // One leaves while the other one goes on to write its memory, and waits for that.
                    if me == 1 {
                        world.send(0, 0, &[0u8])?;
                    } else {
                        world.receive::<u8>(Some(1), None)?;
                        window.exclusive(1, |locked| locked.store(1, 5))?;
                    }
                    leaves.leave()
                })
            }));
            assert_eq!(lent.is_err(), leaves == Leaves::Panics);
            assert_eq!(memory, [3, 5 * u64::from(me), 0, 0]);
            let mut dynamic = world.window::<u64>().dynamic()?;
            let mut theirs = None;
            let lent = catch_unwind(AssertUnwindSafe(|| {
                dynamic.lend(&mut region, |window, place| {
                    assert!(!place.is_null());
                    let their = world.allgather(&[place])?[other as usize][0];
                    window.exclusive(other, |locked| locked.put_value(4, their.at(0)))?;
                    world.barrier()?;
                    theirs = Some(their);
                    leaves.leave()
                })
            }));
            assert_eq!(lent.is_err(), leaves == Leaves::Panics);
            world.barrier()?;
            let theirs = theirs.expect("the closure was left at its end");
            let error = dynamic.exclusive(other, |locked| locked.store(theirs.at(1), 6)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            world.barrier()?;
            assert_eq!(region, [4, 0, 0, 0], "it is detached, however the closure was left");
            let place = dynamic.attach(vec![1; 4])?;
            let left = catch_unwind(AssertUnwindSafe(|| {
                dynamic.lock_all(|all| {
                    forget((all.attach(vec![2; 4])?, all.region(place)));
                    leaves.leave()
                })
            }));
            assert_eq!(left.is_err(), leaves == Leaves::Panics);
            forget(dynamic.region(place));
            assert_eq!(dynamic.detach(place)?, [1; 4]);
            dynamic.free()?;
        }
        Ok(())
    });
}

/// Windows that are dropped, forgotten and freed, with all that describes them.
#[test]
fn windows_themselves() {
    on_both_paths(2, |world| {
        let describe = |builder: WindowBuilder<'static, u64>| {
            builder
                .len(4)
                .name("w")
                .no_locks()
                .parts_apart()
                .aligned_to(100)
                .hints(Hints::default())
                .with_errors::<Error>()
        };
        let owned = || world.communicator().owned_window::<u64>();
        let roomy = owned().room_for_notifications(20).notifications_in_order().len(4).allocate()?;
        assert!(roomy.hints().contains(&("mpix_notify_ordered", "true".to_owned())), "{:?}", roomy.hints());
        roomy.set_notifications(20)?;
        assert_eq!((roomy.notifications().in_use(), roomy.notifications_of(1)?), (20, 20));
        forget((roomy.notifications(), roomy.notified(3, 1)?));
        roomy.notified(4, 0)?.wait()?;
        assert!(!roomy.notified(4, 1)?.test()?);
        let shared = world.window::<u64>().len(4).allocate_shared();
        // Ranks of several nodes share none.
        if let Ok(shared) = shared {
            forget(shared.part(0));
            assert!(shared.is_direct(0) || world.size() == 2);
            shared.free()?;
        }
        let window = describe(owned()).allocate()?.with_errors::<Error>();
        assert!(window.communicator().is_some() && !window.is_revoked() && window.hints().len() > 1);
        assert_ne!(window.id(), roomy.id());
        let given = |key, value: &str| window.hints().contains(&(key, value.to_owned()));
        assert!(given("no_locks", "true") && given("mpi_minimum_memory_alignment", "128"), "hints add up");
        window.set_hints(&Hints::default());
        let view = window.local();
        view.set(0, 1);
        view.write(1, &[2, 3]);
        let mut read = [0; 2];
        view.read(0, &mut read);
        assert_eq!((view.get(0), view.len(), view.is_empty(), read), (1, 4, false, [1, 2]));
        assert!(!view.as_mut_ptr().is_null() && view.to_vec().len() == 4);
        forget(view);
        window.free()?;
        let over = world.window().over(vec![5u64; 4])?;
        over.local().set(0, 6);
        assert_eq!(over.into_buffer()?, [6, 5, 5, 5]);
        let revoked = world.allocate::<u64>(1)?;
        world.barrier()?;
        revoked.revoke();
        forget(revoked);
        drop(world.allocate::<u64>(1)?);
        forget(world.allocate::<u64>(1)?);
        world.barrier()
    });
    layouts();
}

fn layouts() {
    let layouts = [
        Layout::<u64>::strided(2, 1, 2),
        Layout::block(&[4, 4], &[0..2, 1..2]),
        Layout::face(&[4, 4], 0, 0..1),
        Layout::with_strides(&[2], &[2]),
        Layout::of_array(&ndarray::Array1::<u64>::zeros(4)),
    ];
    assert!(
        layouts
            .iter()
            .all(|layout| layout.as_ref().is_ok_and(|layout| !layout.is_empty() && layout.len() > 1))
    );
}

/// The public functions of windows, each of which is called above in scopes that end in every way.
const CALLED: &[(&str, &str)] = &[
    ("Batch", "compare_and_swap fetch_op"),
    ("Communicator", "allocate owned_window window"),
    ("DynamicWindow", "attach detach free lend region"),
    (
        "Epoch",
        "accumulate accumulate_layout accumulate_notify accumulate_value attach batch compare_and_swap \
         fetch fetch_op flush flush_all flush_local flush_local_all get get_accumulate \
         get_accumulate_layout get_accumulate_notify get_array get_layout get_notify local mapped \
         notifications notified put put_array put_layout put_notify put_value put_value_notify rank \
         region sync",
    ),
    ("Exposure", "access local test"),
    ("FenceEpochs", "epoch local"),
    ("Layout", "block blocks contiguous face is_empty len of_array strided with_strides"),
    ("LockSet", "ranks"),
    (
        "Locked",
        "raccumulate raccumulate_notify rget rget_accumulate rget_accumulate_notify rget_layout rget_notify rput rput_layout rput_notify",
    ),
    ("Notified", "test wait"),
    ("Place", "at is_null"),
    ("ReadEpoch", "get get_layout"),
    ("Request", "test test_any wait wait_all wait_any"),
    (
        "Target",
        "accumulate accumulate_layout accumulate_notify accumulate_value acknowledge_unfinished attach \
         batch compare_and_swap fetch fetch_add fetch_op flush flush_local get get_accumulate \
         get_accumulate_layout get_accumulate_notify get_array get_layout get_notify is_poisoned load local \
         mapped notifications notified put put_array put_layout put_notify put_value put_value_notify rank region store sync \
         unfinished",
    ),
    ("Unchecked", "access exclusive expose lock_all shared"),
    ("View", "as_mut_ptr get is_empty len read set to_vec write"),
    (
        "Window",
        "access communicator exclusive expose fence_epoch fence_epochs free hints id into_buffer is_direct \
         is_revoked local lock_all lock_set notifications notifications_of notified part rank read_epoch revoke set_hints \
         set_notifications shared size unchecked with_errors",
    ),
    (
        "WindowBuilder",
        "aligned_to allocate allocate_shared dynamic hints len lend name no_locks notifications_in_order over \
         parts_apart room_for_notifications with_errors",
    ),
];

/// The public functions in the text of a file, each behind its type.
fn functions(text: &str, found: &mut BTreeSet<(String, String)>) {
    let mut of = String::new();
    for line in text.lines() {
        if line.starts_with("impl") {
            let named = line.rsplit(" for ").next().unwrap_or(line);
            // Behind the parameters of the `impl` itself.
            let mut depth = 0;
            let start = named.strip_prefix("impl").unwrap_or(named).trim_start_matches(|letter| {
                depth += i32::from(letter == '<') - i32::from(letter == '>');
                depth > 0 || matches!(letter, '>' | ' ')
            });
            of = start.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        } else if let Some(name) = line.strip_prefix("    pub fn ") {
            found.insert((
                of.clone(),
                name.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).collect(),
            ));
        }
    }
}

#[test]
fn each_public_function_is_called_here() {
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/window")).unwrap() {
        functions(&std::fs::read_to_string(file.unwrap().path()).unwrap(), &mut found);
    }
    let called =
        CALLED.iter().flat_map(|(of, names)| names.split(' ').map(|name| (of.to_string(), name.to_owned())));
    let called: BTreeSet<_> = called.collect();
    let missing: Vec<_> = found.difference(&called).collect();
    assert!(missing.is_empty(), "public functions that nothing here calls: {missing:?}");
    let gone: Vec<_> = called.difference(&found).collect();
    assert!(gone.is_empty(), "there are no such functions: {gone:?}");
    let code = include_str!("sound.rs").split("const CALLED").next().unwrap();
    let is_called = |name: &str| {
        [".", "::"]
            .iter()
            .any(|before| ["(", "::<"].iter().any(|behind| code.contains(&format!("{before}{name}{behind}"))))
    };
    let idle: Vec<_> = called.iter().filter(|(_, name)| !is_called(name)).collect();
    assert!(idle.is_empty(), "named and not called: {idle:?}");
}
