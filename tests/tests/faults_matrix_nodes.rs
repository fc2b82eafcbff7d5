//! Calls while a rank dies, where two ranks at a time are a node, in virtual time; collectives and messages on processes. The target
//! is on either node, but where a dead rank owns locks that its mate asks for: there it is on the other one.

use rma_tests::faults::case::Way;
use rma_tests::faults::cells::{Call, Cell, Victim};
use rma_tests::faults::matrix::{check, check_at};

macro_rules! entries {
    ($($name:ident: $call:ident, $victim:ident;)*) => {
        $(
            #[test]
            fn $name() {
                check(Call::$call, Victim::$victim, Way::Nodes);
            }
        )*
    };
}

macro_rules! distant_entries {
    ($($name:ident: $call:ident, $victim:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let cell = Cell { call: Call::$call, victim: Victim::$victim, is_target_near: false };
                check_at(cell, Way::Nodes);
            }
        )*
    };
}

entries! {
    put_when_another_rank_dies_nodes: Put, Other;
    put_when_a_lock_holder_dies_nodes: Put, Holder;
    get_when_another_rank_dies_nodes: Get, Other;
    get_when_a_lock_holder_dies_nodes: Get, Holder;
    atomic_when_another_rank_dies_nodes: Atomic, Other;
    atomic_when_a_lock_holder_dies_nodes: Atomic, Holder;
    flush_when_another_rank_dies_nodes: Flush, Other;
    flush_when_a_lock_holder_dies_nodes: Flush, Holder;
    waiting_for_a_lock_when_another_rank_dies_nodes: Lock, Other;
    waiting_for_a_lock_when_a_lock_holder_dies_nodes: Lock, Holder;
    fence_when_another_rank_dies_nodes: Fence, Other;
    fence_when_a_lock_holder_dies_nodes: Fence, Holder;
    post_start_complete_wait_when_another_rank_dies_nodes: Post, Other;
    post_start_complete_wait_when_a_lock_holder_dies_nodes: Post, Holder;
    create_when_another_rank_dies_nodes: Create, Other;
    create_when_a_lock_holder_dies_nodes: Create, Holder;
    free_when_another_rank_dies_nodes: Free, Other;
    free_when_a_lock_holder_dies_nodes: Free, Holder;
    collective_when_another_rank_dies_nodes: Collective, Other;
    collective_when_a_lock_holder_dies_nodes: Collective, Holder;
    message_when_another_rank_dies_nodes: Message, Other;
    message_when_a_lock_holder_dies_nodes: Message, Holder;
}

distant_entries! {
    put_when_its_target_dies_of_another_node: Put, Target;
    put_when_a_lock_owner_dies_of_another_node: Put, Owner;
    get_when_its_target_dies_of_another_node: Get, Target;
    get_when_a_lock_owner_dies_of_another_node: Get, Owner;
    atomic_when_its_target_dies_of_another_node: Atomic, Target;
    atomic_when_a_lock_owner_dies_of_another_node: Atomic, Owner;
    flush_when_its_target_dies_of_another_node: Flush, Target;
    flush_when_a_lock_owner_dies_of_another_node: Flush, Owner;
    waiting_for_a_lock_when_its_target_dies_of_another_node: Lock, Target;
    waiting_for_a_lock_when_a_lock_owner_dies_of_another_node: Lock, Owner;
    fence_when_its_target_dies_of_another_node: Fence, Target;
    fence_when_a_lock_owner_dies_of_another_node: Fence, Owner;
    post_start_complete_wait_when_its_target_dies_of_another_node: Post, Target;
    post_start_complete_wait_when_a_lock_owner_dies_of_another_node: Post, Owner;
    create_when_its_target_dies_of_another_node: Create, Target;
    create_when_a_lock_owner_dies_of_another_node: Create, Owner;
    free_when_its_target_dies_of_another_node: Free, Target;
    free_when_a_lock_owner_dies_of_another_node: Free, Owner;
    collective_when_its_target_dies_of_another_node: Collective, Target;
    collective_when_a_lock_owner_dies_of_another_node: Collective, Owner;
    message_when_its_target_dies_of_another_node: Message, Target;
    message_when_a_lock_owner_dies_of_another_node: Message, Owner;
}
