//! Jobs of real processes: started by the launcher, ended in time, searched for afterwards.
//!
//! Every process of a job carries a mark in its environment, by which it is found wherever it has got to. A
//! job that does not end in time is killed, and the test fails with a list of the running processes. Settings
//! of the library that the test itself was started with do not reach the job: a test says what it runs with.

use crate::traces::{Processes, Traces};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest that a job may take, unless it says otherwise.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The variable that marks the processes of a job.
pub const MARK: &str = "RMA_TEST_MARK";

/// How long the processes of a job may outlive its launcher.
const AFTERMATH: Duration = Duration::from_secs(5);

/// How often a test looks at what has no event to wait for.
const LOOK: Duration = Duration::from_millis(2);

/// What to run.
#[derive(Debug)]
pub struct Job {
    command: Command,
    mark: String,
    limit: Duration,
}

/// A job that has been started.
#[derive(Debug)]
pub struct Running {
    launcher: Child,
    mark: String,
    begin: Instant,
    limit: Duration,
    traces: Traces,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

/// A job that has ended and left nothing behind.
#[derive(Debug)]
pub struct Ended {
    /// How the launcher ended.
    pub status: ExitStatus,
    /// What came out, where it was text.
    pub stdout: String,
    /// What the launcher and the ranks complained about.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
}

/// A program of this workspace: it lies beside the caller's own, if that is one of them as well, or in the folder above the
/// one that tests lie in; or with the examples there.
///
/// # Panics
/// When it has not been built.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let folders: Vec<_> = test.ancestors().skip(1).take(2).collect();
    let places = folders.iter().flat_map(|folder| [folder.join("examples").join(name), folder.join(name)]);
    let found = places.clone().find(|path| path.is_file());
    let path = found.or_else(|| places.last()).expect("a file lies in a folder");
    assert!(
        path.is_file(),
        "{} is missing: `cargo build --workspace --bins --examples` makes it, `cargo xtask test` does so before the tests",
        path.display()
    );
    path
}

/// Whether this is the pass of the suite with the smallest sizes. Jobs set their sizes themselves, so the tests of
/// processes would do the same once more.
pub fn is_second_pass() -> bool {
    let is_second = std::env::var_os("RMA_TEST_SMALLEST").is_some();
    if is_second {
        println!("nothing to do: jobs set their own sizes, and have run in the first pass");
    }
    is_second
}

impl Job {
    /// `rmarun` with these words.
    pub fn launcher<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Self {
        Self::command(Command::new(program("rmarun"))).words(words)
    }

    /// `ranks` processes of a program of this workspace.
    pub fn new(ranks: u32, name: &str) -> Self {
        Self::launcher(["-n".as_ref(), ranks.to_string().as_ref(), program(name).as_os_str()])
    }

    /// Anything else that ends up running a job.
    pub fn command(mut command: Command) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"RMA_"))
        {
            command.env_remove(name);
        }
        command.env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        Self { command, mark, limit: LIMIT }
    }

    /// Adds words to the command line.
    #[must_use]
    pub fn words<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.args(words);
        self
    }

    /// Adds the words of a line that has no spaces within words.
    #[must_use]
    pub fn line(self, line: &str) -> Self {
        self.words(line.split_whitespace())
    }

    /// Sets variables.
    #[must_use]
    pub fn variables(mut self, variables: &[(&str, &str)]) -> Self {
        self.command.envs(variables.iter().copied());
        self
    }

    /// Sets the longest that the job may take.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// When it does not end in time, or leaves something behind.
    pub fn run(self) -> Ended {
        self.start().finish()
    }

    /// Runs to the end, which must be a good one without complaints.
    ///
    /// # Panics
    /// When it is not.
    pub fn succeed(self) -> Ended {
        let what = format!("{:?}", self.command);
        let ended = self.run();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{what}: {ended:#?}");
        ended
    }

    /// Starts.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn start(mut self) -> Running {
        let traces = Traces::before();
        let mut launcher = self.command.spawn().expect("the launcher starts");
        let (stdout, stderr) = (collect(launcher.stdout.take()), collect(launcher.stderr.take()));
        let (mark, limit) = (self.mark, self.limit);
        Running { launcher, mark, begin: Instant::now(), limit, traces, stdout, stderr }
    }
}

impl Running {
    /// The launcher's process id.
    pub fn launcher(&self) -> u32 {
        self.launcher.id()
    }

    /// The living processes of the job, the launcher included.
    pub fn processes(&self) -> Processes {
        Processes::marked(MARK, &self.mark)
    }

    /// Waits until the job has at least so many ranks, and answers their ranks and process ids.
    ///
    /// # Panics
    /// When the job ends first, or they do not come.
    pub fn wait_for_ranks(&mut self, count: usize) -> Vec<(u32, u32)> {
        loop {
            let ranks = self.processes().ranks();
            if ranks.len() >= count {
                return ranks;
            }
            let ended = self.launcher.try_wait().expect("the launcher is a child");
            assert!(ended.is_none(), "the job has ended with {ranks:?} of {count} ranks: {ended:?}");
            self.check_time();
            thread::sleep(LOOK);
        }
    }

    /// Notes the sockets of the processes that live now, so that the end can look for them; answers how many there are.
    pub fn note_sockets(&mut self) -> usize {
        let processes = self.processes();
        self.traces.note_sockets(&processes)
    }

    /// Whether the launcher has ended.
    ///
    /// # Panics
    /// When the system does not know it.
    pub fn has_ended(&mut self) -> bool {
        self.launcher.try_wait().expect("the launcher is a child").is_some()
    }

    /// Kills what runs.
    pub fn kill(&self) {
        self.processes().kill();
    }

    /// Waits for the end, and for everything of the job to be gone.
    ///
    /// # Panics
    /// When it does not end in time, or leaves something behind.
    pub fn finish(self) -> Ended {
        let (ended, left) = self.end();
        if let Some(left) = left {
            panic!("the launcher ended with {}, but {left}", ended.status);
        }
        ended
    }

    /// Waits for the end; answers also what was left behind, which has been killed, if anything was.
    ///
    /// # Panics
    /// When the job does not end in time.
    pub fn end(mut self) -> (Ended, Option<String>) {
        let status = loop {
            if let Some(status) = self.launcher.try_wait().expect("the launcher is a child") {
                break status;
            }
            self.check_time();
            thread::sleep(LOOK);
        };
        let took = self.begin.elapsed();
        // A process has lost its environment a moment before it has lost its sockets, so both are waited for.
        let until = Instant::now() + AFTERMATH;
        let left = loop {
            let (processes, traces) = (self.processes(), self.traces.left());
            if processes.is_empty() && traces.is_empty() {
                break None;
            }
            if Instant::now() > until {
                processes.kill();
                break Some(format!("left behind {traces:?} and processes:\n{processes}"));
            }
            thread::sleep(LOOK);
        };
        let text = |bytes: JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&bytes.join().expect("the reader does not panic")).into_owned()
        };
        let (stdout, stderr) = (text(self.stdout), text(self.stderr));
        (Ended { status, stdout, stderr, took }, left)
    }

    fn check_time(&self) {
        if self.begin.elapsed() > self.limit {
            let running = self.processes();
            running.kill();
            panic!("the job did not end within {:?}; these were running:\n{running}", self.limit);
        }
    }
}

impl Ended {
    /// Exit status as a shell tells it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default())
    }

    /// The number of one-sided packets that a demo says a channel has carried.
    ///
    /// # Panics
    /// When it does not say.
    pub fn packets(&self, channel: &str) -> u64 {
        let head = format!("one-sided packets over {channel}: ");
        let numbers = self.stdout.lines().filter_map(|line| line.strip_prefix(&head)?.parse().ok());
        let numbers = numbers.collect::<Vec<_>>();
        assert!(numbers.len() == 1, "one line says how many packets went over {channel}: {self:#?}");
        numbers[0]
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // A stream that breaks has ended.
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}
