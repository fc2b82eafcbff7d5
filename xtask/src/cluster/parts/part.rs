//! The parts by name.

use super::{benchmarks, demos, faults, launchers, programs, random, scale, weather};
use crate::cluster::bed::Bed;
use crate::cluster::report::Report;

/// A part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cluster) enum Part {
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
    pub(in crate::cluster) const ALL: [Self; 8] = [
        Self::Programs,
        Self::Random,
        Self::Demos,
        Self::Benchmarks,
        Self::Launchers,
        Self::Faults,
        Self::Weather,
        Self::Scale,
    ];

    pub(in crate::cluster) fn run(self, bed: &mut Bed, report: &mut Report) {
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
