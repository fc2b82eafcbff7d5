//! Runs programs, judges how they end, and tells at the end about all that went wrong.

use super::library::{Built, Library, workshop};
use super::source::{Expect, Source, missing, sources};
use crate::job::Ended;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How programs are run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// For messages.
    pub name: &'a str,
    /// Variables of the jobs.
    pub variables: &'a [(&'a str, &'a str)],
    /// Words before the program, and what it is run by.
    pub words: &'a [&'a str],
    /// On which of the numbers of ranks that a program asks for.
    pub ranks: fn(&[u32]) -> Vec<u32>,
    /// Which programs.
    pub filter: fn(&Source) -> bool,
    /// The longest that a job may take.
    pub limit: Duration,
}

/// The programs as they were built for a library in this process.
struct Workshop {
    sources: Vec<Source>,
    built: Vec<Built>,
    _directory: TempDir,
}

/// This library's programs, built once per process.
fn ours() -> &'static Workshop {
    static OURS: OnceLock<Workshop> = OnceLock::new();
    OURS.get_or_init(|| build(&Library::ours()))
}

fn build(library: &Library) -> Workshop {
    let (sources, directory) = (sources(), workshop());
    let built = library.build(&sources, directory.path());
    Workshop { sources, built, _directory: directory }
}

/// Builds the programs with `library` and runs them with `runner`: the same library, except for binaries that are to run on
/// another one.
///
/// # Panics
/// When something went wrong, with everything that did.
pub fn run(library: &Library, runner: &Library, plan: Plan<'_>) {
    let own;
    let workshop = match library.is_ours {
        true => ours(),
        false => {
            own = build(library);
            &own
        }
    };
    let listed = missing();
    let begin = Instant::now();
    let (mut jobs, mut wrong) = (0, Vec::new());
    for (source, built) in workshop.sources.iter().zip(&workshop.built).filter(|(s, _)| (plan.filter)(s)) {
        let program = match built {
            Built::Program(program) => program,
            Built::Missing(_) if library.is_ours => continue,
            Built::Missing(calls) => {
                println!("skipped with {}: {} uses {calls:?}", library.name, source.name);
                continue;
            }
            // It may use what only this library's header has.
            Built::Wrong(_) if !library.is_ours && !source.is_for_any(library.name) => continue,
            Built::Wrong(said) => {
                wrong.push(format!("{} cannot be built with {}:\n{said}", source.name, library.name));
                continue;
            }
        };
        if runner.is_ours && listed.contains_key(&source.name) {
            continue;
        }
        for ranks in (plan.ranks)(&source.ranks) {
            if !library.is_ours && !runner.is_ours && !source.is_for(library.name, ranks) {
                continue;
            }
            jobs += 1;
            let job = || {
                let job = runner.job(ranks, plan.words, program).variables(plan.variables);
                let limit_s = plan.limit.as_secs().saturating_sub(10).to_string();
                job.variables(&[("CHECK_LIMIT_S", &limit_s)]).limit(plan.limit).run()
            };
            let what = format!("{} on {ranks} ranks, {}", source.name, plan.name);
            match catch_unwind(AssertUnwindSafe(job)) {
                Ok(ended) => {
                    wrong.extend(judge(source, runner.is_ours, &ended).err().map(|e| format!("{what}: {e}")))
                }
                Err(panic) => wrong.push(format!("{what}: {}", said(&*panic))),
            }
        }
    }
    println!("{}: {jobs} jobs in {:.1} s", plan.name, begin.elapsed().as_secs_f32());
    assert!(wrong.is_empty(), "{} of {jobs} jobs went wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Builds the programs with this library, and compares what they miss with the list, both ways.
///
/// # Panics
/// When the list is not exact, or a program cannot be compiled.
pub fn check_missing() {
    let (workshop, listed) = (ours(), missing());
    let mut wrong = Vec::new();
    for (source, built) in workshop.sources.iter().zip(&workshop.built) {
        match (built, listed.get(&source.name)) {
            (Built::Program(_), None) => {}
            (Built::Program(_), Some(_)) => wrong.push(format!("{}: misses nothing any more", source.name)),
            (Built::Missing(calls), Some(listed)) if calls == listed => {}
            (Built::Missing(calls), _) => {
                let calls: Vec<_> = calls.iter().map(String::as_str).collect();
                wrong.push(format!("{}: {}", source.name, calls.join(" ")));
            }
            (Built::Wrong(said), _) => wrong.push(format!("{}:\n{said}", source.name)),
        }
    }
    let names = workshop.sources.iter().map(|source| &source.name);
    let unknown = listed.keys().filter(|name| !names.clone().any(|n| n == *name));
    wrong.extend(unknown.map(|name| format!("{name}: there is no such program")));
    assert!(wrong.is_empty(), "tests/c/missing.txt is not exact:\n{}", wrong.join("\n"));
}

/// Whether a job ended as the program's comment says; of other libraries' words nothing is expected.
fn judge(source: &Source, is_ours: bool, ended: &Ended) -> Result<(), String> {
    let code = ended.code();
    let lived_on = ended.stdout.contains("still alive");
    let is_good = match &source.expect {
        Expect::NoErrors => {
            code == 0 && ended.stdout.lines().any(|line| line == "no errors") && (!is_ours || is_quiet(ended))
        }
        Expect::Exit(status) => code == *status && !lived_on,
        Expect::Death(words) => code != 0 && !lived_on && (!is_ours || ended.stderr.contains(words)),
    };
    match is_good {
        true => Ok(()),
        false => Err(format!(
            "status {code} after {:?}, expected {:?}\n{}{}",
            ended.took, source.expect, ended.stdout, ended.stderr
        )),
    }
}

/// Nothing but the one line. What a memory checker says, of itself (`--`) or of the program (`==`), is no complaint: it has a
/// status for those.
fn is_quiet(ended: &Ended) -> bool {
    ended.stdout == "no errors\n"
        && ended.stderr.lines().all(|line| line.starts_with("==") || line.starts_with("--"))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
