//! What is gone in the middle of a job: a rank, the launcher, a machine's cable. Everything ends, and says which rank.

use super::random::words;
use crate::cluster::bed::Bed;
use crate::cluster::job::{Ended, tail};
use crate::cluster::launcher::{Arrangement, Job, Launcher};
use crate::cluster::report::Report;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a job works, once its last rank runs, before something happens to it: any moment will do.
const WORKS: Duration = Duration::from_millis(1500);
/// How long a rank may take to run, and how often is looked.
const COMES: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// How long another host may be silent, and a connection may hang: the least there is.
const SILENCE: [(&str, &str); 3] =
    [("RMA_HOST_TIMEOUT", "2"), ("RMA_TCP_KEEPALIVE", "2"), ("RMA_TCP_ACK_TIMEOUT", "2")];

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    for channel in bed.channels.clone() {
        for (what, fault) in [("a rank is killed", Fault::Rank), ("a cable is pulled", Fault::Cable)] {
            for launcher in [Launcher::Rmarun, Launcher::Hydra].into_iter().filter(|one| one.is_there()) {
                if bed.args.quick && (launcher == Launcher::Hydra || (channel, fault) == ("ofi", Fault::Rank))
                {
                    continue;
                }
                report.row(&format!("{what}, {}, {channel}", launcher.text()), || {
                    suffer(bed, launcher, channel, fault)
                });
            }
        }
    }
    report.row("the launcher is killed, tcp", || suffer(bed, Launcher::Rmarun, "tcp", Fault::Launcher));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Rank,
    Cable,
    Launcher,
}

/// A job that would work for minutes: three machines, the last of which has rank 2 alone.
fn suffer(bed: &Bed, launcher: Launcher, channel: &str, fault: Fault) -> Result<String, String> {
    let preference = Bed::preference(channel);
    let mut variables = vec![("RMA_CHANNEL", preference.as_str())];
    variables.extend(SILENCE);
    let job = bed.job((3, Arrangement::Turns), 3, &variables, words(bed, (0, 1_000_000), 1));
    let mut at = Instant::now();
    let mut done = Ok(());
    let ended = bed.run_while(launcher, &job, |pid| {
        done = await_rank(2).and_then(|rank| {
            sleep(WORKS);
            match fault {
                Fault::Rank => kill(rank),
                Fault::Cable => bed.machines.plug(2, false),
                Fault::Launcher => kill(pid),
            }
        });
        at = Instant::now();
    });
    let took = at.elapsed();
    if fault == Fault::Cable {
        bed.machines.plug(2, true)?;
    }
    done?;
    check(&job, (launcher, fault), &ended?)?;
    Ok(format!("ends after {:.1} s", took.as_secs_f32()))
}

fn check(job: &Job<'_>, (launcher, fault): (Launcher, Fault), ended: &Ended) -> Result<(), String> {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    // Hydra says itself which process was killed, and ends the others before they can.
    let tells = launcher == Launcher::Hydra && fault == Fault::Rank || names_rank(&said);
    let is_good = fault == Fault::Launcher || (ended.code != Some(0) && tells);
    let late = ended.took >= job.limit;
    // Hydra's own proxy on the machine that is cut off waits for its launcher.
    let has_left = !ended.left.is_empty() && (launcher, fault) != (Launcher::Hydra, Fault::Cable);
    match is_good && !late && !has_left {
        true => Ok(()),
        false => {
            let Ended { code, took, left, .. } = ended;
            Err(format!("it ended with {code:?} after {took:?} and left {left:?}\n{}", tail(&said)))
        }
    }
}

/// Whether the lost rank is named.
fn names_rank(said: &str) -> bool {
    ["rank 2", "process 2"].iter().any(|words| said.contains(words))
}

/// Waits for the process of that rank, and gives its number.
fn await_rank(rank: u32) -> Result<u32, String> {
    let begin = Instant::now();
    loop {
        match process_of(rank)? {
            Some(pid) => return Ok(pid),
            None if begin.elapsed() > COMES => {
                return Err(format!("no process is rank {rank} after {} s", COMES.as_secs()));
            }
            None => sleep(LOOK),
        }
    }
}

/// The process of that rank, which says so in its environment.
fn process_of(rank: u32) -> Result<Option<u32>, String> {
    let marks = [format!("PMI_RANK={rank}"), format!("PMIX_RANK={rank}")];
    for entry in std::fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let is_program = String::from_utf8_lossy(&read("cmdline")).contains("rma-test-seeds\0play");
        let environment = read("environ");
        let mut variables = environment.split(|byte| *byte == 0);
        if is_program && variables.any(|variable| marks.iter().any(|mark| mark.as_bytes() == variable)) {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

fn kill(pid: u32) -> Result<(), String> {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("no process")?;
    kill_process(pid, Signal::KILL).map_err(|error| error.to_string())
}
