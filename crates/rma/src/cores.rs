//! How many cores the ranks of this machine have between them.
//!
//! The cores that a process may use are too few where each rank is bound to one of its own, by the launcher
//! or by a wrapper in front of the program: its parent may use more, and is asked as well.

use rustix::process::{Pid, getppid};
use rustix::thread::sched_getaffinity;

/// Cores that the ranks on this machine share, as far as this process can tell.
pub(crate) fn shared_by_ranks() -> usize {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let count = |pid: Option<Pid>| sched_getaffinity(pid).map_or(0, |cores| cores.count() as usize);
    let parent = getppid().map_or(0, |parent| count(Some(parent)));
    choose(available, count(None), parent)
}

/// `available` counts what the system lets this process use at a time, `own` and `parent` the cores that it and its parent may
/// run on; 0 is unknown.
fn choose(available: usize, own: usize, parent: usize) -> usize {
    // A limit of the share of time (of a container, say) holds for all ranks, wherever they are bound.
    let is_bound = own == available && own < parent;
    if is_bound { parent } else { available }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_are_bound_one_by_one_share_the_cores_of_their_parent() {
        assert_eq!(choose(1, 1, 8), 8, "each on a core of its own");
        assert_eq!(choose(8, 8, 8), 8, "no rank is bound");
        assert_eq!(choose(1, 1, 1), 1, "all are bound to one");
        assert_eq!(choose(2, 64, 64), 2, "a share of time");
        assert_eq!(choose(2, 4, 64), 2, "both");
        assert_eq!(choose(4, 4, 0), 4, "nothing is known of the parent");
    }

    #[test]
    fn this_machine_has_a_core() {
        assert!(shared_by_ranks() > 0);
    }
}
