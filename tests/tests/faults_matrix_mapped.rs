//! Calls while a rank dies, where all ranks map each other's memory, in virtual time; collectives and messages on processes.
//! Those entries of the matrix are here that take no lock that a dead rank owns.

use rma_tests::faults::case::Way;
use rma_tests::faults::cells::{Call, Victim};
use rma_tests::faults::matrix::check;

macro_rules! entries {
    ($($name:ident: $call:ident, $victim:ident;)*) => {
        $(
            #[test]
            fn $name() {
                check(Call::$call, Victim::$victim, Way::Mapped);
            }
        )*
    };
}

entries! {
    put_when_another_rank_dies_mapped: Put, Other;
    put_when_a_lock_holder_dies_mapped: Put, Holder;
    get_when_another_rank_dies_mapped: Get, Other;
    get_when_a_lock_holder_dies_mapped: Get, Holder;
    atomic_when_another_rank_dies_mapped: Atomic, Other;
    atomic_when_a_lock_holder_dies_mapped: Atomic, Holder;
    flush_when_another_rank_dies_mapped: Flush, Other;
    flush_when_a_lock_holder_dies_mapped: Flush, Holder;
    waiting_for_a_lock_when_another_rank_dies_mapped: Lock, Other;
    fence_when_another_rank_dies_mapped: Fence, Other;
    fence_when_a_lock_holder_dies_mapped: Fence, Holder;
    post_start_complete_wait_when_another_rank_dies_mapped: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_mapped: Post, Holder;
    create_when_another_rank_dies_mapped: Create, Other;
    create_when_a_lock_holder_dies_mapped: Create, Holder;
    free_when_another_rank_dies_mapped: Free, Other;
    free_when_a_lock_holder_dies_mapped: Free, Holder;
    collective_when_another_rank_dies_mapped: Collective, Other;
    collective_when_a_lock_holder_dies_mapped: Collective, Holder;
    message_when_another_rank_dies_mapped: Message, Other;
    message_when_a_lock_holder_dies_mapped: Message, Holder;
}
