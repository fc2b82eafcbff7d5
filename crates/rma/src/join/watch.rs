//! Notices of a start that has a descriptor: a thread waits there for them. It sleeps in the system until there is something,
//! and ends with the connection, or with what is kept for it ([`Notices`]): a process ends with its last thread, which may be
//! another than the one that `main` runs on.

use super::{OnNotice, Start};
use crate::agent::with_signals_blocked;
use rma_core::descriptors::above_streams;
use rma_core::{Result, fork};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Notices(Option<WatchThread>);

#[derive(Debug)]
struct WatchThread {
    thread: JoinHandle<()>,
    /// Becomes readable when the thread is to end.
    end: Arc<OwnedFd>,
}

/// Has `on_notice` told from now on; says whether of every death, while what it answers too is kept.
pub(crate) fn watch(start: &Arc<dyn Start>, on_notice: OnNotice) -> Result<(bool, Notices)> {
    let has_all_notices = start.watch(on_notice)?;
    // Without a descriptor or the thread notices are read when the launcher is asked for something, and channels tell of
    // most deaths.
    let running = start.descriptor().and_then(|descriptor| read(start, descriptor));
    Ok((has_all_notices, Notices(running)))
}

/// Starts the thread, if the system has what it needs.
fn read(start: &Arc<dyn Start>, descriptor: Arc<OwnedFd>) -> Option<WatchThread> {
    let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(io::Error::from).and_then(above_streams);
    let end = Arc::new(end.ok()?);
    let (start, ends) = (Arc::downgrade(start), Arc::clone(&end));
    let reads = move || {
        while await_bytes(&descriptor, &ends) {
            let Some(start) = start.upgrade() else { return };
            if !start.read() {
                return;
            }
        }
    };
    let thread = with_signals_blocked(|| Builder::new().name("rma-notices".to_owned()).spawn(reads));
    Some(WatchThread { thread: thread.ok()?, end })
}

/// Sleeps until there is something to read; `false` when nothing is to be read any more.
fn await_bytes(descriptor: &OwnedFd, end: &OwnedFd) -> bool {
    loop {
        let mut both = [descriptor, end].map(|one| PollFd::new(one, PollFlags::IN));
        match poll(&mut both, None) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok() && both[1].revents().is_empty(),
        }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        let Some(WatchThread { thread, end }) = self.0.take() else { return };
        if fork::is_child() {
            // The thread is the parent's, which shares what would end it.
            std::mem::forget((thread, end));
            return;
        }
        // A first number is never more than the system keeps.
        let _ = rustix::io::write(&end, &1u64.to_ne_bytes());
        // It reads without waiting. A panic has been printed by itself.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::Notice;
    use crate::pmi::{Client, JOB_PREFIX};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(20);

    /// A rank that hears of notices, and its launcher's end of the connection.
    fn watched(on_notice: OnNotice) -> (Arc<dyn Start>, Notices, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = thread::spawn(move || {
            let mut questions = BufReader::new(theirs);
            for answer in [
                "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "maxes keylen_max=64 vallen_max=1024",
                &format!("my_kvsname kvsname={JOB_PREFIX}1"),
                "watching rc=0",
                "listening rc=0",
            ] {
                questions.read_line(&mut String::new()).unwrap();
                questions.get_mut().write_all(format!("cmd={answer}\n").as_bytes()).unwrap();
            }
            questions.into_inner()
        });
        let start: Arc<dyn Start> = Arc::new(Client::new(ours.into(), 0, 4, LIMIT).unwrap());
        let (has_all, notices) = watch(&start, on_notice).unwrap();
        assert!(has_all);
        (start, notices, answers.join().unwrap())
    }

    fn drop_in_time(notices: Notices) {
        let (done, is_done) = channel();
        thread::spawn(move || {
            drop(notices);
            done.send(()).unwrap();
        });
        is_done.recv_timeout(LIMIT).expect("the thread ends");
    }

    #[test]
    fn the_thread_hands_notices_on_and_ends_before_the_connection() {
        let (tell, told) = channel();
        let (start, notices, mut theirs) = watched(Box::new(move |notice| tell.send(notice).unwrap()));
        theirs.write_all(b"cmd=death rank=2\n").unwrap();
        assert_eq!(told.recv_timeout(LIMIT).unwrap(), Notice::Death(2));
        drop_in_time(notices);
        // The connection is as it was.
        start.overseer().unwrap().tell_lost(1).unwrap();
        let mut said = String::new();
        BufReader::new(theirs).read_line(&mut said).unwrap();
        assert_eq!(said, "cmd=lost rank=1\n");
    }

    /// Whichever of the two it sees first.
    #[test]
    fn the_thread_ends_while_notices_come_and_when_the_launcher_is_gone() {
        for is_gone in [false, true] {
            let (_start, notices, mut theirs) = watched(Box::new(|_| ()));
            theirs.write_all(b"cmd=death rank=2\ncmd=death rank=3\ncmd=dea").unwrap();
            let theirs = Some(theirs).filter(|_| !is_gone);
            drop_in_time(notices);
            drop(theirs);
        }
    }
}
