//! Ranks that lock windows of which one dies, in a job that goes on: `rma-test-heirs SCENARIO allocated|own FOLDER`.
//!
//! Rank 1 dies. Each survivor prints `rank R: locked after N ms` or `rank R: refused after N ms: ERROR` for
//! each lock that it asks for after that or while it happens, and ends without a word. What one rank waits
//! for from another is a file in the folder, so nothing of the library decides the order in which they come.

use rma::World;
use rma_core::epoch::{Assert, LockKind, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Window, WindowSpec};
use rma_tests::world::into;
use rustix::process::{Signal, getpid, kill_process};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

const VICTIM: u32 = 1;

struct Part<'a> {
    world: &'a World,
    window: Window,
    folder: PathBuf,
    me: u32,
    size: u32,
}

fn main() -> rma::Result<()> {
    let words = std::env::args().collect::<Vec<_>>();
    let [_, scenario, memory, folder] = &words[..] else { panic!("three words") };
    let world = World::init()?;
    let mut own = vec![0u64; 8];
    let spec = match memory.as_str() {
        "own" => WindowSpec::Create { memory: into(&mut own), unit: 8 },
        _ => WindowSpec::Allocate { len: 64, unit: 8 },
    };
    let window = world.engine().create_window(world.group(), spec)?;
    let part = Part { world: &world, window, folder: folder.into(), me: world.rank(), size: world.size() };
    part.say(&format!("ready-{}", part.me));
    (0..part.size).for_each(|rank| part.hear(&format!("ready-{rank}")));
    part.play(scenario);
    part.say(&format!("over-{}", part.me));
    // A rank that is through serves the others.
    (0..part.size).filter(|rank| *rank != VICTIM).for_each(|rank| part.hear(&format!("over-{rank}")));
    std::process::exit(0)
}

impl Part<'_> {
    fn play(&self, scenario: &str) {
        let is_victim = self.me == VICTIM;
        match scenario {
            // Rank 1 dies with a lock of rank 0, which all others want exclusively.
            "shared" | "exclusive" if is_victim => {
                let kind = if scenario == "shared" { Shared } else { Exclusive };
                self.take(kind, 0).unwrap();
                self.die();
            }
            "shared" | "exclusive" => self.ask_beside_death(Exclusive, 0),
            // Rank 1 dies with the locks of all.
            "all" if is_victim => {
                self.window.lock_all(Assert::NONE).unwrap();
                self.die();
            }
            "all" => {
                self.hear("dies");
                (0..self.size).for_each(|target| self.ask(Exclusive, target));
            }
            // Rank 1 dies with its own lock.
            "self" if is_victim => {
                self.take(Exclusive, VICTIM).unwrap();
                self.die();
            }
            "self" => {
                self.ask_beside_death(if self.me.is_multiple_of(2) { Exclusive } else { Shared }, VICTIM)
            }
            // Rank 1 dies while rank 0 has its lock, and the others wait for that.
            "owner" if is_victim => {
                (2..self.size).for_each(|rank| self.hear(&format!("asks-{rank}")));
                sleep(Duration::from_millis(20));
                self.die();
            }
            "owner" if self.me == 0 => {
                self.take(Exclusive, VICTIM).unwrap();
                self.say("held");
                self.hear("dies");
                (2..self.size).for_each(|rank| self.hear(&format!("asked-{rank}")));
                // It ends, and leaves no epoch open.
                let _ = self.window.unlock(Rank(VICTIM));
                self.ask(Shared, VICTIM);
            }
            "owner" => {
                self.hear("held");
                self.say(&format!("asks-{}", self.me));
                self.ask(if self.me.is_multiple_of(2) { Exclusive } else { Shared }, VICTIM);
                self.say(&format!("asked-{}", self.me));
                let error = self.window.lock_all(Assert::NONE).map(|()| self.window.unlock_all()).is_err();
                println!("rank {}: lock_all fails: {error}", self.me);
            }
            // Rank 1 dies in the middle of a long line for the lock of rank 0, which rank 2 has.
            "line" if self.me == 2 => {
                self.take(Exclusive, 0).unwrap();
                self.say("held");
                self.hear("dies");
                (3..self.size).for_each(|rank| self.hear(&format!("asks-{rank}")));
                self.window.unlock(Rank(0)).unwrap();
            }
            "line" => {
                self.hear("held");
                if self.me > self.size / 2 {
                    self.hear(&format!("asks-{VICTIM}"));
                }
                self.say(&format!("asks-{}", self.me));
                if is_victim {
                    let mut lock = self.window.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                    assert!(!self.window.poll_sync(&mut lock).unwrap());
                    (3..self.size).for_each(|rank| self.hear(&format!("asks-{rank}")));
                    self.die();
                }
                self.ask(if self.me.is_multiple_of(3) { Shared } else { Exclusive }, 0);
            }
            _ => panic!("no scenario {scenario}"),
        }
    }

    fn die(&self) -> ! {
        self.say("dies");
        let _ = kill_process(getpid(), Signal::KILL);
        unreachable!("a killed process goes on")
    }

    /// Some ask before the death is known, some after it.
    fn ask_beside_death(&self, kind: LockKind, target: u32) {
        self.hear("dies");
        self.ask(kind, target);
        self.ask(kind, target);
    }

    /// Asks for a lock and gives it back.
    fn ask(&self, kind: LockKind, target: u32) {
        let started = Instant::now();
        let taken = self.take(kind, target);
        if taken.is_ok() && self.window.take_bequest(Rank(target)).is_ok_and(|inherits| inherits) {
            println!("rank {}: inherits the lock of rank {target}", self.me);
            assert!(!self.window.take_bequest(Rank(target)).unwrap(), "it is reported once");
        }
        let took = started.elapsed().as_millis();
        // Of a target elsewhere the lock is a promise, and there is an epoch to end in either case.
        let ended = match &taken {
            Ok(()) => self.window.unlock(Rank(target)),
            Err(_) => Ok(()),
        };
        match taken.and(ended) {
            Ok(()) => println!("rank {}: locked after {took} ms", self.me),
            Err(error) => println!("rank {}: refused after {took} ms: {error}", self.me),
        }
    }

    /// Locks, and reads something, which is what asks for the lock of a target elsewhere.
    fn take(&self, kind: LockKind, target: u32) -> rma::Result<()> {
        let (target, mut got) = (Rank(target), [0u64]);
        self.window.lock(kind, target, Assert::NONE)?;
        let read = self.window.get(into(&mut got), target, Disp(0)).and_then(|()| self.window.flush(target));
        if read.is_err() {
            let _same = self.window.unlock(target);
        }
        read
    }

    fn say(&self, what: &str) {
        std::fs::write(self.folder.join(what), []).expect("the folder can be written to");
    }

    /// Waits for a word of another rank, and serves the others meanwhile.
    fn hear(&self, what: &str) {
        while !self.folder.join(what).exists() {
            self.world.engine().poll();
            sleep(Duration::from_millis(1));
        }
    }
}
