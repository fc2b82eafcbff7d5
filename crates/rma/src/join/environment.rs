//! The start that the environment names, and what to say when it names none although others were started with this process.

use super::pmix::Pmix;
use super::{Allgather, Start};
use crate::paths::FilePath;
use crate::pmi::Client;
use rma_core::Result;
use std::sync::Arc;
use std::time::Duration;

/// Launchers, by the variables in which they say how many processes they started and which one this is.
const LAUNCHERS: [(&str, &str, &str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun", "leave its PMIX_ variables set"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "Slurm's srun", "use srun --mpi=pmix or --mpi=pmi2"),
    ("FLUX_JOB_SIZE", "FLUX_TASK_RANK", "Flux", "use flux run -o pmi=simple"),
    ("PMI_SIZE", "PALS_RANKID", "PALS", "start it with Hydra's mpiexec inside the allocation"),
];

/// What has started this process, as the environment says through `look_up`: a launcher, which is given up
/// after `limit`, or none.
///
/// # Errors
/// When the environment names a launcher incompletely, or it does not answer as it should.
pub(crate) fn from_environment(
    look_up: &dyn Fn(&str) -> Option<String>,
    limit: Duration,
    pmix_lib: &FilePath,
) -> Result<Arc<dyn Start>> {
    let names_pmi = ["PMI_FD", "PMI_PORT"].iter().any(|name| look_up(name).is_some());
    let pmi = || Client::from_environment(look_up, limit);
    if let Some(client) = if names_pmi { pmi()? } else { None } {
        return Ok(Arc::new(client));
    }
    if let Some(pmix) = Pmix::from_environment(look_up, pmix_lib, limit.as_secs())? {
        return Ok(Arc::new(pmix));
    }
    match one_of_many(look_up) {
        Some(line) => eprintln!("rma: warning: {line}"),
        // What names PMI in part only is an error.
        None => drop(pmi()?),
    }
    Ok(Arc::new(Allgather::alone()))
}

/// What to print in a process that was started together with others by a launcher of unknown protocol: one of
/// them prints it. Otherwise each would be a job of its own without a visible reason.
fn one_of_many(look_up: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| look_up(name)?.parse::<u32>().ok();
    LAUNCHERS.iter().find_map(|(size, rank, name, advice)| {
        let size = number(size).filter(|size| *size > 1 && number(rank) == Some(0))?;
        Some(format!(
            "{name} has started {size} processes, but neither PMI nor PMIx is offered: each is a job of one rank; {advice} \
             (docs/clusters.md)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_that_is_alone_is_told_once() {
        let tell = |set: &[(&str, &str)]| {
            let find = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            one_of_many(&find)
        };
        for (size, rank, name, advice) in LAUNCHERS {
            let said = tell(&[(size, "3"), (rank, "0")]).unwrap();
            assert!(
                said.contains(&format!("{name} has started 3 processes")) && said.contains(advice),
                "{said}"
            );
            assert_eq!(tell(&[(size, "3"), (rank, "2")]), None);
            assert_eq!(tell(&[(size, "1"), (rank, "0")]), None);
        }
        assert_eq!(tell(&[]), None);
    }
}
