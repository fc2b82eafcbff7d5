//! Children: how they are started, spoken to, and ended whatever happens to the test.

use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::ids::Peer;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A test that takes longer has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

const PART: &str = "RMA_SHM_TEST_PART";
const JOB: &str = "RMA_SHM_TEST_JOB";
const ME: &str = "RMA_SHM_TEST_ME";
const SIZE: &str = "RMA_SHM_TEST_SIZE";
const BACKING: &str = "RMA_SHM_BACKING";

static JOBS: AtomicU32 = AtomicU32::new(0);

macro_rules! parts {
    ($($part:ident)*) => {
        /// What a child does.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Part {
            $($part,)*
        }

        impl Part {
            /// The part of this process, if it is a child.
            pub(crate) fn from_env() -> Option<Self> {
                match std::env::var(PART).ok()?.as_str() {
                    $(stringify!($part) => Some(Self::$part),)*
                    other => panic!("no part {other}"),
                }
            }
        }
    };
}
parts!(Meet Stream Linger Exchange Tiny);

/// A job's place in the world: its name, and this process's number in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) job: String,
    pub(crate) me: u32,
    pub(crate) size: u32,
    /// What its shared memory is made of.
    pub(crate) backing: String,
}

impl Place {
    /// A new job, seen from one of its processes.
    pub(crate) fn new(me: u32, size: u32) -> Self {
        let job = format!("processes-{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
        Self { job, me, size, backing: "auto".to_owned() }
    }

    /// Of a child.
    pub(crate) fn from_env() -> Self {
        let number = |name| std::env::var(name).unwrap().parse().unwrap();
        let text = |name| std::env::var(name).unwrap();
        Self { job: text(JOB), me: number(ME), size: number(SIZE), backing: text(BACKING) }
    }

    pub(crate) const SECRET: [u8; 32] = [77; 32];

    pub(crate) fn channel(&self) -> std::io::Result<ShmChannel> {
        let mut config = ShmConfig::read(&|name| std::env::var(name).ok()).unwrap();
        let Self { job, me, size, backing } = self.clone();
        config.backing = backing;
        ShmChannel::new(ShmSettings { me: Peer(me), size, job, secret: Self::SECRET, config })
    }
}

/// A child, killed when dropped.
pub(crate) struct Relative {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Relative {
    /// Starts process `me` of the job, with more variables.
    pub(crate) fn start(part: Part, place: &Place, me: u32, variables: &[(&str, &str)]) -> Self {
        let program = std::env::current_exe().unwrap();
        Self::start_as(Command::new(program), part, place, me, variables)
    }

    /// As [`Relative::start`], by a command that runs its arguments.
    pub(crate) fn start_as(
        mut command: Command,
        part: Part,
        place: &Place,
        me: u32,
        variables: &[(&str, &str)],
    ) -> Self {
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
        command.env(PART, format!("{part:?}")).env(JOB, &place.job);
        command.env(ME, me.to_string()).env(SIZE, place.size.to_string());
        command.env(BACKING, &place.backing);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Waits for a line that starts with `word`, and gives the rest of it.
    pub(crate) fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let len = self.stdout.read_line(&mut line).unwrap();
            assert!(len > 0, "a child ended before it said {word:?}");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Lets the child go on from [`listen`].
    pub(crate) fn tell(&mut self) {
        self.stdin.write_all(b"\n").unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the child to end well.
    pub(crate) fn join(mut self) {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return assert!(status.success(), "a child ended with {status}");
            }
            assert!(Instant::now() < deadline, "a child does not end");
            std::thread::sleep(Duration::from_millis(1)); // between two looks at a process that is about to end
        }
    }
}

impl Drop for Relative {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says something to the parent.
pub(crate) fn say(line: &str) {
    // The harness may have begun a line.
    println!("\n{line}");
    std::io::stdout().flush().unwrap();
}

/// Waits for the parent's word.
pub(crate) fn listen() {
    let mut line = String::new();
    let len = std::io::stdin().read_line(&mut line).unwrap();
    assert!(len > 0, "the parent is gone");
}
