//! The C programs of windows, one-sided calls and requests under other libraries with the guest in front: compiled by their wrappers,
//! started by their launchers. Where no other library is installed, a line says so.
//!
//! A few programs run by default; `RMA_TEST_C=all`, which `cargo xtask guest` sets, runs all of them.

#![allow(missing_docs)]

use rma_tests::c::{Built, Library, Plan, Source, run, sources, workshop};
use rma_tests::installed::has;
use rma_tests::job::{Job, is_second_pass, program};
use rma_tests::paths::PATHS;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(50);

/// What the programs that concern the guest begin with.
const SUBJECTS: [&str; 12] = [
    "atomic_",
    "die_win_",
    "errhandler_win",
    "example_",
    "fence_",
    "flush_",
    "lock_",
    "pscw_",
    "request_",
    "type_",
    "win_",
    "window_",
];

/// One of each subject that has its own code in the guest.
const FEW: [&str; 19] = [
    "atomic_types",
    "errhandler_win",
    "type_derived",
    "type_dup_uncommitted",
    "win_again",
    "win_alloc_mem",
    "win_attributes",
    "win_attributes_at_end",
    "win_freed_at_end",
    "type_large_counts",
    "type_made_anew",
    "win_names_and_info",
    "win_over_groups",
    "win_profiled",
    "win_pscw",
    "win_self_after_all",
    "win_served_beside_errors",
    "win_threads",
    "window_dynamic_regions",
];

fn is_all() -> bool {
    std::env::var_os("RMA_TEST_C").is_some_and(|value| value == "all")
}

fn subjects(source: &Source) -> bool {
    SUBJECTS.iter().any(|subject| source.name.starts_with(subject))
}

fn few(source: &Source) -> bool {
    FEW.contains(&source.name.as_str())
}

/// The greatest number up to 2, or the least there is: other libraries spin, and cores are few.
fn two(ranks: &[u32]) -> Vec<u32> {
    ranks
        .iter()
        .copied()
        .filter(|ranks| *ranks <= 2)
        .max()
        .or(ranks.iter().copied().min())
        .into_iter()
        .collect()
}

/// Runs them on direct memory and in packets.
fn under(host: fn() -> Option<Library>, name: &'static str) {
    if is_second_pass() {
        return;
    }
    let Some(host) = host() else {
        println!("skipped: {name} needs a library that is not installed here");
        return;
    };
    let library = host.with_guest(name);
    let filter: fn(&Source) -> bool = if is_all() { subjects } else { few };
    for path in [&PATHS[0], &PATHS[1]] {
        let what = format!("{name}, {}", path.name);
        let plan =
            Plan { name: &what, variables: path.variables, words: &[], ranks: two, filter, limit: LIMIT };
        run(&library, &library, plan);
    }
}

#[test]
fn under_mpich() {
    under(Library::mpich, "mpich-guest");
}

#[test]
fn under_open_mpi() {
    under(Library::open_mpi, "openmpi-guest");
}

#[test]
fn under_mpich_of_the_standard_abi() {
    under(Library::mpich_abi, "mpich-abi-guest");
}

/// Those of PyPI take part in `cargo xtask guest` alone.
fn under_newest(host: fn() -> Option<Library>, name: &'static str) {
    if is_all() {
        under(host, name);
    }
}

#[test]
fn under_the_newest_mpich() {
    under_newest(Library::newest_mpich, "newest-mpich-guest");
}

#[test]
fn under_the_newest_open_mpi() {
    under_newest(|| Library::newest_open_mpi("^ucx"), "newest-openmpi-guest");
}

/// A host without dynamic windows on this machine has others that a handle can be of.
#[test]
fn windows_are_taken_over_where_the_host_has_no_dynamic_ones() {
    if is_second_pass() {
        return;
    }
    let hosts = [Library::open_mpi_with("sm"), Library::newest_open_mpi("^rdma")];
    for host in hosts.into_iter().flatten() {
        let (job, _folder) = host.one_program(2, &program("rma-guest"), "win_names_and_info");
        let ended = job.variables(&[("RMA_GUEST_VERBOSE", "1")]).limit(LIMIT).run();
        assert!(ended.status.success() && ended.stdout.contains("no errors"), "{ended:#?}");
        assert!(ended.stderr.contains("the window is taken over"), "{}", ended.stderr);
    }
}

/// `rma-guest` finds out the launcher, and the windows are taken over.
#[test]
fn the_command_puts_the_guest_in_front_by_itself() {
    if is_second_pass() {
        return;
    }
    for host in [Library::mpich(), Library::open_mpi()].into_iter().flatten() {
        let name = host.name;
        let (job, _folder) = host.one_program(2, &program("rma-guest"), "flush_local");
        let ended = job.variables(&[("RMA_GUEST_VERBOSE", "1")]).limit(LIMIT).run();
        assert!(ended.status.success() && ended.stdout.contains("no errors"), "{name}: {ended:#?}");
        let taken = ended.stderr.matches("the window is taken over").count();
        assert!(taken >= 2, "{name}: {}", ended.stderr);
    }
}

/// An error is raised by the host's handlers, which may be C++ and leave by an exception.
#[test]
fn error_handlers_may_leave_by_an_exception() {
    if is_second_pass() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/handlers_that_throw.cpp");
    for (compiler, launcher) in [
        ("mpicxx.mpich", "mpiexec.mpich -n 2"),
        ("mpicxx.openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe -n 2"),
    ] {
        if !has(compiler) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let throws = folder.path().join("throws");
        let built = Command::new(compiler).arg(&source).arg("-o").arg(&throws).status();
        assert!(built.is_ok_and(|status| status.success()), "{compiler}");
        let job = Job::command(Command::new(program("rma-guest"))).line(launcher).words([&throws]);
        let ended = job.limit(LIMIT).run();
        assert_eq!(
            (ended.status.success(), ended.stdout.as_str()),
            (true, "0 wrong\n0 wrong\n"),
            "{ended:#?}"
        );
    }
}

/// A profiler that is an object of its own, in front of the guest, sees the program's calls, and what it calls is taken over.
#[test]
fn a_profiler_may_stand_in_front() {
    if is_second_pass() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiler/profiler.c");
    for host in [Library::mpich(), Library::open_mpi()].into_iter().flatten() {
        let name = host.name;
        let (job, folder) = host.one_program(2, &program("rma-guest"), "win_fence");
        let object = folder.path().join("libprofiler.so");
        host.shared_object(&source, &object);
        let object = object.display().to_string();
        let variables = [("LD_PRELOAD", object.as_str()), ("RMA_GUEST_VERBOSE", "1")];
        let ended = job.variables(&variables).limit(LIMIT).run();
        assert!(ended.status.success() && ended.stdout.contains("no errors"), "{name}: {ended:#?}");
        assert!(ended.stderr.contains("the window is taken over"), "{name}: {}", ended.stderr);
        for rank in 0..2 {
            // What another rank has written may stand in front: MPICH's launcher passes on parts of lines.
            let own = ended.stdout.split_once(&format!("profiler of rank {rank}:"));
            let line = own.and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
            let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            assert!(
                numbers.len() == 3 && numbers.iter().all(|number| *number > 0),
                "{name}: {}",
                ended.stdout
            );
        }
    }
}

/// Fortran's bindings come to names that the guest has, by either module, and their windows are taken over.
#[test]
fn windows_of_fortran_programs_are_taken_over() {
    if is_second_pass() {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/windows.F90");
    for host in [Library::mpich(), Library::open_mpi()].into_iter().flatten() {
        for words in [&["-cpp"][..], &["-cpp", "-DF08"]] {
            let what = format!("{} {words:?}", host.name);
            let Some((job, _folder)) = host.fortran_program(2, &program("rma-guest"), &source, words) else {
                println!("skipped: {what} needs a compiler of Fortran");
                continue;
            };
            let ended = job.variables(&[("RMA_GUEST_VERBOSE", "1")]).limit(LIMIT).run();
            assert!(ended.status.success() && ended.stdout.contains("no errors"), "{what}: {ended:#?}");
            assert!(
                ended.stderr.matches("the window is taken over").count() >= 4,
                "{what}: {}",
                ended.stderr
            );
        }
    }
}

/// A program without windows has no thread of the library.
#[test]
fn the_thread_starts_with_the_first_window() {
    if is_second_pass() {
        return;
    }
    for host in [Library::mpich(), Library::open_mpi()].into_iter().flatten() {
        let name = host.name;
        let (job, _folder) = host.one_program(2, &program("rma-guest"), "win_agent_thread");
        let ended = job.variables(&[("COUNT_AGENTS", "1")]).limit(LIMIT).run();
        assert!(ended.status.success(), "{name}: {ended:#?}");
        for rank in 0..2 {
            let line = format!("agents of rank {rank}: 0 1");
            assert!(ended.stdout.contains(&line), "{name}: {}", ended.stdout);
        }
    }
}

/// A program that waits in a call of the host serves others there, and needs no thread for it.
#[test]
fn windows_are_served_in_waits_of_the_host() {
    if is_second_pass() {
        return;
    }
    for host in [Library::mpich(), Library::open_mpi()].into_iter().flatten() {
        let name = host.name;
        let (job, _folder) = host.one_program(2, &program("rma-guest"), "win_served_in_waits");
        let ended = job.variables(&[("RMA_AGENT", "0")]).limit(LIMIT).run();
        assert!(ended.status.success() && ended.stdout.contains("no errors"), "{name}: {ended:#?}");
    }
}

/// A rank that does not load the guest ends the job, and those that wait for it say which it is: whatever it calls meanwhile, here the
/// making of a window, and wherever it stands among the others.
#[test]
fn a_rank_without_the_guest_is_named_and_ends_the_job() {
    if is_second_pass() {
        return;
    }
    let guest = program("rmarun").with_file_name("librma_guest.so").display().to_string();
    let by_rank = r#"rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
        [ "$rank" = "$WITHOUT" ] || export LD_PRELOAD="$GUEST"
        exec "$0""#;
    let cases = [(Library::mpich(), 1, 0), (Library::open_mpi(), 0, 2)];
    std::thread::scope(|scope| {
        for (host, without, waiting) in cases {
            let (Some(host), guest) = (host, guest.as_str()) else { continue };
            scope.spawn(move || {
                let source = sources().into_iter().find(|source| source.name == "win_fence");
                let (source, folder) = (source.expect("there is such a program"), workshop());
                let Built::Program(built) = &host.build(&[source], folder.path())[0] else {
                    panic!("the program cannot be built");
                };
                let variables = [("GUEST", guest), ("WITHOUT", &*without.to_string())];
                let ended =
                    host.job(3, &["sh", "-c", by_rank], built).variables(&variables).limit(LIMIT).run();
                let named = format!("rank {waiting} waits in MPI_Init for rank {without},");
                let says_so = ended.stderr.contains(&named) && !ended.stderr.contains("MPI_Init for rank 2");
                assert!(!ended.status.success() && says_so, "{}: {ended:#?}", host.name);
            });
        }
    });
}

/// A session has no world that the library could join.
#[test]
fn windows_of_sessions_are_the_hosts_and_it_is_said() {
    let Some(host) = Library::mpich().filter(|_| !is_second_pass()) else { return };
    let (job, _folder) = host.one_program(2, &program("rma-guest"), "win_of_session");
    let ended = job.variables(&[("RMA_GUEST_VERBOSE", "1")]).limit(LIMIT).run();
    assert!(ended.status.success() && ended.stdout.contains("no errors"), "{ended:#?}");
    assert_eq!(ended.stderr.matches("windows are the host's: the library has not").count(), 2, "{ended:#?}");
}

/// What is neither MPICH nor Open MPI, nor has the standard ABI, keeps its windows.
#[test]
fn windows_of_an_unknown_mpi_are_its_own() {
    let guest = program("rmarun").with_file_name("librma_guest.so");
    if !guest.is_file() || is_second_pass() {
        println!("skipped: librma_guest.so is not built, or this is the second pass");
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("unknown-mpi/mpi.c");
    let folder = workshop();
    let (library, built) = (folder.path().join("libmpi.so"), folder.path().join("program"));
    for words in [
        &["-shared".as_ref(), "-fPIC".as_ref(), "-o".as_ref(), library.as_os_str()][..],
        &["-DPROGRAM".as_ref(), "-o".as_ref(), built.as_os_str(), library.as_os_str()],
    ] {
        let status = Command::new("cc").arg(&source).args(words).status();
        assert!(status.is_ok_and(|status| status.success()), "{words:?}");
    }
    let mut command = Command::new(&built);
    command.env("LD_LIBRARY_PATH", folder.path()).env("LD_PRELOAD", &guest);
    let ended = Job::command(command).limit(LIMIT).run();
    assert!(ended.status.success() && ended.stdout.contains("no errors"), "{ended:#?}");
    assert!(ended.stderr.contains("whose ABI is not known here: Nobody's MPI 1.0"), "{ended:#?}");
}

/// Both names of every call that the guest has: profilers and Fortran's bindings use either.
#[test]
fn each_call_has_both_names() {
    let library = program("rmarun").with_file_name("librma_guest.so");
    if !library.is_file() {
        println!("skipped: librma_guest.so is not built");
        return;
    }
    let mut command = Command::new("nm");
    command.args(["-D", "--defined-only"]).arg(&library);
    let ended = Job::command(command).run();
    let names: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let calls: Vec<&&str> = names.iter().filter(|name| name.starts_with("MPI_")).collect();
    assert!(calls.len() > 60, "{names:?}");
    for call in calls {
        assert!(names.contains(&format!("P{call}").as_str()), "{call}");
    }
    // What else it exports would stand in the way of others.
    let of_fortran = ["mpi_win_get_attr_", "pmpi_win_get_attr_", "MPII_Win_get_attr", "MPII_Win_set_attr"];
    let is_known = |name: &&str| {
        name.starts_with("MPI_")
            || name.starts_with("PMPI_")
            || name.contains("mpi_win_set_attr")
            || of_fortran.contains(name)
    };
    assert!(names.iter().all(is_known), "{names:?}");
}
