//! A file that grows by lines and loses none when its process is killed: the one file of traces with `unsafe`.
//!
//! Lines are stored into a shared mapping of the file's end, so they are the system's as soon as they are written, and cost
//! no call to it. Room is reserved before it is mapped: a file system that is full refuses the reservation, where a store
//! into the mapping would end the process. Invariant: what follows the last whole line is zeros, or the begin of a line, so
//! a reader of a killed process's file stops there; [`TraceFile::finish`] cuts the zeros off.
//!
//! The file is made new, never an old one cut short: another job may have that mapped.

use memmap2::{MmapOptions, MmapRaw};
use rma_core::descriptors::with_streams_taken;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are mapped at a time: few system calls, and little that a killed rank's file is longer than it needs to be.
/// A multiple of every page size.
const STRIDE: usize = 1 << 20;

/// A file under construction.
#[derive(Debug)]
pub(super) struct TraceFile {
    file: File,
    /// Bytes of the file in front of the mapping.
    base: u64,
    map: MmapRaw,
    /// Bytes of the mapping that are written.
    used: usize,
}

impl TraceFile {
    /// A new file in place of what is there.
    ///
    /// # Errors
    /// When the file cannot be made, or the file system has no room: then there is none.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Self::create_with(path, |file| mapped(file, 0))
    }

    fn create_with(path: &Path, map: impl FnOnce(&File) -> io::Result<MmapRaw>) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file =
            with_streams_taken(|| OpenOptions::new().read(true).write(true).create_new(true).open(path))?;
        let map = map(&file).inspect_err(|_| {
            // Nothing is in it, and a reader would take it for the file of a rank that was killed. The first error is told.
            let _ = fs::remove_file(path);
        })?;
        Ok(Self { file, base: 0, map, used: 0 })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When the file system has no more room.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let fits = bytes.len().min(STRIDE - self.used);
            // SAFETY: `fits` bytes from `used` on lie within the mapping of `STRIDE` bytes, which is writable
            // and to which this process has no reference; `bytes` is memory of the caller's.
            unsafe { self.map.as_mut_ptr().add(self.used).copy_from_nonoverlapping(bytes.as_ptr(), fits) };
            self.used += fits;
            bytes = &bytes[fits..];
            if bytes.is_empty() {
                return Ok(());
            }
            let base = self.base + STRIDE as u64;
            self.map = mapped(&self.file, base)?;
            (self.base, self.used) = (base, 0);
        }
    }

    /// Ends the file behind the last byte.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn finish(self) -> io::Result<()> {
        let len = self.base + self.used as u64;
        drop(self.map);
        self.file.set_len(len)
    }
}

/// The mapping of a stretch of the file, for which there is room.
fn mapped(file: &File, base: u64) -> io::Result<MmapRaw> {
    match fallocate(file, FallocateFlags::empty(), base, STRIDE as u64) {
        Ok(()) => {}
        // File systems that cannot reserve have room for what is written.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.write_all_at(&vec![0; STRIDE], base)?,
        Err(error) => return Err(error.into()),
    }
    MmapOptions::new().offset(base).len(STRIDE).map_raw(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_in_the_file_at_once_and_the_end_cuts_the_rest_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("part");
        fs::write(&path, "of another job").unwrap();
        let other = File::open(&path).unwrap();
        let mut file = TraceFile::create(&path).unwrap();
        let line = [b'x'; 1000];
        let mut expected = Vec::new();
        // Lines that lie across the ends of mappings, and one that is longer than a mapping.
        for _ in 0..2 * STRIDE / line.len() {
            file.append(&line).unwrap();
            expected.extend_from_slice(&line);
        }
        let long = vec![b'y'; 2 * STRIDE + 5];
        file.append(&long).unwrap();
        expected.extend_from_slice(&long);
        let found = fs::read(&path).unwrap();
        assert!(found.len() < expected.len() + STRIDE);
        assert!(found.starts_with(&expected));
        assert!(found[expected.len()..].iter().all(|byte| *byte == 0));
        file.finish().unwrap();
        assert!(fs::read(&path).unwrap() == expected);
        assert_eq!(other.metadata().unwrap().len(), 14, "a file that another job has open is left alone");
    }

    #[test]
    fn a_file_without_room_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nowhere/part");
        assert_eq!(TraceFile::create(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let path = directory.path().join("part");
        let error = TraceFile::create_with(&path, |_| Err(Errno::NOSPC.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists(), "an empty file is left");
    }
}
