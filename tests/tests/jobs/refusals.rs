//! Bad input to the launcher and the demos: an error that says what is wrong, a bad exit status, and nothing left behind.

use rma_tests::job::{Ended, Job, is_second_pass, program};
use rma_tests::paths::PURE_PATHS;
use std::io::Write;
use std::process::Command;
use tempfile::{NamedTempFile, TempDir};

#[track_caller]
fn fails_with(ended: &Ended, words: &[&str]) {
    assert!(!ended.status.success(), "{ended:#?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word:?} is not said: {ended:#?}");
    }
    assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
}

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn the_launcher_refuses_what_it_cannot_run() {
    if is_second_pass() {
        return;
    }
    let plain = file(b"no program");
    let plain = plain.path().to_str().unwrap();
    for (words, code, said) in [
        (["-n", "0", "true"], 2, ["'0'", "1..=65536"]),
        (["-n", "-3", "true"], 2, ["-3", "'"]),
        (["-n", "65537", "true"], 2, ["65537", "1..=65536"]),
        (["-n", "2", "/no/such/program"], 127, ["cannot run /no/such/program", "no such file"]),
        (["-n", "2", "no-such-program-of-mine"], 127, ["cannot run no-such-program-of-mine", "no program"]),
        (["-n", "2", plain], 126, ["cannot run", "permission denied"]),
        (["-n", "2", "/"], 126, ["cannot run /", "directory"]),
    ] {
        let ended = Job::launcher(words).run();
        fails_with(&ended, &said);
        assert_eq!(ended.code(), code, "{words:?}");
    }
}

#[test]
fn wrong_values_of_variables_are_named_with_their_range() {
    if is_second_pass() {
        return;
    }
    for (name, value, range) in [
        ("RMA_SLOTS", "0", "from 1 to"),
        ("RMA_SLOTS", "1048577", "from 1 to 1048576"),
        ("RMA_CHANNEL", "foo", "auto, shm, tcp"),
        ("RMA_PIGGYBACK_THRESHOLD", "x", "from 0 to"),
        ("RMA_UNIT_BYTES", "15", "from 16 to"),
        ("RMA_DIRECT", "maybe", "0 or 1"),
        ("RMA_RANKS_PER_NODE", "-1", "from 0 to"),
        ("RMA_SHM_RING_BYTES", "255", "from 256 to"),
        ("RMA_SHM_BACKING", "paper", "auto, memfd, devshm"),
        ("RMA_TCP_PACKET_BYTES", "191", "from 192 to"),
        ("RMA_CREDITS", "99999999999999999999999", "from 1 to"),
    ] {
        let job = Job::new(2, "heat2d").line("--steps 1 --no-picture").variables(&[(name, value)]);
        let ended = job.run();
        fails_with(&ended, &[name, value, range, "MPI_ERR_ARG"]);
        assert_eq!((ended.code(), ended.stderr.matches(name).count()), (2, 1), "{ended:#?}");
    }
    // What the launcher cannot see is up to the ranks.
    let hidden = Job::launcher(["-n", "2", "env", "RMA_SLOTS=0"]).words([program("heat2d")]).run();
    fails_with(&hidden, &["heat2d: ", "RMA_SLOTS", "from 1 to"]);
    // A name that is no variable is a warning: the job runs.
    let job = Job::new(2, "heat2d").line("--rows 4 --cols 4 --steps 1 --no-picture --check");
    let ended = job.variables(&[("RMA_CHANEL", "tcp")]).run();
    assert!(ended.status.success() && ended.stderr.contains("the nearest is RMA_CHANNEL"), "{ended:#?}");
}

#[test]
fn heat2d_says_why_there_is_no_picture() {
    if is_second_pass() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing").join("a.png");
    let missing = missing.to_str().unwrap();
    for (output, why) in [
        (missing, "No such file"),
        (folder.path().to_str().unwrap(), "Is a directory"),
        ("/dev/full", "No space left"),
    ] {
        for ranks in [1, 3] {
            // A full disk shows when the picture is written; all else before the steps, which would take years.
            let steps = if why == "No space left" { "--steps 3" } else { "--steps 1000000000000" };
            let job = Job::new(ranks, "heat2d").line("--rows 20 --cols 20").line(steps);
            let ended = job.words(["--output", output]).run();
            fails_with(&ended, &["heat2d: the picture", output, why]);
            assert_eq!(ended.stderr.matches("heat2d: ").count(), 1, "{ended:#?}");
        }
    }
    assert!(folder.path().read_dir().unwrap().next().is_none(), "nothing is left");
    for line in ["--rows 0", "--cols x", "--sync sometimes", "--steps x"] {
        let ended = Job::new(3, "heat2d").line(line).run();
        fails_with(&ended, &[line.split(' ').next().unwrap()]);
        assert_eq!((ended.code(), ended.stderr.matches("error: ").count()), (2, 1), "{line}: {ended:#?}");
    }
    let help = Job::new(3, "heat2d").line("--help").run();
    assert!(help.status.success() && help.stdout.matches("Usage:").count() == 1, "{help:#?}");
}

#[test]
fn wordcount_says_why_it_cannot_read() {
    if is_second_pass() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing");
    for path in PURE_PATHS {
        for (name, why) in [(missing.as_path(), "No such file"), (folder.path(), "not a regular file")] {
            let job = Job::new(3, "wordcount").words([name]).variables(path.variables);
            let ended = job.run();
            fails_with(&ended, &[name.to_str().unwrap(), why]);
            assert_eq!(ended.stderr.matches("wordcount: ").count(), 1, "{ended:#?}");
        }
    }
    let ended = Job::new(3, "wordcount").run();
    fails_with(&ended, &["<FILE>"]);
    // More words than slots.
    let words = (0..500).map(|i| format!("word{i} ")).collect::<String>();
    let words = file(words.as_bytes());
    let job = Job::new(3, "wordcount").line("--slots 30").words([words.path()]);
    fails_with(&job.run(), &["all 10 slots of rank ", "--slots", "MPI_ERR_NO_MEM"]);
}

#[test]
fn wordcount_counts_whatever_a_file_has() {
    if is_second_pass() {
        return;
    }
    let mut seed = 88_172_645_463_325_252u64;
    let garbage = std::iter::repeat_with(|| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 24) as u8
    });
    let garbage = garbage.take(40_000).collect::<Vec<_>>();
    for (what, bytes, total) in [
        ("an empty file", Vec::new(), Some("0 words, 0 different")),
        ("one giant word", vec![b'q'; 300_000], Some("1 words, 1 different")),
        ("no word", b" \n\t.,;--!? ".repeat(5000), Some("0 words, 0 different")),
        ("one letter", b"a".to_vec(), Some("1 words, 1 different")),
        ("zeros", vec![0; 10_000], Some("0 words, 0 different")),
        ("garbage", garbage, None),
    ] {
        let file = file(&bytes);
        for path in PURE_PATHS {
            for ranks in [1, 5] {
                let job = Job::new(ranks, "wordcount").line("--check --top 1").words([file.path()]);
                let ended = job.variables(path.variables).succeed();
                assert!(ended.stdout.contains("equal to the serial count"), "{what}: {ended:#?}");
                assert!(total.is_none_or(|total| ended.stdout.contains(total)), "{what}: {ended:#?}");
            }
        }
    }
}

/// A shell line in a mount namespace of its own, where `/mnt` is a memory file system of 64 KiB.
fn with_little_memory(line: &str) -> Job {
    let mount = format!("mount -t tmpfs -o size=64k none /mnt && {line}");
    let mut command = Command::new("unshare");
    // Root needs no user namespace, and may not be allowed one.
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", &mount]);
    Job::command(command)
}

#[test]
fn too_little_shared_memory_is_told_and_packets_are_used() {
    if is_second_pass() {
        return;
    }
    let probe = with_little_memory("true").run();
    if !probe.status.success() {
        println!("skipped: no mount namespace can be made here: {}", probe.stderr.trim());
        return;
    }
    let (rmarun, heat2d) = (program("rmarun"), program("heat2d"));
    let (rmarun, heat2d) = (rmarun.display(), heat2d.display());
    let line =
        |grid: &str| format!("exec {rmarun} -n 3 {heat2d} {grid} --steps 5 --check --no-picture --packets");
    // The halo rows of a wide plate do not fit; small rings do.
    let wide = line("--rows 12 --cols 4000");
    let little = [("RMA_SHM_BACKING", "devshm"), ("RMA_SHM_DIR", "/mnt")];
    let small_rings = [("RMA_SHM_RING_BYTES", "256"), ("RMA_SHM_PACKET_BYTES", "192")];
    let ended = with_little_memory(&wide).variables(&little).variables(&small_rings).run();
    assert!(ended.status.success() && ended.stdout.contains("equal to the serial run"), "{ended:#?}");
    assert!(ended.packets("shm") > 0 && ended.packets("tcp") == 0, "{ended:#?}");
    for word in ["3 processes of a node", "packets are used instead", "/mnt: ", "bytes wanted", "available"] {
        assert!(ended.stderr.contains(word), "{word:?} is not said: {ended:#?}");
    }
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    // Neither do rings of the default size, and then there is no way between the ranks.
    let ended = with_little_memory(&wide).variables(&little).run();
    fails_with(&ended, &["heat2d: ", "process ", "/mnt: ", "bytes wanted", "65536 available (too small)"]);
    // With the default choice the directory does not matter.
    let job = with_little_memory(&line("--rows 100 --cols 100")).variables(&[("RMA_SHM_DIR", "/mnt")]);
    let ended = job.succeed();
    assert!(ended.stdout.contains("equal to the serial run"), "{ended:#?}");
}
