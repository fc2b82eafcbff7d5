//! Everything about a run that its seed decides.

use super::generate::generate;
use super::program::Program;
use crate::draws::{engine, latency, simulation};
use crate::random::Random;
use rma_ch_sim::{Fault, Latency, SimConfig};
use rma_core::config::EngineConfig;
use rma_core::ids::Peer;
use std::time::Duration;

/// How large the element pools are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pools {
    /// As users have them.
    Default,
    /// One element of each kind.
    One,
    /// Two.
    Two,
    /// Drawn from the seed.
    Drawn,
}

impl Pools {
    /// Those of a word, for a seed; `all` takes them by turns.
    pub fn of(word: &str, seed: u64) -> Option<Self> {
        const TURNS: [Pools; 4] = [Pools::Default, Pools::One, Pools::Two, Pools::Drawn];
        match word {
            "all" => Some(TURNS[(seed % 4) as usize]),
            "default" => Some(Self::Default),
            "one" => Some(Self::One),
            "two" => Some(Self::Two),
            "drawn" => Some(Self::Drawn),
            _ => None,
        }
    }
}

/// A job and its program.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was made from.
    pub seed: u64,
    pub(super) sim: SimConfig,
    pub(super) engine: EngineConfig,
    pub(super) latency: Latency,
    pub(super) pauses: Vec<Fault>,
    /// What the job does.
    pub program: Program,
}

impl Plan {
    /// The plan of a seed; `threads` 0 draws 1 or 4.
    pub fn new(seed: u64, pools: Pools, threads: u32) -> Self {
        let mut random = Random::new(seed);
        let drawn = random.pick(&[1, 1, 1, 4]);
        let threads = if threads == 0 { drawn } else { threads };
        let most = if threads == 1 { 4 } else { 2 };
        let ranks = 2 + random.below(most) as u32;
        let ranks_per_node = random.pick(&[1, 1, 1, 2, 0]);
        let program = generate(&mut random, ranks, threads, ranks_per_node == 0);
        Self::of_program(seed, random, pools, ranks_per_node, program)
    }

    /// A plan for a job of processes, which have their own sizes and delays.
    pub fn for_job(seed: u64, ranks: u32, threads: u32, is_one_node: bool) -> Self {
        let mut random = Random::new(seed);
        let program = generate(&mut random, ranks, threads, is_one_node);
        Self::of_program(seed, random, Pools::Default, u64::from(!is_one_node), program)
    }

    fn of_program(
        seed: u64,
        mut random: Random,
        pools: Pools,
        ranks_per_node: u64,
        program: Program,
    ) -> Self {
        let sim = simulation(&mut random, ranks_per_node);
        let engine = engine(&mut random, pools);
        let latency = latency(&mut random);
        let micros = Duration::from_micros;
        let pauses = (0..random.below(3)).map(|_| Fault::Pause {
            rank: Peer(random.below(program.ranks.into()) as u32),
            at: micros(random.below(500)),
            length: micros(random.below(1000)),
        });
        Self { seed, sim, engine, latency, pauses: pauses.collect(), program }
    }

    /// The same job with another program, of as many ranks or fewer.
    pub fn with_program(&self, program: Program) -> Self {
        let mut pauses = self.pauses.clone();
        pauses.retain(|pause| matches!(pause, Fault::Pause { rank, .. } if rank.0 < program.ranks));
        Self { program, pauses, ..self.clone() }
    }

    /// The same job without pauses.
    pub fn without_pauses(&self) -> Self {
        Self { pauses: Vec::new(), ..self.clone() }
    }

    /// The settings, for reports.
    pub fn settings(&self) -> String {
        format!("{:?}\n{:?}\n{:?}\n{:?}", self.sim, self.engine, self.latency, self.pauses)
    }
}
