//! Every launcher that is installed: a program that ends well, and one in which a rank aborts.

use super::programs;
use crate::cluster::bed::Bed;
use crate::cluster::job::tail;
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::path::Path;

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    let programs = match programs::build(bed) {
        Ok(programs) => programs,
        Err(why) => return report.row("launchers", || Err(why)),
    };
    let path = |name: &str| programs.iter().find(|program| program.name == name).map(|p| p.path.clone());
    let (Some(good), Some(bad)) = (path("fence_all_to_all"), path("die_abort")) else {
        return report.skip("launchers", "their programs were not chosen");
    };
    for launcher in Launcher::ALL {
        if !launcher.is_there() {
            report.skip(launcher.text(), "it is not installed");
            continue;
        }
        if launcher.is_of_slurm()
            && let Err(why) = bed.start_slurm()
        {
            report.row(launcher.text(), || Err(why));
            continue;
        }
        for channel in bed.channels.clone() {
            if bed.args.quick && channel != "tcp" {
                continue;
            }
            report.row(&format!("{}, {channel}", launcher.text()), || {
                start(bed, launcher, channel, (&good, &bad))
            });
        }
    }
    bed.end_slurm();
}

/// A good job on two machines and on three, and one that aborts.
fn start(
    bed: &Bed,
    launcher: Launcher,
    channel: &str,
    (good, bad): (&Path, &Path),
) -> Result<String, String> {
    let preference = Bed::preference(channel);
    let run = |machines, program: &Path| {
        let variables = [("RMA_CHANNEL", preference.as_str())];
        let job = bed.job((machines, Arrangement::Blocks), 4, &variables, [program.as_os_str().to_owned()]);
        bed.run(launcher, &job)
    };
    for machines in [2, 3] {
        let ended = run(machines, good)?;
        if ended.code != Some(0) || !ended.stdout.contains("no errors\n") {
            let said = format!("{}{}", tail(&ended.stdout), tail(&ended.stderr));
            return Err(format!("on {machines} machines it ended with {:?}\n{said}", ended.code));
        }
    }
    let ended = run(2, bad)?;
    match ended.code {
        Some(code) if code != 0 => Ok(format!("ends well, and with {code} when a rank aborts")),
        code => Err(format!("an abort ended with {code:?}\n{}", tail(&ended.stderr))),
    }
}
