//! Frames on their way out: a queue before a descriptor that does not block, shared by all that send over one connection.

use super::frames::Frame;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

/// Most bytes that wait for the other side. Output waits for it to read, so only what ranks ask for comes here.
const QUEUE_MAX: usize = 64 << 20;

/// A sender of frames. Clones send over the same connection.
#[derive(Clone, Debug)]
pub(super) struct Outbox(Rc<RefCell<Queue>>);

#[derive(Debug)]
struct Queue {
    /// None when nothing can be sent any more.
    sink: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    /// Sends over `sink`, which is not to block any more.
    pub(super) fn new(sink: OwnedFd) -> io::Result<Self> {
        set_nonblocking(&sink)?;
        Ok(Self(Rc::new(RefCell::new(Queue { sink: Some(sink), bytes: Vec::new(), written: 0 }))))
    }

    /// Sends a frame, or keeps it until there is room. After the end of the connection it is lost.
    pub(super) fn send(&self, frame: &Frame) {
        let mut queue = self.0.borrow_mut();
        if queue.sink.is_some() {
            frame.emit(&mut queue.bytes);
            queue.flush();
        }
    }

    /// Sends what was kept and has room.
    pub(super) fn flush(&self) {
        self.0.borrow_mut().flush();
    }

    /// Bytes that are kept.
    pub(super) fn pending(&self) -> usize {
        let queue = self.0.borrow();
        queue.bytes.len() - queue.written
    }

    /// Ends the connection in this direction; what is kept is lost.
    pub(super) fn close(&self) {
        self.0.borrow_mut().sink = None;
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.0.borrow().sink.is_none()
    }

    /// The descriptor to wait for, while there is one.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.0.borrow().sink.as_ref().map(AsRawFd::as_raw_fd)
    }
}

impl Queue {
    fn flush(&mut self) {
        while let Some(sink) = &self.sink
            && self.written < self.bytes.len()
        {
            match rustix::io::write(sink, &self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.bytes.len() - self.written <= QUEUE_MAX => break,
                Err(_) => self.sink = None,
            }
        }
        if self.sink.is_none() {
            (self.bytes, self.written) = (Vec::new(), 0);
        }
        // Moving the rest to the front costs as much as the rest is long, so that waits until it is short.
        if self.written >= self.bytes.len() - self.written {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }
}

/// Has reads and writes of a descriptor answer at once.
pub(super) fn set_nonblocking(descriptor: &OwnedFd) -> io::Result<()> {
    let flags = fcntl_getfl(descriptor)?;
    Ok(fcntl_setfl(descriptor, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::super::frames::FrameReader;
    use super::*;

    #[test]
    fn what_has_no_room_is_kept_and_comes_in_order() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let outbox = Outbox::new(writer).unwrap();
        let frame = Frame::Input(vec![7; 50_000]);
        (0..8).for_each(|_| outbox.clone().send(&frame));
        assert!(outbox.pending() > 100_000);
        let (mut frames, mut count, mut buffer) = (FrameReader::default(), 0, vec![0; 9_999]);
        while count < 8 {
            let got = rustix::io::read(&reader, &mut buffer).unwrap();
            frames.push(&buffer[..got]);
            while let Some(read) = frames.next_frame().unwrap() {
                assert_eq!(read, frame);
                count += 1;
            }
            outbox.flush();
        }
        assert_eq!(outbox.pending(), 0);
        drop(reader);
        outbox.send(&frame);
        assert!(outbox.is_closed() && outbox.pending() == 0 && outbox.descriptor().is_none());
    }
}
