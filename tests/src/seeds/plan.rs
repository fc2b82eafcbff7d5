//! Everything about a run that its seed decides.

use super::generate::generate;
use super::program::Program;
use crate::draws::{Pools, engine, latency, simulation};
use crate::random::Random;
use rma_ch_sim::{Adversary, Fault, Latency, SimConfig};
use rma_core::config::EngineConfig;
use rma_core::ids::Peer;
use std::time::Duration;

/// What decides which rank steps and which packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// Even draws.
    Even,
    /// One rank after the other is starved.
    Starve,
    /// The newest first.
    Newest,
    /// Priorities that change at few points.
    Priorities,
}

impl Schedules {
    /// All of them, by the words for them.
    pub const ALL: [(&str, Self); 4] = [
        ("even", Self::Even),
        ("starve", Self::Starve),
        ("newest", Self::Newest),
        ("priorities", Self::Priorities),
    ];

    /// That of a word, for a seed; `all` takes them by turns, each with all pools, and more often those that find what is hard to find.
    pub fn of(word: &str, seed: u64) -> Option<Self> {
        const TURNS: [Schedules; 6] = [
            Schedules::Priorities,
            Schedules::Starve,
            Schedules::Newest,
            Schedules::Priorities,
            Schedules::Starve,
            Schedules::Even,
        ];
        if word == "all" {
            return Some(TURNS[(seed / 4 % 6) as usize]);
        }
        Self::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, schedule)| schedule)
    }

    fn adversary(self) -> Adversary {
        match self {
            Self::Even => Adversary::Even,
            Self::Starve => Adversary::Starve,
            Self::Newest => Adversary::NewestFirst,
            Self::Priorities => Adversary::Priorities,
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
    pub(super) adversary: Adversary,
    pub(super) pauses: Vec<Fault>,
    /// How late a rank may hear of the end of a collective.
    pub(super) lateness: Duration,
    /// What the job does.
    pub program: Program,
}

impl Plan {
    /// The plan of a seed, with even draws; `threads` 0 draws 1, 2 or 4.
    pub fn new(seed: u64, pools: Pools, threads: u32) -> Self {
        let mut random = Random::new(seed);
        let drawn = random.pick(&[1, 1, 1, 2, 4]);
        let threads = if threads == 0 { drawn } else { threads };
        let ranks = if threads == 1 { random.pick(&[2, 3, 4, 4, 5, 5]) } else { random.pick(&[2, 3, 4]) };
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
        let pauses = pauses.collect();
        let lateness = random.pick(&[0, 0, 10, 100]);
        let lateness = micros(lateness);
        Self { seed, sim, engine, latency, adversary: Adversary::Even, pauses, lateness, program }
    }

    /// The same job under another schedule.
    #[must_use]
    pub fn under(self, schedule: Schedules) -> Self {
        Self { adversary: schedule.adversary(), ..self }
    }

    /// The same job with another program, of as many ranks or fewer.
    pub fn with_program(&self, program: Program) -> Self {
        let mut pauses = self.pauses.clone();
        pauses.retain(|pause| matches!(pause, Fault::Pause { rank, .. } if rank.0 < program.ranks));
        Self { program, pauses, ..self.clone() }
    }

    /// The same job with less that happens by itself: with even draws, without pauses, with collectives that end for all at once.
    pub fn quieter(&self) -> Vec<Self> {
        let mut plans = Vec::new();
        if self.adversary != Adversary::Even {
            plans.push(Self { adversary: Adversary::Even, ..self.clone() });
        }
        if !self.pauses.is_empty() {
            plans.push(Self { pauses: Vec::new(), ..self.clone() });
        }
        if !self.lateness.is_zero() {
            plans.push(Self { lateness: Duration::ZERO, ..self.clone() });
        }
        plans
    }

    /// The same job with one setting of channel or engine as users have it.
    pub fn more_usual(&self) -> Vec<Self> {
        let (sim, engine) = (SimConfig::default(), EngineConfig::default());
        let mut plans = Vec::new();
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut plan = self.clone();
            change(&mut plan);
            if (&plan.sim, &plan.engine) != (&self.sim, &self.engine) {
                plans.push(plan);
            }
        };
        push(&|plan| plan.sim.lane_packets = sim.lane_packets);
        push(&|plan| {
            (plan.sim.max_packet, plan.sim.bulk_from) = (sim.max_packet, sim.bulk_from);
        });
        push(&|plan| plan.sim.body_step_bytes = sim.body_step_bytes);
        push(&|plan| plan.sim.transfers = sim.transfers);
        push(&|plan| plan.engine.slots = engine.slots);
        push(&|plan| {
            plan.engine.op_pool_window = engine.op_pool_window;
            plan.engine.op_pool_global = engine.op_pool_global;
        });
        push(&|plan| {
            plan.engine.target_pool_window = engine.target_pool_window;
            plan.engine.target_pool_global = engine.target_pool_global;
        });
        push(&|plan| plan.engine.piggyback_threshold = engine.piggyback_threshold);
        push(&|plan| plan.engine.lock_data_bytes = engine.lock_data_bytes);
        push(&|plan| plan.engine.lock_queue_bytes = engine.lock_queue_bytes);
        push(&|plan| plan.engine.credits = engine.credits);
        push(&|plan| plan.engine.unit_bytes = engine.unit_bytes);
        push(&|plan| plan.engine.poll_packets = engine.poll_packets);
        push(&|plan| plan.engine.poll_bytes = engine.poll_bytes);
        plans
    }

    /// The settings, for reports.
    pub fn settings(&self) -> String {
        let Self { sim, engine, latency, adversary, pauses, lateness, .. } = self;
        format!(
            "{sim:?}\n{engine:?}\n{latency:?}, schedule: {adversary:?}\n{pauses:?}\ncollectives end up to {lateness:?} late"
        )
    }
}
