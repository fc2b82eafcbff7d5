//! Requests as futures, and lists of requests: what wakes a task and how often, and what becomes of futures that are not awaited.

use super::on_both_paths;
use rma::config::Configuration;
use rma::window::Request;
use rma::{Error, ErrorClass, ReduceOp, Result, World};
use rma_ch_sim::SimConfig;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Unparks a thread, and counts.
pub(super) struct Bell {
    thread: Thread,
    rings: AtomicUsize,
}

impl Bell {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), rings: AtomicUsize::new(0) })
    }

    pub(super) fn rings(&self) -> usize {
        self.rings.load(SeqCst)
    }

    /// Sleeps until it has rung more often than `before`.
    pub(super) fn wait(&self, before: usize) {
        const LIMIT: Duration = Duration::from_secs(30);
        let began = Instant::now();
        while self.rings() == before {
            assert!(began.elapsed() < LIMIT, "not woken within {LIMIT:?}");
            std::thread::park_timeout(LIMIT);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rings.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

pub(super) fn poll<F: Future + Unpin>(future: &mut F, bell: &Arc<Bell>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

/// The smallest executor: sleeps until it is woken.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, bell) = (pin!(future), Bell::new());
    let waker = Waker::from(Arc::clone(&bell));
    loop {
        let before = bell.rings();
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        bell.wait(before);
    }
}

/// Both at a time.
pub(super) async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    std::future::poll_fn(move |context| {
        if of_a.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            of_a = Some(value);
        }
        if of_b.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            of_b = Some(value);
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (of_a, of_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Runs `at_0` on rank 0 while rank 1, which only packets reach, is away from the library: between the first and the second time that
/// `at_0` waits at the barrier.
fn while_the_target_is_away(at_0: impl Fn(&World, &Barrier) -> Result<()> + Sync) {
    let away = Barrier::new(2);
    let sim = SimConfig { ranks_per_node: 1, ..SimConfig::default() };
    World::run_threads_with(2, &Configuration::default(), &sim, |world| {
        world.barrier()?;
        if world.rank() == 0 {
            at_0(world, &away)?;
        } else {
            let window = world.allocate::<u64>(4)?;
            (0..4).for_each(|at| window.local().set(at, 10 + at as u64));
            world.barrier()?;
            // It serves nothing any more; then it comes back.
            away.wait();
            away.wait();
            world.barrier()?;
            window.free()?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn joined_futures_bring_both_results() {
    on_both_paths(4, |world| {
        let mut window = world.allocate::<u64>(2)?;
        let (me, size) = (u64::from(world.rank()), world.size());
        window.local().set(0, me);
        world.barrier()?;
        let (left, right) = ((world.rank() + size - 1) % size, (world.rank() + 1) % size);
        let (mut borrowed, ones) = ([0], [1u64]);
        window.lock_all(|all| {
            let (a, b) = (all.rank(left)?.rget(&mut borrowed, 0)?, all.rank(right)?.rget(vec![0], 0)?);
            let (a, b) = block_on(join(a, b));
            assert_eq!((a?[0], b?[0]), (u64::from(left), u64::from(right)));
            let add = async |rank| all.rank(rank)?.raccumulate(&ones, ReduceOp::Sum, 1)?.await.map(|_| ());
            let (a, b) = block_on(join(add(left), add(right)));
            a.and(b)
        })?;
        assert_eq!(borrowed, [u64::from(left)]);
        world.barrier()?;
        assert_eq!(window.local().get(1), 2);
        window.free()
    });
}

#[test]
fn a_task_is_woken_once_and_not_before_the_end() {
    while_the_target_is_away(|world, away| {
        let mut window = world.allocate::<u64>(0)?;
        world.barrier()?;
        away.wait();
        window.lock_all(|all| {
            let mut request = all.rank(1)?.rget(vec![0; 4], 0)?;
            let (first, last) = (Bell::new(), Bell::new());
            assert!(poll(&mut request, &first).is_pending());
            // The waker of the last poll counts.
            assert!(poll(&mut request, &last).is_pending());
            assert_eq!(Arc::strong_count(&first), 1, "the first is let go");
            assert_eq!(last.rings(), 0, "the target has not come");
            away.wait();
            last.wait(0);
            let Poll::Ready(values) = poll(&mut request, &last) else { panic!("woken before the end") };
            assert_eq!(values?, [10, 11, 12, 13]);
            assert_eq!((first.rings(), last.rings()), (0, 1));
            // The call that wakes has it until it returns.
            let until = Instant::now() + Duration::from_secs(10);
            while Arc::strong_count(&last) > 1 && Instant::now() < until {
                std::thread::yield_now();
            }
            assert_eq!(Arc::strong_count(&last), 1, "nothing keeps the waker");
            Ok(())
        })?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn futures_that_are_dropped_or_forgotten_half_way_leave_the_epoch_sound() {
    for forgets in [false, true] {
        while_the_target_is_away(|world, away| {
            let mut window = world.allocate::<u64>(0)?;
            world.barrier()?;
            away.wait();
            let (bell, mut borrowed) = (Bell::new(), [7; 2]);
            window.lock_all(|all| {
                let mut owned = all.rank(1)?.rget(vec![7; 2], 0)?;
                let mut lent = all.rank(1)?.rget(&mut borrowed, 2)?;
                assert!(poll(&mut owned, &bell).is_pending() && poll(&mut lent, &bell).is_pending());
                if forgets {
                    std::mem::forget((owned, lent));
                } else {
                    drop((owned, lent));
                    assert_eq!(Arc::strong_count(&bell), 1, "the wakers are gone");
                }
                away.wait();
                Ok(())
            })?;
            assert_eq!(borrowed, [12, 13], "the operations have ended with their epoch");
            if !forgets {
                assert_eq!(bell.rings(), 0);
            }
            world.barrier()?;
            window.free()
        });
    }
}

#[test]
fn a_waker_that_panics_is_no_matter_of_others() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("not this one"));
        }
    }
    while_the_target_is_away(|world, away| {
        let mut window = world.allocate::<u64>(0)?;
        world.barrier()?;
        away.wait();
        window.lock_all(|all| {
            let mut bad = all.rank(1)?.rget(vec![0; 1], 0)?;
            let waker = Waker::from(Arc::new(Bad));
            assert!(Pin::new(&mut bad).poll(&mut Context::from_waker(&waker)).is_pending());
            let good = all.rank(1)?.rget(vec![0; 1], 1)?;
            away.wait();
            assert_eq!(block_on(good)?, [11]);
            assert_eq!(bad.wait()?, [10]);
            Ok(())
        })?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn lists_of_requests_end_in_the_order_in_which_they_come() {
    while_the_target_is_away(|world, away| {
        let mut window = world.allocate::<u64>(0)?;
        world.barrier()?;
        away.wait();
        window.lock_all(|all| {
            let far = all.rank(1)?.rget(vec![0; 1], 3)?;
            let near = all.rank(0)?.rget(vec![], 0)?;
            let mut requests = vec![far, near];
            let (at, end) = Request::wait_any(&mut requests).expect("two requests");
            assert_eq!((at, end?), (1, vec![]));
            assert!(Request::test_any(&mut requests).is_none(), "the target is away");
            away.wait();
            let (at, end) = Request::wait_any(&mut requests).expect("one request");
            assert_eq!((at, end?, requests.len()), (0, vec![13], 0));
            assert!(Request::wait_any(&mut requests).is_none() && Request::test_any(&mut requests).is_none());
            Ok(())
        })?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn a_future_on_a_rank_that_is_lost_ends_with_an_error() {
    let sim = SimConfig { ranks_per_node: 1, ..SimConfig::default() };
    let away = Barrier::new(2);
    let ended = World::run_threads_with(2, &Configuration::default(), &sim, |world| {
        let mut window = world.allocate::<u64>(1)?;
        world.barrier()?;
        // Rank 1 has left the barrier, in which it would answer, before there is something to answer.
        away.wait();
        if world.rank() == 1 {
            away.wait();
            return Err(Error::new(ErrorClass::Arg, "test", "this rank leaves"));
        }
        let end = window.exclusive(1, |rank1| {
            let mut request = rank1.rget(vec![0], 0)?;
            assert!(poll(&mut request, &Bell::new()).is_pending());
            away.wait();
            block_on(request)
        });
        // Whichever the rank hears of first: the death, or that the job is given up because of it.
        let class = end.unwrap_err().class();
        assert!(matches!(class, ErrorClass::ProcFailed | ErrorClass::ProcAborted), "{class:?}");
        Ok(())
    });
    assert_eq!(ended.unwrap_err().class(), ErrorClass::Arg);
}

/// The program's code that runs where a waker takes the place of this one: it meets another thread twice.
struct Meets(Arc<Barrier>);

impl Wake for Meets {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Meets {
    fn drop(&mut self) {
        self.0.wait();
        self.0.wait();
    }
}

#[test]
fn what_is_awaited_may_end_while_the_waker_is_handed_over() {
    let meeting = Arc::new(Barrier::new(2));
    World::run_threads(2, |world| {
        let mut window = world.allocate::<u64>(1)?;
        window.set_notifications(1)?;
        window.lock_all(|all| {
            if world.rank() == 1 {
                meeting.wait();
                all.put_value_notify(7, 0, 0, 0)?;
                meeting.wait();
                return Ok(());
            }
            let mut notified = all.notified(0, 1)?;
            let first = Waker::from(Arc::new(Meets(Arc::clone(&meeting))));
            assert!(Pin::new(&mut notified).poll(&mut Context::from_waker(&first)).is_pending());
            drop(first);
            assert!(
                poll(&mut notified, &Bell::new()).is_ready(),
                "it has come meanwhile, and nobody would say so"
            );
            Ok(())
        })?;
        window.free()
    })
    .unwrap();
}
