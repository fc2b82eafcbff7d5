//! Writes the table of `docs/scale.md`: memory and packets of simulated jobs of the sizes that are given.
//!
//! `rma-scale [RANKS …]`; prints the table as text for that page.

use rma_core::config::EngineConfig;
use rma_tests::scale::weigh::Weighing;
use rma_tests::scale::{Measured, PHASES, measure};

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

const SIZES: [u32; 5] = [2, 256, 2_000, 10_000, 100_000];

fn main() {
    let sizes = std::env::args().skip(1).map(|word| word.parse::<u32>().expect("a number of ranks"));
    let mut sizes = sizes.collect::<Vec<_>>();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let jobs = sizes.iter().map(|ranks| {
        eprintln!("{ranks} ranks …");
        (*ranks, measure(*ranks, &EngineConfig::default(), 1))
    });
    let jobs = jobs.collect::<Vec<_>>();
    println!("### Bytes\n");
    row("", jobs.iter().map(|(ranks, _)| format!("{ranks} ranks")));
    row("---", jobs.iter().map(|_| "---:".to_owned()));
    row("an engine without a window", jobs.iter().map(|(ranks, found)| each(*ranks, found[0].engines)));
    row(
        "an idle window",
        jobs.iter().map(|(ranks, found)| each(*ranks, found[1].engines - found[0].engines)),
    );
    row("the same at rank 0", jobs.iter().map(|(_, found)| (found[1].first - found[0].first).to_string()));
    for (at, phase) in PHASES.iter().enumerate() {
        let of =
            |(ranks, found): &(u32, Vec<Measured>)| each(*ranks, found[at + 2].engines - found[0].engines);
        row(&format!("after: {}", phase.name()), jobs.iter().map(of));
        let of = |(_, found): &(u32, Vec<Measured>)| (found[at + 2].first - found[0].first).to_string();
        row("at rank 0", jobs.iter().map(of));
    }
    let freed = |(ranks, found): &(u32, Vec<Measured>)| {
        each(*ranks, found.last().map_or(0, |last| last.engines) - found[0].engines)
    };
    row("when the window is freed", jobs.iter().map(freed));
    let freed =
        |(_, found): &(u32, Vec<Measured>)| found.last().map_or(0, |last| last.first) - found[0].first;
    row("at rank 0", jobs.iter().map(|job| freed(job).to_string()));
    println!("\n### Packets of the whole job (budget)\n");
    row("", jobs.iter().map(|(ranks, _)| format!("{ranks} ranks")));
    row("---", jobs.iter().map(|_| "---:".to_owned()));
    for (at, phase) in PHASES.iter().enumerate() {
        let packets = |(ranks, found): &(u32, Vec<Measured>)| {
            let (least, most) = phase.budget(u64::from(*ranks));
            let budget = if least == most { least.to_string() } else { format!("{least} to {most}") };
            format!("{} ({budget})", found[at + 2].packets)
        };
        row(phase.name(), jobs.iter().map(packets));
    }
}

/// Bytes of one engine among all but the first.
fn each(ranks: u32, bytes: i64) -> String {
    let others = i64::from(ranks) - 1;
    if bytes % others == 0 {
        (bytes / others).to_string()
    } else {
        format!("{:.1}", bytes as f64 / others as f64)
    }
}

fn row(name: &str, cells: impl Iterator<Item = String>) {
    println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
}
