//! Windows that no machine has the memory for: `rma-test-huge all|one ELEMENTS`. All ranks ask for so many 8-byte elements, or
//! rank 1 alone does. Each rank prints how that ended, and then uses a window that is possible.

use rma::World;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let which = words.next().unwrap_or_default();
    let elements = words.next().and_then(|text| text.parse().ok());
    let (Some(elements), "all" | "one") = (elements, which.as_str()) else {
        eprintln!("usage: rma-test-huge all|one ELEMENTS");
        return ExitCode::from(2);
    };
    match run(which == "all", elements) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-test-huge: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(all_ask: bool, elements: usize) -> rma::Result<()> {
    let world = World::init()?;
    let mine = if all_ask || world.rank() == 1 { elements } else { 1 };
    match world.allocate::<u64>(mine) {
        Ok(window) => {
            println!("{mine} elements: made");
            window.free()?;
        }
        Err(error) => println!("{mine} elements: {error}"),
    }
    let mut window = world.allocate::<u64>(world.size() as usize)?;
    let value = [u64::from(world.rank()) + 1];
    window.fence_epoch(|epoch| {
        (0..world.size()).try_for_each(|target| epoch.put(&value, target, world.rank() as usize))
    })?;
    assert_eq!(window.local().to_vec(), (1..=u64::from(world.size())).collect::<Vec<_>>());
    window.free()?;
    world.finalize()
}
