//! Loading libfabric leaves the process's signals alone. A process of its own: others load it too.

#![allow(missing_docs)]

use rma_ch_ofi::{OfiConfig, probe};

/// Signals that are caught here, as the kernel shows them.
fn caught() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find(|line| line.starts_with("SigCgt")).unwrap().to_owned()
}

#[test]
fn no_signal_is_handled_that_was_not_before() {
    let before = caught();
    if let Err(why) = probe(&OfiConfig::default()) {
        eprintln!("skipped: {why}");
    }
    assert_eq!(caught(), before);
}
