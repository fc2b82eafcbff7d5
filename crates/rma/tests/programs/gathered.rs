//! A start by files: what a runtime without a launcher of its own could do. `RMA_TEST_GATHER` is `FOLDER:RANK:SIZE`.

use rma::{Allgather, Result, World};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

const LIMIT: Duration = Duration::from_secs(20);

/// The world that the test wishes: by files, or else by whatever the environment names.
pub(crate) fn world() -> Result<World> {
    let Ok(wish) = std::env::var("RMA_TEST_GATHER") else { return World::init() };
    let parts: Vec<_> = wish.split(':').collect();
    let [folder, rank, size] = parts[..] else { panic!("{wish:?} is no FOLDER:RANK:SIZE") };
    let (folder, rank, size) = (PathBuf::from(folder), rank.parse().unwrap(), size.parse().unwrap());
    let round = AtomicU32::new(0);
    let gather = move |mine: &[u8]| -> io::Result<Vec<Vec<u8>>> {
        let round = round.fetch_add(1, Relaxed);
        let file = |rank: u32| folder.join(format!("{round}-{rank}"));
        fs::write(folder.join(format!("draft-{rank}")), mine)?;
        // All at once for every reader.
        fs::rename(folder.join(format!("draft-{rank}")), file(rank))?;
        (0..size).map(|other| wait_for(&file(other))).collect()
    };
    World::builder().start(Allgather::new(rank, size, gather)?).init()
}

fn wait_for(file: &PathBuf) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match fs::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
