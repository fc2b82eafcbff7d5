//! The demos, small: each checks its own result.

use crate::cluster::bed::Bed;
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::ffi::OsString;

/// Their command lines.
const LINES: [&str; 3] = [
    "heat2d --rows 24 --cols 24 --steps 5 --check --no-picture",
    "heat2d --rows 24 --cols 24 --steps 5 --check --no-picture --sync lock",
    "wordcount --check README.md",
];

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    for channel in bed.channels.clone() {
        let run = |line: &str| {
            let mut words: Vec<_> = line.split(' ').map(OsString::from).collect();
            words[0] = bed.program(&format!("examples/{}", words[0].display()));
            if let Some(last) = words.last_mut().filter(|word| **word == "README.md") {
                *last = bed.source("README.md").into();
            }
            let preference = Bed::preference(channel);
            let job = bed.job((3, Arrangement::Uneven), 4, &[("RMA_CHANNEL", &preference)], words);
            bed.succeed(Launcher::Rmarun, &job).map(drop)
        };
        report.row(&format!("demos, {channel}"), || {
            let lines = if bed.args.quick && channel == "ofi" { &LINES[..1] } else { &LINES };
            lines.iter().try_for_each(|line| run(line)).map(|()| format!("{} jobs", lines.len()))
        });
    }
}
