//! What is run on the machines, a file each.

mod benchmarks;
mod demos;
mod faults;
mod launchers;
mod programs;
mod random;
mod scale;
mod weather;

use super::bed::Bed;
use super::report::Report;

/// A part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Part {
    /// The C programs of `tests/c`.
    Programs,
    /// Random programs.
    Random,
    /// The demos.
    Demos,
    /// The smallest cases of both benchmarks.
    Benchmarks,
    /// Every launcher that is installed.
    Launchers,
    /// A rank, a launcher and a cable that are gone in the middle.
    Faults,
    /// Networks that are slow and lose packets.
    Weather,
    /// 64 ranks on eight machines.
    Scale,
}

impl Part {
    pub(super) const ALL: [Self; 8] = [
        Self::Programs,
        Self::Random,
        Self::Demos,
        Self::Benchmarks,
        Self::Launchers,
        Self::Faults,
        Self::Weather,
        Self::Scale,
    ];

    pub(super) fn run(self, bed: &mut Bed, report: &mut Report) {
        match self {
            Self::Programs => programs::run(bed, report),
            Self::Random => random::run(bed, report),
            Self::Demos => demos::run(bed, report),
            Self::Benchmarks => benchmarks::run(bed, report),
            Self::Launchers => launchers::run(bed, report),
            Self::Faults => faults::run(bed, report),
            Self::Weather => weather::run(bed, report),
            Self::Scale => scale::run(bed, report),
        }
    }
}
