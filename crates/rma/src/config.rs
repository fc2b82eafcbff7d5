//! The runtime's own variables, and all tables of a process as one.
//!
//! The environment is read once, through a look-up function; after that a configuration is plain data.

use crate::channels::{self, Preference};
use crate::message::MessageConfig;

use rma_ch_ofi::OfiConfig;
use rma_ch_shm::ShmConfig;
use rma_ch_sim::SimConfig;
use rma_ch_tcp::TcpConfig;
use rma_core::config::{EngineConfig, Setting, Value};
use rma_core::{Error, Result};
use std::net::IpAddr;

pub use crate::network::Network;
pub use crate::paths::FilePath;
pub use crate::trace::ObserverConfig;

/// What `RMA_LOG` may be.
pub const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// What `RMA_ON_FAILURE` may be.
pub const ON_FAILURE: &[&str] = &["launcher", "continue"];

/// What `RMA_INITIAL_ERRHANDLER` may be, as the standard has these names.
pub const ERRHANDLERS: &[&str] = &["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

/// Set by the launcher for the progress bars of demos: the terminal that its standard error is.
pub const DEMO_TERMINAL: &str = "RMA_DEMO_TERMINAL";

rma_core::variables! {
    /// How processes start and reach each other.
    pub struct RuntimeConfig {
        /// The transport between processes.
        channel: Preference = "auto", "RMA_CHANNEL", Choice, (),
            "auto: shared memory within a node and TCP between nodes; a name forces that one everywhere, and packets with it; of several names each pair of ranks uses the first that reaches it",
            "the fastest that works for each pair";
        /// A shared object that brings a channel.
        channel_plugin: FilePath = "", "RMA_CHANNEL_PLUGIN", Choice, (),
            "a shared object with one more channel, made with rma.h, for RMA_CHANNEL to choose; empty: none",
            "the networks that are built in are enough for most";
        /// Whether window memory of the node is accessed directly.
        direct: bool = true, "RMA_DIRECT", Switch, (),
            "0: window memory of other processes is reached by packets only, but for MPI_Win_allocate_shared",
            "loads and stores are a hundred times faster than packets";
        /// Whether a thread serves other ranks while the program computes.
        agent: bool = true, "RMA_AGENT", Switch, (),
            "1: a thread of the library serves other ranks while the program is away from the library for longer than RMA_AGENT_TICK; 0: they wait until it calls the library",
            "one-sided operations complete although their target computes, which is what they are for";
        /// How long a program is away before that thread takes over.
        agent_tick_us: u64 = 400u64, "RMA_AGENT_TICK", Microseconds, 50..=1_000_000,
            "how long the program must be away from the library before the thread of RMA_AGENT serves in its place, once or twice over; up to forty-eight ticks when it has been calling or waiting all the time",
            "a passive put to a rank that computes waits for milliseconds once, and looking costs less than one percent of a core";
        /// Ranks that make a virtual node.
        ranks_per_node: u64 = 0u64, "RMA_RANKS_PER_NODE", Count, 0..=1 << 20,
            "so many consecutive ranks count as a node of their own; 0: nodes are the machines",
            "only for trying out what a cluster would do";
        /// Where TCP listens.
        tcp_listen: Listen = "auto", "RMA_TCP_LISTEN", Choice, (),
            "address of the network interface that other nodes reach this one by, or the network that it is in",
            "jobs on one machine need the loopback interface only; others the network that rank 0's machine has its name in, or the first that it has";
        /// How long the launcher may take to answer.
        launcher_timeout_s: u64 = 60u64, "RMA_LAUNCHER_TIMEOUT", Seconds, 1..=86_400,
            "how long the launcher may take to answer a look-up",
            "busy machines answer within seconds; a launcher that is gone is noticed at once anyway";
        /// How long another host may be silent.
        host_timeout_s: u64 = 10u64, "RMA_HOST_TIMEOUT", Seconds, 2..=86_400,
            "how long nothing may come from another host on which rmarun has ranks, or from rmarun to there, before the one is lost to the other",
            "a network that is cut shows nothing else, and each side sends a sign of life ten times as often";
        /// The library of PMIx.
        pmix_lib: FilePath = "", "RMA_PMIX_LIB", Choice, (),
            "the libpmix.so.2 by which ranks talk to launchers that speak PMIx (Open MPI, srun --mpi=pmix); empty: the launcher's own, or the system's",
            "a launcher speaks best with a library of its own version";
        /// Which events are written to standard error.
        log: String = "warn", "RMA_LOG", Choice, LEVELS,
            "events of the library that are written to standard error, down to this level; in a Rust program, if it asks for that",
            "what does not work as it should is worth a line, and nothing else is";
        /// What the death of a rank means for the others.
        on_failure: String = "launcher", "RMA_ON_FAILURE", Choice, ON_FAILURE,
            "launcher: what rmarun --on-failure says, which is that the job ends; continue: a rank that starts with it asks rmarun to let the job go on",
            "a program that does not look for errors is not to go on without a rank";
        /// The error handler that a C program has at first.
        initial_errhandler: String = "mpi_errors_are_fatal", "RMA_INITIAL_ERRHANDLER", Choice, ERRHANDLERS,
            "error handler that MPI_COMM_WORLD and MPI_COMM_SELF have at first; rmarun --initial-errhandler sets it",
            "what the standard has where the program does not say otherwise";
        /// Whether forgotten objects are listed at the end.
        debug: bool = false, "RMA_DEBUG", Switch, (),
            "1: MPI_Finalize lists what the program has not freed, with the calls that made it",
            "forgotten objects do no harm at the end, and not every program means to free them";
    }
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// The loopback interface for jobs on one machine, the interfaces' for others.
    Auto,
    /// This one.
    At(IpAddr),
    /// The first of this machine in this network.
    In(Network),
}

/// The variables of one part of the library.
#[derive(Clone, Debug)]
pub struct Table {
    /// The part.
    pub name: &'static str,
    /// What the part does.
    pub text: &'static str,
    /// Its variables.
    pub settings: Vec<Setting>,
}

/// All that a process is configured by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Start-up and choice of channels.
    pub runtime: RuntimeConfig,
    /// Traces and summaries.
    pub observer: ObserverConfig,
    /// The engine.
    pub engine: EngineConfig,
    /// Messages.
    pub message: MessageConfig,
    /// The shared-memory channel.
    pub shm: ShmConfig,
    /// The TCP channel.
    pub tcp: TcpConfig,
    /// The channel over libfabric.
    pub ofi: OfiConfig,
}

impl Configuration {
    /// Reads every table through `look_up`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for the first value that is not legal, with its name, value and range.
    pub fn read(look_up: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        Ok(Self {
            runtime: RuntimeConfig::read(look_up)?,
            observer: ObserverConfig::read(look_up)?,
            engine: EngineConfig::read(look_up)?,
            message: MessageConfig::read(look_up)?,
            shm: ShmConfig::read(look_up)?,
            tcp: TcpConfig::read(look_up)?,
            ofi: OfiConfig::read(look_up)?,
        })
    }

    /// The variables that [`Configuration::read`] refuses, with what it says of each.
    pub fn refused(look_up: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Error)> {
        let settings = Self::default().settings();
        let names = settings.iter().map(|setting| setting.variable.name);
        // Alone, so that one wrong value does not hide another.
        let only = |name: &'static str| move |asked: &str| (asked == name).then(|| look_up(asked)).flatten();
        names.filter_map(|name| Self::read(&only(name)).err().map(|error| (name, error))).collect()
    }

    /// What the environment says of a variable.
    pub fn of_environment(name: &str) -> Option<String> {
        channels::of_environment(name)
    }

    /// Every variable with its default, range and the value in force.
    pub fn settings(&self) -> Vec<Setting> {
        self.tables().into_iter().flat_map(|table| table.settings).collect()
    }

    /// The same, by the part of the library that has them.
    pub fn tables(&self) -> [Table; 7] {
        let table = |name, text, settings| Table { name, text, settings };
        [
            table("runtime", "how processes start and reach each other", self.runtime.settings()),
            table("observer", "what can be seen of a job", self.observer.settings()),
            table("engine", "sizes and thresholds of one-sided communication", self.engine.settings()),
            table("message", "messages between two processes", self.message.settings()),
            table("shm", "the channel over shared memory", self.shm.settings()),
            table("tcp", "the channel over TCP", self.tcp.settings()),
            table("ofi", "the channel over libfabric", self.ofi.settings()),
        ]
    }

    /// What to say about names of the environment that look like variables and are none: a line for each.
    pub fn warnings(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut known: Vec<_> = self.settings().iter().map(|setting| setting.variable.name).collect();
        known.extend(SimConfig::default().settings().iter().map(|setting| setting.variable.name));
        let is_ours =
            |name: &String| name.starts_with("RMA_") && !OTHERS.iter().any(|other| name.starts_with(other));
        let mut unknown: Vec<_> = names.into_iter().filter(is_ours).collect();
        unknown.retain(|name| !known.contains(&name.as_str()));
        unknown.sort_unstable();
        unknown.iter().map(|name| warning(name, &known)).collect()
    }
}

/// Beginnings of names that others of this project read.
const OTHERS: [&str; 8] =
    ["RMA_TEST_", "RMA_BENCH_", "RMA_DEMO_", "RMA_CC", "RMA_CXX", "RMA_FC", "RMA_JOB", "RMA_GUEST"];

fn warning(name: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    match nearest {
        Some(nearest) => {
            format!("{name} is no variable of this library and has no effect; the nearest is {nearest}")
        }
        None => format!("{name} is no variable of this library and has no effect"),
    }
}

impl From<&str> for Listen {
    /// The address of a text, or `Auto` for anything else.
    fn from(text: &str) -> Self {
        text.parse().map_or(Self::Auto, Self::At)
    }
}

/// An address of IPv6 also stands in brackets, where a port may follow.
fn unbracketed(text: &str) -> &str {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.filter(|inner| inner.contains(':')).unwrap_or(text)
}

impl Value for Listen {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            text => match unbracketed(text).parse::<IpAddr>() {
                Ok(address) if !address.is_unspecified() => Ok(Self::At(address)),
                _ => match text.parse() {
                    Ok(network) => Ok(Self::In(network)),
                    Err(()) => Err(format!("{} is needed", Self::show_range(&()))),
                },
            },
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::At(address) => address.to_string(),
            Self::In(network) => network.to_string(),
        }
    }

    fn show_range((): &()) -> String {
        "auto, or an address of this machine such as 10.0.0.1, or a network such as 10.0.0.0/16".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Result<Configuration> {
        Configuration::read(&|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn every_table_is_read_and_wrong_values_name_the_range() {
        for (name, value, legal) in [
            ("RMA_CHANNEL", "smoke", "auto, shm, tcp"),
            ("RMA_DIRECT", "yes", "0 or 1"),
            ("RMA_SLOTS", "0", "from 1 to"),
            ("RMA_MESSAGE_WINDOW", "0", "from 1 to"),
            ("RMA_SHM_RING_BYTES", "1", "from 256 to"),
            ("RMA_TCP_LISTEN", "0.0.0.0", "auto, or an address"),
            ("RMA_TCP_LISTEN", "10.0.0.0/33", "auto, or an address"),
            ("RMA_TCP_PACKET_BYTES", "1", "from 192 to"),
            ("RMA_LAUNCHER_TIMEOUT", "0", "from 1 to 86400"),
        ] {
            let error = read(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value) && error.contains(legal), "{error}");
        }
        assert!(!read("RMA_DIRECT", "0").unwrap().runtime.direct);
        assert_eq!(
            read("RMA_TCP_LISTEN", "::1").unwrap().runtime.tcp_listen,
            Listen::At(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]))
        );
        let bracketed = read("RMA_TCP_LISTEN", "[fd77::1]").unwrap().runtime.tcp_listen;
        assert_eq!(bracketed, Listen::At("fd77::1".parse().unwrap()));
        assert!(read("RMA_TCP_LISTEN", "[10.0.0.1]").is_err());
        let listen = read("RMA_TCP_LISTEN", "10.77.0.0/16").unwrap().runtime.tcp_listen;
        assert_eq!((listen, &*listen.show()), (Listen::In("10.77.0.0/16".parse().unwrap()), "10.77.0.0/16"));
    }

    #[test]
    fn names_are_unique_and_defaults_are_legal() {
        let configuration = Configuration::default();
        let settings = configuration.settings();
        let names: std::collections::HashSet<_> = settings.iter().map(|s| s.variable.name).collect();
        assert_eq!(names.len(), settings.len());
        let defaults =
            |name: &str| settings.iter().find(|s| s.variable.name == name).map(|s| s.default.clone());
        assert_eq!(Configuration::read(&defaults), Ok(configuration));
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest_known_one() {
        let names = ["RMA_CHANEL", "RMA_SLOTS", "PATH", "RMA_TEST_MARK", "RMA_SIM_LANE_PACKETS"];
        let warnings = Configuration::default().warnings(names.map(str::to_owned));
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("RMA_CHANEL") && warnings[0].ends_with("RMA_CHANNEL"), "{warnings:?}");
    }
}
