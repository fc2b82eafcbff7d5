//! What the channel over libfabric costs over a bare message: a ping-pong of `fi_send` beside one of the channel's packets, of
//! equal length, between the same two processes, in turns. `fabric [BYTES]` prints the shortest round trips and their ratio;
//! the variables of `RMA_OFI_*` choose library and provider.
//!
//! The first process starts the second, and they exchange addresses as lines over its standard input and output.

use rma_ch_ofi::{Bare, OfiChannel, OfiConfig, OfiSettings};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::{Budget, BulkToken, Channel, Delivery, Failure, Lane, Placement, Room, Sink};
use rma_core::ids::Peer;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::thread::yield_now;
use std::time::{Duration, Instant};

const LISTEN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ROUNDS: u32 = 20;
const TRIPS: u32 = 500;
/// For a program that hangs: the peer is gone, and an endpoint says nothing of that.
const LIMIT: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let len: usize = arguments.next().map_or(Ok(64), |text| text.parse())?;
    if arguments.next().is_some() {
        return Pair::open(1, len, &mut BufReader::new(io::stdin()), &mut io::stdout())?.run();
    }
    let mut second = Command::new(std::env::current_exe()?)
        .args([len.to_string(), "second".to_owned()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(to), Some(from)) = (&mut second.stdin, second.stdout.take()) else { return Ok(()) };
    let outcome = Pair::open(0, len, &mut BufReader::new(from), to).and_then(Pair::run);
    if outcome.is_err() {
        second.kill()?;
    }
    second.wait()?;
    outcome
}

/// Both ways between two processes.
struct Pair {
    me: u32,
    len: usize,
    bare: Bare,
    channel: Box<dyn Channel>,
    arrivals: Arrivals,
    start: Instant,
}

impl Pair {
    fn open(me: u32, len: usize, from: &mut dyn BufRead, to: &mut dyn Write) -> Outcome<Self> {
        let config = OfiConfig::read(&|name| std::env::var(name).ok())?;
        let mut exchange = |own: &str| -> io::Result<String> {
            writeln!(to, "{own}")?;
            to.flush()?;
            let mut line = String::new();
            from.read_line(&mut line)?;
            Ok(line.trim().to_owned())
        };
        // SAFETY: the environment names libfabric.
        let mut bare = unsafe { Bare::open(&config, Some(LISTEN), len)? };
        let numbers = bare.address().iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
        let theirs = exchange(&numbers)?;
        bare.connect(&theirs.split(' ').map(str::parse).collect::<Result<Vec<u8>, _>>()?)?;

        let (sender, known) = std::sync::mpsc::channel::<String>();
        let lower = TcpChannel::bind(TcpSettings {
            me: Peer(me),
            size: 2,
            job: "bench".to_owned(),
            secret: [7; 32],
            listen: LISTEN,
            config: TcpConfig::default(),
            directory: Box::new(move |_| known.try_recv().map_err(io::Error::other)),
        })?;
        sender.send(exchange(&lower.address())?)?;
        let settings =
            OfiSettings { me: Peer(me), size: 2, listen: Some(LISTEN), config, lower: Box::new(lower) };
        // SAFETY: as above.
        let channel = Box::new(unsafe { OfiChannel::open(settings)? });
        let start = Instant::now();
        Ok(Self { me, len, bare, channel, arrivals: Arrivals::default(), start })
    }

    fn run(mut self) -> Outcome<()> {
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (way, best) in best.iter_mut().enumerate() {
                let begin = Instant::now();
                for _ in 0..TRIPS {
                    for side in 0..2 {
                        match (way, side == self.me) {
                            (0, true) => self.bare.send()?,
                            (0, false) => self.await_message()?,
                            (_, true) => self.send_packet()?,
                            (_, false) => self.await_packet()?,
                        }
                    }
                }
                *best = (*best).min(begin.elapsed() / TRIPS);
            }
        }
        if self.me == 0 {
            let [bare, channel] = best.map(|time| time.as_nanos() as f64 / 1000.0);
            let len = self.len;
            println!(
                "{len} B and back: fi_send {bare:.2} µs, channel {channel:.2} µs, ratio {:.2}",
                channel / bare
            );
        }
        while self.channel.close() == rma_core::channel::Closing::Pending {
            self.poll()?;
        }
        Ok(())
    }

    fn await_message(&mut self) -> Outcome<()> {
        while self.bare.receive()? == 0 {
            self.yield_once()?;
        }
        Ok(())
    }

    fn send_packet(&mut self) -> Outcome<()> {
        let packet = vec![0; self.len];
        while self.channel.send(Peer(1 - self.me), Lane::Request, &packet)? == Room::Full {
            self.poll()?;
        }
        Ok(())
    }

    fn await_packet(&mut self) -> Outcome<()> {
        while self.arrivals.count == 0 {
            self.poll()?;
        }
        self.arrivals.count -= 1;
        Ok(())
    }

    fn poll(&mut self) -> Outcome<()> {
        let polled = self.channel.poll(&mut self.arrivals, Budget { packets: 16, bytes: 1 << 20 });
        match self.arrivals.lost.take() {
            Some(failure) => Err(failure.into()),
            None if polled.is_idle() => self.yield_once(),
            None => Ok(()),
        }
    }

    fn yield_once(&self) -> Outcome<()> {
        if self.start.elapsed() > LIMIT {
            return Err("nothing arrives".into());
        }
        yield_now();
        Ok(())
    }
}

/// Counts packets.
#[derive(Default)]
struct Arrivals {
    count: u32,
    lost: Option<Failure>,
}

impl Sink for Arrivals {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.count += 1;
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("no bodies here")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, _: Peer, failure: Failure) {
        self.lost = Some(failure);
    }
}
