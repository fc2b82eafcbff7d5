//! Both benchmarks at their smallest: whether they run and end, not how fast.

use crate::cluster::bed::Bed;
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// What CI runs.
const FEW: &str = "put,get,acc,fetch-op,lock-put,fence,pscw";

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    let built = sources(bed).and_then(|sources| bed.compile(&sources, "rma-bench"));
    let bench = match built {
        Ok(bench) => bench.into_os_string(),
        Err(why) => return report.row("benchmarks", || Err(why)),
    };
    for channel in bed.channels.clone() {
        let preference = Bed::preference(channel);
        let job = |ranks, words: Vec<OsString>| {
            let mut job = bed.job((2, Arrangement::Turns), ranks, &[("RMA_CHANNEL", &preference)], words);
            job.limit *= 4;
            job
        };
        let mut words = vec![bench.clone()];
        words.extend("--quick --samples 1 --sample-us 200".split(' ').map(OsString::from));
        if bed.args.quick {
            words.extend(["--cases".into(), FEW.into()]);
        }
        let lines = |ranks, words| {
            let ended = bed.succeed(Launcher::Rmarun, &job(ranks, words))?;
            match ended.stdout.lines().count() {
                0 => Err("nothing was measured".to_owned()),
                lines => Ok(format!("{lines} lines")),
            }
        };
        report.row(&format!("C benchmark, {channel}"), || lines(2, words));
        let collectives = vec![bed.program("collectives")];
        report.row(&format!("benchmark of collectives, {channel}"), || lines(3, collectives));
    }
}

fn sources(bed: &Bed) -> Result<Vec<PathBuf>, String> {
    let folder = bed.source("crates/rma-bench/c");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "c"));
    Ok(files)
}
