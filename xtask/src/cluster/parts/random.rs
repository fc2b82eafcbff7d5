//! Random programs, until there were so many steps.

use crate::cluster::bed::Bed;
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::ffi::OsString;

/// Where ranks lie: machines, arrangement, ranks, and threads of each.
const PLACES: [(u32, Arrangement, u32, u32); 4] = [
    (2, Arrangement::Turns, 2, 2),
    (2, Arrangement::Uneven, 3, 1),
    (3, Arrangement::Turns, 3, 1),
    (3, Arrangement::Blocks, 5, 1),
];
/// Programs of one job.
const PROGRAMS: u64 = 60;
/// Programs of the only job of a place in CI.
const FEW: u64 = 12;

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    let rows: u64 = (bed.channels.len() * PLACES.len()) as u64;
    let (steps, programs) = if bed.args.quick { (1, FEW) } else { (bed.args.steps / rows, PROGRAMS) };
    for channel in bed.channels.clone() {
        let few = if bed.args.quick && channel == "ofi" { 1 } else { PLACES.len() };
        for (machines, way, ranks, threads) in PLACES.into_iter().rev().take(few) {
            let place = format!("{machines} machines {}, {ranks} ranks of {threads}", way.text());
            report.row(&format!("random programs, {channel}, {place}"), || {
                play(bed, channel, ((machines, way), ranks, threads), (steps, programs))
            });
        }
    }
}

/// Plays programs until so many steps are made.
pub(super) fn play(
    bed: &Bed,
    channel: &str,
    (place, ranks, threads): ((u32, Arrangement), u32, u32),
    (least, programs): (u64, u64),
) -> Result<String, String> {
    let (mut seed, mut made) = (0, 0);
    let preference = Bed::preference(channel);
    while made < least {
        let job =
            bed.job(place, ranks, &[("RMA_CHANNEL", &preference)], words(bed, (seed, programs), threads));
        let ended = bed.succeed(Launcher::Rmarun, &job).map_err(|why| format!("seeds from {seed}: {why}"))?;
        let steps: Option<u64> =
            ended.stdout.rsplit_once(" steps").and_then(|(rest, _)| rest.rsplit(' ').next()?.parse().ok());
        made += steps.filter(|steps| *steps > 0).ok_or_else(|| format!("no steps: {}", ended.stdout))?;
        seed += programs;
    }
    Ok(format!("{seed} programs, {made} steps"))
}

/// A rank's command line.
pub(super) fn words(bed: &Bed, (seed, count): (u64, u64), threads: u32) -> Vec<OsString> {
    let rest = format!("play --one-node 0 --threads {threads} --seed {seed} --count {count}");
    let mut words = vec![bed.program("rma-test-seeds")];
    words.extend(rest.split(' ').map(OsString::from));
    words
}
