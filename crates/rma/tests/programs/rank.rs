//! A rank that only speaks PMI-1 and then does what the test wants: the launcher's tests run it.
//!
//! `rma-test-rank ACTION [RANK [NUMBER]]`: all ranks initialize and meet; then `RANK` does the action, and the others wait
//! to be ended.

use rma::launch::Client;
use rustix::process::{Signal, getpid, kill_process};
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
            let secret = client.get(rma::launch::SECRET_KEY).expect("get").expect("a secret");
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
