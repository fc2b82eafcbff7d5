//! Worlds of ranks that are threads of one process, over the in-process channel: for doc examples and tests.

use crate::alarm::Alarm;
use crate::communicator::Communicator;
use crate::config::Configuration;
use crate::message::Messenger;
use crate::runtime::{Runtime, RuntimeParts};
use crate::world::World;
use rma_ch_sim::{SimConfig, SimNet};
use rma_core::ids::Peer;
use rma_core::{ErrorClass, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

type Ended<T> = Result<Result<T>, Box<dyn Any + Send>>;

impl World {
    /// Runs `rank` once for each of `ranks` ranks, which are threads of this process, and gives what they return in rank
    /// order. No launcher, no other process, no system facility but threads.
    ///
    /// ```
    /// let sums = rma::World::run_threads(3, |world| {
    ///     world.allreduce(rma::ReduceOp::Sum, &[u64::from(world.rank())])
    /// })
    /// .unwrap();
    /// assert_eq!(sums, [[3], [3], [3]]);
    /// ```
    ///
    /// # Errors
    /// The error of the rank that failed first, as far as that can be told; the other ranks end with it.
    ///
    /// # Panics
    /// When a rank panics; the other ranks end with it. When `ranks` is 0.
    pub fn run_threads<T: Send>(ranks: u32, rank: impl Fn(&Self) -> Result<T> + Sync) -> Result<Vec<T>> {
        Self::run_threads_with(ranks, &Configuration::default(), &SimConfig::default(), rank)
    }

    /// As [`World::run_threads`], with other sizes and places: [`SimConfig`] says which ranks share a node.
    ///
    /// # Errors
    /// As [`World::run_threads`].
    ///
    /// # Panics
    /// As [`World::run_threads`].
    pub fn run_threads_with<T: Send>(
        ranks: u32,
        configuration: &Configuration,
        sim: &SimConfig,
        rank: impl Fn(&Self) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        assert!(ranks > 0, "a world has at least one rank");
        let net = SimNet::real_time(ranks, sim.clone());
        net.allow_windows(configuration.engine.windows);
        let alarm = Arc::new(Alarm::default());
        let worlds: Vec<World> =
            (0..ranks).map(|me| world(&net, Peer(me), configuration, &alarm)).collect::<Result<_>>()?;
        let ended: Vec<Ended<T>> = std::thread::scope(|scope| {
            let (rank, alarm, net) = (&rank, &alarm, &net);
            let start = |world: World| scope.spawn(move || run(world, rank, alarm, net));
            let threads: Vec<_> = worlds.into_iter().map(start).collect();
            // A thread catches the panic of its rank itself.
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(Err)).collect()
        });
        outcome(ended)
    }
}

fn world(net: &SimNet, me: Peer, configuration: &Configuration, alarm: &Arc<Alarm>) -> Result<World> {
    // Worlds of one process that write to one file are told apart by their nets.
    let job = format!("threads-{}-{net:p}", std::process::id());
    let runtime = Runtime::new(RuntimeParts {
        me,
        size: net.ranks(),
        channel: Box::new(net.channel(me)),
        host: Arc::new(net.host(me)),
        messenger: Messenger::new(me, net.ranks(), &configuration.message),
        configuration: configuration.clone(),
        node_memory: None,
        alarm: Arc::clone(alarm),
        job,
    })?;
    alarm.add(runtime.engine.wake_handle());
    Ok(World::of_thread(Communicator::world(Arc::new(runtime))))
}

/// The life of one rank. When it fails, the others must not wait for it.
fn run<T>(mut world: World, rank: impl Fn(&World) -> Result<T>, alarm: &Alarm, net: &SimNet) -> Ended<T> {
    let me = Peer(world.rank());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let value = rank(&world)?;
        world.end()?;
        Ok(value)
    }));
    if !matches!(ended, Ok(Ok(_))) {
        world.desert();
        alarm.raise();
        net.declare_dead(me);
    }
    ended
}

/// What the ranks' ends mean together: a panic first, then the error that is not the consequence of another rank's end.
fn outcome<T>(ended: Vec<Ended<T>>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut first = None;
    for end in ended {
        match end {
            Ok(Ok(value)) => values.push(value),
            Ok(Err(error)) => {
                let is_consequence =
                    matches!(error.class(), ErrorClass::ProcAborted | ErrorClass::ProcFailed);
                if first.as_ref().is_none_or(|(known, _)| *known && !is_consequence) {
                    first = Some((is_consequence, error));
                }
            }
            Err(panic) => resume_unwind(panic),
        }
    }
    match first {
        Some((_, error)) => Err(error),
        None => Ok(values),
    }
}
