//! What the engine does beside the standard's text: packets, orders of events, fast paths and wake-ups, on
//! simulated ranks.

mod a_store_rides_with_its_flush;
mod active_epochs;
mod calls_that_leave_at_once;
mod complete_with_one_store;
mod creations;
mod cut_off;
mod dropped;
mod fence_with_one_store;
mod handlers;
mod holders;
mod kept_memory;
mod kept_words;
mod leaving;
mod liveness;
mod lock_all_epochs;
mod lock_all_fair;
mod lock_fair;
mod lock_order;
mod node_targets;
mod notified;
mod observed;
mod own_memory;
mod packets;
mod partings;
mod requested_stores_share_packets;
mod small_stores_share_packets;
mod spin;
mod stepped;
mod stores_before_their_flush;
mod transfers;
mod typed_calls;
mod unfinished;
mod wake;
