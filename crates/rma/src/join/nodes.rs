//! Which ranks share a machine, where the start does not say: each tells what its machine is.
//!
//! Two processes are on one machine when they can share memory and pass descriptors: the same kernel, the same /dev/shm and
//! the same network namespace. Two containers of one host are two machines, unless they share those.

use super::{ProcessMapping, Start};
use rma_core::Result;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

const KEY: &str = "rma-machine";

/// Before a fence: this rank's machine.
pub(crate) fn announce(start: &dyn Start) -> Result<()> {
    start.put(KEY, &machine())
}

/// After it: those of all.
pub(crate) fn mapping(start: &dyn Start) -> Result<ProcessMapping> {
    let mut numbers = HashMap::new();
    let mut nodes = Vec::new();
    for rank in 0..start.size() {
        // A rank that has not said is alone.
        let machine = start.get(rank, KEY)?.unwrap_or_else(|| format!("of-{rank}"));
        let next = numbers.len() as u32;
        nodes.push(*numbers.entry(machine).or_insert(next));
    }
    Ok(ProcessMapping::of_nodes(&nodes))
}

/// What tells this machine from others; the same in all processes that share memory.
fn machine() -> String {
    let mut hash = DefaultHasher::new();
    std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hash);
    rustix::system::uname().nodename().hash(&mut hash);
    for (path, is_device) in [("/dev/shm", true), ("/proc/self/ns/net", false)] {
        let file = std::fs::metadata(path).map_or((0, 0), |file| (file.dev(), file.ino()));
        (if is_device { (file.0, 0) } else { file }).hash(&mut hash);
    }
    format!("{:016x}", hash.finish())
}

#[cfg(test)]
mod tests {
    use super::super::Allgather;
    use super::*;

    #[test]
    fn ranks_that_say_the_same_machine_share_it() {
        assert_eq!(machine(), machine());
        let start = Allgather::alone();
        announce(&start).unwrap();
        start.fence().unwrap();
        assert_eq!(mapping(&start).unwrap().to_string(), "(vector,(0,1,1))");
        assert_eq!(ProcessMapping::of_nodes(&[0, 0, 1, 1, 1, 0]).to_string(), "(vector,(0,1,2),(1,1,3))");
    }
}
