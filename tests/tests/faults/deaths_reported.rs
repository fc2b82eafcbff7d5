//! Jobs that go on when a rank dies: every survivor's collective ends, whichever rank it depends on, because
//! the launcher notifies all.

use rma_tests::job::{Job, is_second_pass, program};
use rma_tests::paths::PURE_PATHS;
use rma_tests::traces::kill;
use std::time::{Duration, Instant};

/// Bounds are for loaded machines.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_collective_after_a_death_ends_on_all_survivors() {
    if is_second_pass() {
        return;
    }
    let kills = std::env::var("RMA_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (mut slowest, mut number) = (Duration::ZERO, 0);
    for path in PURE_PATHS {
        for ranks in [3u32, 5, 8] {
            for kill_number in 0..kills {
                number += 1;
                let words = ["--on-failure=continue", "-n", &ranks.to_string()].map(str::to_owned);
                let job = Job::launcher(words).words([program("rma-test-deaths")]);
                let mut running = job.variables(path.variables).limit(SOON * 3).start();
                let all = running.wait_for_ranks(ranks as usize);
                std::thread::sleep(Duration::from_millis(50 + 37 * kill_number));
                let (rank, pid) = all[(number * 7 % ranks as usize).min(all.len() - 1)];
                let killed = Instant::now();
                kill(pid);
                let ended = running.finish();
                let took = killed.elapsed();
                slowest = slowest.max(took);
                let what = format!("{}, {ranks} ranks, kill of rank {rank} after {took:?}", path.name);
                assert!(took < SOON, "{what}: {ended:#?}");
                let survivors = ended.stdout.lines().filter(|line| line.starts_with("survivor ")).count();
                assert_eq!(survivors as u32, ranks - 1, "{what}: {ended:#?}");
                assert!(!ended.stdout.contains(": false "), "{what}: {ended:#?}");
            }
        }
    }
    println!("{number} kills; the slowest end took {slowest:?}");
}
