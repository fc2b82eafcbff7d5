//! Calls that are over at once although their word still lies in the channel, which may keep packets until it
//! is polled: the word leaves with the call, because the caller may compute for long while the other rank
//! waits for it.

use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Window, WindowSpec};
use rma_tests::keeper::Keeper;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, local};

/// Two ranks of a node, with windows of their own memory, and that memory.
fn scene(seed: u64) -> (Stepped, Vec<Window>, Vec<[u64; 4]>) {
    let world = Stepped::with_channels(&Setup::direct(2), seed, |channel| Box::new(Keeper::new(channel)));
    let mut memory = vec![[0; 4]; 2];
    let spans: Vec<_> = memory.iter_mut().map(|elements| into(elements)).collect();
    let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
    (world, windows, memory)
}

/// Lets only rank 1 step until `done`.
fn until_without_rank_0(world: &Stepped, what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        world.pump_only(|rank| rank == 1);
    }
    panic!("{what} waits for rank 0, which computes");
}

#[test]
fn the_word_of_a_fence_leaves_although_the_call_is_over_at_once() {
    let (world, windows, _memory) = scene(1);
    let values = [10, 11, 12, 13];
    for round in 0..4 {
        let mut theirs = windows[1].begin_fence(Assert::NONE).unwrap();
        // Their word is there before the call.
        (0..100).for_each(|_| world.pump());
        let mut own = windows[0].begin_fence(Assert::NONE).unwrap();
        if round < 2 {
            // Nothing is met yet, and the store makes the element of its target.
            world.finish(&windows[0], "fence", own).unwrap();
        } else {
            assert!(windows[0].poll_sync(&mut own).unwrap(), "round {round}");
        }
        until_without_rank_0(&world, "fence", || windows[1].poll_sync(&mut theirs).unwrap());
        if round > 0 {
            assert_eq!(local(&windows[1], round - 1), values[round - 1]);
        }
        if round < 3 {
            windows[0].put(from(&values[round..=round]), Rank(1), Disp(round as u64)).unwrap();
        }
    }
}

#[test]
fn the_word_of_complete_leaves_although_the_call_is_over_at_once() {
    let (world, windows, _memory) = scene(2);
    let values = [10, 11, 12, 13];
    for round in 0..4 {
        windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
        (0..100).for_each(|_| world.pump());
        let start = windows[0].begin_start(&[Rank(1)], Assert::NONE).unwrap();
        world.finish(&windows[0], "start", start).unwrap();
        let has_store = round != 3;
        if has_store {
            windows[0].put(from(&values[round..=round]), Rank(1), Disp(round as u64)).unwrap();
        }
        let mut complete = windows[0].begin_complete().unwrap();
        if round == 0 {
            world.finish(&windows[0], "complete", complete).unwrap();
        } else {
            assert!(windows[0].poll_sync(&mut complete).unwrap(), "round {round}");
        }
        let mut wait = windows[1].begin_wait().unwrap();
        until_without_rank_0(&world, "wait", || windows[1].poll_sync(&mut wait).unwrap());
        assert_eq!(local(&windows[1], round), if has_store { values[round] } else { 0 });
    }
}
