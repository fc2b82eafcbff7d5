//! Windows that several threads create at once, on communicators of their own, which ranks meet in different orders: every creation
//! ends, whatever the order, and no two windows of a process have one id.

use rma_core::config::EngineConfig;
use rma_core::error::{ErrorClass, Result};
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::window::{Window, WindowCreation, WindowSpec};
use rma_tests::random::Random;
use rma_tests::stepped::Stepped;
use rma_tests::world::{LIMIT, Setup, run};
use std::collections::BTreeSet;
use std::sync::mpsc;

/// Windows that a process can have.
const MOST: usize = 2048;
const SPEC: WindowSpec = WindowSpec::Allocate { len: 64, unit: 8 };

/// A communicator: its context, and its processes.
#[derive(Clone, Debug)]
struct Comm(u64, Vec<u32>);

impl Comm {
    fn group(&self, me: u32) -> Group {
        let peers = self.1.iter().copied().map(Peer).collect::<Vec<_>>();
        let rank = self.1.iter().position(|peer| *peer == me).expect("a member");
        Group::of(self.0, Rank(rank as u32), &peers)
    }
}

/// A rank's part of a creation.
enum Part {
    Ahead,
    Made(Box<WindowCreation>),
    Ended(Result<Window>),
}

/// Creations of one rank: which communicator's, and how far they are.
type Parts = Vec<(usize, Part)>;

fn parts(comms: impl IntoIterator<Item = usize>) -> Parts {
    comms.into_iter().map(|comm| (comm, Part::Ahead)).collect()
}

/// Runs a test that may hang inside of a call.
fn in_time(what: &'static str, test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(LIMIT) {
        eprintln!("{what}: a call has not returned within {LIMIT:?}");
        std::process::exit(102);
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn begin(world: &Stepped, comms: &[Comm], me: u32, comm: usize, is_bad: bool) -> Part {
    let spec = if is_bad { WindowSpec::Allocate { len: 64, unit: 0 } } else { SPEC };
    Part::Made(Box::new(world.engine(me).begin_window(comms[comm].group(me), spec).unwrap()))
}

fn poll(part: &mut Part) -> bool {
    let Part::Made(creation) = part else { return false };
    let Some(ended) = creation.poll().transpose() else { return false };
    *part = Part::Ended(ended);
    true
}

/// Lets every rank begin its creations in its own order, the next when `may_begin` says so for the parts before and the number
/// of the round, until all have ended.
fn play(
    world: &Stepped,
    comms: &[Comm],
    ranks: &mut [Parts],
    mut may_begin: impl FnMut(u32, &[(usize, Part)]) -> bool,
    is_bad: impl Fn(u32, usize) -> bool,
) {
    let what = format!("the end of creations on {comms:?}");
    world.until(&what, || {
        for (me, parts) in (0..).zip(ranks.iter_mut()) {
            let next = parts.iter().position(|(_, part)| matches!(part, Part::Ahead));
            if let Some(at) = next.filter(|at| may_begin(me, &parts[..*at])) {
                parts[at].1 = begin(world, comms, me, parts[at].0, is_bad(me, parts[at].0));
            }
            parts.iter_mut().for_each(|(_, part)| _ = poll(part));
        }
        ranks.iter().flatten().all(|(_, part)| matches!(part, Part::Ended(_)))
    });
}

/// The window of a communicator has one id on all of its ranks, and another one than the rest of a rank's.
fn check(comms: &[Comm], ranks: &[Parts]) {
    for (me, parts) in ranks.iter().enumerate() {
        let ids = parts.iter().filter_map(|(_, part)| id_of(part)).map(|id| id.index).collect::<Vec<_>>();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "rank {me}: {ids:?}");
    }
    for (at, comm) in comms.iter().enumerate() {
        let parts = ranks.iter().flatten().filter(|(of, _)| *of == at);
        let ids = parts.map(|(_, part)| id_of(part)).collect::<Vec<_>>();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{comm:?}: {ids:?}");
    }
}

fn id_of(part: &Part) -> Option<rma_core::ids::WindowId> {
    match part {
        Part::Ended(Ok(window)) => Some(window.id()),
        _ => None,
    }
}

fn class_of(part: &Part) -> Option<ErrorClass> {
    match part {
        Part::Ended(Err(error)) => Some(error.class()),
        _ => None,
    }
}

/// Frees what ranks have, all at once.
fn free(world: &Stepped, ranks: Vec<Parts>) {
    let mut frees = Vec::new();
    for (_, part) in ranks.into_iter().flatten() {
        if let Part::Ended(Ok(window)) = part {
            frees.push(window.begin_free().map_err(|(_, error)| error).unwrap());
        }
    }
    world.until("the end of the windows", || {
        frees.retain_mut(|free| !free.poll().unwrap());
        frees.is_empty()
    });
}

#[test]
fn two_creations_that_ranks_meet_in_opposite_order_both_end() {
    in_time("two creations", || {
        for ranks in 2..=4 {
            for setup in Setup::all(ranks) {
                let world = Stepped::new(&setup, u64::from(ranks));
                let everybody = (0..ranks).collect::<Vec<_>>();
                let comms = [Comm(1, everybody.clone()), Comm(2, everybody)];
                let order = |me| if me == 0 { [0, 1] } else { [1, 0] };
                let mut all = (0..ranks).map(|me| parts(order(me))).collect::<Vec<_>>();
                play(&world, &comms, &mut all, |_, _| true, |_, _| false);
                check(&comms, &all);
                assert!(all.iter().flatten().all(|(_, part)| id_of(part).is_some()));
                free(&world, all);
            }
        }
    });
}

#[test]
fn a_rank_that_begins_the_other_creation_when_the_first_is_over_is_not_kept() {
    in_time("one after the other", || {
        let world = Stepped::new(&Setup::packets(2), 3);
        let comms = [Comm(1, vec![0, 1]), Comm(2, vec![0, 1])];
        let mut all = vec![parts([0, 1]), parts([1, 0])];
        // Rank 1 has one thread.
        let may_begin = |me, before: &[(usize, Part)]| {
            me == 0 || before.iter().all(|(_, part)| matches!(part, Part::Ended(_)))
        };
        play(&world, &comms, &mut all, may_begin, |_, _| false);
        check(&comms, &all);
        free(&world, all);
    });
}

#[test]
fn a_creation_that_is_not_polled_does_not_keep_groups_of_one_rank() {
    in_time("groups of one rank", || {
        let world = Stepped::new(&Setup::packets(2), 4);
        let comms = [Comm(1, vec![0]), Comm(2, vec![0]), Comm(3, vec![0, 1])];
        let held = [begin(&world, &comms, 0, 2, false), begin(&world, &comms, 0, 0, false)];
        let mut other = begin(&world, &comms, 0, 1, false);
        world.until("the window of a group of one rank", || poll(&mut other));
        let mut all = vec![Vec::new(), parts([2])];
        all[0].push((1, other));
        all[0].extend([2, 0].into_iter().zip(held));
        play(&world, &comms, &mut all, |_, _| true, |_, _| false);
        check(&comms, &all);
        free(&world, all);
    });
}

/// Communicators of a drawn world: of all ranks, of some, and of one.
fn draw_comms(random: &mut Random, ranks: u32) -> Vec<Comm> {
    (1..=2 + random.below(7))
        .map(|context| {
            let mut members = (0..ranks).filter(|_| random.below(3) > 0).collect::<Vec<_>>();
            if members.is_empty() {
                members.push(random.below(ranks.into()) as u32);
            }
            if random.coin() {
                members.reverse();
            }
            Comm(context, members)
        })
        .collect()
}

#[test]
fn many_creations_of_groups_that_overlap_end_in_any_order() {
    in_time("many creations", || {
        for seed in 0..150 {
            let random = &mut Random::new(seed);
            let ranks = 2 + random.below(3) as u32;
            let setups = Setup::all(ranks);
            let world = Stepped::new(&setups[seed as usize % setups.len()], seed);
            let comms = draw_comms(random, ranks);
            let mut all = (0..ranks)
                .map(|me| {
                    let mut mine =
                        (0..comms.len()).filter(|comm| comms[*comm].1.contains(&me)).collect::<Vec<_>>();
                    (1..mine.len()).rev().for_each(|at| mine.swap(at, random.below(at as u64 + 1) as usize));
                    parts(mine)
                })
                .collect::<Vec<_>>();
            let bad = (random.below(4) == 0).then(|| random.below(comms.len() as u64) as usize);
            // Some begin late.
            play(
                &world,
                &comms,
                &mut all,
                |_, _| random.below(4) == 0,
                |me, comm| bad == Some(comm) && comms[comm].1[0] == me,
            );
            check(&comms, &all);
            for (comm, part) in all.iter().flatten() {
                assert_eq!(id_of(part).is_none(), bad == Some(*comm), "seed {seed}: {:?}", class_of(part));
            }
            free(&world, all);
        }
    });
}

#[test]
fn two_creations_on_one_communicator_do_not_mix_their_steps() {
    in_time("one communicator", || {
        let world = Stepped::new(&Setup::packets(2), 5);
        let comms = [Comm(1, vec![0, 1]), Comm(1, vec![0, 1])];
        // The order is the same on both ranks; which one a rank looks after first is not.
        let mut all = (0..2).map(|_| parts([0, 1])).collect::<Vec<_>>();
        for (me, parts) in (0..).zip(&mut all) {
            for (comm, part) in parts.iter_mut() {
                *part = begin(&world, &comms, me, *comm, false);
            }
            if me == 1 {
                parts.reverse();
            }
        }
        play(&world, &comms, &mut all, |_, _| true, |_, _| false);
        check(&comms, &all);
        free(&world, all);
    });
}

#[test]
fn running_out_of_windows_is_said_and_is_over_when_one_is_freed() {
    in_time("all windows", || {
        let world = Stepped::new(&Setup::packets(2), 6);
        let own = [Comm(1, vec![0]), Comm(2, vec![1])];
        // One index is left, and both ranks have the same one.
        let mut fillers = vec![Vec::new(), Vec::new()];
        for me in [0, 1] {
            for _ in 0..MOST - 1 {
                let mut part = begin(&world, &own, me, me as usize, false);
                while !poll(&mut part) {}
                fillers[me as usize].push((0, part));
            }
        }
        let comms = (3..6).map(|context| Comm(context, vec![0, 1])).collect::<Vec<_>>();
        let mut all = vec![parts([0, 1, 2]), parts([2, 1, 0])];
        play(&world, &comms, &mut all, |_, _| true, |_, _| false);
        check(&comms, &all);
        let made = all[0].iter().filter(|(_, part)| id_of(part).is_some()).count();
        assert_eq!(made, 1, "one index was left");
        for (_, part) in all.iter().flatten().filter(|(_, part)| id_of(part).is_none()) {
            assert_eq!(class_of(part), Some(ErrorClass::Other));
            let Part::Ended(Err(error)) = part else { unreachable!() };
            assert!(
                error
                    .to_string()
                    .contains("the 2048 windows that a process can have (RMA_WINDOWS) are in use"),
                "{error}"
            );
        }
        free(&world, all);
        let mut all = vec![parts([0]), parts([0])];
        play(&world, &comms, &mut all, |_, _| true, |_, _| false);
        assert!(all.iter().flatten().all(|(_, part)| id_of(part).is_some()));
        fillers.extend(all);
        free(&world, fillers);
    });
}

/// How the creation of a window over `group`, as each rank sees it, ends on each of `ranks`.
fn create(world: &Stepped, ranks: &[u32], group: impl Fn(u32) -> Group) -> Vec<Result<Window>> {
    let begin = |me: &u32| world.engine(*me).begin_window(group(*me), SPEC).unwrap();
    let mut all = ranks.iter().map(begin).map(|creation| (creation, None)).collect::<Vec<_>>();
    world.until("the ends of a creation", || {
        for (creation, end) in all.iter_mut().filter(|(_, end)| end.is_none()) {
            *end = creation.poll().transpose();
        }
        all.iter().all(|(_, end)| end.is_some())
    });
    all.into_iter().filter_map(|(_, end)| end).collect()
}

#[test]
fn the_number_of_windows_is_the_programs_choice() {
    in_time("a few windows", || {
        let mut setup = Setup::packets(2);
        setup.engine.windows = 3;
        let world = Stepped::new(&setup, 8);
        let windows = (0..3).map(|_| world.allocate(1)).collect::<Vec<_>>();
        for end in create(&world, &[0, 1], |me| world.group(me)) {
            let error = end.map(drop).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Other);
            let text = error.to_string();
            assert!(text.contains("the 3 windows") && text.contains("RMA_WINDOWS"), "{text}");
        }
        assert_eq!(windows.len(), 3);
    });
}

#[test]
fn processes_that_allow_different_numbers_of_windows_make_none_and_say_so() {
    in_time("two numbers of windows", || {
        let mut setup = Setup::packets(4);
        setup.engine.windows = 4096;
        for others in [2047, 64, 4096, 1] {
            let engine =
                |me| EngineConfig { windows: if me == 2 { others } else { 2048 }, ..setup.engine.clone() };
            let world = Stepped::with_engines(&setup, 9, engine);
            for (me, end) in create(&world, &[0, 1, 2, 3], |me| world.group(me)).into_iter().enumerate() {
                let error = end.map(drop).unwrap_err();
                assert_eq!(error.class(), ErrorClass::Other, "{error}");
                let (here, there) = if me == 2 { (others, 2048) } else { (2048, others) };
                let says = format!("RMA_WINDOWS is {here} on this rank and {there} on another one");
                assert!(error.to_string().contains(&says), "{error}");
            }
            // Those that agree go on.
            let alike = |me| Group::of(7, Rank(me / 2), &[Peer(1), Peer(3)]);
            assert!(create(&world, &[1, 3], alike).iter().all(Result::is_ok));
        }
    });
}

#[test]
fn a_rank_that_dies_in_one_creation_keeps_no_other() {
    in_time("a death", || {
        // Rank 2 dies after so many rounds of the creation that it takes part in, which ranks 0 and 1 meet before and after theirs.
        for rounds in 0..40 {
            let mut world = Stepped::new(&Setup::packets(3), 7 + rounds);
            let comms = [Comm(1, vec![0, 1, 2]), Comm(2, vec![0, 1]), Comm(3, vec![1, 2])];
            let mut all = vec![parts([0, 1]), parts([1, 2, 0]), parts([0, 2])];
            for (me, parts) in (0..).zip(&mut all) {
                parts.iter_mut().for_each(|(comm, part)| *part = begin(&world, &comms, me, *comm, false));
            }
            for _ in 0..rounds {
                all.iter_mut().flatten().for_each(|(_, part)| _ = poll(part));
                world.pump();
            }
            drop(all.pop());
            world.engines[2] = None;
            play(&world, &comms, &mut all, |_, _| true, |_, _| false);
            for (comm, part) in all.iter().flatten() {
                match class_of(part) {
                    None => {}
                    Some(class) => assert_eq!((class, *comm == 1), (ErrorClass::ProcFailed, false)),
                }
            }
            let mut again = vec![parts([1]), parts([1])];
            play(&world, &comms, &mut again, |_, _| true, |_, _| false);
            assert!(again.iter().flatten().all(|(_, part)| id_of(part).is_some()));
        }
    });
}

#[test]
fn a_creation_that_is_dropped_is_not_in_the_way_of_others() {
    in_time("dropped creations", || {
        for rounds in 0..12 {
            let world = Stepped::new(&Setup::packets(2), 9);
            let comms = [Comm(1, vec![0, 1]), Comm(2, vec![0, 1]), Comm(3, vec![0, 1])];
            let mut all = vec![parts([0, 1]), parts([1, 0])];
            for (me, parts) in (0..).zip(&mut all) {
                parts.iter_mut().for_each(|(comm, part)| *part = begin(&world, &comms, me, *comm, false));
            }
            for _ in 0..rounds {
                all.iter_mut().flatten().for_each(|(_, part)| _ = poll(part));
                world.pump();
            }
            // Both give up the first, at whatever step it is.
            all.iter_mut().for_each(|parts| parts.retain(|(comm, _)| *comm == 1));
            all.iter_mut().for_each(|some| some.extend(parts([2])));
            play(&world, &comms, &mut all, |_, _| true, |_, _| false);
            assert!(all.iter().flatten().all(|(_, part)| id_of(part).is_some()));
        }
    });
}

#[test]
fn threads_create_and_free_on_communicators_of_their_own() {
    const THREADS: u64 = 4;
    for setup in [Setup::packets(2), Setup::direct(2), Setup::packets(3)] {
        run(&setup, |rank| {
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        let everybody = Group::strided(10 + thread, Rank(rank.me), Peer(0), 1, rank.size);
                        let own = Group::strided(100 + thread, Rank(0), Peer(rank.me), 1, 1);
                        for round in 0..30 {
                            let window = rank.engine.create_window(everybody.clone(), SPEC).unwrap();
                            if (round + u64::from(rank.me) + thread).is_multiple_of(3) {
                                rank.engine.create_window(own.clone(), SPEC).unwrap().free().unwrap();
                            }
                            window.free().unwrap();
                        }
                    });
                }
            });
        });
    }
}
