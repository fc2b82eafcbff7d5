//! Shared memory without a name: a memfd, or where that is not to be had a nameless file of a memory file system.
//!
//! Invariants: nothing is ever listed in a directory, so nothing is left behind whenever a process ends; a memfd's size is
//! sealed before another process sees it; no page is touched, so unused memory costs nothing. Each step that fails leaves one
//! line, in the log and in the error.
//!
//! What cannot be seen in time: pages are taken when they are first touched, and a limit on this process's memory (a
//! control group) or an exhausted machine shows only then. For files, [`SharedMemory::create`] compares what the whole node
//! asks for with what the file system has left; [`SharedMemory::reserve`] takes the pages at once.

use crate::config::{Backing, ShmConfig};
use crate::sockets;
use rma_core::descriptors::above_streams;
use rustix::fs::{
    FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, fstatvfs, ftruncate, memfd_create, open,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::{fmt, io};

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Memory that can be handed to another process.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    len: u64,
    is_memfd: bool,
}

/// One way to make shared memory that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was tried: `memfd`, or a directory.
    pub place: String,
    /// Bytes that were wanted there.
    pub wanted: u64,
    /// Bytes that were to be had, where that was the reason.
    pub available: Option<u64>,
    /// Why it failed.
    pub reason: String,
}

/// No shared memory could be made, or what was received is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentError {
    /// Bytes of the memory.
    pub len: u64,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
}

impl SharedMemory {
    /// Makes `len` bytes of zeros. `node_total` is what all processes of the node are about to ask for, this one included;
    /// a file system with less is not used.
    ///
    /// # Errors
    /// When neither way that the configuration allows works. Each is named with what was wanted and what was available; the
    /// caller may use private memory instead.
    pub fn create(len: u64, node_total: u64, config: &ShmConfig) -> Result<Self, SegmentError> {
        let backing = config.backing();
        let mut attempts = Vec::new();
        if matches!(backing, Backing::Auto | Backing::Memfd) {
            match Self::create_memfd(len, MemfdFlags::empty()) {
                Ok(memory) => return Ok(memory),
                Err(error) => attempts.push(Attempt {
                    place: "memfd".to_owned(),
                    wanted: len,
                    available: None,
                    reason: sockets::explain(error).to_string(),
                }),
            }
        }
        if matches!(backing, Backing::Auto | Backing::File) {
            if let Some(attempt) = attempts.last() {
                tracing::info!("shared memory: {attempt}; trying {}", config.dir.path().display());
            }
            match Self::create_file(len, node_total.max(len), config.dir.path()) {
                Ok(memory) => return Ok(memory),
                Err(attempt) => attempts.push(attempt),
            }
        }
        let error = SegmentError { len, attempts };
        // The caller says what it does without.
        tracing::info!("{error}");
        Err(error)
    }

    /// Makes `len` bytes of zeros, a multiple of 2 MiB, on huge pages that the system has set aside. All of them are taken now.
    ///
    /// # Errors
    /// When there are not enough of them.
    pub fn create_huge(len: u64) -> io::Result<Self> {
        let memory = Self::create_memfd(len, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB)?;
        fallocate(&memory.file, FallocateFlags::empty(), 0, len)?;
        Ok(memory)
    }

    /// Takes memory that another process of this job made, which must have `len` bytes and keep them.
    ///
    /// # Errors
    /// When the descriptor is something else.
    pub fn received(descriptor: OwnedFd, len: u64, config: &ShmConfig) -> Result<Self, SegmentError> {
        let is_memfd = Self::inspect(&descriptor, len, config)
            .map_err(|attempt| SegmentError { len, attempts: vec![attempt] })?;
        Ok(Self { file: descriptor.into(), len, is_memfd })
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the pages now if they come from a file system of limited size, where touching a page that cannot be had would
    /// end the process.
    ///
    /// # Errors
    /// When there are not enough.
    pub fn reserve(&self) -> io::Result<()> {
        if self.is_memfd || self.len == 0 {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::empty(), 0, self.len) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether memory will be memfds, whose pages are taken when they are touched.
    pub fn will_be_memfd(config: &ShmConfig) -> bool {
        config.backing() != Backing::File && Self::create_memfd(0, MemfdFlags::empty()).is_ok()
    }

    /// Gives the pages of a part back to the system; they are zeros from now on. Other processes must not use the part.
    ///
    /// # Errors
    /// When the system cannot, and the bytes are what they were.
    pub fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, flags, offset, len)?)
    }

    fn create_memfd(len: u64, pages: MemfdFlags) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | pages;
        // Systems may demand that such memory cannot be executed; old ones do not know how to say so.
        let descriptor = match memfd_create(c"rma", flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => memfd_create(c"rma", flags)?,
            other => other?,
        };
        let descriptor = above_streams(descriptor)?;
        set_len(&descriptor, len)?;
        fcntl_add_seals(&descriptor, SEALS | SealFlags::SEAL)?;
        Ok(Self { file: descriptor.into(), len, is_memfd: true })
    }

    fn create_file(len: u64, node_total: u64, dir: &Path) -> Result<Self, Attempt> {
        let failed = |available, reason: &dyn fmt::Display| Attempt {
            place: dir.display().to_string(),
            wanted: node_total,
            available,
            reason: reason.to_string(),
        };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let opened = open(dir, flags, Mode::RUSR | Mode::WUSR).map_err(io::Error::from);
        let descriptor = opened.and_then(above_streams).map_err(|error| failed(None, &error))?;
        let space = fstatvfs(&descriptor).map_err(|error| failed(None, &io::Error::from(error)))?;
        let available = space.f_bavail.saturating_mul(space.f_frsize);
        // A file system that has no blocks at all has no limit.
        if space.f_blocks > 0 && available < node_total {
            return Err(failed(Some(available), &"too small"));
        }
        set_len(&descriptor, len).map_err(|error| failed(Some(available), &error))?;
        Ok(Self { file: descriptor.into(), len, is_memfd: false })
    }

    /// Whether a received descriptor is a sealed memfd (or, if those are not to be had, a file), of the right length.
    fn inspect(descriptor: &OwnedFd, len: u64, config: &ShmConfig) -> Result<bool, Attempt> {
        let refused =
            |reason: String| Attempt { place: "received".to_owned(), wanted: len, available: None, reason };
        let status = fstat(descriptor).map_err(|error| refused(io::Error::from(error).to_string()))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(refused("not memory".to_owned()));
        }
        if u64::try_from(status.st_size) != Ok(len) {
            return Err(refused(format!("it has {} bytes", status.st_size)));
        }
        if fcntl_get_seals(descriptor).is_ok_and(|seals| seals.contains(SEALS)) {
            return Ok(true);
        }
        let may_be_file = match config.backing() {
            Backing::Memfd => false,
            Backing::File => true,
            Backing::Auto => Self::create_memfd(0, MemfdFlags::empty()).is_err(),
        };
        if may_be_file { Ok(false) } else { Err(refused("its size is not sealed".to_owned())) }
    }
}

/// Gives memory its length. Beyond the limit of file sizes the system ends the process (SIGXFSZ).
fn set_len(descriptor: &OwnedFd, len: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < len => {
            let text = format!("the limit of file sizes is {limit} bytes (RLIMIT_FSIZE, ulimit -f)");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
        }
        _ => Ok(ftruncate(descriptor, len)?),
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, wanted, available, reason } = self;
        write!(f, "{place}: {wanted} bytes wanted")?;
        if let Some(available) = available {
            write!(f, ", {available} available")?;
        }
        write!(f, " ({reason})")
    }
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no shared memory of {} bytes", self.len)?;
        for (i, attempt) in self.attempts.iter().enumerate() {
            write!(f, "{}{attempt}", if i == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for SegmentError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::segment::Mapping;

    fn config(backing: &str, dir: &str) -> ShmConfig {
        ShmConfig { backing: backing.to_owned(), dir: dir.into(), ..ShmConfig::default() }
    }

    #[test]
    fn both_ways_give_zeroed_memory_that_is_listed_nowhere_and_costs_nothing_untouched() {
        // A file system is asked for its room, and may be a small one.
        for (backing, len) in [("auto", 1 << 33), ("memfd", 1 << 33), ("devshm", 1 << 20)] {
            let (config, end) = (config(backing, "/dev/shm"), len as usize);
            let memory = SharedMemory::create(len, 0, &config).unwrap();
            assert_eq!(memory.is_memfd, backing != "devshm");
            let copy =
                SharedMemory::received(memory.as_fd().try_clone_to_owned().unwrap(), len, &config).unwrap();
            let [one, two] = [&memory, &copy].map(|memory| Block::new(Mapping::new(memory).unwrap()));
            assert_eq!((one.len(), memory.len()), (end, len));
            one.write(end - 3, &[1, 2, 3]);
            let mut bytes = [9; 5];
            two.read(end - 5, &mut bytes);
            assert_eq!(bytes, [0, 0, 1, 2, 3]);
            assert!(fstat(&memory).unwrap().st_blocks <= 16, "untouched pages were taken");
            assert_eq!(fstat(&memory).unwrap().st_nlink, 0);
            let flags = rustix::io::fcntl_getfd(&memory).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
    }

    #[test]
    fn beyond_the_limit_of_file_sizes_is_an_error_and_no_signal() {
        use rustix::process::{Rlimit, setrlimit};
        const LIMIT: u64 = 1 << 40;
        let maximum = getrlimit(Resource::Fsize).maximum;
        setrlimit(Resource::Fsize, Rlimit { current: Some(LIMIT), maximum }).unwrap();
        for backing in ["memfd", "devshm"] {
            let error = SharedMemory::create(2 * LIMIT, 0, &config(backing, "/dev/shm")).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("RLIMIT_FSIZE") || text.contains("too small"), "{text}");
        }
        setrlimit(Resource::Fsize, Rlimit { current: maximum, maximum }).unwrap();
    }

    #[test]
    fn discarded_pages_are_zeros_and_cost_nothing() {
        for backing in ["memfd", "devshm"] {
            let memory = SharedMemory::create(1 << 20, 0, &config(backing, "/dev/shm")).unwrap();
            let block = Block::new(Mapping::new(&memory).unwrap());
            block.write(0, &vec![7; 1 << 20]);
            memory.discard(4096, (1 << 20) - 8192).unwrap();
            assert!(fstat(&memory).unwrap().st_blocks <= 16);
            for (at, expected) in [(4095, 7), (4096, 0), ((1 << 20) - 4097, 0), ((1 << 20) - 4096, 7)] {
                let mut byte = [9];
                block.read(at, &mut byte);
                assert_eq!(byte, [expected], "byte {at}");
            }
        }
    }

    #[test]
    fn huge_pages_are_had_or_refused_as_a_whole() {
        let path = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
        let free = std::fs::read_to_string(path).map_or(0, |text| text.trim().parse::<u64>().unwrap());
        let more = (free + 1) * (2 << 20);
        assert!(SharedMemory::create_huge(more).is_err(), "{free} pages are free");
        if free > 1 {
            let memory = SharedMemory::create_huge(2 << 20).unwrap();
            let block = Block::new(Mapping::aligned(&memory, 2 << 20).unwrap());
            block.write((2 << 20) - 3, &[1, 2, 3]);
            let copy = memory.as_fd().try_clone_to_owned().unwrap();
            let copy = SharedMemory::received(copy, 2 << 20, &config("auto", "/")).unwrap();
            let mut bytes = [9; 5];
            Block::new(Mapping::aligned(&copy, 2 << 20).unwrap()).read((2 << 20) - 5, &mut bytes);
            assert_eq!(bytes, [0, 0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_memfd_cannot_be_resized() {
        let memory = SharedMemory::create(8192, 8192, &config("memfd", "/")).unwrap();
        for len in [0, 4096, 8193] {
            assert_eq!(ftruncate(&memory, len), Err(Errno::PERM), "{len}");
        }
        assert_eq!(fcntl_add_seals(&memory, SealFlags::WRITE), Err(Errno::PERM));
    }

    #[test]
    fn what_is_not_the_expected_memory_is_refused_with_a_reason() {
        let config = config("auto", "/dev/shm");
        let sealed = || SharedMemory::create(4096, 4096, &config).unwrap().file.into();
        let unsealed = || {
            let descriptor = memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&descriptor, 4096).unwrap();
            descriptor
        };
        let file = SharedMemory::create_file(4096, 4096, Path::new("/dev/shm")).unwrap().file.into();
        for (descriptor, len, reason) in [
            (sealed(), 4097, "it has 4096 bytes"),
            (unsealed(), 4096, "its size is not sealed"),
            (file, 4096, "its size is not sealed"),
            (rustix::pipe::pipe().unwrap().0, 4096, "not memory"),
        ] {
            let error = SharedMemory::received(descriptor, len, &config).unwrap_err();
            assert_eq!(error.attempts[0].reason, reason);
        }
    }

    #[test]
    fn when_nothing_works_the_error_names_each_place_with_what_was_wanted_and_available() {
        let missing = SharedMemory::create(4096, 9999, &config("devshm", "/does/not/exist")).unwrap_err();
        assert_eq!(missing.attempts.len(), 1);
        assert!(missing.to_string().starts_with(
            "no shared memory of 4096 bytes: /does/not/exist: 9999 bytes wanted (No such file or directory"
        ));
        let huge = SharedMemory::create(4096, u64::MAX, &config("devshm", "/dev/shm")).unwrap_err();
        let available = huge.attempts[0].available.unwrap();
        assert_eq!(
            huge.to_string(),
            format!(
                "no shared memory of 4096 bytes: /dev/shm: {} bytes wanted, {available} available (too small)",
                u64::MAX
            )
        );
        let too_long = SharedMemory::create(u64::MAX, 0, &config("auto", "/dev/shm")).unwrap_err();
        assert_eq!(too_long.attempts.len(), 2);
        assert!(too_long.to_string().contains("memfd: 18446744073709551615 bytes wanted ("));
    }
}
