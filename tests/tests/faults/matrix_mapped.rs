//! Every call while a rank dies, where all ranks map each other's memory, in virtual time; collectives and messages on processes.

use rma_tests::faults::case::Way;
use rma_tests::matrix;

matrix! {
    Way::Mapped;
    put_when_its_target_dies_mapped: Put, Target;
    put_when_another_rank_dies_mapped: Put, Other;
    put_when_a_lock_holder_dies_mapped: Put, Holder;
    put_when_a_lock_owner_dies_mapped: Put, Owner;
    get_when_its_target_dies_mapped: Get, Target;
    get_when_another_rank_dies_mapped: Get, Other;
    get_when_a_lock_holder_dies_mapped: Get, Holder;
    get_when_a_lock_owner_dies_mapped: Get, Owner;
    atomic_when_its_target_dies_mapped: Atomic, Target;
    atomic_when_another_rank_dies_mapped: Atomic, Other;
    atomic_when_a_lock_holder_dies_mapped: Atomic, Holder;
    atomic_when_a_lock_owner_dies_mapped: Atomic, Owner;
    flush_when_its_target_dies_mapped: Flush, Target;
    flush_when_another_rank_dies_mapped: Flush, Other;
    flush_when_a_lock_holder_dies_mapped: Flush, Holder;
    flush_when_a_lock_owner_dies_mapped: Flush, Owner;
    waiting_for_a_lock_when_its_target_dies_mapped: Lock, Target;
    waiting_for_a_lock_when_another_rank_dies_mapped: Lock, Other;
    waiting_for_a_lock_when_a_lock_holder_dies_mapped: Lock, Holder;
    waiting_for_a_lock_when_a_lock_owner_dies_mapped: Lock, Owner;
    fence_when_its_target_dies_mapped: Fence, Target;
    fence_when_another_rank_dies_mapped: Fence, Other;
    fence_when_a_lock_holder_dies_mapped: Fence, Holder;
    fence_when_a_lock_owner_dies_mapped: Fence, Owner;
    post_start_complete_wait_when_its_target_dies_mapped: Post, Target;
    post_start_complete_wait_when_another_rank_dies_mapped: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_mapped: Post, Holder;
    post_start_complete_wait_when_a_lock_owner_dies_mapped: Post, Owner;
    create_when_its_target_dies_mapped: Create, Target;
    create_when_another_rank_dies_mapped: Create, Other;
    create_when_a_lock_holder_dies_mapped: Create, Holder;
    create_when_a_lock_owner_dies_mapped: Create, Owner;
    free_when_its_target_dies_mapped: Free, Target;
    free_when_another_rank_dies_mapped: Free, Other;
    free_when_a_lock_holder_dies_mapped: Free, Holder;
    free_when_a_lock_owner_dies_mapped: Free, Owner;
    collective_when_its_target_dies_mapped: Collective, Target;
    collective_when_another_rank_dies_mapped: Collective, Other;
    collective_when_a_lock_holder_dies_mapped: Collective, Holder;
    collective_when_a_lock_owner_dies_mapped: Collective, Owner;
    message_when_its_target_dies_mapped: Message, Target;
    message_when_another_rank_dies_mapped: Message, Other;
    message_when_a_lock_holder_dies_mapped: Message, Holder;
    message_when_a_lock_owner_dies_mapped: Message, Owner;
}
