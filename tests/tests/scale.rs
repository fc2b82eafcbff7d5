//! Memory of an idle window does not depend on the number of ranks, whatever has been done on it, also at a rank that all
//! others send to; packets are as budgeted (design §5). `cargo xtask scale` measures larger jobs.

use rma_core::config::EngineConfig;
use rma_tests::scale::weigh::Weighing;
use rma_tests::scale::{PHASES, measure};

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

/// Most bytes of an idle window at one rank, besides its control block.
const WINDOW: i64 = 3440;

/// Most bytes of a simulated channel of a rank in contact with thirteen others: jobs of 10⁵ ranks fit into memory.
const CHANNEL: i64 = 20 << 10;

/// Most bytes of pools, tables and queues that are kept when a script's traffic is over.
const LEFT_BEHIND: i64 = 32 << 10;

#[test]
fn an_idle_window_weighs_the_same_at_2_and_256_and_10_000_ranks() {
    let mut idle = None;
    for ranks in [2, 256, 10_000] {
        let found = measure(ranks, &EngineConfig::default(), 1);
        let others = i64::from(ranks) - 1;
        let (before, made) = (found[0], found[1]);
        let window = made.first - before.first;
        assert_eq!(made.engines - before.engines, others * window, "{ranks} ranks: the same everywhere");
        assert_eq!(*idle.get_or_insert(window), window, "{ranks} ranks: an idle window");
        assert!(window <= WINDOW, "{ranks} ranks: {window} bytes for an idle window");
        for found in &found[2..] {
            let Some(phase) = found.phase else { continue };
            let (least, most) = phase.budget(u64::from(ranks));
            assert!(
                (least..=most).contains(&found.packets),
                "{ranks} ranks, {}: {} packets",
                phase.name(),
                found.packets
            );
        }
        // What traffic leaves behind follows the traffic, which is the same for each rank, and at the first rank that all
        // others have sent to the same as elsewhere, but for a few queues.
        for found in found.iter().skip(2).take(PHASES.len()) {
            let (each, first) = ((found.engines - before.engines) / others, found.first - before.first);
            let what = found.phase.expect("a phase").name();
            assert!(each <= window + LEFT_BEHIND, "{ranks} ranks, {what}: {each} bytes each");
            assert!(first <= window + LEFT_BEHIND, "{ranks} ranks, {what}: {first} bytes at rank 0");
        }
        assert_eq!(found.len(), PHASES.len() + 3);
        let channel =
            found.iter().map(|found| found.channels).max().expect("measurements") / i64::from(ranks);
        assert!(channel <= CHANNEL, "{ranks} ranks: {channel} bytes for each channel");
    }
}
