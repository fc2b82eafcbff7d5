//! What becomes of a window's memory: it goes with the window when all ranks have met to free it, and stays
//! when they could not, because a living rank may be within an epoch and reach it without asking. And what a
//! dead process has locked there is free again.

use rma_core::ErrorClass;
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::error::Result;
use rma_core::host::{Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest, SegmentSet};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::mem::WriteSpan;
use rma_core::window::Window;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host that counts the segments of its rank that live.
struct Witness {
    host: Arc<dyn Host>,
    live: Arc<AtomicU32>,
    /// The control memory of the newest segment's ranks.
    controls: Arc<Mutex<Vec<WriteSpan>>>,
}

/// Counts down when it is dropped.
struct Lives(Arc<AtomicU32>);

impl Drop for Lives {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Host for Witness {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.host.begin_barrier(group)
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        self.host.begin_reduce(group, combine, values)
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        Ok(self.host.poll(request)?.map(|outcome| match outcome {
            Outcome::Segment(segment) => {
                self.live.fetch_add(1, SeqCst);
                let members = segment.parts().to_vec();
                *self.controls.lock().unwrap() = members.iter().map(|member| member.control).collect();
                let mapping = Box::new((segment, Lives(Arc::clone(&self.live))));
                // SAFETY: the members are those of the segment, which lives as long as the mapping.
                Outcome::Segment(unsafe { SegmentSet::new(members, mapping) })
            }
            other => other,
        }))
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        self.host.begin_segment(group, request)
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.host.locality(peer)
    }

    fn now(&self) -> Duration {
        self.host.now()
    }
}

/// A world of ranks that map each other, and the number of each rank's segments.
fn world(ranks: u32) -> (Stepped, Vec<Arc<AtomicU32>>) {
    let (world, lives, _) = world_with_controls(ranks);
    (world, lives)
}

type Controls = Arc<Mutex<Vec<WriteSpan>>>;

fn world_with_controls(ranks: u32) -> (Stepped, Vec<Arc<AtomicU32>>, Controls) {
    let (mut lives, controls) = (Vec::new(), Controls::default());
    let world = Stepped::with_hosts(&Setup::direct(ranks), 18, |host| {
        let live = Arc::new(AtomicU32::new(0));
        lives.push(Arc::clone(&live));
        Arc::new(Witness { host, live, controls: Arc::clone(&controls) })
    });
    (world, lives, controls)
}

/// Frees a window, and gives how that ended.
fn free(world: &Stepped, windows: Vec<Window>) -> Vec<Result<bool>> {
    let mut frees = windows
        .into_iter()
        .map(|window| window.begin_free().map_err(|(_, e)| e).unwrap())
        .collect::<Vec<_>>();
    let mut ends = frees.iter().map(|_| Ok(false)).collect::<Vec<_>>();
    world.until("the end of the windows", || {
        for (free, end) in frees.iter_mut().zip(&mut ends).filter(|(_, end)| matches!(end, Ok(false))) {
            *end = free.poll();
        }
        ends.iter().all(|end| !matches!(end, Ok(false)))
    });
    ends
}

#[test]
fn memory_goes_with_its_window_when_all_have_met() {
    let (world, lives) = world(3);
    for _ in 0..2 {
        let windows = world.allocate(4);
        assert!(lives.iter().all(|live| live.load(SeqCst) == 1));
        assert!(free(&world, windows).into_iter().all(|end| end.unwrap()));
        assert!(lives.iter().all(|live| live.load(SeqCst) == 0));
    }
}

#[test]
fn memory_stays_when_a_rank_is_lost_before_all_have_met() {
    let (mut world, lives) = world(3);
    let mut windows = world.allocate(4);
    // Rank 1 is in an epoch, and does not look up; rank 2 dies.
    let value = [6];
    world
        .finish(&windows[1], "lock", windows[1].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap())
        .unwrap();
    windows.remove(2);
    world.engines[2] = None;
    let error = free(&world, vec![windows.remove(0)]).remove(0).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    assert_eq!(lives[0].load(SeqCst), 1, "rank 1 still reaches it");
    windows[0].put(from(&value), Rank(0), Disp(0)).unwrap();
    // Without engines no rank is left that could.
    windows.clear();
    world.engines.clear();
    assert_eq!(lives[0].load(SeqCst), 0);
}

#[test]
fn an_accumulate_that_a_dead_process_has_started_excludes_no_rank() {
    /// Where the holder of the exclusion of unaligned accumulates stands in a control block: its process, from 1.
    const EXCLUSION: usize = 192;
    let (mut world, _, controls) = world_with_controls(3);
    let mut windows = world.allocate(4);
    // All are in contact.
    let mut fences =
        windows.iter().map(|window| window.begin_fence(Assert::NONE).unwrap()).collect::<Vec<_>>();
    let mut over = [false; 3];
    world.until("a fence", || {
        for (at, fence) in fences.iter_mut().enumerate().filter(|(at, _)| !over[*at]).collect::<Vec<_>>() {
            over[at] = windows[at].poll_sync(fence).unwrap();
        }
        over == [true; 3]
    });
    let words = controls.lock().unwrap().iter().map(|c| c.part(EXCLUSION, 8)).collect::<Vec<_>>();
    let read = |word: &WriteSpan| {
        let mut bytes = [0; 8];
        word.as_read().read(&mut bytes);
        u64::from_ne_bytes(bytes)
    };
    // Rank 2 is killed within accumulates on both others; rank 1 is within one on itself.
    words[0].write(&3u64.to_ne_bytes());
    words[1].write(&2u64.to_ne_bytes());
    words[2].write(&3u64.to_ne_bytes());
    drop(fences);
    windows.remove(2);
    world.engines[2] = None;
    world.settle();
    assert_eq!(words.iter().map(read).collect::<Vec<_>>(), [0, 2, 0]);
}
