//! What the ranks do: phases, each a short list of calls for each rank, with its packet budget (design §5).

use crate::random::Random;
use rma_core::epoch::{Assert, LockKind};

/// Targets of each rank in the phase with random traffic.
const RANDOM_TARGETS: u64 = 4;

/// A call of a script.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Fence(Assert),
    Lock(LockKind, u32),
    Unlock(u32),
    LockAll,
    UnlockAll,
    Put(u32),
    Get(u32),
    /// Is away from the library for so many microseconds of virtual time, by rank of the job.
    Away(u64),
}

/// Something that all ranks do between two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Fences without operations.
    Fences,
    /// A put to the next rank between fences.
    Stencil,
    /// lock_all and unlock_all without operations.
    Nothing,
    /// lock_all, one put to each of four random ranks, unlock_all.
    Random,
    /// lock, one put to a random rank, unlock.
    Locks,
    /// lock_all, one get of the first rank, unlock_all, by all ranks.
    FanIn,
    /// An exclusive lock of the first rank, one put, unlock, by all ranks.
    Contended,
    /// The same while the first rank holds its own lock: all wait in line at once.
    Line,
}

/// All phases in order.
pub const PHASES: [Phase; 8] = [
    Phase::Fences,
    Phase::Stencil,
    Phase::Nothing,
    Phase::Random,
    Phase::Locks,
    Phase::FanIn,
    Phase::Contended,
    Phase::Line,
];

impl Phase {
    /// What it is called in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fences => "fence, fence",
            Self::Stencil => "fence, put to the next rank, fence",
            Self::Nothing => "lock_all, unlock_all",
            Self::Random => "lock_all, a put to each of 4 random ranks, unlock_all",
            Self::Locks => "lock, put to a random rank, unlock",
            Self::FanIn => "lock_all, get of rank 0, unlock_all, by all",
            Self::Contended => "exclusive lock of rank 0, put, unlock, by all",
            Self::Line => "the same while rank 0 holds its own lock",
        }
    }

    /// Fewest and most packets of the whole job.
    pub fn budget(self, ranks: u64) -> (u64, u64) {
        let exactly = |packets| (packets, packets);
        match self {
            // Two ranks tell each other of each fence; more use the host's barrier.
            Self::Fences if ranks == 2 => exactly(4),
            Self::Fences | Self::Nothing => exactly(0),
            Self::Stencil => exactly(2 * ranks),
            Self::Random => exactly(2 * RANDOM_TARGETS.min(ranks - 1) * ranks),
            Self::Locks => exactly(2 * ranks),
            Self::FanIn => exactly(2 * (ranks - 1)),
            // Data beyond what one window keeps for those in line is refused once and sent again after the grant: request,
            // refusal, grant, operation with unlock, acknowledgement.
            Self::Contended | Self::Line => (2 * (ranks - 1), 5 * (ranks - 1)),
        }
    }

    /// The calls of one rank.
    pub(super) fn calls(self, me: u32, ranks: u32) -> Vec<Call> {
        let others = u64::from(ranks) - 1;
        let mut random = Random::new(u64::from(me) << 8 | self as u64);
        let mut other = || (me + 1 + random.below(others) as u32) % ranks;
        // The first rank looks when all have sent: looking costs a simulation a walk over its peers.
        let away = Call::Away(20 + 8 * u64::from(ranks));
        match self {
            Self::Fences => vec![Call::Fence(Assert::NONE), Call::Fence(Assert::NO_SUCCEED)],
            Self::Stencil => {
                vec![
                    Call::Fence(Assert::NO_PRECEDE),
                    Call::Put((me + 1) % ranks),
                    Call::Fence(Assert::NO_SUCCEED),
                ]
            }
            Self::Nothing => vec![Call::LockAll, Call::UnlockAll],
            Self::Random => {
                let mut targets = Vec::new();
                while (targets.len() as u64) < RANDOM_TARGETS.min(others) {
                    let target = other();
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                let puts = targets.into_iter().map(Call::Put);
                [Call::LockAll].into_iter().chain(puts).chain([Call::UnlockAll]).collect()
            }
            Self::Locks => {
                let target = other();
                vec![Call::Lock(LockKind::Exclusive, target), Call::Put(target), Call::Unlock(target)]
            }
            Self::FanIn | Self::Contended if me == 0 => vec![away],
            Self::FanIn => vec![Call::LockAll, Call::Get(0), Call::UnlockAll],
            Self::Contended => vec![Call::Lock(LockKind::Exclusive, 0), Call::Put(0), Call::Unlock(0)],
            Self::Line if me == 0 => {
                vec![Call::Lock(LockKind::Exclusive, 0), away, Call::Away(0), Call::Unlock(0)]
            }
            Self::Line => {
                vec![Call::Away(10), Call::Lock(LockKind::Exclusive, 0), Call::Put(0), Call::Unlock(0)]
            }
        }
    }
}
