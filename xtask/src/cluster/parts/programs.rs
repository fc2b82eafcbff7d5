//! The C programs of `tests/c` over two and three machines, in each arrangement, on each channel.

use crate::cluster::bed::Bed;
use crate::cluster::job::{self, Ended, tail};
use crate::cluster::launcher::{Arrangement, Launcher};
use crate::cluster::report::Report;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Longest that building all of them may take.
const BUILD_LIMIT: Duration = Duration::from_secs(300);
/// What CI runs: a program for each kind of call.
const FEW: [&str; 12] = [
    "atomic_pairs",
    "coll_alltoall",
    "comm_split",
    "die_abort",
    "die_win_error",
    "fence_all_to_all",
    "flush_visible",
    "lock_fair",
    "type_derived",
    "win_lock",
    "win_pscw",
    "window_dynamic_regions",
];

/// How many of them over libfabric.
const FEW_OF_OFI: usize = 3;

/// Machines and arrangements. A start of libfabric takes half a second in each rank, whatever follows: there are all of them where it
/// was asked for alone.
fn rows(channel: &str, is_quick: bool, is_alone: bool) -> &'static [(u32, Arrangement)] {
    const ALL: [(u32, Arrangement); 6] = [
        (2, Arrangement::Uneven),
        (3, Arrangement::Turns),
        (2, Arrangement::Turns),
        (2, Arrangement::Blocks),
        (3, Arrangement::Blocks),
        (3, Arrangement::Uneven),
    ];
    match (channel, is_quick) {
        (_, true) => &ALL[..1],
        ("ofi", false) if !is_alone => &ALL[..2],
        _ => &ALL,
    }
}

/// A program that was built.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) path: PathBuf,
    ranks: Vec<u32>,
    expect: Expect,
}

/// How its job ends.
#[derive(Debug, PartialEq, Eq)]
enum Expect {
    NoErrors,
    Exit(i32),
    Death(String),
}

fn run_all(bed: &Bed, report: &mut Report) -> Result<(), String> {
    let programs = build(bed)?;
    for channel in bed.channels.clone() {
        for &(machines, way) in rows(channel, bed.args.quick, bed.args.channel.is_some()) {
            let what = format!("C programs, {channel}, {machines} machines {}", way.text());
            report.row(&what, || go_through(bed, &programs, channel, (machines, way)));
        }
    }
    Ok(())
}

pub(super) fn run(bed: &mut Bed, report: &mut Report) {
    if let Err(why) = run_all(bed, report) {
        report.row("C programs", || Err(why));
    }
}

fn go_through(
    bed: &Bed,
    programs: &[Program],
    channel: &str,
    place: (u32, Arrangement),
) -> Result<String, String> {
    let (mut jobs, mut wrong) = (0, Vec::new());
    let few = if bed.args.quick && channel == "ofi" { FEW_OF_OFI } else { programs.len() };
    for program in programs.iter().take(few) {
        // The most ranks up to four, so that an uneven arrangement is one.
        let most = program.ranks.iter().copied().filter(|ranks| *ranks <= 4).max();
        let Some(ranks) = most.or(program.ranks.iter().copied().min()).filter(|ranks| *ranks > 1) else {
            continue;
        };
        jobs += 1;
        let preference = Bed::preference(channel);
        let variables = [("RMA_CHANNEL", preference.as_str()), ("CHECK_LIMIT_S", "40")];
        let job = bed.job(place, ranks, &variables, [program.path.clone().into_os_string()]);
        let judged = bed.run(Launcher::Rmarun, &job).and_then(|ended| judge(&program.expect, &ended));
        wrong.extend(judged.err().map(|why| format!("  {} on {ranks} ranks: {why}", program.name)));
    }
    match wrong.is_empty() {
        true => Ok(format!("{jobs} jobs")),
        false => Err(format!("{} of {jobs} jobs\n{}", wrong.len(), wrong.join("\n"))),
    }
}

/// Builds the programs and reads what is to be known of them.
pub(super) fn build(bed: &Bed) -> Result<Vec<Program>, String> {
    let mut command = Command::new(bed.program("rma-test-c"));
    command.arg(bed.machines.folder());
    match (&bed.args.program, bed.args.quick) {
        (Some(name), _) => command.arg(name),
        (None, true) => command.args(FEW),
        (None, false) => &mut command,
    };
    let ended = job::run(&mut command, BUILD_LIMIT)?;
    if ended.code != Some(0) {
        return Err(format!("they do not build:\n{}", tail(&ended.stderr)));
    }
    ended.stdout.lines().map(|line| parse(line).ok_or_else(|| format!("what is {line}?"))).collect()
}

/// A line of `rma-test-c`: name, path, numbers of ranks, how it ends.
fn parse(line: &str) -> Option<Program> {
    let mut fields = line.split('\t');
    let (name, path) = (fields.next()?.to_owned(), fields.next()?.into());
    let ranks = fields.next()?.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let expect = match fields.next()?.split_once(' ').unwrap_or(("", "")) {
        ("exit", status) => Expect::Exit(status.parse().ok()?),
        ("death", words) => Expect::Death(words.to_owned()),
        _ => Expect::NoErrors,
    };
    Some(Program { name, path, ranks, expect })
}

fn judge(expect: &Expect, ended: &Ended) -> Result<(), String> {
    let lived_on = ended.stdout.contains("still alive");
    let is_good = match expect {
        Expect::NoErrors => ended.code == Some(0) && ended.stdout == "no errors\n" && ended.stderr.is_empty(),
        Expect::Exit(status) => ended.code == Some(*status) && !lived_on,
        Expect::Death(words) => ended.code != Some(0) && !lived_on && ended.stderr.contains(words),
    };
    let Ended { code, took, stdout, stderr, .. } = ended;
    match is_good {
        true => Ok(()),
        false => {
            Err(format!("status {code:?} after {took:?}, not {expect:?}\n{}{}", tail(stdout), tail(stderr)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_programs_end() {
        let program = parse("a_b\t/x/a_b\t2 4\tdeath no such rank").unwrap();
        assert_eq!((program.name.as_str(), program.ranks.as_slice()), ("a_b", [2, 4].as_slice()));
        assert_eq!(program.expect, Expect::Death("no such rank".to_owned()));
        assert_eq!(parse("a\t/a\t1\t").unwrap().expect, Expect::NoErrors);
        assert!(parse("a\t/a\tx\t").is_none());
    }

    #[test]
    fn ends_are_judged() {
        let ended = |code, stdout: &str, stderr: &str| Ended {
            code: Some(code),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            took: Duration::ZERO,
            left: Vec::new(),
        };
        judge(&Expect::NoErrors, &ended(0, "no errors\n", "")).unwrap();
        judge(&Expect::Exit(7), &ended(7, "", "")).unwrap();
        judge(&Expect::Death("bad".to_owned()), &ended(1, "", "all bad")).unwrap();
        for (expect, ended) in [
            (Expect::NoErrors, ended(0, "no errors\n", "warning")),
            (Expect::NoErrors, ended(1, "no errors\n", "")),
            (Expect::Exit(7), ended(7, "still alive\n", "")),
            (Expect::Death("bad".to_owned()), ended(1, "", "good")),
        ] {
            judge(&expect, &ended).unwrap_err();
        }
    }
}
