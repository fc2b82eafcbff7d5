//! Segments of two processes, and shared memory that is too small.

use crate::family::{LIMIT, Part, Place, Relative, listen, say};
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::{Mailbox, Mapping, Parcel, SharedMemory};
use rma_core::channel::{Channel, FailureKind};
use rma_core::ids::Peer;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

const LEN: usize = 3 * 4096 + 17;

fn config() -> ShmConfig {
    ShmConfig::read(&|name| std::env::var(name).ok()).unwrap()
}

fn create() -> (SharedMemory, Mapping) {
    let memory = SharedMemory::create(LEN as u64, 2 * LEN as u64, &config()).unwrap();
    let mapping = Mapping::new(&memory).unwrap();
    (memory, mapping)
}

fn fill(mapping: &Mapping, from: u8) {
    let bytes: Vec<u8> = (0..mapping.len()).map(|i| from.wrapping_add(i as u8)).collect();
    // SAFETY: the span is not kept.
    unsafe { mapping.span(0, mapping.len()) }.write(&bytes);
}

fn is_filled(mapping: &Mapping, from: u8) -> bool {
    let mut bytes = vec![0; mapping.len()];
    // SAFETY: the span is not kept.
    unsafe { mapping.span(0, mapping.len()) }.as_read().read(&mut bytes);
    bytes.iter().enumerate().all(|(i, byte)| *byte == from.wrapping_add(i as u8))
}

fn send(mailbox: &Mailbox, to: u32, tag: u64, memory: &SharedMemory) {
    let deadline = Instant::now() + LIMIT;
    while !mailbox.try_send(Peer(to), tag, memory.as_fd()).unwrap() {
        assert!(Instant::now() < deadline, "the mailbox stays full");
        std::thread::yield_now();
    }
}

fn receive(mailbox: &mut Mailbox) -> Parcel {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(parcel) = mailbox.try_receive().unwrap() {
            return parcel;
        }
        assert!(Instant::now() < deadline, "no parcel comes");
        std::thread::sleep(Duration::from_millis(1)); // the parent has other means; this is not a race
    }
}

fn map(parcel: Parcel) -> Mapping {
    Mapping::new(&SharedMemory::received(parcel.descriptor, LEN as u64, &config()).unwrap()).unwrap()
}

/// A child that gives a segment and takes one.
pub(crate) fn exchange() {
    let place = Place::from_env();
    let mut mailbox = Mailbox::open(Peer(place.me), &place.job, Place::SECRET).unwrap();
    say("ready");
    listen();
    let parcel = receive(&mut mailbox);
    assert_eq!((parcel.from, parcel.tag), (Peer(0), 10));
    let parents = map(parcel);
    assert!(is_filled(&parents, 100));
    let (memory, own) = create();
    fill(&own, 50);
    send(&mailbox, 0, 20, &memory);
    fill(&parents, 7);
    say("filled");
    listen();
    assert!(is_filled(&own, 9), "what the parent wrote");
    say("seen");
    listen();
}

#[test]
fn two_processes_share_segments_that_outlive_their_maker() {
    for backing in ["memfd", "devshm"] {
        let place = Place { backing: backing.to_owned(), ..Place::new(0, 2) };
        let mut mailbox = Mailbox::open(Peer(0), &place.job, Place::SECRET).unwrap();
        let (memory, own) = create();
        fill(&own, 100);
        // Memory made of a file is taken only by a process that was told to expect it.
        let is_same = backing == "memfd";
        let mut child = Relative::start(Part::Exchange, &place, 1, &[]);
        child.hear("ready");
        child.tell();
        send(&mailbox, 1, 10, &memory);
        child.hear("filled");
        assert!(is_filled(&own, 7));
        let parcel = receive(&mut mailbox);
        assert_eq!((parcel.from, parcel.tag), (Peer(1), 20));
        if !is_same {
            let refused = SharedMemory::received(parcel.descriptor, LEN as u64, &config()).unwrap_err();
            assert!(refused.to_string().contains("not sealed"), "{refused}");
            continue;
        }
        let childs = map(parcel);
        assert!(is_filled(&childs, 50));
        fill(&childs, 9);
        child.tell();
        child.hear("seen");
        child.kill();
        assert!(is_filled(&childs, 9), "memory lives as long as a process has it");
        fill(&childs, 1);
        assert!(is_filled(&childs, 1));
    }
}

/// A child whose directory for shared memory has 64 KiB.
pub(crate) fn tiny() {
    let config = config();
    let dir = config.dir.path().display().to_string();
    let fits = SharedMemory::create(16 << 10, 64 << 10, &config).unwrap();
    fits.reserve().unwrap();
    let error = SharedMemory::create(1 << 20, 4 << 20, &config).unwrap_err();
    let [attempt] = &error.attempts[..] else { panic!("{error}") };
    assert_eq!((attempt.place.as_str(), attempt.wanted), (dir.as_str(), 4 << 20));
    assert!(attempt.available.is_some_and(|bytes| bytes <= 48 << 10), "{error}");
    for part in [&dir[..], "1048576", "4194304", "available", "too small"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // The sum of all ranks counts, also when one's own part would fit.
    assert!(SharedMemory::create(4096, 1 << 20, &config).is_err());
    let place = Place::from_env();
    let failure = place.channel().unwrap().connect(Peer(0)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.detail.contains(&dir) && failure.detail.contains("available"), "{failure}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "files are listed nowhere");
    say(&format!("error {error}"));
    listen();
}

#[test]
fn too_little_shared_memory_is_an_error_that_names_place_wanted_and_available() {
    let dir = std::env::temp_dir().join(format!("rma-tiny-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let name = dir.to_str().unwrap();
    let mount = format!("mount -t tmpfs -o size=64k tmpfs '{name}'");
    let works = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).output();
    if works.as_ref().is_ok_and(|output| output.status.success()) {
        let mut command = Command::new("unshare");
        let program = std::env::current_exe().unwrap();
        let script = format!("{mount} && exec \"$0\" \"$@\"");
        command.args(["-rm", "sh", "-c", &script]).arg(program);
        let place = Place { backing: "devshm".to_owned(), ..Place::new(0, 2) };
        // Rings that do not fit, also when the tests run with the smallest.
        let variables = [("RMA_SHM_DIR", name), ("RMA_SHM_RING_BYTES", "131072")];
        let mut child = Relative::start_as(command, Part::Tiny, &place, 1, &variables);
        println!("{}", child.hear("error"));
        child.tell();
        child.join();
    } else {
        println!("skipped: no file system can be mounted here: {works:?}");
    }
    std::fs::remove_dir(&dir).unwrap();
}
