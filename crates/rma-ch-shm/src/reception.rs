//! Where connections arrive: the listening socket, connections whose first message is still awaited, and the one
//! descriptor that becomes readable when any socket of the channel has news.
//!
//! Invariants: a look costs one system call when there is no news, and is bounded; at most [`GREETERS`] connections wait
//! for their first message, the oldest goes first. Knows no messages.
//!
//! A descriptor is kept in reserve: when the process has no other left, it makes room for one connection at a time, which can
//! be told so. Otherwise its peers would wait, since the system takes connections in the process's place.

use crate::sockets::{self, Received};
use rma_core::descriptors::above_streams;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::SocketAddrUnix;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Most connections that wait for their first message. It follows the connecting at once, so one that has to make way has
/// been stopped in between, or belongs to no process of this job.
const GREETERS: usize = 256;

/// Sources looked at, and connections accepted, in one look.
const NEWS_AT_ONCE: usize = 32;

const LISTENER: u64 = u64::MAX;
const GREETER: u64 = 1 << 63;

/// The door of a process.
#[derive(Debug)]
pub(crate) struct Reception {
    watch: OwnedFd,
    listener: OwnedFd,
    /// Connections that the system keeps until they are accepted.
    backlog: usize,
    greeters: VecDeque<(u64, OwnedFd)>,
    next_greeter: u64,
    unauthenticated: u64,
    /// In the place of a connection; none while it is given to one.
    reserve: Option<OwnedFd>,
}

/// Something to act on.
#[derive(Debug)]
pub(crate) enum News<const N: usize> {
    /// A connection with its first message.
    Greeting(OwnedFd, Received<N>),
    /// The connection that was watched under this number has something to read.
    Readable(u64),
}

impl Reception {
    pub(crate) fn open(
        addresses: impl Iterator<Item = io::Result<SocketAddrUnix>>,
        backlog: u64,
    ) -> io::Result<Self> {
        let listener = sockets::listen_at(addresses, backlog)?;
        let watch = above_streams(epoll::create(CreateFlags::CLOEXEC)?)?;
        let reception = Self {
            watch,
            listener,
            backlog: backlog as usize,
            greeters: VecDeque::new(),
            next_greeter: GREETER,
            unauthenticated: 0,
            reserve: None,
        };
        reception.add(&reception.listener, LISTENER)?;
        let reception = Self { reserve: Some(reception.another()?), ..reception };
        Ok(reception)
    }

    /// Watches a connection; its news come under `number`, which is below 2⁶³.
    pub(crate) fn watch(&self, connection: &OwnedFd, number: u64) -> io::Result<()> {
        assert!(number < GREETER);
        self.add(connection, number)
    }

    /// Collects the news. Says whether there may be more.
    pub(crate) fn look<const N: usize>(&mut self, news: &mut Vec<News<N>>) -> io::Result<bool> {
        let mut space = [libc::epoll_event { events: 0, u64: 0 }; NEWS_AT_ONCE];
        let no_signals = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the descriptor lives as long as `self`, and there is room for as many events as the call is
        // given. Not rustix: its call leaves an argument unset that the system ignores here, which memory
        // checkers take for an error. Nor the C library's function, in which a thread can be cancelled.
        let found = unsafe {
            let (watch, events) = (self.watch.as_raw_fd(), space.as_mut_ptr());
            libc::syscall(
                libc::SYS_epoll_pwait,
                watch,
                events,
                NEWS_AT_ONCE as libc::c_int,
                0,
                no_signals,
                0usize,
            )
        };
        let Ok(found) = usize::try_from(found) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(true) } else { Err(error) };
        };
        let mut is_more = found == NEWS_AT_ONCE;
        for event in &space[..found] {
            // A copy: the system's structure is packed.
            let number = event.u64;
            match number {
                LISTENER => is_more |= self.accept(news)?,
                number if number >= GREETER => self.hear(number, news),
                number => news.push(News::Readable(number)),
            }
        }
        Ok(is_more)
    }

    /// Hears every connection that was made until now, as far as it has said anything. A few at a time are handed to `each`,
    /// which may take what it does not keep out of the list, so that they do not all hold descriptors at once.
    pub(crate) fn sweep<const N: usize>(
        &mut self,
        news: &mut Vec<News<N>>,
        mut each: impl FnMut(&mut Vec<News<N>>),
    ) -> io::Result<()> {
        let numbers: Vec<u64> = self.greeters.iter().map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.hear(number, news));
        // What was there is among the first of the queue; what comes meanwhile may wait.
        for _ in 0..=self.backlog / NEWS_AT_ONCE {
            let accepted = self.accept(news);
            each(news);
            if !accepted? {
                break;
            }
        }
        Ok(())
    }

    /// How many connections were turned away because they were another user's, or came to nothing.
    pub(crate) fn unauthenticated(&self) -> u64 {
        self.unauthenticated
    }

    /// Says that a connection turned out to be none of this job.
    pub(crate) fn on_unauthenticated(&mut self) {
        self.unauthenticated += 1;
    }

    fn accept<const N: usize>(&mut self, news: &mut Vec<News<N>>) -> io::Result<bool> {
        for _ in 0..NEWS_AT_ONCE {
            if self.reserve.is_none() {
                self.reserve = self.another().ok();
            }
            let accepted = match sockets::accept_own(&self.listener, &mut self.unauthenticated) {
                // What comes with its message finds no descriptor, and the answer says so.
                Err(error) if sockets::is_out_of_files(&error) && self.reserve.take().is_some() => {
                    sockets::accept_own(&self.listener, &mut self.unauthenticated)
                }
                other => other,
            };
            let connection = match accepted {
                Ok(connection) => connection,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            // Nearly always the first message is there already.
            if let Err(connection) = self.greet(connection, news) {
                if self.greeters.len() == GREETERS
                    && let Some((_, oldest)) = self.greeters.pop_front()
                    // It may have spoken since it was last heard.
                    && self.greet(oldest, news).is_err()
                {
                    self.unauthenticated += 1;
                }
                self.add(&connection, self.next_greeter)?;
                self.greeters.push_back((self.next_greeter, connection));
                self.next_greeter += 1; // 2⁶³ of them do not come
            }
        }
        Ok(true)
    }

    fn hear<const N: usize>(&mut self, number: u64, news: &mut Vec<News<N>>) {
        let Some(at) = self.greeters.iter().position(|(greeter, _)| *greeter == number) else { return };
        let Some((_, connection)) = self.greeters.remove(at) else { return };
        if let Err(connection) = self.greet(connection, news) {
            self.greeters.insert(at, (number, connection));
        }
    }

    /// Takes the first message of a connection; gives the connection back when there is none yet.
    fn greet<const N: usize>(&mut self, connection: OwnedFd, news: &mut Vec<News<N>>) -> Result<(), OwnedFd> {
        match sockets::receive::<N>(&connection) {
            Ok(message) if !message.bytes().is_empty() => {
                // It is watched anew under a number of its own, once it is known whose it is. Not to be there is fine.
                let _ = epoll::delete(&self.watch, &connection);
                news.push(News::Greeting(connection, message));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(connection),
            Ok(_) | Err(_) => self.unauthenticated += 1,
        }
        Ok(())
    }

    /// A descriptor of no use.
    fn another(&self) -> io::Result<OwnedFd> {
        self.watch.try_clone()
    }

    fn add(&self, source: &OwnedFd, number: u64) -> io::Result<()> {
        Ok(epoll::add(&self.watch, source, EventData::new_u64(number), EventFlags::IN)?)
    }
}

impl AsFd for Reception {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
