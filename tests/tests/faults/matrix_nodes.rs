//! Every call while a rank dies, where two ranks at a time are a node, in virtual time, with the target on either node; collectives and
//! messages on processes.

use rma_tests::faults::case::Way;
use rma_tests::matrix;

matrix! {
    Way::Nodes;
    put_when_its_target_dies_nodes: Put, Target;
    put_when_another_rank_dies_nodes: Put, Other;
    put_when_a_lock_holder_dies_nodes: Put, Holder;
    put_when_a_lock_owner_dies_nodes: Put, Owner;
    get_when_its_target_dies_nodes: Get, Target;
    get_when_another_rank_dies_nodes: Get, Other;
    get_when_a_lock_holder_dies_nodes: Get, Holder;
    get_when_a_lock_owner_dies_nodes: Get, Owner;
    atomic_when_its_target_dies_nodes: Atomic, Target;
    atomic_when_another_rank_dies_nodes: Atomic, Other;
    atomic_when_a_lock_holder_dies_nodes: Atomic, Holder;
    atomic_when_a_lock_owner_dies_nodes: Atomic, Owner;
    flush_when_its_target_dies_nodes: Flush, Target;
    flush_when_another_rank_dies_nodes: Flush, Other;
    flush_when_a_lock_holder_dies_nodes: Flush, Holder;
    flush_when_a_lock_owner_dies_nodes: Flush, Owner;
    waiting_for_a_lock_when_its_target_dies_nodes: Lock, Target;
    waiting_for_a_lock_when_another_rank_dies_nodes: Lock, Other;
    waiting_for_a_lock_when_a_lock_holder_dies_nodes: Lock, Holder;
    waiting_for_a_lock_when_a_lock_owner_dies_nodes: Lock, Owner;
    fence_when_its_target_dies_nodes: Fence, Target;
    fence_when_another_rank_dies_nodes: Fence, Other;
    fence_when_a_lock_holder_dies_nodes: Fence, Holder;
    fence_when_a_lock_owner_dies_nodes: Fence, Owner;
    post_start_complete_wait_when_its_target_dies_nodes: Post, Target;
    post_start_complete_wait_when_another_rank_dies_nodes: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_nodes: Post, Holder;
    post_start_complete_wait_when_a_lock_owner_dies_nodes: Post, Owner;
    create_when_its_target_dies_nodes: Create, Target;
    create_when_another_rank_dies_nodes: Create, Other;
    create_when_a_lock_holder_dies_nodes: Create, Holder;
    create_when_a_lock_owner_dies_nodes: Create, Owner;
    free_when_its_target_dies_nodes: Free, Target;
    free_when_another_rank_dies_nodes: Free, Other;
    free_when_a_lock_holder_dies_nodes: Free, Holder;
    free_when_a_lock_owner_dies_nodes: Free, Owner;
    collective_when_its_target_dies_nodes: Collective, Target;
    collective_when_another_rank_dies_nodes: Collective, Other;
    collective_when_a_lock_holder_dies_nodes: Collective, Holder;
    collective_when_a_lock_owner_dies_nodes: Collective, Owner;
    message_when_its_target_dies_nodes: Message, Target;
    message_when_another_rank_dies_nodes: Message, Other;
    message_when_a_lock_holder_dies_nodes: Message, Holder;
    message_when_a_lock_owner_dies_nodes: Message, Owner;
}
