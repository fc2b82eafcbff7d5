//! The C programs of `tests/c` on this library, over every path; the same sources with other MPI libraries, which finds tests
//! that are wrong; and binaries that were built for another library, on this one.
//!
//! `RMA_TEST_C=all` runs every program on every number of ranks that its comment asks for, those marked for it under valgrind, and with
//! every other library that is installed; otherwise most paths take one number per program, valgrind a few
//! programs, and other libraries are left out.

#![allow(missing_docs)]

use rma_tests::c::{Library, Plan, Source, check_missing, run};
use rma_tests::installed::{has, prefix};
use rma_tests::job::is_second_pass;
use rma_tests::paths::{PATHS, SMALLEST};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(50);

/// A plan for this library.
fn plan(
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    ranks: fn(&[u32]) -> Vec<u32>,
) -> Plan<'static> {
    Plan { name, variables, words: &[], ranks, filter: |_| true, limit: LIMIT }
}

fn is_all() -> bool {
    std::env::var_os("RMA_TEST_C").is_some_and(|value| value == "all")
}

/// Every number of the comment.
fn every(ranks: &[u32]) -> Vec<u32> {
    ranks.to_vec()
}

/// The greatest number up to a limit, or the least there is.
fn one_up_to(limit: u32, ranks: &[u32]) -> Vec<u32> {
    if is_all() {
        return every(ranks);
    }
    let fitting = ranks.iter().copied().filter(|ranks| *ranks <= limit).max();
    fitting.or(ranks.iter().copied().min()).into_iter().collect()
}

fn four(ranks: &[u32]) -> Vec<u32> {
    one_up_to(4, ranks)
}

fn two(ranks: &[u32]) -> Vec<u32> {
    one_up_to(2, ranks)
}

/// The same for libraries that are slow when ranks outnumber cores, whatever is asked for.
fn two_of_others(ranks: &[u32]) -> Vec<u32> {
    let fitting = ranks.iter().copied().filter(|ranks| *ranks <= 2).max();
    fitting.or(ranks.iter().copied().min()).into_iter().collect()
}

fn ours(plan: Plan<'_>) {
    if !is_second_pass() {
        run(&Library::ours(), &Library::ours(), plan);
    }
}

#[test]
fn what_is_missing_is_listed() {
    if !is_second_pass() {
        check_missing();
    }
}

#[test]
fn direct() {
    ours(plan("direct", &[], every));
}

#[test]
fn shm_packets() {
    ours(plan("shm packets", PATHS[1].variables, four));
}

#[test]
fn tcp() {
    ours(plan("tcp", PATHS[3].variables, four));
}

/// Connections that prove each packet, with pieces of the usual size and with the shortest ones.
#[test]
fn authenticated_tcp() {
    const NAMES: [&str; 7] = [
        "atomic_pairs",
        "coll_alltoall",
        "fence_all_to_all",
        "message_sizes",
        "win_lock",
        "win_pscw",
        "win_put_rounds",
    ];
    let filter: fn(&Source) -> bool = |source| NAMES.contains(&source.name.as_str());
    let usual = &[("RMA_CHANNEL", "tcp"), ("RMA_TCP_AUTHENTICATE", "1")];
    ours(Plan { filter, ..plan("authenticated tcp", usual, every) });
    let short = &[
        ("RMA_CHANNEL", "tcp"),
        ("RMA_TCP_AUTHENTICATE", "1"),
        ("RMA_TCP_BULK_BYTES", "1"),
        ("RMA_TCP_CHUNK_BYTES", "7"),
    ];
    ours(Plan { filter, ..plan("authenticated tcp, short pieces", short, four) });
}

/// Over libfabric, where it is installed: by packets, then by transfers of any length.
#[test]
fn ofi() {
    if is_second_pass() {
        return;
    }
    let output = Command::new(prefix().join("bin/rma-info")).arg("--channels").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if !said.contains("provider tcp;ofi_rxm") {
        eprintln!("skipped: no libfabric is installed (Debian: libfabric1)\n{said}");
        return;
    }
    const NAMES: [&str; 9] = [
        "atomic_pairs",
        "fence_all_to_all",
        "message_sizes",
        "packet_budgets",
        "win_lock",
        "win_overlapping",
        "win_pscw",
        "window_created_shared",
        "window_transfers",
    ];
    // Counts packets.
    let all: fn(&Source) -> bool = |source| !source.needs_one_node && source.name != "tool_counters";
    let few: fn(&Source) -> bool = |source| NAMES.contains(&source.name.as_str());
    let filter = if is_all() { all } else { few };
    ours(Plan { filter, ..plan("ofi", &[("RMA_CHANNEL", "ofi")], four) });
    let transfers = &[("RMA_CHANNEL", "ofi"), ("RMA_OFI_TRANSFERS", "1"), ("RMA_TRANSFER_FROM", "1")];
    ours(Plan { filter, ..plan("ofi, transfers", transfers, four) });
}

#[test]
fn nodes_of_two() {
    ours(Plan { filter: |source| !source.needs_one_node, ..plan("nodes of 2", PATHS[4].variables, four) });
}

/// Over a channel that a shared object brings.
#[test]
fn plugin() {
    if is_second_pass() {
        return;
    }
    let object = prefix().join("libtoy-plugin.so");
    let from = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-I"]).arg(prefix().join("include"));
    compiler
        .arg("-I")
        .arg(from("examples/embed-c"))
        .args(["examples/plugin-c/plugin.c", "examples/embed-c/channel.c"].map(from));
    assert!(compiler.arg("-o").arg(&object).status().unwrap().success(), "{compiler:?}");
    let object = object.display().to_string();
    let variables = [("RMA_CHANNEL_PLUGIN", object.as_str()), ("RMA_CHANNEL", "x_toy")];
    // What differs is below the C library.
    const NAMES: [&str; 6] =
        ["atomic_pairs", "coll_alltoall", "fence_all_to_all", "message_sizes", "win_lock", "win_pscw"];
    let filter: fn(&Source) -> bool = |source| NAMES.contains(&source.name.as_str());
    ours(Plan { variables: &variables, filter, ..plan("plug-in", &[], four) });
    let info = |object: &str| {
        let mut command = Command::new(prefix().join("bin/rma-info"));
        let output = command.arg("--channels").env("RMA_CHANNEL_PLUGIN", object).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let (is_good, said, _) = info(&object);
    assert!(is_good && said.contains("x_toy") && said.contains("Unix sockets of the kernel"), "{said}");
    let (is_good, _, said) = info("/no/such.so");
    assert!(
        !is_good && said.contains("RMA_CHANNEL_PLUGIN names /no/such.so: the plug-in cannot be loaded"),
        "{said}"
    );
}

/// Everything at its smallest, in packets.
#[test]
fn smallest() {
    let variables: Vec<_> = SMALLEST.iter().copied().chain([("RMA_DIRECT", "0")]).collect();
    let plan = plan("smallest", &[], two);
    ours(Plan { variables: &variables, ..plan });
}

/// What runs under valgrind in every suite, and how many of them also in packets.
const FEW: [&str; 8] = [
    "win_lock",
    "message_probe",
    "coll_scan",
    "atomic_list",
    "comm_create",
    "errhandler_win",
    "handles_freed",
    "type_derived",
];
const FEW_IN_PACKETS: usize = 3;

/// Under valgrind's memcheck: no error, and nothing definitely lost. A few programs, or, when everything is asked for, all
/// that are marked for it.
#[test]
fn memcheck() {
    let words = [
        "valgrind",
        "-q",
        "--error-exitcode=33",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
    ];
    if is_second_pass() || !has("valgrind") {
        return;
    }
    let few: fn(&Source) -> bool = |source| FEW.contains(&source.name.as_str());
    // Packets take longest, and what differs there is below the C library.
    let fewer: fn(&Source) -> bool = |source| FEW[..FEW_IN_PACKETS].contains(&source.name.as_str());
    let quick: fn(&Source) -> bool = |source| source.is_quick;
    for (name, variables, default) in
        [("memcheck, direct", PATHS[0].variables, few), ("memcheck, packets", PATHS[1].variables, fewer)]
    {
        let filter = if is_all() { quick } else { default };
        let plan =
            Plan { words: &words, filter, limit: Duration::from_secs(150), ..plan(name, variables, two) };
        run(&Library::ours(), &Library::ours(), plan);
    }
}

/// Runs all programs with another library. That takes minutes, since the others spin while they wait.
fn peer(library: fn() -> Option<Library>, name: &'static str) {
    if is_second_pass() {
        return;
    }
    match library() {
        Some(_) if !is_all() => println!("left out: RMA_TEST_C=all runs the programs with {name} too"),
        Some(library) => run(&library, &library, plan(name, &[], two_of_others)),
        None => println!("skipped: there is no {name} here"),
    }
}

#[test]
fn with_mpich() {
    peer(Library::mpich, "mpich");
}

#[test]
fn with_open_mpi() {
    peer(Library::open_mpi, "openmpi");
}

#[test]
fn with_mpich_of_the_standard_abi() {
    peer(Library::mpich_abi, "mpich-abi");
}

/// Built with another library's compiler and header, run with this library and launcher.
#[test]
fn binaries_of_another_library() {
    match Library::mpich_abi() {
        _ if is_second_pass() => {}
        Some(library) => {
            let ours = Library::ours();
            let folder = prefix().join("lib").display().to_string();
            let variables = [("LD_LIBRARY_PATH", folder.as_str())];
            run(
                &library,
                &ours,
                Plan { variables: &variables, ..plan("a binary of another library", &[], two) },
            );
        }
        None => println!(
            "skipped: neither RMA_TEST_MPICC_ABI nor `cargo xtask bench --install-peers` has an MPICH with the standard ABI"
        ),
    }
}
