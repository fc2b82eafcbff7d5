//! Jobs of real processes that nothing goes wrong in, or that say what does.

mod accumulates;
mod contention;
mod demos;
mod descriptors;
mod epochs;
mod memory;
mod namespaces;
mod refusals;
mod squatters;
mod stations;
mod waiting;
