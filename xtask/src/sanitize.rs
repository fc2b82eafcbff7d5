//! `cargo xtask fuzz`, `cargo xtask asan` and `cargo xtask miri`: what needs a nightly toolchain. All build into folders of their own.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode};

/// The only one that knows the unstable flags below.
const TOOLCHAIN: &str = "+nightly";
/// Sanitizers need the target to be named, so that build scripts are built without them.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What `cargo fuzz` would set: edges and comparisons are reported to libFuzzer.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";
const ADDRESS: &str = "-Zsanitizer=address";
/// Tests ask for memory that no machine has, and expect to be refused.
const ADDRESS_OPTIONS: &str = "allocator_may_return_null=1";
/// What tests keep for good, by functions, as the search for leaks reads it.
const KEPT: &str = "xtask/asan-leaks.txt";

const TARGETS: [&str; 5] = ["wire", "frames", "layouts", "locks", "engine"];

/// What runs under AddressSanitizer: all packages with `unsafe` whose tests start no processes of their own, and of the others
/// the tests that do not. Each is one run of `cargo test`.
const RUNS: [&[&str]; 4] = [
    &["--lib", "--tests", "-p", "rma-core", "-p", "rma-ch-sim", "-p", "rma-ch-tcp", "-p", "rma-ch-shm"],
    &["--lib", "-p", "rma-mpi"],
    &["-p", "rma-tests", "--test", "standard", "--test", "engine"],
    &["-p", "rma-tests", "--test", "seeds", "fuzzing"],
];

/// What Miri runs, each a run of `cargo test`: buffers and elements, and a world of threads with fences, locks and batches, on
/// mapped memory and by packets. Copies have a form without inline assembly there. A world takes a minute or two.
const INTERPRETED: [&[&str]; 2] = [
    &["-p", "rma-mpi", "--lib", "--", "elements::", "window::buffer::", "window::rank::"],
    &["-p", "rma-mpi", "--test", "scopes", "--", "buffers_of"],
];
/// Origins may be constants, which the copies read as words that others may write: legal for trees of borrows, not for stacks. Window memory is
/// accessed by atomic words of several sizes, for which Miri has no weak memory: it ends itself.
const INTERPRETER: &str = "-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-disable-weak-memory-emulation";

/// Run the fuzzers, one after the other.
///
/// Needs a nightly toolchain and a C++ compiler. New inputs are kept in target/fuzz/corpus; what fails is written there
/// too, and the command says where.
#[derive(Debug, clap::Args)]
pub(crate) struct FuzzArgs {
    /// Seconds for each target.
    #[arg(long, default_value_t = 600)]
    seconds: u32,

    /// The targets; all when none is given.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(TARGETS))]
    targets: Vec<String>,
}

/// Run tests under AddressSanitizer.
///
/// Needs a nightly toolchain.
#[derive(Debug, clap::Args)]
pub(crate) struct AsanArgs {
    /// Packages to test; otherwise the engine, the channels, the runtime's own tests, and those of simulated jobs.
    #[arg(value_name = "PACKAGE")]
    packages: Vec<String>,
}

/// Run tests under Miri, which finds undefined behaviour.
///
/// They are those of typed windows on ranks that are threads, and of what these are made of. Without Miri
/// (`rustup +nightly component add miri`) one line says so.
#[derive(Debug, clap::Args)]
pub(crate) struct MiriArgs {}

pub(crate) fn fuzz(workspace: &Workspace, args: &FuzzArgs) -> Outcome {
    let folder = workspace.target().join("fuzz");
    let manifest = workspace.root().join("fuzz").join("Cargo.toml");
    let mut build = Command::new("cargo");
    build.args([TOOLCHAIN, "build", "--release", "--target", TARGET]).arg("--manifest-path").arg(manifest);
    build.env("RUSTFLAGS", format!("{COVERAGE} {ADDRESS}")).env("CARGO_TARGET_DIR", &folder);
    if !succeeds(&mut build)? {
        return Ok(ExitCode::FAILURE);
    }
    let targets =
        if args.targets.is_empty() { TARGETS.map(str::to_owned).to_vec() } else { args.targets.clone() };
    let mut all_well = true;
    for target in targets {
        let corpus = folder.join("corpus").join(&target);
        std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        println!("\n== {target}, {} s ==", args.seconds);
        let mut command = Command::new(folder.join(TARGET).join("release").join(&target));
        command.arg(&corpus).arg(workspace.root().join("tests").join("fuzz").join(&target));
        command.arg(format!("-max_total_time={}", args.seconds)).args(["-timeout=60", "-max_len=2048"]);
        command.arg(format!("-artifact_prefix={}/{target}-", folder.display()));
        all_well &= succeeds(&mut command)?;
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn asan(workspace: &Workspace, args: &AsanArgs) -> Outcome {
    let named = args.packages.iter().flat_map(|package| ["-p", package]).collect::<Vec<_>>();
    let named = [&["--lib", "--tests"], &named[..]].concat();
    let runs = if args.packages.is_empty() { RUNS.to_vec() } else { vec![&named[..]] };
    let mut all_well = true;
    for run in runs {
        let mut command = Command::new("cargo");
        command.current_dir(workspace.root());
        command.args([TOOLCHAIN, "test", "--target", TARGET, "--no-fail-fast"]).args(run);
        command.env("RUSTFLAGS", ADDRESS).env("CARGO_TARGET_DIR", workspace.target().join("asan"));
        command.env("ASAN_OPTIONS", ADDRESS_OPTIONS);
        let kept = workspace.root().join(KEPT);
        command.env("LSAN_OPTIONS", format!("print_suppressions=0:suppressions={}", kept.display()));
        all_well &= succeeds(&mut command)?;
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn miri(workspace: &Workspace) -> Outcome {
    let version = Command::new("cargo").args([TOOLCHAIN, "miri", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("Miri is not installed: no test was interpreted");
        return Ok(ExitCode::SUCCESS);
    }
    let mut all_well = true;
    for run in INTERPRETED {
        let mut command = Command::new("cargo");
        command.current_dir(workspace.root()).env("CARGO_TARGET_DIR", workspace.target().join("miri"));
        command.args([TOOLCHAIN, "miri", "test"]).args(run).env("MIRIFLAGS", INTERPRETER);
        all_well &= succeeds(&mut command)?;
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn succeeds(command: &mut Command) -> Result<bool, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("{name} could not be started: {error}"))?;
    Ok(status.success())
}
