//! Processes that are killed: the job ends soon, says which rank it was, and leaves nothing behind.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::PURE_PATHS;
use rma_tests::traces::kill;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};
use tempfile::NamedTempFile;

const RANKS: u32 = 4;
const KILLS: u64 = 50;
/// How soon a job ends after a rank has died.
const SOON: Duration = Duration::from_secs(5);
/// Kills come up to so long after the first rank is there: while ranks start, find each other, work.
const LATEST_KILL: Duration = Duration::from_millis(400);

/// Numbers that are the same for the same seed.
struct Random(u64);

impl Random {
    /// Seeded by the variable RMA_TEST_SEED, else by the time; says which.
    fn new() -> Self {
        let given = std::env::var("RMA_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let now = || SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.subsec_nanos().into());
        let seed = given.unwrap_or_else(now).max(1);
        println!("RMA_TEST_SEED={seed} repeats this run's choices");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// A text that takes far longer to count than any test waits.
fn long_text() -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let words = (0..2_500_000u32).map(|i| format!("{:x} ", i.wrapping_mul(2_654_435_761)));
    file.write_all(words.collect::<String>().as_bytes()).unwrap();
    file
}

/// Long jobs, in turn: both demos, both ways to synchronize, over all paths.
fn long_job(number: u64, text: &NamedTempFile) -> Job {
    let path = PURE_PATHS[(number % 3) as usize];
    let job = match number / 3 % 3 {
        0 => {
            Job::new(RANKS, "heat2d").line("--rows 64 --cols 64 --steps 100000000 --sync fence --no-picture")
        }
        1 => Job::new(RANKS, "heat2d").line("--rows 64 --cols 64 --steps 100000000 --sync lock --no-picture"),
        _ => Job::new(RANKS, "wordcount").line("--block-kib 64").words([text.path()]),
    };
    job.variables(path.variables)
}

#[test]
fn a_job_whose_rank_is_killed_ends_soon_and_names_it() {
    if is_second_pass() {
        return;
    }
    let (mut random, text) = (Random::new(), long_text());
    let (mut with_sockets, mut slowest) = (0, Duration::ZERO);
    for number in 0..KILLS {
        let mut running = long_job(number, &text).start();
        // The first kills come while the launcher is still starting ranks.
        let ranks = running.wait_for_ranks(if number % 10 == 0 { 1 } else { RANKS as usize });
        let delay = Duration::from_micros(random.below(LATEST_KILL.as_micros() as u64));
        std::thread::sleep(delay);
        with_sockets += usize::from(running.note_sockets() > 0);
        let (rank, pid) = ranks[random.below(ranks.len() as u64) as usize];
        let killed = Instant::now();
        kill(pid);
        let ended = running.finish();
        let took = killed.elapsed();
        slowest = slowest.max(took);
        let what = format!("kill {number} of rank {rank} (pid {pid}) after {delay:?}, end after {took:?}");
        assert!(took < SOON, "{what}: {ended:#?}");
        assert_eq!(ended.code(), 137, "{what}: {ended:#?}");
        let expected = format!("rmarun: rank {rank} (pid {pid}) was killed by signal 9 (SIGKILL)");
        assert!(ended.stderr.contains(&expected), "{what}: {ended:#?}");
    }
    println!("{KILLS} kills; the slowest end took {slowest:?}; {with_sockets} jobs had named sockets");
    assert!(with_sockets as u64 >= KILLS / 4, "only {with_sockets} jobs had sockets to leave behind");
}

#[test]
fn the_ranks_of_a_launcher_that_is_killed_end_too() {
    if is_second_pass() {
        return;
    }
    let (mut random, text) = (Random::new(), long_text());
    for number in 0..9 {
        let mut running = long_job(number, &text).start();
        running.wait_for_ranks(if number % 3 == 0 { 1 } else { RANKS as usize });
        std::thread::sleep(Duration::from_micros(random.below(LATEST_KILL.as_micros() as u64)));
        running.note_sockets();
        let killed = Instant::now();
        kill(running.launcher());
        let ended = running.finish();
        assert!(killed.elapsed() < SOON, "launcher {number}: {ended:#?}");
        assert_eq!(ended.code(), 137, "launcher {number}: {ended:#?}");
    }
}

#[test]
fn a_lock_holder_that_is_killed_ends_those_that_wait_for_it() {
    if is_second_pass() {
        return;
    }
    for path in PURE_PATHS {
        let job = Job::new(RANKS, "rma-test-wait").line("lock 60").variables(path.variables);
        let mut running = job.start();
        let ranks = running.wait_for_ranks(RANKS as usize);
        // Long enough for the others to wait for the lock; it would be right if they did not yet.
        std::thread::sleep(LATEST_KILL);
        let killed = Instant::now();
        kill(ranks[0].1);
        let ended = running.finish();
        assert!(killed.elapsed() < SOON, "{}: {ended:#?}", path.name);
        assert_eq!(ended.code(), 137, "{}: {ended:#?}", path.name);
        assert!(ended.stderr.contains("rmarun: rank 0 (pid "), "{}: {ended:#?}", path.name);
    }
}
