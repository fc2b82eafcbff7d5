//! A rank that only speaks PMI-1 and then does what the test wants: the launcher's tests run it.
//!
//! `rma-test-rank ACTION [RANK [NUMBER]]`: all ranks initialize and meet; then `RANK` does the action, and the others wait
//! to be ended. With `follow`, `RANK` of two closes its connection and is killed when the other one has failed, which does not
//! know whose failure it is.

use rma::pmi::Client;
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};
use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize| arguments.get(i).map_or("", String::as_str);
    let number = |i: usize| text(i).parse::<i32>().unwrap_or(0);
    let look_up = |name: &str| std::env::var(name).ok();
    let client = Client::from_environment(&look_up, LIMIT).expect("the launcher answers");
    let Some(client) = client else {
        println!("no launcher");
        return;
    };
    let (rank, size) = (client.rank(), client.size());
    if text(0) == "exchange" {
        client.put(&format!("key-{rank}"), &format!("value-{rank}")).expect("put");
    }
    if text(0) == "follow" {
        return follow(client, rank, number(1));
    }
    client.barrier().expect("barrier");
    if rank as i32 != number(1) && text(0) != "exchange" && text(0) != "finish" {
        std::thread::sleep(LIMIT);
        return;
    }
    match text(0) {
        "exchange" => {
            for other in 0..size {
                let value = client.get(&format!("key-{other}")).expect("get");
                assert_eq!(value, Some(format!("value-{other}")));
            }
            let secret = client.get(rma::pmi::SECRET_KEY).expect("get").expect("a secret");
            let mapping = client.get("PMI_process_mapping").expect("get").expect("a mapping");
            println!("rank {rank} of {size}, {} secret digits, {mapping}", secret.len());
            client.finalize().expect("finalize");
        }
        "finish" => {
            client.finalize().expect("finalize");
            std::process::exit(number(2));
        }
        "kill" => {
            let signal = Signal::from_named_raw(number(2)).expect("a signal");
            kill_process(getpid(), signal).expect("kill");
        }
        "exit" => std::process::exit(number(2)),
        "panic" => panic!("as the test wishes"),
        "abort" => {
            client.abort(number(2)).expect("abort");
            std::thread::sleep(LIMIT);
        }
        "garbage" => {
            let stream = std::os::fd::AsFd::as_fd(&client);
            rustix::io::write(stream, b"this is no line\n").expect("write");
            std::thread::sleep(LIMIT);
        }
        other => panic!("unknown action {other:?}"),
    }
}

/// `dying` closes its connection and is killed when nothing is left of the other one, which blames itself.
fn follow(client: Client, rank: u32, dying: i32) {
    let name =
        |pid: u32| SocketAddr::from_abstract_name(format!("rma-test-rank-{pid}")).expect("a short name");
    client.put(&format!("pid-{rank}"), &std::process::id().to_string()).expect("put");
    let listener = UnixListener::bind_addr(&name(std::process::id())).expect("bind");
    client.barrier().expect("barrier");
    let other = client.get(&format!("pid-{}", 1 - rank)).expect("get").expect("the other's number");
    let other: u32 = other.parse().expect("a number");
    if rank as i32 == dying {
        let (to_follower, _) = listener.accept().expect("accept");
        drop(client);
        drop(to_follower);
        // Nothing is left of the other when the launcher has taken note of its exit.
        let other = Pid::from_raw(other as i32).expect("a process");
        while test_kill_process(other).is_ok() {
            std::thread::yield_now();
        }
        return kill_process(getpid(), Signal::KILL).expect("kill");
    }
    let mut from_dying = UnixStream::connect_addr(&name(other)).expect("connect");
    from_dying.read_to_end(&mut Vec::new()).expect("read");
    client.fail(1, rank).expect("fail");
    std::process::exit(1);
}
