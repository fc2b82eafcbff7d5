//! Twelve short programs, each of one idea: `rmarun -n 4 short histogram`. None has `unsafe`.
//!
//! Each is a module that checks its own result; the tests run all of them on ranks that are threads.

#![forbid(unsafe_code)]

mod dynamic_list;
mod error_recovery;
mod futures;
mod halo;
mod hash_table;
mod histogram;
mod producer_consumer;
mod queue_lock;
mod shared_window;
mod sparse_product;
mod transpose;
mod work_stealing;

use rma::{Result, World};
use std::process::ExitCode;

type Program = fn(&World) -> Result<()>;

const PROGRAMS: [(&str, Program); 12] = [
    ("dynamic_list", dynamic_list::run),
    ("error_recovery", error_recovery::run),
    ("futures", futures::run),
    ("halo", halo::run),
    ("hash_table", hash_table::run),
    ("histogram", histogram::run),
    ("producer_consumer", producer_consumer::run),
    ("queue_lock", queue_lock::run),
    ("shared_window", shared_window::run),
    ("sparse_product", sparse_product::run),
    ("transpose", transpose::run),
    ("work_stealing", work_stealing::run),
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, program)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
        eprintln!("programs: {}", PROGRAMS.map(|(name, _)| name).join(" "));
        return ExitCode::FAILURE;
    };
    let ended = World::init().and_then(|world| {
        program(&world)?;
        world.finalize()
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma::config::Configuration;
    use rma_ch_sim::SimConfig;

    #[test]
    fn every_program_is_right_on_one_node_and_on_several() {
        for (name, program) in PROGRAMS {
            for (ranks, ranks_per_node) in [(1, 0), (4, 0), (4, 2), (5, 1)] {
                let sim = SimConfig { ranks_per_node, ..SimConfig::default() };
                let ended = World::run_threads_with(ranks, &Configuration::default(), &sim, program);
                assert!(ended.is_ok(), "{name} on {ranks} ranks, {ranks_per_node} per node: {ended:?}");
            }
        }
    }
}
