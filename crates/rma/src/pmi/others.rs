//! Launchers that speak another protocol than PMI-1: how a process knows them, and what it says of them.

/// Launchers that speak something else: the variables in which they say how many processes they started and which one this
/// is, and their name.
const OTHERS: [(&str, &str, &str); 2] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "Slurm's srun without --mpi=pmi2"),
];

/// What to say in a process that has no launcher as far as [`super::Client::from_environment`] can tell, but was started together
/// with others by one that speaks another protocol: one of them says it. Otherwise each would be a job of its own, and
/// nobody would know why.
pub fn other_launcher(look_up: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| look_up(name)?.parse::<u32>().ok();
    OTHERS.iter().find_map(|(size, rank, name)| {
        let size = number(size).filter(|size| *size > 1 && number(rank) == Some(0))?;
        Some(format!(
            "{name} has started {size} processes, but does not speak PMI-1: each is a job of its own; rmarun and Hydra's \
             mpiexec start jobs of many"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_another_protocol_are_told_once() {
        let tell = |set: &[(&str, &str)]| {
            let find = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            other_launcher(&find)
        };
        let said = tell(&[("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "0")]).unwrap();
        assert!(said.contains("Open MPI's mpirun has started 3 processes"), "{said}");
        let said = tell(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0")]).unwrap();
        assert!(said.contains("--mpi=pmi2"), "{said}");
        assert_eq!(tell(&[]), None);
        assert_eq!(tell(&[("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "2")]), None);
        assert_eq!(tell(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0")]), None);
    }
}
