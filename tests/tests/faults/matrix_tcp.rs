//! Every call while a rank dies, over TCP, on processes.

use rma_tests::faults::case::Way;
use rma_tests::matrix;

matrix! {
    Way::Tcp;
    put_when_its_target_dies_tcp: Put, Target;
    put_when_another_rank_dies_tcp: Put, Other;
    put_when_a_lock_holder_dies_tcp: Put, Holder;
    put_when_a_lock_owner_dies_tcp: Put, Owner;
    get_when_its_target_dies_tcp: Get, Target;
    get_when_another_rank_dies_tcp: Get, Other;
    get_when_a_lock_holder_dies_tcp: Get, Holder;
    get_when_a_lock_owner_dies_tcp: Get, Owner;
    atomic_when_its_target_dies_tcp: Atomic, Target;
    atomic_when_another_rank_dies_tcp: Atomic, Other;
    atomic_when_a_lock_holder_dies_tcp: Atomic, Holder;
    atomic_when_a_lock_owner_dies_tcp: Atomic, Owner;
    flush_when_its_target_dies_tcp: Flush, Target;
    flush_when_another_rank_dies_tcp: Flush, Other;
    flush_when_a_lock_holder_dies_tcp: Flush, Holder;
    flush_when_a_lock_owner_dies_tcp: Flush, Owner;
    waiting_for_a_lock_when_its_target_dies_tcp: Lock, Target;
    waiting_for_a_lock_when_another_rank_dies_tcp: Lock, Other;
    waiting_for_a_lock_when_a_lock_holder_dies_tcp: Lock, Holder;
    waiting_for_a_lock_when_a_lock_owner_dies_tcp: Lock, Owner;
    fence_when_its_target_dies_tcp: Fence, Target;
    fence_when_another_rank_dies_tcp: Fence, Other;
    fence_when_a_lock_holder_dies_tcp: Fence, Holder;
    fence_when_a_lock_owner_dies_tcp: Fence, Owner;
    post_start_complete_wait_when_its_target_dies_tcp: Post, Target;
    post_start_complete_wait_when_another_rank_dies_tcp: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_tcp: Post, Holder;
    post_start_complete_wait_when_a_lock_owner_dies_tcp: Post, Owner;
    create_when_its_target_dies_tcp: Create, Target;
    create_when_another_rank_dies_tcp: Create, Other;
    create_when_a_lock_holder_dies_tcp: Create, Holder;
    create_when_a_lock_owner_dies_tcp: Create, Owner;
    free_when_its_target_dies_tcp: Free, Target;
    free_when_another_rank_dies_tcp: Free, Other;
    free_when_a_lock_holder_dies_tcp: Free, Holder;
    free_when_a_lock_owner_dies_tcp: Free, Owner;
    collective_when_its_target_dies_tcp: Collective, Target;
    collective_when_another_rank_dies_tcp: Collective, Other;
    collective_when_a_lock_holder_dies_tcp: Collective, Holder;
    collective_when_a_lock_owner_dies_tcp: Collective, Owner;
    message_when_its_target_dies_tcp: Message, Target;
    message_when_another_rank_dies_tcp: Message, Other;
    message_when_a_lock_holder_dies_tcp: Message, Holder;
    message_when_a_lock_owner_dies_tcp: Message, Owner;
}
