//! The command line of `cargo xtask bench`, and the order of what it does.

use super::columns::setups;
use super::job::Runner;
use super::libraries::{self, Family, Library};
use super::machine::{Machine, Ticks};
use super::results::Results;
use super::sweep::{self, Plan};
use super::{cases, collectives, paths, peers, regression, report, vary};
use crate::Outcome;
use crate::workspace::Workspace;
use clap::builder::PossibleValue;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Measure this library beside other MPI libraries and beside the limits of the machine.
///
/// Builds one C program with our C library and with every other MPI that is found, and runs all of them in turn, through
/// shared memory and over TCP. Writes report.html, report.md and results.json into bench/ below the target directory.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    other: Option<Other>,

    /// Fewer sizes, shorter samples: done within three minutes.
    #[arg(long)]
    quick: bool,

    /// Only these cases.
    #[arg(long, value_name = "CASE", value_delimiter = ',', value_parser = names_of_cases())]
    only: Vec<String>,

    /// Only jobs of so many ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..))]
    ranks: Vec<u32>,

    /// Only libraries whose name contains one of these (rma, mpich-4, openmpi); none: only ours.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peers: Option<Vec<String>>,

    /// Another library, installed below DIR.
    #[arg(long, value_name = "DIR")]
    prefix: Vec<PathBuf>,

    /// An older build of this library, installed below DIR, as one of the others, whatever --peers says. Each case is a job of its own
    /// then, and rows are compared by the median over the repetitions of the ratio of both: 20 repetitions tell 5 % apart.
    #[arg(long, value_name = "DIR")]
    beside: Option<PathBuf>,

    /// Each other library a second time, with the guest in front.
    #[arg(long)]
    guest: bool,

    /// How often everything is measured, however long that takes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: Option<u32>,

    /// Compare our times with saved ones; the exit status is 1 when some became worse beyond noise.
    #[arg(long, value_name = "RESULTS.json")]
    check: Option<PathBuf>,

    /// Measure nothing: make the report, or the comparison, from saved results.
    #[arg(long, value_name = "RESULTS.json")]
    #[arg(conflicts_with_all = ["quick", "only", "ranks", "peers", "prefix", "beside", "guest", "repetitions"])]
    from: Option<PathBuf>,

    /// Put the table of budgets into docs/performance.md as well; with --sweep, plots and tables into docs/tuning.md.
    #[arg(long)]
    docs: bool,

    /// Measure our library alone, with several values of these variables in turn; writes a plot and a table for each. The
    /// word docs stands for all that docs/tuning.md shows.
    #[arg(long, value_name = "VARIABLE", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["quick", "ranks", "peers", "check", "from"])]
    sweep: Vec<String>,

    /// The values to try; some around the default, when there are none.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "sweep")]
    values: Vec<u64>,

    /// Install or update the newest MPICH and Open MPI from PyPI below the target directory, and do nothing else.
    #[arg(long, exclusive = true)]
    install_peers: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Other {
    /// The criterion benches: parts inside one process, each beside its limit.
    Parts {
        /// Run only benchmarks whose name contains this, and options of criterion.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FILTER")]
        criterion: Vec<String>,
    },
    /// Calls between two ranks on every path of this library, through its Rust interface, as one table.
    Paths,
    /// Small collectives of 2 to 8 ranks on every path of this library, with their packets, sleeps and yields.
    Collectives,
}

fn names_of_cases() -> Vec<PossibleValue> {
    cases::CASES.iter().map(|case| PossibleValue::new(case.name).help(case.title)).collect()
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    match &args.other {
        Some(Other::Parts { criterion }) => return parts(workspace, criterion),
        Some(Other::Paths) => return paths::run(workspace),
        Some(Other::Collectives) => return collectives::run(workspace),
        None => {}
    }
    if args.install_peers {
        return peers::install(workspace.target());
    }
    let directory = workspace.target().join("bench");
    if !args.sweep.is_empty() {
        return sweep_variables(workspace, args, &directory);
    }
    // Saved results are looked at first: an hour's measurement must not end in a file that cannot be read.
    let saved = args.check.as_deref().map(Results::load).transpose()?;
    let results = match &args.from {
        Some(path) => Results::load(path)?,
        None => measure(workspace, args, &directory)?,
    };
    report::write(&results, &directory)?;
    if args.docs {
        report::put_into(&results, &workspace.root().join("docs/performance.md"))?;
    }
    println!("{}", report::summary(&results, &directory));
    match regression::beside(&results) {
        None => {}
        Some(slower) if slower.is_empty() => println!("No row is more than 5 % behind the older build."),
        Some(slower) => {
            println!("More than 5 % behind the older build:");
            slower.iter().for_each(|row| println!("- {}", row.describe()));
        }
    }
    let behind = regression::of_guests(&results);
    behind.iter().for_each(|row| println!("With the guest: {}", row.describe()));
    if args.guest && behind.is_empty() {
        println!("With the guest no row takes 1.15 of our library's time, or longer than the host.");
    }
    match saved {
        Some(saved) => check(&saved, &results),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn parts(workspace: &Workspace, criterion: &[String]) -> Outcome {
    let mut bench = workspace.cargo("bench");
    // Without --benches the unit tests of the library would be run as benchmarks, and trip over criterion's options.
    let error = bench.args(["--package", "rma-bench", "--benches", "--"]).args(criterion).exec();
    Err(format!("cargo bench could not be started: {error}"))
}

fn measure(workspace: &Workspace, args: &Args, directory: &Path) -> Result<Results, String> {
    let machine = Machine::look();
    if machine.was_busy() {
        eprintln!("The load of the machine is {:.2}: something else is running.", machine.load_before);
    }
    let mut prefixes = with_ours(args, directory)?;
    let guests = prefixes.iter().map(|prefix| prefix.join("lib/librma_guest.so"));
    let guest = guests.filter(|_| args.guest).find(|guest| guest.is_file());
    if args.guest && guest.is_none() {
        return Err("--guest: librma_guest.so is not installed with our library".to_owned());
    }
    prefixes.extend(peers::installed(workspace.target()));
    let runner = Runner::new(directory.join("work"))?;
    let mut libraries = libraries::find(
        &runner,
        &workspace.root().join("crates/rma-bench/c"),
        &prefixes,
        (args.beside.as_deref(), guest.as_deref()),
    )?;
    if let Some(names) = &args.peers {
        libraries.retain(|library| is_wanted(library, names));
    }
    if !libraries.iter().any(|library| library.is_ours) {
        eprintln!("Our library is left out.");
    }
    let plan = plan(args);
    let setups = setups(&libraries, plan.is_quick);
    let columns = setups.iter().map(|setup| setup.column.clone()).collect();
    let mut results = Results::new(now()?, plan.is_quick, machine, columns);
    let ticks = Ticks::now();
    sweep::run(&runner, &plan, &libraries, &setups, &mut results)?;
    results.machine.stolen_percent = Ticks::now().stolen_percent_since(ticks);
    Ok(results)
}

/// Our library with several values of each of some variables.
fn sweep_variables(workspace: &Workspace, args: &Args, directory: &Path) -> Outcome {
    let prefixes = with_ours(args, directory)?;
    let runner = Runner::new(directory.join("work"))?;
    let libraries =
        libraries::find(&runner, &workspace.root().join("crates/rma-bench/c"), &prefixes, (None, None))?;
    let ours = libraries.iter().find(|library| library.is_ours);
    let ours = ours.ok_or("our library does not build, so there is nothing to vary")?;
    let Args { sweep, values, only, repetitions, .. } = args;
    let page = workspace.root().join(vary::PAGE);
    let variables = if sweep == &["docs"] { vary::variables_of(&page)? } else { sweep.clone() };
    for variable in &variables {
        let request = vary::Request { variable, values, only, repetitions: *repetitions };
        let files = vary::run(&runner, ours, directory, &request)?;
        println!("{}\n{}\n", files.table, files.plot.display());
        if args.docs {
            vary::put_into(&page, variable, &files)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The directories that were named, and our library, installed if none of them has it.
fn with_ours(args: &Args, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut prefixes = args.prefix.clone();
    if !prefixes.iter().any(|prefix| prefix.join("bin/rmacc").is_file()) {
        prefixes.extend(install_ours(directory.join("prefix"))?);
    }
    Ok(prefixes)
}

/// Builds and installs our library below this prefix; nothing, with the reason on the terminal, when that does not work.
fn install_ours(prefix: PathBuf) -> Result<Option<PathBuf>, String> {
    // This very program, whose other command it is.
    let mut install = Command::new("/proc/self/exe");
    let status = install.args(["install", "--prefix"]).arg(&prefix).stdout(Stdio::null()).status();
    let status = status.map_err(|error| format!("cargo xtask install could not be started: {error}"))?;
    Ok(status.success().then_some(prefix))
}

fn is_wanted(library: &Library, names: &[String]) -> bool {
    library.family == Family::Ours
        || names.iter().any(|name| name != "none" && library.key.contains(name.as_str()))
}

fn plan(args: &Args) -> Plan {
    let mut plan = if args.quick { Plan::quick() } else { Plan::full() };
    plan.only.clone_from(&args.only);
    plan.ranks.clone_from(&args.ranks);
    plan.is_beside = args.beside.is_some();
    if let Some(repetitions) = args.repetitions {
        plan.repetitions = repetitions;
        plan.total_limit = Duration::MAX;
    }
    plan
}

/// Date and time, UTC.
fn now() -> Result<String, String> {
    let mut date = Command::new("date");
    let output = date.args(["-u", "+%Y-%m-%d %H:%M UTC"]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("date could not be started: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn check(saved: &Results, results: &Results) -> Outcome {
    let regressions = regression::find(saved, results)?;
    if regressions.is_empty() {
        println!("Nothing became slower beyond noise since {}.", saved.date);
        return Ok(ExitCode::SUCCESS);
    }
    println!("Slower beyond noise since {}:", saved.date);
    regressions.iter().for_each(|regression| println!("- {}", regression.describe()));
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        crate::testing::parse(line)
    }

    #[test]
    fn the_comparison_has_options_and_the_others_have_names() {
        let args = parse("bench --quick --only put,fence --ranks 2,4 --peers mpich-5").unwrap();
        let quick = plan(&args);
        assert!(quick.is_quick && quick.only == ["put", "fence"] && quick.ranks == [2, 4]);
        assert!(quick.total_limit < Duration::from_secs(180), "as its help says");
        let patient = plan(&parse("bench --quick --repetitions 7").unwrap());
        assert_eq!(
            (patient.repetitions, patient.total_limit),
            (7, Duration::MAX),
            "what was asked for is measured"
        );
        assert!(matches!(parse("bench paths").unwrap().other, Some(Other::Paths)));
        assert!(matches!(parse("bench collectives").unwrap().other, Some(Other::Collectives)));
        let parts = parse("bench parts copy --quick").unwrap();
        assert!(matches!(parts.other, Some(Other::Parts { criterion }) if criterion == ["copy", "--quick"]));
        for line in ["bench --only putt", "bench --ranks 1", "bench --quick paths", "bench --from a --quick"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        let sweep = parse("bench --sweep RMA_SPIN --values 0,30 --only put").unwrap();
        assert!(sweep.sweep == ["RMA_SPIN"] && sweep.values == [0, 30] && sweep.only == ["put"]);
        for line in
            ["bench --values 1", "bench --sweep RMA_SPIN --quick", "bench --sweep RMA_SPIN --values x"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
