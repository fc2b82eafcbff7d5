//! The environment of the second test pass: every pool, buffer and threshold at its smallest.
//!
//! One table, so that the pass says what it claims: a variable that no crate defines is an error of `cargo xtask tidy`.
//! Limits in time are left alone: they would make the pass depend on the machine's speed.

/// Tells tests that the variables below are set: those that count packets or measure memory have other expectations then.
pub(crate) const MARK: (&str, &str) = ("RMA_TEST_SMALLEST", "1");

/// Name and smallest legal value.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    // The engine.
    ("RMA_SLOTS", "1"),
    ("RMA_OP_POOL_WINDOW", "1"),
    ("RMA_OP_POOL_GLOBAL", "0"),
    ("RMA_TARGET_POOL_WINDOW", "1"),
    ("RMA_TARGET_POOL_GLOBAL", "0"),
    ("RMA_PIGGYBACK_THRESHOLD", "0"),
    ("RMA_LOCK_DATA_BYTES", "0"),
    ("RMA_LOCK_QUEUE_BYTES", "0"),
    ("RMA_CREDITS", "1"),
    ("RMA_UNIT_BYTES", "16"),
    ("RMA_POLL_PACKETS", "1"),
    ("RMA_POLL_BYTES", "1"),
    ("RMA_DIRECT_POLL_INTERVAL", "1"),
];
