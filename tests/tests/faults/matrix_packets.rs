//! Every call while a rank dies, where everything travels in packets, in virtual time; collectives and messages on processes over shm.

use rma_tests::faults::case::Way;
use rma_tests::matrix;

matrix! {
    Way::Shm;
    put_when_its_target_dies_packets: Put, Target;
    put_when_another_rank_dies_packets: Put, Other;
    put_when_a_lock_holder_dies_packets: Put, Holder;
    put_when_a_lock_owner_dies_packets: Put, Owner;
    get_when_its_target_dies_packets: Get, Target;
    get_when_another_rank_dies_packets: Get, Other;
    get_when_a_lock_holder_dies_packets: Get, Holder;
    get_when_a_lock_owner_dies_packets: Get, Owner;
    atomic_when_its_target_dies_packets: Atomic, Target;
    atomic_when_another_rank_dies_packets: Atomic, Other;
    atomic_when_a_lock_holder_dies_packets: Atomic, Holder;
    atomic_when_a_lock_owner_dies_packets: Atomic, Owner;
    flush_when_its_target_dies_packets: Flush, Target;
    flush_when_another_rank_dies_packets: Flush, Other;
    flush_when_a_lock_holder_dies_packets: Flush, Holder;
    flush_when_a_lock_owner_dies_packets: Flush, Owner;
    waiting_for_a_lock_when_its_target_dies_packets: Lock, Target;
    waiting_for_a_lock_when_another_rank_dies_packets: Lock, Other;
    waiting_for_a_lock_when_a_lock_holder_dies_packets: Lock, Holder;
    waiting_for_a_lock_when_a_lock_owner_dies_packets: Lock, Owner;
    fence_when_its_target_dies_packets: Fence, Target;
    fence_when_another_rank_dies_packets: Fence, Other;
    fence_when_a_lock_holder_dies_packets: Fence, Holder;
    fence_when_a_lock_owner_dies_packets: Fence, Owner;
    post_start_complete_wait_when_its_target_dies_packets: Post, Target;
    post_start_complete_wait_when_another_rank_dies_packets: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_packets: Post, Holder;
    post_start_complete_wait_when_a_lock_owner_dies_packets: Post, Owner;
    create_when_its_target_dies_packets: Create, Target;
    create_when_another_rank_dies_packets: Create, Other;
    create_when_a_lock_holder_dies_packets: Create, Holder;
    create_when_a_lock_owner_dies_packets: Create, Owner;
    free_when_its_target_dies_packets: Free, Target;
    free_when_another_rank_dies_packets: Free, Other;
    free_when_a_lock_holder_dies_packets: Free, Holder;
    free_when_a_lock_owner_dies_packets: Free, Owner;
    collective_when_its_target_dies_packets: Collective, Target;
    collective_when_another_rank_dies_packets: Collective, Other;
    collective_when_a_lock_holder_dies_packets: Collective, Holder;
    collective_when_a_lock_owner_dies_packets: Collective, Owner;
    message_when_its_target_dies_packets: Message, Target;
    message_when_another_rank_dies_packets: Message, Other;
    message_when_a_lock_holder_dies_packets: Message, Holder;
    message_when_a_lock_owner_dies_packets: Message, Owner;
}
