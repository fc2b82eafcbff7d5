//! A debugger stops at each station of a put that `ARCHITECTURE.md` names, in that order.
//!
//! The stations are functions of the program for development: its symbols have them, and gdb, where there is one, stops there.

use rma_tests::job::{Job, is_second_pass, program};
use std::process::Command;

/// What gdb does: at each station it says so and goes on.
const WALK: &str = "
import gdb, os
gdb.execute('set breakpoint pending off')
class Station(gdb.Breakpoint):
    def stop(self):
        print('station', self.location, flush=True)
        return False
for station in os.environ['RMA_TEST_STATIONS'].split():
    Station(station)
gdb.execute('run')
";

/// A row of the table.
struct Row {
    is_mapped: bool,
    /// 0 is the origin, 1 the target.
    rank: u32,
    /// File and function.
    stations: Vec<(&'static str, &'static str)>,
}

impl Row {
    /// As gdb takes them.
    fn names(&self) -> Vec<String> {
        self.stations.iter().map(|(file, function)| format!("{file}.rs:{function}")).collect()
    }
}

fn rows() -> Vec<Row> {
    let text = include_str!("../../../ARCHITECTURE.md");
    let section = text.split("\n## ").find(|section| section.starts_with("The way of one put")).unwrap();
    let table = section.lines().filter(|line| line.starts_with("| ") && line.contains(".rs:"));
    let row = |line: &'static str| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let quoted = cells[3].split('`').filter_map(|part| part.split_once(".rs:"));
        Row {
            is_mapped: cells[1] == "mapped",
            rank: u32::from(cells[2] == "target"),
            stations: quoted.collect(),
        }
    };
    table.map(row).collect()
}

#[test]
fn the_stations_of_a_put_are_functions_of_the_program() {
    let rows = rows();
    assert_eq!(rows.len(), 3);
    let listed = Command::new("nm").arg("-C").arg(program("rma-test-observed")).output().unwrap();
    let symbols = String::from_utf8_lossy(&listed.stdout);
    for (file, function) in rows.iter().flat_map(|row| &row.stations) {
        let (module, name) = (format!("rma_core::{}::", file.replace('/', "::")), format!("::{function}"));
        let is_it = |line: &str| line.contains(&module) && line.ends_with(&name);
        assert!(symbols.lines().any(is_it), "ARCHITECTURE.md: {file}.rs has no function {function}");
    }
}

#[test]
fn gdb_stops_at_the_stations_of_a_put_in_their_order() {
    let has_gdb = Command::new("gdb").arg("--version").output().is_ok_and(|output| output.status.success());
    if is_second_pass() || !has_gdb {
        println!("nothing to do");
        return;
    }
    let script = tempfile::Builder::new().suffix(".py").tempfile().unwrap();
    std::fs::write(script.path(), WALK).unwrap();
    // The target of a default job on one machine is mapped; on a node of its own it is not.
    for is_mapped in [true, false] {
        let of_path: Vec<_> = rows().into_iter().filter(|row| row.is_mapped == is_mapped).collect();
        let all = of_path.iter().flat_map(Row::names).collect::<Vec<_>>().join(" ");
        // gdb reads for a second, so only where there is something to see.
        let mut job = Job::launcher(["--tag-output"]).variables(&[("RMA_TEST_STATIONS", &all)]);
        if !is_mapped {
            job = job.variables(&[("RMA_RANKS_PER_NODE", "1")]);
        }
        for rank in 0..2 {
            job = if rank == 0 { job } else { job.line(":") };
            if of_path.iter().any(|row| row.rank == rank) {
                job = job.line("gdb -nx -batch -x").words([script.path()]).line("--args");
            }
            job = job.words([program("rma-test-observed")]).line("put");
        }
        let ended = job.run();
        assert!(ended.status.success(), "{ended:#?}");
        for row in &of_path {
            let tag = format!("[{}] station ", row.rank);
            let mut stops = ended.stdout.lines().filter_map(|line| line.strip_prefix(&tag));
            // Messages and the creation of the window have stops of their own.
            for station in row.names() {
                assert!(
                    stops.any(|stop| stop == station),
                    "{station} is not behind the one before: {ended:#?}"
                );
            }
        }
    }
}
