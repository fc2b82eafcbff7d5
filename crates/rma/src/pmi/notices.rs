//! What the launcher sends a rank unasked: deaths, and requests to report what the rank waits for.
//!
//! Notices and answers share one connection. The thread that reads it under its lock, for an answer or for
//! notices, hands the notices on ([`Client::listen`]); a thread reads while no question is open. Only
//! `rmarun` sends them; deaths in jobs that go on when a rank dies, which a job may be asked to do at any
//! time.

use super::agreed::{DEATH, REPORT};
use super::client::Client;
use super::line::Line;
use rma_core::Result;

/// Something that comes unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// This rank has died.
    Death(u32),
    /// This rank is lost with its host: nothing of it is under way any more.
    HostLost(u32),
    /// The launcher wants the facts of the report of this number.
    Report(u64),
}

/// What is done about a notice, by whichever thread reads it: the engine's lock may be held.
pub(super) type NoticeHandler = Box<dyn Fn(Notice) + Send + Sync>;

impl Client {
    /// Has `on_notice` called with each rank that dies, or has died, and each request for a report: of this project's launcher.
    ///
    /// # Errors
    /// When the launcher does not answer as agreed.
    pub(crate) fn listen(&self, on_notice: NoticeHandler) -> Result<()> {
        self.set_watch(on_notice);
        self.ask(&Line::new("watch"), "watching")?;
        self.ask(&Line::new("listen"), "listening").map(drop)
    }
}

impl Notice {
    /// The notice that a line is, if it is one.
    pub(super) fn of(line: &Line) -> Option<Self> {
        match line.command() {
            DEATH => {
                let kind = if line.get("host").is_some() { Self::HostLost } else { Self::Death };
                line.number("rank").ok().map(kind)
            }
            REPORT => line.number("number").ok().map(Self::Report),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Wire;
    use super::*;
    use parking_lot::Mutex;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    #[test]
    fn a_notice_that_comes_along_with_an_answer_is_handed_on_with_it() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut wire, notices) = (Wire::new(ours.into()), Arc::new(Mutex::new(Vec::new())));
        let sink = Arc::clone(&notices);
        wire.on_notice = Some(Box::new(move |notice| sink.lock().push(notice)));
        theirs
            .write_all(b"cmd=death rank=4\ncmd=watching rc=0\ncmd=death rank=2\ncmd=death rank=7\n")
            .unwrap();
        wire.ask(&Line::new("watch"), "watching", None).unwrap();
        // Nothing is left to be read that would wake a reader.
        assert_eq!(*notices.lock(), [4, 2, 7].map(Notice::Death));
    }
}
