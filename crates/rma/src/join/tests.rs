//! The contract of a start, clause by clause, over each implementation that needs no launcher.

use super::{Allgather, Start};
use crate::pmi::{Client, Event, Server};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// What a rank does that checks its start.
fn check(start: &dyn Start) {
    let (rank, size) = (start.rank(), start.size());
    let key = |what: &str| format!("test-{what}");
    assert!(rank < size, "S1");
    start.put(&key("own"), &format!("of-{rank}")).unwrap();
    start.put(&key("job"), start.job()).unwrap();
    // S5: the longest words.
    let (long, value) = ("k".repeat(32), "v".repeat(1000));
    start.put(&long, &value).unwrap();
    start.fence().unwrap();
    for other in 0..size {
        assert_eq!(start.get(other, &key("own")).unwrap(), Some(format!("of-{other}")), "S2");
        assert_eq!(start.get(other, &key("job")).unwrap().as_deref(), Some(start.job()), "S1");
        assert_eq!(start.get(other, &long).unwrap().as_deref(), Some(&*value), "S5");
        assert_eq!(start.get(other, &key("nothing")).unwrap(), None, "S3");
    }
    start.put(&key("late"), "1").unwrap();
    start.fence().unwrap();
    assert!((0..size).all(|other| start.get(other, &key("late")).unwrap().is_some()), "S2, again");
    start.finalize().unwrap();
}

/// An allgather between threads.
struct Table {
    slots: Vec<Mutex<Vec<u8>>>,
    barrier: Barrier,
}

impl Table {
    fn new(size: u32) -> Arc<Self> {
        let slots = (0..size).map(|_| Mutex::default()).collect();
        Arc::new(Self { slots, barrier: Barrier::new(size as usize) })
    }

    fn gather(&self, rank: u32, mine: &[u8]) -> Vec<Vec<u8>> {
        *self.slots[rank as usize].lock().unwrap() = mine.to_vec();
        self.barrier.wait();
        let all = self.slots.iter().map(|slot| slot.lock().unwrap().clone()).collect();
        self.barrier.wait();
        all
    }
}

#[test]
fn an_allgather_is_a_start() {
    check(&Allgather::alone());
    for size in [1, 2, 5] {
        let table = Table::new(size);
        thread::scope(|scope| {
            for rank in 0..size {
                let table = Arc::clone(&table);
                scope.spawn(move || {
                    let gather = move |mine: &[u8]| Ok(table.gather(rank, mine));
                    check(&Allgather::new(rank, size, gather).unwrap());
                });
            }
        });
    }
}

#[test]
fn an_allgather_that_gives_nonsense_is_refused() {
    let refused =
        |all: Vec<Vec<u8>>| Allgather::new(0, 2, move |_: &[u8]| Ok(all.clone())).unwrap_err().to_string();
    assert!(refused(vec![]).contains("gave 0 values"));
    assert!(refused(vec![vec![0xff], vec![]]).contains("bytes that no rank has put"));
    assert!(Allgather::new(2, 2, |_: &[u8]| Ok(vec![])).unwrap_err().to_string().contains("no rank 2 of 2"));
    let error = Allgather::new(0, 1, |_: &[u8]| Err(std::io::Error::other("no way"))).unwrap_err();
    assert!(error.to_string().contains("no way"), "{error}");
}

#[test]
fn a_pmi_client_is_a_start() {
    let size = 3;
    let pairs: Vec<_> = (0..size).map(|_| UnixStream::pair().unwrap()).collect();
    let server = Mutex::new(Server::new("kvs", size, []));
    let outs: Vec<_> = pairs.iter().map(|(end, _)| Mutex::new(end.try_clone().unwrap())).collect();
    thread::scope(|scope| {
        for (rank, (theirs, ours)) in (0..size).zip(pairs) {
            let (server, outs) = (&server, &outs);
            scope.spawn(move || {
                for line in BufReader::new(theirs).lines().map_while(Result::ok) {
                    let (answers, event) = server.lock().unwrap().handle(rank, line.as_bytes()).unwrap();
                    assert!(event == Event::None || answers.is_empty());
                    for (to, line) in answers {
                        outs[to as usize].lock().unwrap().write_all(&line.to_bytes()).unwrap();
                    }
                }
            });
            scope.spawn(move || {
                let client = Client::new(ours.into(), rank, size, LIMIT).unwrap();
                check(&client);
            });
        }
    });
}
