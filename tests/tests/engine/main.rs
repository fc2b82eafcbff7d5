//! What the engine does beside the standard's text: packets, orders of events, fast paths and who is woken, on simulated ranks.

mod creations;
mod cut_off;
mod dropped;
mod fence_of_two;
mod handlers;
mod holders;
mod kept_memory;
mod kept_words;
mod lock_all_fair;
mod lock_all_of_neighbors;
mod lock_fair;
mod lock_order;
mod lone_fetches;
mod lone_stores;
mod neighbors;
mod packets;
mod packs;
mod quick_active;
mod quick_lock_all;
mod spin;
mod start_of_one;
mod stepped;
mod stores_ahead;
mod streams;
mod typed_calls;
mod wake;
