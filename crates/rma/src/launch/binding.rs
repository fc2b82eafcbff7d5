//! Which cores a rank may use (`--bind-to`): of those that this process may use itself, on the host that the rank is on.

use super::options::BindTo;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;

/// The processors of a host that this process may use: number, socket, core of that socket.
type Processors = Vec<(usize, u32, u32)>;

/// The sets for the first `ranks` ranks of this host; none when they are not bound.
///
/// # Errors
/// When there are not enough cores.
pub(super) fn sets(to: BindTo, ranks: u32) -> Result<Vec<CpuSet>, String> {
    match to {
        BindTo::None => Ok(Vec::new()),
        to => choose(to, ranks, &processors().map_err(|cause| format!("--bind-to: {cause}"))?),
    }
}

fn processors() -> std::io::Result<Processors> {
    let own = sched_getaffinity(None)?;
    let number = |processor: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/{what}");
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u32>().ok())
    };
    let all = (0..CpuSet::MAX_CPU).filter(|processor| own.is_set(*processor));
    Ok(all
        .map(|processor| {
            // Where the system does not say, each is a core of one socket.
            let socket = number(processor, "physical_package_id").unwrap_or(0);
            (processor, socket, number(processor, "core_id").unwrap_or(processor as u32))
        })
        .collect())
}

fn choose(to: BindTo, ranks: u32, processors: &Processors) -> Result<Vec<CpuSet>, String> {
    let key = |(_, socket, core): &(usize, u32, u32)| match to {
        BindTo::Core => (*socket, *core),
        BindTo::Socket | BindTo::None => (*socket, 0),
    };
    let mut parts: Vec<_> = processors.iter().map(key).collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.is_empty() || (to == BindTo::Core && parts.len() < ranks as usize) {
        let cores = parts.len();
        return Err(format!(
            "{ranks} ranks for {cores} cores (--bind-to core); --bind-to none lets them share"
        ));
    }
    let set = |part: &(u32, u32)| {
        let mut set = CpuSet::new();
        processors
            .iter()
            .filter(|processor| key(processor) == *part)
            .for_each(|(number, ..)| set.set(*number));
        set
    };
    Ok(parts.iter().cycle().take(ranks as usize).map(set).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(to: BindTo, ranks: u32) -> Result<Vec<Vec<usize>>, String> {
        // Two sockets of two cores with two threads each, of which the first is not for this process.
        let processors = vec![(1, 0, 1), (4, 0, 0), (5, 0, 1), (2, 1, 0), (3, 1, 1), (6, 1, 0), (7, 1, 1)];
        let sets = choose(to, ranks, &processors)?;
        Ok(sets.iter().map(|set| (0..8).filter(|number| set.is_set(*number)).collect()).collect())
    }

    #[test]
    fn ranks_get_whole_cores_or_sockets_in_turn() {
        assert_eq!(chosen(BindTo::Core, 3).unwrap(), [vec![4], vec![1, 5], vec![2, 6]]);
        assert_eq!(chosen(BindTo::Socket, 3).unwrap(), [vec![1, 4, 5], vec![2, 3, 6, 7], vec![1, 4, 5]]);
        assert!(chosen(BindTo::Core, 5).unwrap_err().contains("5 ranks for 4 cores (--bind-to core)"));
        assert_eq!(sets(BindTo::None, 9).unwrap().len(), 0);
        assert_eq!(sets(BindTo::Core, 1).unwrap().len(), 1);
    }
}
