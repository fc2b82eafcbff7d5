//! The environment of the second test pass: every pool, buffer and threshold at its smallest.
//!
//! One table, so that the pass says what it claims: `cargo xtask tidy` compares it with the configuration tables of the
//! crates, both ways. Time-outs are left alone: they would make the pass depend on the machine's speed.

/// Tells tests that the variables below are set: those that count packets or measure memory have other expectations then.
pub(crate) const MARK: (&str, &str) = ("RMA_TEST_SMALLEST", "1");

/// Name and smallest value.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    // The engine.
    ("RMA_SLOTS", "1"),
    ("RMA_OP_POOL_WINDOW", "1"),
    ("RMA_OP_POOL_GLOBAL", "0"),
    ("RMA_TARGET_POOL_WINDOW", "1"),
    ("RMA_TARGET_POOL_GLOBAL", "0"),
    ("RMA_PIGGYBACK_THRESHOLD", "0"),
    ("RMA_PACK_FROM", "1"),
    ("RMA_LOCK_DATA_BYTES", "0"),
    ("RMA_LOCK_QUEUE_BYTES", "0"),
    ("RMA_LOCK_DIRECTORY", "1"),
    ("RMA_ANNOUNCERS", "1"),
    ("RMA_CREDITS", "1"),
    ("RMA_REMOTE_KEYS", "1"),
    ("RMA_UNIT_BYTES", "16"),
    ("RMA_SHAPE_ENTRIES", "4"),
    ("RMA_POLL_PACKETS", "1"),
    ("RMA_POLL_BYTES", "1"),
    ("RMA_DIRECT_POLL_INTERVAL", "1"),
    ("RMA_YIELDS", "0"),
    // Messages.
    ("RMA_MESSAGE_EAGER", "0"),
    ("RMA_MESSAGE_WINDOW", "1"),
    // The channels.
    ("RMA_SIM_LANE_PACKETS", "1"),
    ("RMA_SIM_MAX_PACKET", "192"),
    ("RMA_SIM_BULK_FROM", "1"),
    ("RMA_SIM_BODY_STEP", "1"),
    ("RMA_SIM_TRANSFERS", "1"),
    ("RMA_SIM_TRANSFER_FROM", "1"),
    ("RMA_SIM_TRANSFER_BYTES", "1"),
    ("RMA_SHM_RING_BYTES", "256"),
    ("RMA_SHM_PACKET_BYTES", "192"),
    ("RMA_SHM_BULK_BYTES", "1"),
    ("RMA_SHM_BACKLOG", "1"),
    ("RMA_SHM_CHECK_INTERVAL", "1"),
    ("RMA_OFI_PACKET_BYTES", "192"),
    ("RMA_OFI_BULK_BYTES", "1"),
    ("RMA_OFI_READ_BYTES", "1"),
    ("RMA_OFI_CREDITS", "1"),
    ("RMA_TCP_PACKET_BYTES", "192"),
    ("RMA_TCP_BULK_BYTES", "1"),
    ("RMA_TCP_SEND_BYTES", "1"),
    ("RMA_TCP_BULKS", "1"),
    ("RMA_TCP_RECEIVE_BYTES", "1"),
    ("RMA_TCP_CHUNK_BYTES", "1"),
    ("RMA_TCP_DIRECT_READS", "0"),
    ("RMA_TCP_STRANGERS", "1"),
];

/// Variables that count something, but not what is to be small.
pub(crate) const LEFT_ALONE: &[&str] = &[
    // Programs of the tests have more than one, and an error is all that comes of fewer.
    "RMA_WINDOWS",
    // How fences meet, not how much they hold.
    "RMA_FENCE_PACKETS",
    // How puts and gets travel, not how much is held.
    "RMA_TRANSFER_FROM",
    // What is refused, not how much is held.
    "RMA_SIM_TRANSFER_REFUSES",
    // How the ranks lie, not how much they hold.
    "RMA_RANKS_PER_NODE",
    // A buffer of the system's smallest size: once small segments have taken their share of it, the window that it can offer is
    // less than the segments that its sender makes, and a whole job may wait fifths of a second for each of them.
    "RMA_TCP_SOCKET_BYTES",
    // What a trace may hold, not the engine.
    "RMA_TRACE_BYTES",
];

/// The test programs that run a second time, beside the tests within the crates.
pub(crate) const PROGRAMS: &[&str] = &[
    "authenticate",
    "conformance",
    "many_peers",
    "dropped_bodies",
    "tiny_channel",
    "wrappers",
    "processes",
    "quiet",
    "watch",
    "death",
    "world",
    "direct_path",
    "fast_paths",
    "flush_order",
    "progress",
    "creation",
    "epochs",
    "scopes",
    "threads",
    "yields",
    "programs",
    "standard",
    "engine",
    "seeds",
    "jobs",
    "faults",
    "c_library",
];

/// Those that do not: sizes decide nothing in them.
#[cfg(test)]
const SPARED: &[&str] = &[
    "agent",
    "bad_memory",
    "bugs",
    "compile_fail",
    "contact",
    "guest",
    "handlers",
    "hangs",
    "header",
    "host",
    "hosts",
    "hydra",
    "launcher",
    "layout",
    "lost",
    "observer",
    "page",
    "plugin",
    "pmix",
    "scale",
    "sleep",
    "start",
    "suite_catches",
    "unauthenticated",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Package, Workspace};
    use std::collections::BTreeSet;

    #[test]
    fn every_test_program_is_on_one_of_the_lists() {
        let workspace = Workspace::find().unwrap();
        let mut found = BTreeSet::new();
        let tests = |package: &Package| workspace.root().join(&package.manifest).with_file_name("tests");
        let folders = workspace.packages().iter().map(tests);
        for entry in folders.filter_map(|folder| folder.read_dir().ok()).flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists() {
                found.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
            }
        }
        let listed = PROGRAMS.iter().chain(SPARED).map(|name| (*name).to_owned());
        assert_eq!(listed.clone().count(), found.len());
        assert_eq!(listed.collect::<BTreeSet<_>>(), found);
    }
}
