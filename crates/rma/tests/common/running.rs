//! Running the launcher in tests: with a time limit, and with a look at what it leaves behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

/// No test may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// A rank that waits as long says what for, in time for the error of a run that does not end.
const WAIT_REPORT: (&str, &str) = ("RMA_WAIT_REPORT", "50");

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.text().lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A launcher that has been started, and the mark by which everything it starts is found.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The command with the variables that it was given.
    command: String,
    mark: String,
    begin: Instant,
}

pub(crate) fn rmarun<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the launcher with arguments that have no spaces, and checks that it leaves nothing behind.
pub(crate) fn run(line: &str) -> Run {
    let rank = env!("CARGO_BIN_EXE_rma-test-rank");
    run_words(line.split_whitespace().map(|word| if word == "RANK" { rank } else { word }))
}

pub(crate) fn run_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Run {
    Running::start(rmarun(words)).finish()
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        static SIGNALS: Once = Once::new();
        // The runner of the tests may ignore some, as nohup does: a process that is started inherits that,
        // but no handler.
        SIGNALS.call_once(|| {
            for signal in [SIGHUP, SIGINT, SIGTERM] {
                let always = Arc::new(AtomicBool::new(true));
                signal_hook::flag::register_conditional_default(signal, always).unwrap();
            }
        });
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let named = format!("{command:?}");
        if command.get_envs().all(|(name, _)| name != WAIT_REPORT.0) {
            command.env(WAIT_REPORT.0, WAIT_REPORT.1);
        }
        let child = command.env("RMA_TEST_MARK", &mark).spawn().unwrap();
        Self { child, command: named, mark, begin: Instant::now() }
    }

    /// Waits for the end, and for everything of the job to be gone.
    pub(crate) fn finish(mut self) -> Run {
        let stdout = collect(self.child.stdout.take());
        let stderr = collect(self.child.stderr.take());
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if self.begin.elapsed() > LIMIT {
                let left = self.processes();
                let _ = self.child.kill();
                let _ = self.child.wait();
                self.assert_nothing_is_left();
                let said =
                    [stdout, stderr].map(|said| String::from_utf8_lossy(&said.join().unwrap()).into_owned());
                let command = &self.command;
                panic!("not ended in {LIMIT:?}: {command}; it said {said:?}; processes left: {left:?}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        let took = self.begin.elapsed();
        self.assert_nothing_is_left();
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        Run { code, stdout, stderr: String::from_utf8(stderr).unwrap(), took }
    }

    pub(crate) fn assert_nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.processes().is_empty() {
            assert!(Instant::now() < until, "left behind: {:?}", self.processes());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Command lines of the living processes that carry the mark, without the launcher itself.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("RMA_TEST_MARK={}", self.mark);
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                let environment = std::fs::read(entry.path().join("environ")).ok()?;
                let marked = environment.split(|b| *b == 0).any(|variable| variable == mark.as_bytes());
                let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
                (marked && pid != self.child.id() as i32).then(|| (pid, line.replace('\0', " ")))
            })
            .collect()
    }

    /// Waits until `count` processes of the job run the given program.
    pub(crate) fn wait_for(&self, count: usize, program: &str) -> Vec<i32> {
        let until = Instant::now() + LIMIT;
        loop {
            let found: Vec<i32> =
                self.processes().iter().filter(|(_, line)| line.starts_with(program)).map(|p| p.0).collect();
            if found.len() == count {
                return found;
            }
            assert!(Instant::now() < until, "only {found:?} of {count} {program}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}
