//! C8: memory in use is bounded, visible, and follows contact. Every step of the suite checks usage against its limit.

use super::bench::Bench;
use crate::channel::Lane;

/// A large job costs a rank no more than a small one with the same contacts.
pub fn c8_usage_is_bounded_and_follows_contact(bench: &mut Bench) {
    let mut seen = Vec::new();
    for count in [2, 12] {
        let mut world = bench.world(count);
        let before: Vec<_> = world.ranks.iter_mut().map(|r| r.channel().usage()).collect();
        assert!(before.iter().all(|u| u.peers == 0), "C8: peers before contact: {before:?}");
        world.introduce(0, 1);
        let met = world.rank(0).channel().usage();
        assert_eq!(met.peers, 1, "C8: {met:?}");
        assert_eq!(world.rank(1).channel().usage().peers, 1);
        for rank in 2..count {
            assert_eq!(
                world.rank(rank).channel().usage(),
                before[rank as usize],
                "C8: rank {rank} met no peer"
            );
        }
        let max = world.rank(0).capabilities().max_packet;
        for lane in Lane::ALL {
            world.fill_lane(0, 1, lane, max);
        }
        world.until_all_arrived();
        seen.push((before[0], met.limit_bytes));
    }
    assert_eq!(seen[0], seen[1], "C8: memory depends on the size of the job");
}
