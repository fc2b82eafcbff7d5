//! 64 ranks on eight machines: fence, lock_all, accumulate, and windows made, from start to end; and memory of a rank.

use crate::cluster::bed::Bed;
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::ffi::OsString;
use std::time::Duration;

/// Machines and ranks; in CI fewer.
const SIZES: [(u32, u32); 2] = [(3, 12), (8, 64)];
/// Longest from start to end. Debian's libfabric reads all of the kernel's symbols twice in each process before anything begins.
const LIMIT_S: f32 = 20.0;
/// Most private memory of a rank, in KiB; libfabric has some of its own, and buffers of each contact.
const MOST_KIB: u64 = 8 * 1024;
const MOST_KIB_OF_OFI: u64 = 16 * 1024;

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    let (machines, ranks) = SIZES[usize::from(!bed.args.quick)];
    let program = match bed.compile(&[bed.source("tests/c/many_ranks.c")], "many_ranks") {
        Ok(program) => program.into_os_string(),
        Err(why) => return report.row("scale", || Err(why)),
    };
    for channel in bed.channels.clone() {
        let what = format!("{ranks} ranks on {machines} machines, {channel}");
        report.row(&what, || measure(bed, channel, (machines, ranks), program.clone()));
    }
}

fn measure(bed: &Bed, channel: &str, size: (u32, u32), program: OsString) -> Result<String, String> {
    let preference = Bed::preference(channel);
    let variables = [("RMA_CHANNEL", preference.as_str()), ("CHECK_LIMIT_S", "100")];
    let mut job = bed.job((size.0, Arrangement::Blocks), size.1, &variables, [program, "memory".into()]);
    job.limit = Duration::from_secs(110);
    let ended = bed.succeed(Launcher::Rmarun, &job)?;
    let kib = ended.stdout.split_once("at most ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let kib: u64 = kib.ok_or_else(|| format!("no memory in {:?}", ended.stdout))?;
    let took = ended.took.as_secs_f32();
    let most = if channel == "ofi" { MOST_KIB_OF_OFI } else { MOST_KIB };
    match took < LIMIT_S && kib < most {
        true => Ok(format!("{took:.1} s from start to end, {kib} KiB of a rank at most")),
        false => Err(format!("{took:.1} s and {kib} KiB; {LIMIT_S} s and {most} KiB are the limits")),
    }
}
