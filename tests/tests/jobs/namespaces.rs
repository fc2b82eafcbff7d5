//! Ranks of one machine in namespaces of processes of their own, so that none sees the others: they share memory all the same.

use rma_tests::job::{Job, is_second_pass, program};
use std::process::Command;

#[test]
fn ranks_that_do_not_see_each_others_processes_share_memory() {
    if is_second_pass() {
        return;
    }
    let unshare = ["unshare", "--pid", "--fork"];
    if !Command::new(unshare[0]).args(&unshare[1..]).arg("true").status().is_ok_and(|status| status.success())
    {
        println!("skipped: namespaces of processes cannot be made here");
        return;
    }
    let heat = program("heat2d");
    for channel in ["shm", "tcp"] {
        let words = ["-n", "3", "--channel", channel].into_iter().chain(unshare);
        let job = Job::launcher(words.chain([heat.to_str().expect("a path of this workspace is text")]));
        let ended = job.line("--rows 32 --cols 32 --steps 20 --sync fence --no-picture").succeed();
        assert!(!ended.stderr.contains("refused"), "{ended:#?}");
    }
}
