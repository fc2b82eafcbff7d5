//! A launcher that is not this project's: it speaks PMI-1 and nothing else, so ranks report their waits by themselves.

use super::LIMIT;
use rma::pmi::ProcessMapping;
use rma::pmi::Server;
use rustix::io::{FdFlags, fcntl_setfd};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A job of such a launcher. Its ranks end with it.
pub(crate) struct Foreign {
    ranks: Vec<Child>,
}

/// Descriptors that a rank is to inherit are open to all that start meanwhile.
static STARTS: Mutex<()> = Mutex::new(());

impl Foreign {
    /// Starts ranks; `command` is called for each.
    pub(crate) fn start(size: u32, command: impl Fn() -> Command) -> Self {
        let mapping = ("PMI_process_mapping".to_owned(), ProcessMapping::regular(size, size).to_string());
        let name = format!("other-{}-{:p}", std::process::id(), &raw const mapping);
        let server = Arc::new(Mutex::new(Server::new(&name, size, [mapping])));
        let (mut ranks, mut ends) = (Vec::new(), Vec::new());
        for rank in 0..size {
            let _turn = STARTS.lock().unwrap();
            let (ours, theirs) = UnixStream::pair().unwrap();
            fcntl_setfd(&theirs, FdFlags::empty()).unwrap();
            let mut command = command();
            command.env("PMI_FD", theirs.as_raw_fd().to_string());
            command.env("PMI_RANK", rank.to_string()).env("PMI_SIZE", size.to_string());
            ranks.push(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
            ends.push(ours);
        }
        let outs: Arc<Vec<_>> =
            Arc::new(ends.iter().map(|end| Mutex::new(end.try_clone().unwrap())).collect());
        for (rank, end) in (0u32..).zip(ends) {
            let (server, outs) = (Arc::clone(&server), Arc::clone(&outs));
            std::thread::spawn(move || {
                for line in BufReader::new(end).lines().map_while(Result::ok) {
                    let (answers, _) = server.lock().unwrap().handle(rank, line.as_bytes()).unwrap();
                    for (to, line) in answers {
                        // A rank that has ended reads no more.
                        let _ = outs[to as usize].lock().unwrap().write_all(&line.to_bytes());
                    }
                }
            });
        }
        Self { ranks }
    }

    /// The standard error of a rank.
    pub(crate) fn errors(&mut self, rank: usize) -> ChildStderr {
        self.ranks[rank].stderr.take().unwrap()
    }

    /// Waits for all ranks; says whether they have succeeded.
    pub(crate) fn finish(mut self) -> bool {
        let begin = Instant::now();
        let mut is_good = true;
        for rank in &mut self.ranks {
            while rank.try_wait().unwrap().is_none() {
                assert!(begin.elapsed() < LIMIT, "rank {} has not ended in {LIMIT:?}", rank.id());
                std::thread::sleep(Duration::from_millis(2));
            }
            is_good &= rank.wait().unwrap().success();
        }
        is_good
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        for rank in &mut self.ranks {
            let _ = rank.kill();
            let _ = rank.wait();
        }
    }
}
