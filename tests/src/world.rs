//! Worlds of simulated ranks, one thread each, that end in time or say which rank waits.

use crate::counting::Counting;
use rma_ch_sim::{SimConfig, SimNet};
use rma_core::Engine;
use rma_core::config::EngineConfig;
use rma_core::datatype::BasicType;
use rma_core::error::{ErrorClass, Result};
use rma_core::host::{Group, Host};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::progress::NoUpper;
use rma_core::window::{Window, WindowSpec};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Longest that a world may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How a world is made.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of ranks.
    pub ranks: u32,
    /// The engines' settings.
    pub engine: EngineConfig,
    /// The network's settings.
    pub sim: SimConfig,
}

impl Setup {
    /// Ranks that reach each other by packets only.
    pub fn packets(ranks: u32) -> Self {
        let sim = SimConfig { ranks_per_node: 1, ..SimConfig::default() };
        Self {
            ranks,
            engine: EngineConfig { spin_us: 0, yields: 0, wait_report_s: 20, ..EngineConfig::default() },
            sim,
        }
    }

    /// Ranks that map each other's memory.
    pub fn direct(ranks: u32) -> Self {
        let mut setup = Self::packets(ranks);
        setup.sim.ranks_per_node = 0;
        setup
    }

    /// Two ranks per node: a mix of both, with fences by a word from each to each.
    pub fn mixed(ranks: u32) -> Self {
        let mut setup = Self::packets(ranks);
        setup.sim.ranks_per_node = 2;
        setup.engine.fence_packets = ranks.into();
        setup
    }

    /// The same with every pool, threshold and buffer at its smallest.
    #[must_use]
    pub fn smallest(mut self) -> Self {
        let nodes = self.sim.ranks_per_node;
        self.sim = SimConfig { ranks_per_node: nodes, body_step_bytes: 512, ..SimConfig::smallest() };
        self.engine = EngineConfig {
            slots: 1,
            op_pool_window: 1,
            op_pool_global: 0,
            target_pool_window: 1,
            target_pool_global: 0,
            piggyback_threshold: 0,
            pack_from: 1,
            fence_packets: if nodes == 2 { self.ranks.into() } else { 0 },
            lock_directory: 1,
            announcers: 1,
            lock_data_bytes: 1,
            lock_queue_bytes: 1,
            credits: 1,
            unit_bytes: 16,
            shape_entries: 4,
            poll_packets: 1,
            poll_bytes: 1,
            direct_poll_interval: 1,
            ..self.engine
        };
        self
    }

    /// Every way to reach a target, with default and with smallest sizes.
    ///
    /// With `RMA_TEST_SMALLEST` set, as in the second pass of the test command, only the smallest sizes.
    pub fn all(ranks: u32) -> Vec<Self> {
        let ways = [Self::packets(ranks), Self::direct(ranks), Self::mixed(ranks)];
        let smallest = ways.iter().cloned().map(Self::smallest);
        if std::env::var_os("RMA_TEST_SMALLEST").is_some() {
            return smallest.collect();
        }
        ways.iter().cloned().chain(smallest).collect()
    }
}

/// One rank of a world.
#[derive(Debug)]
pub struct TestRank {
    /// Its number.
    pub me: u32,
    /// Number of ranks.
    pub size: u32,
    /// Its engine.
    pub engine: Engine,
    host: Arc<rma_ch_sim::SimHost>,
    packets: Arc<AtomicU64>,
}

impl TestRank {
    /// All ranks, as a group.
    pub fn group(&self) -> Group {
        Group::strided(0, Rank(self.me), Peer(0), 1, self.size)
    }

    /// A window of zeroed 8-byte elements.
    pub fn allocate(&self, elements: u64) -> Window {
        let spec = WindowSpec::Allocate { len: elements * 8, unit: 8 };
        self.engine.create_window(self.group(), spec).expect("window creation")
    }

    /// A window of memory of the caller's, which others cannot map.
    pub fn create(&self, memory: &mut [u64]) -> Window {
        let spec = WindowSpec::Create { memory: into(memory), unit: 8 };
        self.engine.create_window(self.group(), spec).expect("window creation")
    }

    /// Waits for all ranks, serving them meanwhile. Costs no packet.
    pub fn barrier(&self) {
        let request = self.host.begin_barrier(&self.group()).expect("barrier");
        self.engine
            .wait_until("barrier", &|| format!("rank {} in a barrier of the test", self.me), &mut || {
                self.host.poll(request)
            })
            .expect("barrier");
    }

    /// One-sided packets that the whole world has sent so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(SeqCst)
    }
}

/// Runs `body` on every rank, each on a thread; panics when one does, or when they do not end in time.
pub fn run(setup: &Setup, body: impl Fn(&TestRank) + Send + Sync) {
    let net = SimNet::real_time(setup.ranks, setup.sim.clone());
    net.allow_windows(setup.engine.windows);
    let packets = Arc::new(AtomicU64::new(0));
    let (done, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        for me in 0..setup.ranks {
            let (net, packets, body, done) = (net.clone(), Arc::clone(&packets), &body, done.clone());
            scope.spawn(move || {
                let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                    let host = Arc::new(net.host(Peer(me)));
                    let channel = Counting::new(Box::new(net.channel(Peer(me))), Arc::clone(&packets));
                    let engine = Engine::new(
                        setup.engine.clone(),
                        Box::new(channel),
                        Arc::clone(&host) as Arc<dyn Host>,
                        Box::new(NoUpper),
                    )
                    .expect("engine");
                    let rank = TestRank { me, size: setup.ranks, engine, host, packets };
                    body(&rank);
                    rank.barrier();
                    rank.engine.close().expect("close");
                }));
                let _ = done.send((me, outcome.is_ok()));
            });
        }
        let mut missing = (0..setup.ranks).collect::<Vec<_>>();
        while !missing.is_empty() {
            match ended.recv_timeout(LIMIT) {
                Ok((me, true)) => missing.retain(|rank| *rank != me),
                Ok((me, false)) => {
                    eprintln!("rank {me} panicked; {setup:?}");
                    std::process::exit(101);
                }
                Err(_) => {
                    eprintln!("ranks {missing:?} have not ended within {LIMIT:?}; {setup:?}");
                    std::process::exit(102);
                }
            }
        }
    });
}

/// Runs `body` in every setup of [`Setup::all`].
pub fn run_all(ranks: u32, body: impl Fn(&TestRank) + Send + Sync) {
    for setup in Setup::all(ranks) {
        run(&setup, &body);
    }
}

/// The kernel of an operation on 64-bit integers.
pub fn kernel(op: ReduceOp) -> Kernel {
    Kernel::new(op, BasicType::U64).expect("all operations are defined on integers")
}

/// 64-bit values as a buffer to send from; the caller keeps them until the operation is complete.
pub fn from(values: &[u64]) -> ReadSpan {
    // SAFETY: tests keep the values until the synchronization call that completes the operation.
    unsafe { ReadSpan::new(values.as_ptr().cast(), size_of_val(values)) }
}

/// 64-bit values as a buffer to receive into; the caller keeps them until the operation is complete.
pub fn into(values: &mut [u64]) -> WriteSpan {
    // SAFETY: as for `from`.
    unsafe { WriteSpan::new(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// An element of the rank's own window memory.
pub fn local(window: &Window, index: usize) -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: the span is used here only, while the window is borrowed and therefore not freed.
    unsafe { window.local() }.part(index * 8, 8).as_read().read(&mut bytes);
    u64::from_ne_bytes(bytes)
}

/// Stores an element of the rank's own window memory.
pub fn set_local(window: &Window, index: usize, value: u64) {
    // SAFETY: as for `local`.
    unsafe { window.local() }.part(index * 8, 8).write(&value.to_ne_bytes());
}

/// Calls for 64-bit elements, waited for in an epoch that is open to the target.
pub trait Elements {
    /// Adds to an element and flushes; answers what it was.
    ///
    /// # Errors
    /// Those of the calls.
    fn fetch_add(&self, target: u32, index: u64, value: u64) -> Result<u64>;

    /// Compare-and-swap and flush; answers what it was.
    ///
    /// # Errors
    /// Those of the calls.
    fn swap_if(&self, target: u32, index: u64, compare: u64, value: u64) -> Result<u64>;
}

impl Elements for Window {
    fn fetch_add(&self, target: u32, index: u64, value: u64) -> Result<u64> {
        let mut old = [0];
        let result = into(&mut old);
        self.fetch_and_op(&value.to_ne_bytes(), result, kernel(ReduceOp::Sum), Rank(target), Disp(index))?;
        self.flush(Rank(target))?;
        Ok(old[0])
    }

    fn swap_if(&self, target: u32, index: u64, compare: u64, value: u64) -> Result<u64> {
        let mut old = [0];
        let result = into(&mut old);
        let kernel = CompareAndSwap::new(BasicType::U64).expect("defined on integers");
        let (value, compare) = (value.to_ne_bytes(), compare.to_ne_bytes());
        self.compare_and_swap(&value, &compare, result, kernel, Rank(target), Disp(index))?;
        self.flush(Rank(target))?;
        Ok(old[0])
    }
}

/// Checks that a call was refused as wrong synchronization, with these words.
///
/// # Panics
/// When it was not.
pub fn refused(outcome: Result<()>, words: &[&str]) {
    let error = outcome.expect_err("the call is wrong");
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    let text = error.to_string();
    words.iter().for_each(|word| assert!(text.contains(word), "{word:?} is not said: {text}"));
}
