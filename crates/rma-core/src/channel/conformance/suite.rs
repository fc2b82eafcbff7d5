//! The list of tests, the macro that makes `#[test]` functions of them, and the watchdog around each.

use super::bench::{Activity, Bench};
use super::fixture::Fixture;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// One test of the suite.
pub type Test = fn(&mut Bench);

/// Time that a test gets to report after its own limit, before the watchdog does; longer than any sleep of a test.
const GRACE: Duration = Duration::from_secs(6);

/// Runs one test with a watchdog. `channel_conformance!` calls it.
///
/// # Panics
/// When the test fails or takes too long.
pub fn run(name: &'static str, fixture: impl FnOnce() -> Box<dyn Fixture> + Send + 'static, test: Test) {
    let note = Activity::default();
    let (done, wait) = channel();
    let (limit_known, limit) = channel();
    let body = {
        let note = note.clone();
        move || {
            let fixture = fixture();
            // The watchdog may be gone only when the test is over; then the answers are not needed.
            let _ = limit_known.send(fixture.time_limit());
            test(&mut Bench::new(fixture, note));
            let _ = done.send(());
        }
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body).expect("a test can have a thread");
    let limit = limit.recv().unwrap_or_default() + GRACE;
    match wait.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => {
            panic!("{name}: a call of the channel does not return (C5); the test was {}", note.get());
        }
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Makes one `#[test]` per test of the suite. The argument makes a [`Fixture`]; it is evaluated in every test.
///
/// A fixture for channels that are made one at a time, by a function of the crate:
///
/// ```
/// use rma_core::channel::{Channel, conformance::Fixture};
///
/// struct Job<F>(F);
///
/// impl<F: FnMut(u32, u32) -> Box<dyn Channel>> Fixture for Job<F> {
///     fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
///         (0..count).map(|rank| (self.0)(rank, count)).collect()
///     }
/// }
/// ```
///
/// In a test file it is used as `channel_conformance!(Job(connect));`, once in a module for each configuration.
#[macro_export]
macro_rules! channel_conformance {
    ($fixture:expr) => {
        $crate::channel_conformance! { @each $fixture;
            c1_small_packets_keep_their_order
            c1_small_and_bulk_keep_their_order
            c1_many_pairs_and_both_lanes
            c1_bodies_of_every_size_and_shape
            c2_dropped_reservations_send_nothing
            c2_misuse_panics
            c3_full_then_one_writable
            c3_full_for_bulk_then_one_writable
            c3_room_in_every_small_size
            c4_sources_may_be_reused
            c4_bodies_end_with_exactly_one_bulk_sent
            c5_polls_keep_their_budget
            c5_a_peer_that_does_not_read_blocks_no_other
            c6_ping_pong_between_sleepers
            c6_bulk_wakes_sleepers
            c6_room_wakes_a_sleeper
            c6_first_contact_wakes_a_sleeper
            c6_death_wakes_a_sleeper
            c6_an_idle_rank_stays_asleep
            c6_arm_says_busy_while_packets_wait
            c7_death_is_reported_once_and_last
            c7_death_gives_back_every_body
            c7_others_are_not_affected_by_a_death
            c7_first_contact_with_the_dead
            c7_a_refused_packet_fails_that_peer_only
            c7_a_refused_bulk_fails_that_peer_only
            c7_goodbye_is_not_a_failure
            c7_everything_committed_leaves_before_goodbye
            c8_usage_is_bounded_and_follows_contact
            lanes_a_full_request_lane_leaves_responses_free
            lanes_responses_pass_bulk_requests
            r1_transfers_land_where_they_are_named
            r1_places_outside_are_refused
            r2_every_transfer_is_answered_once
            r3_a_dropped_channel_touches_nothing
            r6_withdrawn_memory_is_not_touched
            r8_answers_wake_sleepers
        }
    };
    (@each $fixture:expr; $($name:ident)*) => {$(
        #[test]
        fn $name() {
            $crate::channel::conformance::run(
                stringify!($name),
                || Box::new($fixture),
                $crate::channel::conformance::tests::$name,
            );
        }
    )*};
}
