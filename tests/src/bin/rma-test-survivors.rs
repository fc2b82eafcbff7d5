//! What calls of survivors come to: `rma-test-survivors MODE VICTIM`, in a job that goes on. The victim dies at a point of the mode;
//! each of the others prints `survivor RANK: WORD...` when its calls have returned, and ends its part in order.

use rma::World;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Window, WindowSpec};
use rma_tests::world::from;
use rustix::process::{Signal, getpid, getppid, kill_process};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What a process calls itself that is about to wait for the victim.
const WAITS: &str = "waits";
/// What the victim calls itself when it ends its part.
const LEAVES: &str = "leaves";
/// From one look at the other processes to the next.
const LOOK: Duration = Duration::from_millis(1);
/// Rounds of calls behind which the victim dies in the middle of another one.
const ROUNDS: u32 = 5;

struct Job<'a> {
    world: &'a World,
    me: u32,
    size: u32,
    victim: u32,
}

fn main() -> rma::Result<()> {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let world = World::init()?;
    let (me, size) = (world.rank(), world.size());
    let victim = words[1].parse::<u32>().expect("a rank") % size;
    println!("rank {me} has begun");
    let job = Job { world: &world, me, size, victim };
    let says = match words[0].as_str() {
        "receive" => job.receive(),
        "send" => job.send(),
        "fence" => job.fence(),
        "post" => job.post(),
        "posts" => job.posts(),
        "create" => job.create(),
        "communicators" => job.communicators(),
        "free" => job.free(),
        "left" if me == victim => {
            std::mem::forget(job.window(&world)?);
            world.barrier()?;
            say(LEAVES);
            return world.finalize();
        }
        "left" => job.left(),
        other => panic!("no mode {other}"),
    };
    println!("survivor {me}: {}", says?);
    let _ = std::io::stdout().flush();
    world.finalize()
}

/// Says to the others, without any contact, what this process is about to do.
fn say(what: &str) {
    std::fs::write("/proc/self/comm", what).expect("a process may name its threads");
}

/// What the processes beside this one say, and the states of their main threads, as far as they are still there.
fn others() -> Vec<(String, char)> {
    let launcher = getppid().expect("a launcher").as_raw_nonzero().to_string();
    let me = std::process::id().to_string();
    let look = |process: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
        // `PID (NAME) STATE PARENT ...`
        let (before, after) = stat.rsplit_once(") ")?;
        let (pid, name) = before.split_once(" (")?;
        let (state, after) = after.split_once(' ')?;
        let is_other = pid != me && after.split(' ').next()? == launcher;
        is_other.then_some((name.to_owned(), state.chars().next()?))
    };
    std::fs::read_dir("/proc").expect("processes").flatten().filter_map(look).collect()
}

/// Returns when so many of the others are asleep in the call before which they have said that.
fn await_sleepers(count: u32, what: &str) {
    let is_there = |(says, state): &(String, char)| says == what && *state == 'S';
    while others().iter().filter(|other| is_there(other)).count() < count as usize {
        std::thread::sleep(LOOK);
    }
}

/// Dies when the other threads of this process have made some rounds of calls.
fn die_in_the_middle(rounds: &'static AtomicU32) {
    std::thread::spawn(|| {
        while rounds.load(Relaxed) < ROUNDS {
            std::thread::sleep(LOOK);
        }
        die()
    });
}

fn die() -> ! {
    let _ = std::io::stdout().flush();
    loop {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

impl Job<'_> {
    fn is_victim(&self) -> bool {
        self.me == self.victim
    }

    /// A communicator of all but the victim, made of what they know without it.
    fn of_survivors(&self, tag: u32) -> Result<rma::Communicator> {
        let all = self.world.members();
        let group = all.excl(&[self.victim])?;
        self.world.create_group(&group, tag)
    }

    fn window(&self, of: &rma::Communicator) -> Result<Window> {
        of.engine().create_window(of.group(), WindowSpec::Allocate { len: 64, unit: 8 })
    }

    /// Receives from the dead rank, which was never in contact, from any source, and among the living.
    fn receive(&self) -> Result<String> {
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        let single = self.world.receive::<u64>(Some(self.victim), Some(1)).is_err();
        let any = self.world.receive::<u64>(None, Some(1)).is_err();
        let any_later = self.world.begin_receive::<u64>(None, Some(2))?.wait().is_err();
        let probe =
            self.world.probe(Some(self.victim), None).is_err() && self.world.probe(None, None).is_err();
        // Among the living a receive from any source may wait.
        let living = self.of_survivors(1)?;
        let (next, before) =
            ((living.rank() + 1) % living.size(), (living.rank() + living.size() - 1) % living.size());
        let sending = living.begin_send(next, 3, &[7u64])?;
        let got = living.receive::<u64>(None, Some(3))?;
        sending.wait()?;
        let is_right = got.source == before && got.values == [7];
        Ok(format!("{single} {any} {any_later} {probe} {is_right}"))
    }

    fn send(&self) -> Result<String> {
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        // It waits for its receive.
        let long = self.world.send(self.victim, 1, &vec![1u64; 100_000]).is_err();
        let mut shorts = (0..10_000).map(|_| self.world.send(self.victim, 1, &[1u64]));
        let short = shorts.any(|end| end.is_err());
        Ok(format!("{long} {short}"))
    }

    fn fence(&self) -> Result<String> {
        let window = self.window(self.world)?;
        window.fence(Assert::NONE)?;
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        let mut ends = Vec::new();
        for _ in 0..3 {
            let to = Rank((self.me + 1) % self.size);
            let value = [u64::from(self.me)];
            // The epoch may be over by now.
            let _ = window.put(from(&value), to, Disp(0));
            ends.push(window.fence(Assert::NONE).is_err().to_string());
        }
        drop(window.free());
        Ok(ends.join(" "))
    }

    /// Pairs of neighbors, of which one has lost its partner.
    fn post(&self) -> Result<String> {
        let window = self.window(self.world)?;
        self.world.barrier()?;
        let partner = self.me ^ 1;
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        let mut is_right = true;
        for _ in 0..20 {
            if partner >= self.size {
                break;
            }
            let group = [Rank(partner)];
            let mut ends = Vec::new();
            ends.push(window.post_to(&group, Assert::NONE));
            let started = window.start(&group, Assert::NONE);
            let is_open = started.is_ok();
            ends.push(started);
            if is_open {
                let value = [u64::from(self.me)];
                ends.push(window.put(from(&value), group[0], Disp(1)));
                ends.push(window.complete());
            }
            ends.push(window.wait());
            let has_failed = ends.iter().any(Result::is_err);
            is_right &= has_failed == (partner == self.victim);
        }
        drop(window.free());
        Ok(is_right.to_string())
    }

    /// All expose to all, and access all: a rank that the dead keeps from the end is served by the others all
    /// the same.
    fn posts(&self) -> Result<String> {
        let window = self.window(self.world)?;
        self.world.barrier()?;
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        let group = (0..self.size).filter(|rank| *rank != self.me).map(Rank).collect::<Vec<_>>();
        let mut is_right = true;
        for round in 1..=10u64 {
            window.post_to(&group, Assert::NONE)?;
            window.start(&group, Assert::NONE)?;
            let value = [round];
            for to in group.iter().filter(|to| to.0 != self.victim) {
                window.put(from(&value), *to, Disp(self.me.into()))?;
            }
            let ends = [window.complete(), window.wait()];
            is_right &= ends.iter().all(Result::is_err);
            let got = |rank: &u32| rma_tests::world::local(&window, *rank as usize) == round;
            let mut others = (0..self.size).filter(|rank| *rank != self.me && *rank != self.victim);
            is_right &= others.all(|rank| got(&rank));
        }
        drop(window.free());
        Ok(is_right.to_string())
    }

    /// Windows while a rank dies: those that cannot be made are gone without a trace.
    fn create(&self) -> Result<String> {
        if self.is_victim() {
            static MADE: AtomicU32 = AtomicU32::new(0);
            die_in_the_middle(&MADE);
            loop {
                let _ = self.window(self.world).map(Window::free);
                MADE.fetch_add(1, Relaxed);
            }
        }
        let mut failed = 0;
        while failed < 200 {
            failed += u32::from(self.window(self.world).and_then(Window::free).is_err());
        }
        // All but a few of the indices that a process has are free.
        let own = self.world.own();
        let windows = (0..1950).map(|_| self.window(&own)).collect::<Result<Vec<_>>>()?;
        for window in windows {
            window.free()?;
        }
        let living = self.of_survivors(1)?;
        self.window(&living)?.free()?;
        Ok("true".to_owned())
    }

    fn communicators(&self) -> Result<String> {
        if self.is_victim() {
            static MADE: AtomicU32 = AtomicU32::new(0);
            die_in_the_middle(&MADE);
            loop {
                let _ = self.world.duplicate();
                let _ = self.world.split(Some(self.me % 2), 0);
                MADE.fetch_add(1, Relaxed);
            }
        }
        let (mut duplicates, mut splits) = (0, 0);
        while duplicates < 20 || splits < 20 {
            duplicates += u32::from(self.world.duplicate().is_err());
            splits += u32::from(self.world.split(Some(self.me % 2), 0).is_err());
        }
        let living = self.of_survivors(1)?;
        let sum = living.allreduce(rma::ReduceOp::Sum, &[1u32])?;
        Ok((sum == [self.size - 1]).to_string())
    }

    /// The window of a rank that is dead is given up, and the next one has memory of its own.
    fn free(&self) -> Result<String> {
        let window = self.window(self.world)?;
        let value = [u64::from(self.me) + 1];
        window.lock(LockKind::Shared, Rank(self.victim), Assert::NONE)?;
        window.put(from(&value), Rank(self.victim), Disp(0))?;
        window.unlock(Rank(self.victim))?;
        self.world.barrier()?;
        if self.is_victim() {
            await_sleepers(self.size - 1, WAITS);
            die();
        }
        say(WAITS);
        let freed = window.free().is_err();
        let living = self.of_survivors(1)?;
        let next = self.window(&living)?;
        let is_zero = next.lock(LockKind::Shared, Rank(living.rank()), Assert::NONE).is_ok();
        next.unlock(Rank(living.rank()))?;
        next.free()?;
        Ok(format!("{freed} {is_zero}"))
    }

    /// Survivors of one that has ended its part: what concerns those that are left goes on.
    fn left(&self) -> Result<String> {
        let living = self.of_survivors(1)?;
        let mine = self.window(&living)?;
        // One that cannot be freed any more, since a rank of it is gone.
        let all = self.window(self.world)?;
        self.world.barrier()?;
        await_sleepers(1, LEAVES);
        let me = living.rank();
        let next = Rank((me + 1) % living.size());
        for round in 0..200u64 {
            let value = [round];
            mine.fence(Assert::NONE)?;
            mine.put(from(&value), next, Disp(0))?;
            mine.fence(Assert::NO_SUCCEED)?;
            mine.lock(LockKind::Exclusive, next, Assert::NONE)?;
            mine.put(from(&value), next, Disp(1))?;
            mine.unlock(next)?;
            mine.lock_all(Assert::NONE)?;
            mine.flush_all()?;
            mine.unlock_all()?;
            living.barrier()?;
            let next = Rank(living.peer(next.0)?.0);
            all.lock(LockKind::Exclusive, next, Assert::NONE)?;
            all.put(from(&value), next, Disp(1))?;
            all.flush(next)?;
            all.unlock(next)?;
        }
        std::mem::forget(all);
        mine.free()?;
        Ok("true".to_owned())
    }
}
