//! The launcher's side of PMI-1 as a state machine: lines in, lines out. It owns the key-value space and the barrier.
//!
//! It knows no process and no descriptor; the event loop of [`crate::launch`] feeds it. A line that a PMI-1 client does not send is an error
//! that the job ends with, never a guess.

use super::facts::Said;
use super::{DEATH, KEY_LEN_MAX, Line, LineError, NAME_LEN_MAX, ON_FAILURE_KEY, REPORT, VALUE_LEN_MAX};
use std::collections::HashMap;

/// Most bytes that all ranks may store, per rank: a runtime publishes an address or two.
const STORE_BYTES_PER_RANK: usize = 64 * 1024;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Has not said anything: perhaps no parallel program at all.
    Started,
    /// Has initialized and not finalized.
    Running,
    /// Has finalized.
    Finalized,
    /// Its process is gone.
    Gone,
}

/// What a line means beyond its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The rank asks for the end of the job.
    Abort {
        /// Exit status it asks for.
        code: i32,
        /// Whose failure it is, in the eyes of a rank that fails itself now; an extension of this project.
        because: Option<u32>,
        /// Whether it says that it does so because another rank is lost, whichever it is; likewise.
        follows_a_loss: bool,
    },
    /// The rank has found this one lost; likewise.
    Lost(u32),
    /// The rank waits in vain for this one, which has left; likewise.
    Left(u32),
    /// The rank asks that the job goes on when ranks die; likewise.
    Outlive,
    /// A thread of the rank has waited for long; likewise.
    Stuck,
    /// A part of the rank's answer to [`Server::ask_for_report`]; likewise.
    Said(Said),
}

/// The server of one job.
#[derive(Debug)]
pub struct Server {
    name: String,
    universe: u32,
    pairs: HashMap<String, String>,
    stored_bytes: usize,
    phases: Vec<Phase>,
    waiting: Vec<bool>,
    /// Ranks that want to learn of deaths.
    watching: Vec<bool>,
    /// Ranks that answer when they are asked what they wait for.
    listening: Vec<bool>,
    dead: Vec<Line>,
    /// A rank has begun to leave a job that ends with the first death: all of them leave so.
    has_to_end: bool,
    /// Ranks of each program of the job, in order.
    programs: Vec<u32>,
}

/// Lines to send, each to a rank.
pub type Answers = Vec<(u32, Line)>;

impl Server {
    /// A server for ranks `0..size`; `name` is that of the key-value space, `pairs` what it holds from the start.
    pub fn new(name: &str, size: u32, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            name: name.to_owned(),
            universe: size,
            pairs: pairs.into_iter().collect(),
            stored_bytes: 0,
            phases: vec![Phase::Started; size as usize],
            waiting: vec![false; size as usize],
            watching: vec![false; size as usize],
            listening: vec![false; size as usize],
            dead: Vec::new(),
            has_to_end: false,
            programs: vec![size],
        }
    }

    /// The same for a job of several programs, which have so many ranks each.
    pub fn with_programs(mut self, programs: Vec<u32>) -> Self {
        self.programs = programs;
        self
    }

    /// How far a rank has come.
    pub fn phase(&self, rank: u32) -> Phase {
        self.phases[rank as usize]
    }

    /// Takes one line of a rank, without its newline.
    ///
    /// # Errors
    /// When the line is not what a PMI-1 client sends in this phase.
    pub fn handle(&mut self, rank: u32, line: &[u8]) -> Result<(Answers, Event), LineError> {
        let line = Line::parse(line)?;
        let phase = self.phase(rank);
        match (line.command(), phase) {
            ("init", Phase::Started) => return Ok((self.init(rank, &line)?, Event::None)),
            ("abort", Phase::Started | Phase::Running) => {
                let because = match line.get("because") {
                    Some(_) => Some(line.number("because")?),
                    None => None,
                };
                let (code, follows_a_loss) = (line.number("exitcode")?, line.get("after") == Some("loss"));
                return Ok((Vec::new(), Event::Abort { code, because, follows_a_loss }));
            }
            ("lost", Phase::Running | Phase::Finalized) => {
                return Ok((Vec::new(), Event::Lost(line.number("rank")?)));
            }
            ("left", Phase::Running | Phase::Finalized) => {
                return Ok((Vec::new(), Event::Left(line.number("rank")?)));
            }
            // Threads of a rank answer while another one ends its part.
            ("stuck", Phase::Running | Phase::Finalized) => return Ok((Vec::new(), Event::Stuck)),
            (command, Phase::Running | Phase::Finalized) if Said::is_one(command) => {
                let said = Said::parse(&line, self.phases.len() as u32)?;
                return Ok((Vec::new(), Event::Said(said)));
            }
            (_, Phase::Running) => {}
            (command, _) => {
                return Err(LineError::new(format!("command {command:?} {}", place(phase))));
            }
        }
        let answer = match line.command() {
            "get_maxes" => Line::new("maxes")
                .with("rc", 0)
                .with("kvsname_max", NAME_LEN_MAX)
                .with("keylen_max", KEY_LEN_MAX)
                .with("vallen_max", VALUE_LEN_MAX),
            "get_appnum" => Line::new("appnum").with("rc", 0).with("appnum", self.program(rank)),
            "get_my_kvsname" => Line::new("my_kvsname").with("rc", 0).with("kvsname", &self.name),
            "get_universe_size" => Line::new("universe_size").with("rc", 0).with("size", self.universe),
            "put" => self.put(&line)?,
            "get" => self.get(&line)?,
            "listen" => {
                self.listening[rank as usize] = true;
                Line::new("listening").with("rc", 0)
            }
            "watch" => return Ok((self.watch(rank), Event::None)),
            "outlive" => {
                let event = if self.has_to_end { Event::None } else { Event::Outlive };
                if event == Event::Outlive {
                    self.pairs.insert(ON_FAILURE_KEY.to_owned(), "continue".to_owned());
                }
                return Ok((vec![(rank, self.then("outliving"))], event));
            }
            // The ranks leave by one meeting, of a kind that this decides.
            "leave" => {
                let answer = self.then("leaving");
                self.has_to_end |= answer.get("then") != Some("continue");
                answer
            }
            "barrier_in" => return Ok((self.enter_barrier(rank)?, Event::None)),
            "finalize" => {
                self.phases[rank as usize] = Phase::Finalized;
                let mut answers = vec![(rank, Line::new("finalize_ack").with("rc", 0))];
                answers.extend(self.end_barrier());
                return Ok((answers, Event::None));
            }
            other => return Err(LineError::new(format!("unknown command {other:?}"))),
        };
        Ok((vec![(rank, answer)], Event::None))
    }

    /// An answer that says what the death of a rank means for the others.
    fn then(&self, command: &str) -> Line {
        let then = self.pairs.get(ON_FAILURE_KEY).map_or("end", String::as_str);
        Line::new(command).with("rc", 0).with("then", then)
    }

    /// Takes note that a rank's process is gone: barriers do not wait for it any more.
    pub fn gone(&mut self, rank: u32) -> Answers {
        self.phases[rank as usize] = Phase::Gone;
        self.waiting[rank as usize] = false;
        self.end_barrier()
    }

    /// Takes note that a rank has died, perhaps with its host, and notifies the ranks that watch.
    pub fn died(&mut self, rank: u32, host_is_lost: bool) -> Answers {
        let death = death(rank, host_is_lost);
        self.dead.push(death.clone());
        let is_notified =
            |other: &u32| self.watching[*other as usize] && self.phase(*other) == Phase::Running;
        (0..self.phases.len() as u32).filter(is_notified).map(|other| (other, death.clone())).collect()
    }

    /// Asks all ranks that answer what they wait for, in the report of this number.
    pub fn ask_for_report(&self, number: u64) -> Answers {
        let line = Line::new(REPORT).with("number", number);
        let answers = |rank: &u32| self.listening[*rank as usize] && self.phase(*rank) == Phase::Running;
        (0..self.phases.len() as u32).filter(answers).map(|rank| (rank, line.clone())).collect()
    }

    /// Whether a rank waits in a barrier of the launcher.
    pub fn is_meeting(&self, rank: u32) -> bool {
        self.waiting[rank as usize]
    }

    /// Whether any rank answers when it is asked.
    pub fn has_listeners(&self) -> bool {
        self.listening.contains(&true)
    }

    /// A rank wants to learn of deaths, past and to come; an extension of this project.
    fn watch(&mut self, rank: u32) -> Answers {
        self.watching[rank as usize] = true;
        let known = self.dead.iter().map(|death| (rank, death.clone()));
        std::iter::once((rank, Line::new("watching").with("rc", 0))).chain(known).collect()
    }

    /// The number of the program that a rank runs.
    fn program(&self, rank: u32) -> usize {
        let mut end = 0;
        let is_over = |ranks: &&u32| {
            end += **ranks;
            end <= rank
        };
        self.programs.iter().take_while(is_over).count()
    }

    fn init(&mut self, rank: u32, line: &Line) -> Result<Answers, LineError> {
        let (version, subversion): (u32, u32) = (line.number("pmi_version")?, line.number("pmi_subversion")?);
        let rc = if version == 1 { 0 } else { -1 };
        if rc == 0 {
            self.phases[rank as usize] = Phase::Running;
        }
        let answer = Line::new("response_to_init")
            .with("pmi_version", 1)
            .with("pmi_subversion", subversion.min(1))
            .with("rc", rc);
        Ok(vec![(rank, answer)])
    }

    fn put(&mut self, line: &Line) -> Result<Line, LineError> {
        let (key, value) = (line.require("key")?, line.require("value")?);
        let failed = |why: &str| Line::new("put_result").with("rc", -1).with("msg", why);
        if line.require("kvsname")? != self.name {
            return Ok(failed("unknown_kvsname"));
        }
        if key.len() > KEY_LEN_MAX || value.len() > VALUE_LEN_MAX {
            return Ok(failed("key_or_value_too_long"));
        }
        if self.pairs.contains_key(key) {
            return Ok(failed(&format!("duplicate_key_{key}")));
        }
        let bytes = self.stored_bytes + key.len() + value.len();
        if bytes > STORE_BYTES_PER_RANK * self.phases.len() {
            return Ok(failed("key_value_space_full"));
        }
        self.stored_bytes = bytes;
        self.pairs.insert(key.to_owned(), value.to_owned());
        Ok(Line::new("put_result").with("rc", 0).with("msg", "success"))
    }

    fn get(&self, line: &Line) -> Result<Line, LineError> {
        let key = line.require("key")?;
        let result = Line::new("get_result");
        if line.require("kvsname")? != self.name {
            return Ok(result.with("rc", -1).with("msg", "unknown_kvsname").with("value", "unknown"));
        }
        Ok(match self.pairs.get(key) {
            Some(value) => result.with("rc", 0).with("msg", "success").with("value", value),
            None => {
                result.with("rc", -1).with("msg", format!("key_{key}_not_found")).with("value", "unknown")
            }
        })
    }

    fn enter_barrier(&mut self, rank: u32) -> Result<Answers, LineError> {
        if std::mem::replace(&mut self.waiting[rank as usize], true) {
            return Err(LineError::new("barrier_in twice without an answer between"));
        }
        Ok(self.end_barrier())
    }

    /// Answers all ranks in the barrier, if none is missing.
    fn end_barrier(&mut self) -> Answers {
        let missing =
            |(phase, waiting): (&Phase, &bool)| !waiting && matches!(phase, Phase::Started | Phase::Running);
        if self.phases.iter().zip(&self.waiting).any(missing) {
            return Vec::new();
        }
        let waiting = self.waiting.iter_mut().enumerate().filter(|(_, waiting)| **waiting);
        waiting
            .map(|(rank, waiting)| {
                *waiting = false;
                (rank as u32, Line::new("barrier_out").with("rc", 0))
            })
            .collect()
    }
}

fn death(rank: u32, host_is_lost: bool) -> Line {
    let line = Line::new(DEATH).with("rank", rank);
    if host_is_lost { line.with("host", "lost") } else { line }
}

fn place(phase: Phase) -> &'static str {
    match phase {
        Phase::Started => "before init",
        Phase::Running => "while running",
        Phase::Finalized => "after finalize",
        Phase::Gone => "after its end",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(size: u32) -> Server {
        Server::new("kvs", size, [("given".to_owned(), "1".to_owned())])
    }

    fn ask(server: &mut Server, rank: u32, line: &str) -> String {
        let (answers, event) = server.handle(rank, line.as_bytes()).unwrap();
        assert_eq!(event, Event::None);
        answers.iter().map(|(to, line)| format!("{to}:{line};")).collect()
    }

    const INIT: &str = "cmd=init pmi_version=1 pmi_subversion=1";

    #[test]
    fn the_simple_conversation() {
        let mut server = server(1);
        for (ask_for, expected) in [
            (INIT, "0:cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0;"),
            ("cmd=get_maxes", "0:cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024;"),
            ("cmd=get_appnum", "0:cmd=appnum rc=0 appnum=0;"),
            ("cmd=get_my_kvsname", "0:cmd=my_kvsname rc=0 kvsname=kvs;"),
            ("cmd=get_universe_size", "0:cmd=universe_size rc=0 size=1;"),
            ("cmd=put kvsname=kvs key=a value=b", "0:cmd=put_result rc=0 msg=success;"),
            ("cmd=put kvsname=kvs key=a value=c", "0:cmd=put_result rc=-1 msg=duplicate_key_a;"),
            ("cmd=put kvsname=other key=x value=c", "0:cmd=put_result rc=-1 msg=unknown_kvsname;"),
            ("cmd=get kvsname=kvs key=a", "0:cmd=get_result rc=0 msg=success value=b;"),
            ("cmd=get kvsname=kvs key=given", "0:cmd=get_result rc=0 msg=success value=1;"),
            ("cmd=get kvsname=kvs key=z", "0:cmd=get_result rc=-1 msg=key_z_not_found value=unknown;"),
            ("cmd=barrier_in", "0:cmd=barrier_out rc=0;"),
            ("cmd=finalize", "0:cmd=finalize_ack rc=0;"),
        ] {
            assert_eq!(ask(&mut server, 0, ask_for), expected);
        }
        assert_eq!(server.phase(0), Phase::Finalized);
    }

    #[test]
    fn ranks_know_which_program_of_the_job_they_run() {
        let mut server = server(4).with_programs(vec![1, 2, 1]);
        for (rank, program) in [0, 1, 1, 2].into_iter().enumerate() {
            ask(&mut server, rank as u32, INIT);
            let answer = format!("{rank}:cmd=appnum rc=0 appnum={program};");
            assert_eq!(ask(&mut server, rank as u32, "cmd=get_appnum"), answer);
        }
    }

    #[test]
    fn a_barrier_waits_for_all_that_can_still_come() {
        let mut server = server(3);
        for rank in 0..3 {
            ask(&mut server, rank, INIT);
        }
        assert_eq!(ask(&mut server, 1, "cmd=barrier_in"), "");
        assert_eq!(ask(&mut server, 0, "cmd=barrier_in"), "");
        let out = "0:cmd=barrier_out rc=0;1:cmd=barrier_out rc=0;2:cmd=barrier_out rc=0;";
        assert_eq!(ask(&mut server, 2, "cmd=barrier_in"), out);
        assert_eq!(ask(&mut server, 1, "cmd=barrier_in"), "");
        assert_eq!(ask(&mut server, 2, "cmd=finalize"), "2:cmd=finalize_ack rc=0;");
        assert_eq!(server.gone(0), [(1, Line::new("barrier_out").with("rc", 0))]);
    }

    #[test]
    fn any_rank_that_asks_for_it_makes_the_job_go_on() {
        let mut server = Server::new("kvs", 2, [(ON_FAILURE_KEY.to_owned(), "end".to_owned())]);
        (0..2).for_each(|rank| drop(ask(&mut server, rank, INIT)));
        let (answers, event) = server.handle(1, b"cmd=outlive").unwrap();
        assert_eq!((answers.len(), answers[0].0, event), (1, 1, Event::Outlive));
        let get = format!("cmd=get kvsname=kvs key={ON_FAILURE_KEY}");
        assert!(ask(&mut server, 0, &get).contains("value=continue"));
        assert_eq!(ask(&mut server, 0, "cmd=leave"), "0:cmd=leaving rc=0 then=continue;");
    }

    #[test]
    fn a_request_for_it_after_a_rank_leaves_comes_too_late() {
        let mut server = Server::new("kvs", 2, [(ON_FAILURE_KEY.to_owned(), "end".to_owned())]);
        (0..2).for_each(|rank| drop(ask(&mut server, rank, INIT)));
        assert_eq!(ask(&mut server, 0, "cmd=leave"), "0:cmd=leaving rc=0 then=end;");
        let (answers, event) = server.handle(1, b"cmd=outlive").unwrap();
        assert_eq!((answers[0].1.get("then"), event), (Some("end"), Event::None));
        assert_eq!(ask(&mut server, 1, "cmd=leave"), "1:cmd=leaving rc=0 then=end;");
    }

    #[test]
    fn a_watching_rank_learns_of_all_deaths() {
        let mut server = server(3);
        for rank in 0..3 {
            ask(&mut server, rank, INIT);
        }
        assert_eq!(ask(&mut server, 0, "cmd=watch"), "0:cmd=watching rc=0;");
        assert_eq!(server.died(2, false), [(0, Line::new("death").with("rank", 2))]);
        assert_eq!(ask(&mut server, 1, "cmd=watch"), "1:cmd=watching rc=0;1:cmd=death rank=2;");
        ask(&mut server, 0, "cmd=finalize");
        assert_eq!(server.died(1, true), [(1, Line::new("death").with("rank", 1).with("host", "lost"))]);
    }

    #[test]
    fn what_a_client_does_not_send_is_an_error() {
        let hostile = [
            "",
            "x",
            "cmd=get_maxes",
            "cmd=init",
            "cmd=init pmi_version=x pmi_subversion=1",
            "mcmd=spawn",
            "cmd=abort",
        ];
        for line in hostile {
            assert!(server(1).handle(0, line.as_bytes()).is_err(), "{line}");
        }
        let hostile_later = [
            INIT,
            "cmd=nothing",
            "cmd=put kvsname=kvs key=a",
            "cmd=put key=a value=b",
            "cmd=get kvsname=kvs",
            "cmd=get key=a",
            "cmd=abort exitcode=x",
        ];
        for line in hostile_later {
            let mut server = server(2);
            ask(&mut server, 0, INIT);
            assert!(server.handle(0, line.as_bytes()).is_err(), "{line}");
        }
        let mut server = server(2);
        ask(&mut server, 0, INIT);
        ask(&mut server, 0, "cmd=barrier_in");
        assert!(server.handle(0, b"cmd=barrier_in").is_err());
        let (_, event) = server.handle(0, b"cmd=abort exitcode=3").unwrap();
        assert_eq!(event, Event::Abort { code: 3, because: None, follows_a_loss: false });
        let (_, event) = server.handle(0, b"cmd=abort exitcode=3 after=loss").unwrap();
        assert_eq!(event, Event::Abort { code: 3, because: None, follows_a_loss: true });
        assert_eq!(server.handle(0, b"cmd=lost rank=1").unwrap().1, Event::Lost(1));
        assert!(server.handle(0, b"cmd=lost").is_err());
        assert_eq!(server.handle(0, b"cmd=left rank=1").unwrap().1, Event::Left(1));
        assert!(server.handle(0, b"cmd=left").is_err());
        let (_, event) = server.handle(0, b"cmd=abort exitcode=1 because=7").unwrap();
        assert_eq!(event, Event::Abort { code: 1, because: Some(7), follows_a_loss: false });
        assert!(server.handle(0, b"cmd=abort exitcode=1 because=me").is_err());
    }

    #[test]
    fn another_version_is_refused_and_the_store_is_bounded() {
        let mut server = server(1);
        let refusal = "0:cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1;";
        assert_eq!(ask(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=7"), refusal);
        ask(&mut server, 0, INIT);
        let long = "k".repeat(KEY_LEN_MAX + 1);
        let answer = ask(&mut server, 0, &format!("cmd=put kvsname=kvs key={long} value=1"));
        assert!(answer.contains("too_long"), "{answer}");
        let value = "v".repeat(VALUE_LEN_MAX);
        let full = (0..100).find(|i| {
            ask(&mut server, 0, &format!("cmd=put kvsname=kvs key={i} value={value}")).contains("full")
        });
        assert_eq!(full, Some(63));
    }
}
