//! The variables of this crate, and what the channel derives from them.
//!
//! Every process of a job must have the same ring and packet sizes: they are compared at first contact, and a process
//! with others is refused with a message that names the variables.

use rma_core::channel::MIN_PACKET;
use rma_core::config::Value;
use std::path::{Path, PathBuf};

/// Smallest ring: the longest head of a bulk packet of [`MIN_PACKET`] bytes must fit.
pub(crate) const MIN_RING: u64 = 256;

/// Largest ring: lengths of records have 32 bits.
pub(crate) const MAX_RING: u64 = 1 << 30;

const BACKINGS: &[&str] = &["auto", "memfd", "devshm"];

rma_core::variables! {
    /// Sizes of the shared-memory channel, and where shared memory comes from.
    pub struct ShmConfig {
        /// Bytes of each ring.
        ring_bytes: u64 = 131_072u64, "RMA_SHM_RING_BYTES", Bytes, MIN_RING..=MAX_RING,
            "bytes of one ring, rounded up to a power of two; each pair of processes in contact has four (two \
             directions, two lanes), whose memory is taken when it is first used",
            "large bodies move as fast as with larger rings, and a fifth faster than with half of it";
        /// Longest small packet.
        packet_bytes: u64 = 8192u64, "RMA_SHM_PACKET_BYTES", Bytes, MIN_PACKET as u64..=1 << 20,
            "longest packet that is sent whole, at most a ring less 16 bytes",
            "a sixteenth of a ring, so that packets do not wait for one another";
        /// Length from which a body is sent as bulk.
        bulk_bytes: u64 = 4096u64, "RMA_SHM_BULK_BYTES", Bytes, 1..=1 << 20,
            "bodies from this length on stay in the sender's memory until they are copied into the ring piece by piece",
            "below it one more copy at the receiver costs less than a packet of its own";
        /// Connections that may wait to be accepted.
        backlog: u64 = 4096u64, "RMA_SHM_BACKLOG", Count, 1..=65535,
            "processes whose first contact may wait until this one looks; more have to try again",
            "more than the cores of a node; the system allows 4096 by default";
        /// Polls between two looks at the sockets.
        check_interval: u64 = 128u64, "RMA_SHM_CHECK_INTERVAL", Count, 1..=1 << 20,
            "polls between two looks for new connections and ended processes, which cost a system call",
            "a busy process notices within microseconds, and a poll stays a few nanoseconds";
        /// What shared memory is made of.
        backing: String = "auto", "RMA_SHM_BACKING", Choice, BACKINGS,
            "memfd: memory without a name; devshm: a file of RMA_SHM_DIR that is nowhere listed; auto: the first that works",
            "a memfd cannot be left behind, resized by others or limited by a small /dev/shm";
        /// Where files for shared memory are made.
        dir: Directory = "/dev/shm", "RMA_SHM_DIR", Choice, (),
            "directory of a memory file system, for shared memory when memfd is not to be had",
            "where Linux mounts one";
    }
}

/// What shared memory may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    Auto,
    Memfd,
    File,
}

impl ShmConfig {
    pub(crate) fn backing(&self) -> Backing {
        match self.backing.as_str() {
            "memfd" => Backing::Memfd,
            "devshm" => Backing::File,
            _ => Backing::Auto,
        }
    }
}

/// The name of a directory as a value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory(PathBuf);

impl Directory {
    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl<P: Into<PathBuf>> From<P> for Directory {
    fn from(path: P) -> Self {
        Self(path.into())
    }
}

impl Value for Directory {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        let path = PathBuf::from(text.trim());
        if path.is_absolute() { Ok(Self(path)) } else { Err("an absolute path is needed".to_owned()) }
    }

    fn show(&self) -> String {
        self.0.display().to_string()
    }

    fn show_range((): &()) -> String {
        "an absolute path".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, text: &'static str) -> rma_core::Result<ShmConfig> {
        ShmConfig::read(&|asked| (asked == name).then(|| text.to_owned()))
    }

    #[test]
    fn the_smallest_values_are_legal_and_smaller_ones_name_the_range() {
        for (name, smallest, smaller) in [
            ("RMA_SHM_RING_BYTES", "256", "255"),
            ("RMA_SHM_PACKET_BYTES", "192", "191"),
            ("RMA_SHM_BULK_BYTES", "1", "0"),
            ("RMA_SHM_BACKLOG", "1", "0"),
            ("RMA_SHM_CHECK_INTERVAL", "1", "0"),
        ] {
            assert!(read(name, smallest).is_ok(), "{name}={smallest}");
            let error = read(name, smaller).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(&format!("from {smallest} to")), "{error}");
        }
    }

    #[test]
    fn backing_and_directory_are_checked() {
        assert_eq!(ShmConfig::default().backing(), Backing::Auto);
        assert_eq!(read("RMA_SHM_BACKING", "devshm").unwrap().backing(), Backing::File);
        assert!(read("RMA_SHM_BACKING", "disk").unwrap_err().to_string().contains("auto, memfd, devshm"));
        assert_eq!(read("RMA_SHM_DIR", "/mnt").unwrap().dir.path(), Path::new("/mnt"));
        assert!(read("RMA_SHM_DIR", "mnt").unwrap_err().to_string().contains("absolute path"));
        assert_eq!(ShmConfig::default().settings().len(), 7);
    }
}
