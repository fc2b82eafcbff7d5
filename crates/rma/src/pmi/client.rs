//! The rank's side of PMI-1: the connection to whatever launched this process.
//!
//! Look-ups are made when they are needed, one at a time, and block for at most a configured time. The descriptor can be
//! waited on ([`AsFd`]): an end of stream means that the launcher is gone. Works with any launcher that speaks PMI-1 over
//! an inherited descriptor (`PMI_FD`) or a port (`PMI_PORT`). Knows no channel and no secret.

use super::agreed::JOB_PREFIX;
use super::inherited;
use super::line::{Line, is_legal};
use super::notices::NoticeHandler;
use super::wire::{Beside, Voice, Wire, failed, malformed};
use parking_lot::Mutex;
use rma_core::Result;
use rma_core::descriptors::with_streams_taken;
use rustix::event::PollFlags;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a wait beside the questions of other threads sleeps before it looks whether they have read its answer.
const LOOK: Duration = Duration::from_millis(20);

/// How long a launcher may take to end a process that has asked it to end the job.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

/// A rank's connection to its launcher.
#[derive(Debug)]
pub struct Client {
    rank: u32,
    size: u32,
    kvsname: String,
    key_len_max: usize,
    value_len_max: usize,
    limit: Duration,
    voice: Voice,
    wire: Mutex<Wire>,
}

impl Client {
    /// Connects to the launcher that the environment names, through `look_up`; `None` when it names none.
    ///
    /// # Errors
    /// When the environment names a launcher incompletely, or it does not answer as PMI-1 says within `limit`.
    pub fn from_environment(
        look_up: &dyn Fn(&str) -> Option<String>,
        limit: Duration,
    ) -> Result<Option<Self>> {
        let number = |name: &str| -> Result<u32> {
            let text = look_up(name).ok_or_else(|| failed(format!("the launcher did not set {name}")))?;
            text.parse().map_err(|_| failed(format!("{name} is set to {text:?}, but a number is needed")))
        };
        if look_up("PMI_FD").is_some() {
            let (rank, size) = (number("PMI_RANK")?, number("PMI_SIZE")?);
            let fd = number("PMI_FD")?;
            let stream =
                inherited::adopt(fd).map_err(|cause| failed(format!("PMI_FD is {fd}, but {cause}")))?;
            return Self::new(stream, rank, size, limit).map(Some);
        }
        if let Some(port) = look_up("PMI_PORT") {
            let id = number("PMI_ID")?;
            let stream = with_streams_taken(|| TcpStream::connect(&port))
                .map_err(|cause| failed(format!("cannot connect to PMI_PORT {port:?}: {cause}")))?;
            return Self::from_port(stream.into(), id, limit).map(Some);
        }
        if look_up("PMI_RANK").is_some() && look_up("PMI_SIZE").is_some_and(|size| size != "1") {
            return Err(failed(
                "PMI_RANK is set, but neither PMI_FD nor PMI_PORT says where the launcher is",
            ));
        }
        Ok(None)
    }

    /// Introduces itself over a connected stream.
    ///
    /// # Errors
    /// When the launcher does not answer as PMI-1 says within `limit`.
    pub fn new(stream: OwnedFd, rank: u32, size: u32, limit: Duration) -> Result<Self> {
        let wire = Wire::new(stream);
        Self::introduce(wire, rank, size, limit)
    }

    /// The `PMI_PORT` variant: the launcher tells rank and size over the stream.
    ///
    /// # Errors
    /// As for [`Client::new`].
    pub fn from_port(stream: OwnedFd, id: u32, limit: Duration) -> Result<Self> {
        let mut wire = Wire::new(stream);
        let deadline = Instant::now() + limit;
        wire.send(&Line::new("initack").with("pmiid", id), deadline)?;
        wire.receive("initack", Some(deadline))?;
        let mut number_of = |key: &str| -> Result<u32> {
            wire.receive("set", Some(deadline))?.number(key).map_err(malformed)
        };
        let (size, rank) = (number_of("size")?, number_of("rank")?);
        let _debug = number_of("debug")?;
        Self::introduce(wire, rank, size, limit)
    }

    fn introduce(mut wire: Wire, rank: u32, size: u32, limit: Duration) -> Result<Self> {
        if rank >= size {
            return Err(failed(format!("the launcher says rank {rank} of {size}")));
        }
        let deadline = Instant::now() + limit;
        let hello = Line::new("init").with("pmi_version", 1).with("pmi_subversion", 1);
        let answer = wire.ask(&hello, "response_to_init", Some(deadline))?;
        let version = answer.number::<u32>("pmi_version").map_err(malformed)?;
        if version != 1 || answer.get("rc").is_some_and(|rc| rc != "0") {
            return Err(failed(format!("the launcher does not speak PMI-1: {answer}")));
        }
        let maxes = wire.ask(&Line::new("get_maxes"), "maxes", Some(deadline))?;
        let limit_of = |key: &str| maxes.number::<usize>(key).map_err(malformed);
        let (key_len_max, value_len_max) = (limit_of("keylen_max")?, limit_of("vallen_max")?);
        let name = wire.ask(&Line::new("get_my_kvsname"), "my_kvsname", Some(deadline))?;
        Ok(Self {
            rank,
            size,
            kvsname: name.require("kvsname").map_err(malformed)?.to_owned(),
            key_len_max,
            value_len_max,
            limit,
            voice: wire.voice.clone(),
            wire: Mutex::new(wire),
        })
    }

    /// This process's rank in the job.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Name of the job, unique on its machines.
    pub fn job(&self) -> &str {
        &self.kvsname
    }

    /// Publishes a value; others see it after the next [`Client::barrier`] at the latest.
    ///
    /// # Errors
    /// When key or value are too long or not printable, or the launcher refuses.
    pub fn put(&self, key: &str, value: &str) -> Result<()> {
        for (what, text, max) in [("key", key, self.key_len_max), ("value", value, self.value_len_max)] {
            if text.is_empty() || text.len() > max || !is_legal(text) {
                return Err(failed(format!(
                    "{what} {text:?} has to be printable, without spaces, and of 1 to {max} bytes"
                )));
            }
        }
        let put = Line::new("put").with("kvsname", &self.kvsname).with("key", key).with("value", value);
        let answer = self.ask(&put, "put_result")?;
        match answer.get("rc") {
            Some("0") => Ok(()),
            _ => Err(failed(format!("the launcher refused to store {key}: {answer}"))),
        }
    }

    /// Looks a value up; `None` when it was not published.
    ///
    /// # Errors
    /// When the launcher does not answer in time, or not as PMI-1 says.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        let get = Line::new("get").with("kvsname", &self.kvsname).with("key", key);
        let answer = self.ask(&get, "get_result")?;
        match answer.get("rc") {
            Some("0") | None => Ok(Some(answer.require("value").map_err(malformed)?.to_owned())),
            Some(_) => Ok(None),
        }
    }

    /// Meets all ranks of the job, however late they are.
    ///
    /// # Errors
    /// When the launcher is gone, or does not answer as PMI-1 says.
    pub fn barrier(&self) -> Result<()> {
        self.wire.lock().ask(&Line::new("barrier_in"), "barrier_out", None).map(drop)
    }

    /// As [`Client::barrier`], while other threads put and get.
    ///
    /// # Errors
    /// As for [`Client::barrier`].
    pub fn barrier_beside(&self) -> Result<()> {
        self.wire.lock().beside = Beside::Entered;
        self.say(&Line::new("barrier_in"))?;
        while !self.wire.lock().is_barrier_over()? {
            // A thread that asks meanwhile may read the end of the barrier, so the wait is short, however it
            // ends.
            let _ = self.voice.wait(PollFlags::IN, Some(Instant::now() + LOOK), "barrier_out");
        }
        Ok(())
    }

    /// Tells the launcher that this rank will end in order.
    ///
    /// # Errors
    /// When the launcher does not answer in time, or not as PMI-1 says.
    pub fn finalize(&self) -> Result<()> {
        self.ask(&Line::new("finalize"), "finalize_ack").map(drop)
    }

    /// Whether the launcher is this project's own, which takes more than PMI-1 has: [`Client::tell_lost`], [`Client::tell_left`],
    /// [`Client::abort_after_loss`], [`Client::fail`], [`Client::outlive`], [`Client::tell_stuck`]. Others
    /// get none of that.
    pub fn is_own(&self) -> bool {
        self.kvsname.starts_with(JOB_PREFIX)
    }

    /// Tells the launcher that this rank has found another one lost, before anything that this rank does because of it: then
    /// the launcher knows whose failure comes first. Waits for no answer.
    ///
    /// # Errors
    /// When the launcher is gone already.
    pub fn tell_lost(&self, rank: u32) -> Result<()> {
        self.say(&Line::new("lost").with("rank", rank))
    }

    /// As [`Client::tell_lost`], of a rank that has ended its part, in the job or in a collective, while this one waits for it.
    ///
    /// # Errors
    /// As for [`Client::tell_lost`].
    pub fn tell_left(&self, rank: u32) -> Result<()> {
        self.say(&Line::new("left").with("rank", rank))
    }

    /// Asks the launcher to end the job with this exit status. It does not answer, but ends this process too.
    /// That is waited for: the other ranks fail when they see a process end by itself, and the launcher may
    /// hear of their failures first. Returns when it leaves this process alive, or is gone.
    ///
    /// # Errors
    /// When the launcher is gone already.
    pub fn abort(&self, code: i32) -> Result<()> {
        self.abort_by(&Line::new("abort").with("exitcode", code))
    }

    /// As [`Client::abort`], because another rank is lost: the launcher names that one, whichever it is.
    ///
    /// # Errors
    /// As for [`Client::abort`].
    pub fn abort_after_loss(&self, code: i32) -> Result<()> {
        self.abort_by(&Line::new("abort").with("exitcode", code).with("after", "loss"))
    }

    fn abort_by(&self, line: &Line) -> Result<()> {
        self.say(line)?;
        self.voice.outlast(Instant::now() + ABORT_LIMIT);
        Ok(())
    }

    /// Tells the launcher that this rank is about to fail, and because of whose failure: perhaps its own. The job ends as
    /// after [`Client::abort`], but the rank that is the cause is named.
    ///
    /// # Errors
    /// As for [`Client::abort`].
    pub fn fail(&self, code: i32, because: u32) -> Result<()> {
        self.say(&Line::new("abort").with("exitcode", code).with("because", because))
    }

    /// Asks the launcher to let the job go on when a rank dies; says whether it will.
    ///
    /// # Errors
    /// When the launcher does not answer as agreed.
    pub fn outlive(&self) -> Result<bool> {
        self.ask_what_then("outlive", "outliving")
    }

    /// Tells the launcher that this rank is about to meet the others for the last time; says whether it does
    /// so as one of the living, in a job that goes on when a rank dies. All ranks of a job get the same
    /// answer.
    ///
    /// # Errors
    /// As for [`Client::outlive`].
    pub(crate) fn leave(&self) -> Result<bool> {
        self.ask_what_then("leave", "leaving")
    }

    fn ask_what_then(&self, question: &str, answer: &str) -> Result<bool> {
        Ok(self.ask(&Line::new(question), answer)?.get("then") == Some("continue"))
    }

    /// Tells the launcher that a thread of this rank has waited for long: it asks all ranks what for. Says
    /// whether that was sent.
    pub fn tell_stuck(&self) -> bool {
        /// The engine waits meanwhile, and a launcher that lives reads at once.
        const LIMIT: Duration = Duration::from_millis(100);
        self.voice.send(&Line::new("stuck"), Instant::now() + LIMIT).is_ok()
    }

    /// Sends a line without waiting for a thread that waits for an answer.
    pub(crate) fn say(&self, line: &Line) -> Result<()> {
        self.voice.send(line, Instant::now() + self.limit)
    }

    pub(crate) fn stream(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.voice.stream)
    }

    pub(super) fn set_watch(&self, on_notice: NoticeHandler) {
        self.wire.lock().on_notice = Some(on_notice);
    }

    /// Reads what has come without being asked for; says whether more may come.
    pub(crate) fn read_notices(&self) -> bool {
        self.wire.lock().drain().is_ok()
    }

    pub(super) fn ask(&self, question: &Line, answer: &str) -> Result<Line> {
        self.wire.lock().ask(question, answer, Some(Instant::now() + self.limit))
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.voice.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::{Event, Server};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Serves the other end of every stream with a real server, in a thread.
    fn serve(ends: Vec<UnixStream>) -> thread::JoinHandle<Server> {
        thread::spawn(move || {
            let server = Mutex::new(Server::new("kvs", ends.len() as u32, []));
            let outs: Vec<_> = ends.iter().map(|end| Mutex::new(end.try_clone().unwrap())).collect();
            thread::scope(|scope| {
                for (rank, end) in ends.iter().enumerate() {
                    let (server, outs) = (&server, &outs);
                    scope.spawn(move || {
                        for line in BufReader::new(end).lines() {
                            let mut server = server.lock();
                            let (answers, event) =
                                server.handle(rank as u32, line.unwrap().as_bytes()).unwrap();
                            assert!(event == Event::None || answers.is_empty());
                            for (to, line) in answers {
                                outs[to as usize].lock().write_all(&line.to_bytes()).unwrap();
                            }
                        }
                    });
                }
            });
            server.into_inner()
        })
    }

    #[test]
    fn ranks_find_each_others_values() {
        for size in [1, 2, 5] {
            let (ours, theirs): (Vec<_>, Vec<_>) = (0..size).map(|_| UnixStream::pair().unwrap()).unzip();
            let server = serve(theirs);
            thread::scope(|scope| {
                for (rank, stream) in ours.into_iter().enumerate() {
                    scope.spawn(move || {
                        let rank = rank as u32;
                        let client = Client::new(stream.into(), rank, size, LIMIT).unwrap();
                        assert_eq!((client.rank(), client.size()), (rank, size));
                        client.put(&format!("a{rank}"), &format!("value={rank}")).unwrap();
                        client.barrier().unwrap();
                        for other in 0..size {
                            let value = client.get(&format!("a{other}")).unwrap();
                            assert_eq!(value, Some(format!("value={other}")));
                        }
                        assert_eq!(client.get("a-unknown").unwrap(), None);
                        assert!(client.put("a", "b c").is_err());
                        assert!(client.put("", "b").is_err());
                        assert!(client.put("a", &"x".repeat(1025)).is_err());
                        client.barrier().unwrap();
                        client.finalize().unwrap();
                    });
                }
            });
            server.join().unwrap();
        }
    }

    /// A launcher that says this whatever it is asked, and hangs up when the second value is dropped.
    fn canned(answers: &'static [u8]) -> (Result<Client>, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(answers).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        (Client::new(ours.into(), 0, 1, LIMIT), theirs)
    }

    #[test]
    fn hostile_answers_are_errors() {
        for (answers, why) in [
            (&b""[..], "gone"),
            (b"cmd=respo", "gone"),
            (b"\n", "does not speak"),
            (b"cmd=maxes\n", "was due"),
            (b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", "does not speak"),
            (b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n", "does not speak"),
            (b"cmd=response_to_init pmi_version=1 rc=0\ncmd=maxes keylen_max=x\n", "does not speak"),
            (b"cmd=response_to_init pmi_version=1 rc=0\ncmd=maxes\xff\n", "does not speak"),
        ] {
            let error = canned(answers).0.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn other_launchers_leave_fields_out_or_add_some() {
        let (client, _theirs) = canned(
            b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n\
              cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n\
              cmd=my_kvsname kvsname=k.1\n\
              cmd=get_result value=v\n\
              cmd=get_result rc=0 msg=success value=(vector,(0,1,4))\n",
        );
        let client = client.unwrap();
        assert_eq!(client.get("x").unwrap().as_deref(), Some("v"));
        assert_eq!(client.get("x").unwrap().as_deref(), Some("(vector,(0,1,4))"));
        assert!(client.get("x").is_err());
    }

    /// The end of a barrier comes before or behind the answer to another question.
    #[test]
    fn a_barrier_beside_other_questions_ends() {
        const START: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n\
                             cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=my_kvsname kvsname=k\n";
        let (out, value) = ("cmd=barrier_out rc=0\n", "cmd=get_result rc=0 value=v\n");
        for answers in [[out, value].concat(), [value, out].concat()] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(START.as_bytes()).unwrap();
            let client = Client::new(ours.into(), 0, 2, LIMIT).unwrap();
            thread::scope(|scope| {
                let waits = scope.spawn(|| client.barrier_beside());
                while client.wire.lock().beside != Beside::Entered {
                    thread::yield_now();
                }
                let asks = scope.spawn(|| client.get("x"));
                let mut said = BufReader::new(theirs.try_clone().unwrap()).lines();
                said.find(|line| line.as_ref().unwrap().starts_with("cmd=get ")).unwrap().unwrap();
                // All in one piece, so that the reader of one has the other.
                theirs.write_all(answers.as_bytes()).unwrap();
                assert_eq!(asks.join().unwrap().unwrap().as_deref(), Some("v"));
                waits.join().unwrap().unwrap();
            });
        }
    }

    #[test]
    fn a_silent_launcher_is_an_error_after_the_limit() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let begin = Instant::now();
        let error = Client::new(ours.into(), 0, 1, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
        assert!(begin.elapsed() < LIMIT);
    }

    #[test]
    fn the_port_variant_learns_rank_and_size() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs
            .write_all(
                b"cmd=initack\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n\
                  cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n\
                  cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n\
                  cmd=my_kvsname kvsname=k\n",
            )
            .unwrap();
        let client = Client::from_port(ours.into(), 7, LIMIT).unwrap();
        assert_eq!((client.rank(), client.size()), (2, 3));
        let mut first = String::new();
        BufReader::new(theirs).read_line(&mut first).unwrap();
        assert_eq!(first, "cmd=initack pmiid=7\n");
    }

    #[test]
    fn the_environment_names_a_launcher_completely_or_not_at_all() {
        let read = |set: &'static [(&str, &str)]| {
            let find = move |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Client::from_environment(&find, LIMIT)
        };
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]).unwrap().is_none());
        for (set, why) in [
            (&[("PMI_FD", "9")][..], "PMI_RANK"),
            (&[("PMI_FD", "9"), ("PMI_RANK", "0")], "PMI_SIZE"),
            (&[("PMI_FD", "9"), ("PMI_RANK", "x"), ("PMI_SIZE", "1")], "PMI_RANK is set to \"x\""),
            (&[("PMI_FD", "99999"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")], "PMI_FD is 99999"),
            (&[("PMI_PORT", "127.0.0.1:1")], "PMI_ID"),
            (&[("PMI_PORT", "127.0.0.1:1"), ("PMI_ID", "0")], "cannot connect"),
            (&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "neither PMI_FD nor PMI_PORT"),
        ] {
            let error = read(set).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
