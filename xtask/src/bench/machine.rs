//! Facts about the machine that a reader of the numbers must know.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The machine, and how busy it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) memory_gib: u64,
    /// Whether it is a virtual machine.
    pub(crate) is_virtual: bool,
    /// Load average over one minute before the first job.
    pub(crate) load_before: f64,
    /// Part of the processors' time that other virtual machines took meanwhile, in percent.
    pub(crate) stolen_percent: f64,
}

/// Above this load before the first job, the run was not alone on the machine.
const BUSY_LOAD: f64 = 0.5;

impl Machine {
    /// Looks; what cannot be found out stays empty.
    pub(crate) fn look() -> Self {
        let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            processor: field(&processors, "model name").unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: format!("Linux {}", kernel.trim()),
            memory_gib: memory_gib(&memory),
            is_virtual: field(&processors, "flags")
                .is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor")),
            load_before: load(),
            stolen_percent: 0.0,
        }
    }

    /// Whether something else was running when the run began.
    pub(crate) fn was_busy(&self) -> bool {
        self.load_before > BUSY_LOAD
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let kind = if self.is_virtual { ", virtual" } else { "" };
        format!(
            "{}, {} cores{kind}, {} GiB, {}; load {:.2} before the run, {:.1} % of the time stolen by other machines",
            self.processor, self.cores, self.memory_gib, self.kernel, self.load_before, self.stolen_percent
        )
    }
}

/// The value of a line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn memory_gib(meminfo: &str) -> u64 {
    let kib = field(meminfo, "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    (kib.unwrap_or(0) + (1 << 19)) >> 20
}

fn load() -> f64 {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// Time that the processors have spent, in ticks since the machine started: all of it, and what was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    pub(crate) fn now() -> Self {
        Self::parse(&read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The line `cpu` has user, nice, system, idle, iowait, irq, softirq, steal, and guest times that are in user already.
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// The part that was stolen since `earlier`, in percent.
    pub(crate) fn stolen_percent_since(self, earlier: Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all).max(1);
        100.0 * self.stolen.saturating_sub(earlier.stolen) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read() {
        assert_eq!(field("a\t: b c\nmodel name\t: X 1\n", "model name"), Some("X 1"));
        assert_eq!(field("a: b", "c"), None);
        assert_eq!(memory_gib("MemTotal:       24576000 kB\n"), 23);
    }

    #[test]
    fn stolen_time_is_a_part_of_all_time() {
        let before = Ticks::parse("cpu  10 0 10 70 0 0 0 10 5 0\n");
        let after = Ticks::parse("cpu  20 0 20 140 0 0 0 20 9 0\n");
        assert_eq!(before, Ticks { all: 100, stolen: 10 });
        assert_eq!(after.stolen_percent_since(before), 10.0);
        assert_eq!(after.stolen_percent_since(after), 0.0);
    }

    #[test]
    fn this_machine_has_cores() {
        assert!(Machine::look().cores > 0);
    }
}
