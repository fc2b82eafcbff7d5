//! What the engine does beside the standard's text: packets, orders of events, fast paths and wake-ups, on
//! simulated ranks.

mod active_epochs;
mod complete_with_one_store;
mod creations;
mod cut_off;
mod dropped;
mod eager_calls;
mod fence_with_one_store;
mod handlers;
mod held_stores;
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
mod packs;
mod partings;
mod spin;
mod stepped;
mod stores_ahead;
mod streams;
mod transfers;
mod typed_calls;
mod unfinished;
mod wake;
