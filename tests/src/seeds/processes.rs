//! The same programs on real processes: every rank plays its part in a loop of its own, and rank 0 judges what all have seen.

use super::chains::{self, Log, Seen};
use super::compile::compile;
use super::plan::Plan;
use super::player::{Environment, Player, Turn};
use super::simulate::text;
use rma::{CollectiveRequest, Communicator, World};
use rma_core::error::Result;
use rma_core::host::Group;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time without progress of any actor.
const MOST_IDLE: Duration = Duration::from_secs(25);
/// Words of an entry of the log.
const ENTRY: usize = 9;

/// A job of processes.
struct Job<'a> {
    world: &'a World,
    threads: u32,
    meetings: Vec<Meeting>,
    barrier: Option<CollectiveRequest<()>>,
    addresses: HashMap<usize, Vec<u64>>,
    /// By thread: the communicators that it has, and the duplication under way.
    comms: Vec<(Vec<Communicator>, Option<CollectiveRequest<Communicator>>)>,
}

#[derive(Default)]
struct Meeting {
    arrived: u32,
    request: Option<CollectiveRequest<()>>,
    is_over: bool,
}

impl Environment for Job<'_> {
    fn arrive(&mut self, meeting: usize) {
        if self.meetings.len() <= meeting {
            self.meetings.push(Meeting::default());
        }
        let meeting = &mut self.meetings[meeting];
        meeting.arrived += 1;
        // The observer is there as well.
        if meeting.arrived == self.threads + 1 {
            meeting.request = Some(self.world.begin_barrier());
        }
    }

    fn have_met(&mut self, meeting: usize) -> Result<bool> {
        let meeting = &mut self.meetings[meeting];
        if let Some(request) = &mut meeting.request
            && request.test()?.is_some()
        {
            (meeting.request, meeting.is_over) = (None, true);
        }
        Ok(meeting.is_over)
    }

    fn tell(&mut self, _: u32, _: u32) {}

    fn has_notified(&self, _: u32, _: u32) -> Option<bool> {
        None
    }

    fn barrier(&mut self) -> Result<bool> {
        let is_over = self.barrier.get_or_insert_with(|| self.world.begin_barrier()).test()?.is_some();
        if is_over {
            self.barrier = None;
        }
        Ok(is_over)
    }

    fn publish(&mut self, window: usize, address: u64) {
        let all = self.world.allgather(&[address]).expect("every rank tells its address");
        self.addresses.insert(window, all.concat());
    }

    fn group(&self, thread: u32) -> Group {
        self.comms[thread as usize].0.last().expect("the given one stays").group()
    }

    fn duplicate(&mut self, thread: u32) -> Result<bool> {
        let (comms, under_way) = &mut self.comms[thread as usize];
        let last = comms.last().expect("the given one stays");
        let made = under_way.get_or_insert_with(|| last.begin_duplicate()).test()?;
        let is_over = made.is_some();
        if is_over {
            *under_way = None;
        }
        comms.extend(made);
        Ok(is_over)
    }

    fn release(&mut self, thread: u32) -> bool {
        let (comms, _) = &mut self.comms[thread as usize];
        let has_made = comms.len() > 1;
        comms.pop_if(|_| has_made);
        has_made
    }

    fn address(&self, window: usize, rank: u32) -> u64 {
        self.addresses[&window][rank as usize]
    }
}

/// Plays this process's part of a plan's program, which is one for as many ranks as the job has.
///
/// Answers how many steps that has.
///
/// # Errors
/// What is wrong.
pub fn play(world: &World, plan: &Plan) -> Result<u64, String> {
    std::panic::catch_unwind(AssertUnwindSafe(|| play_out(world, plan)))
        .unwrap_or_else(|panic| Err(text(&*panic)))
}

fn play_out(world: &World, plan: &Plan) -> Result<u64, String> {
    let program = Arc::new(plan.program.clone());
    assert_eq!(program.ranks, world.size(), "the program is for another number of ranks");
    let compiled = Arc::new(compile(&program));
    let job = Job {
        world,
        threads: program.threads,
        meetings: Vec::new(),
        barrier: None,
        addresses: HashMap::new(),
        comms: (0..program.threads)
            .map(|_| Ok((vec![world.duplicate()?], None)))
            .collect::<Result<_>>()
            .map_err(|error| error.to_string())?,
    };
    let engine = world.engine().clone();
    let mut player =
        Player::new(world.rank(), world.group(), engine, job, Arc::clone(&program), Arc::clone(&compiled));
    let (mut moved_at, mut number) = (Instant::now(), 0);
    loop {
        let news = player.engine.news();
        player.engine.poll();
        number += 1;
        match player.turn(number) {
            Turn::Over => break,
            Turn::Moved => moved_at = Instant::now(),
            Turn::Waits => {
                let rest = MOST_IDLE.saturating_sub(moved_at.elapsed());
                if rest.is_zero() {
                    return Err(format!("no rank comes further: {}", player.describe()));
                }
                if let Some(_wait) = player.engine.arm(news) {
                    let descriptor = player.engine.wait_descriptor().map_err(|error| error.to_string())?;
                    let limit = Timespec::try_from(rest).map_err(|error| error.to_string())?;
                    // An interrupted sleep is a wake-up.
                    let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&limit));
                }
            }
        }
    }
    judge(world, &player.log, &player.cells, &compiled.counts).map_err(|error| error.to_string())??;
    Ok(compiled.steps.iter().map(|steps| steps.len() as u64).sum::<u64>())
}

/// Sends everything to rank 0, which judges it.
fn judge(world: &World, log: &Log, cells: &[Vec<u64>], counts: &[Vec<u64>]) -> Result<Result<(), String>> {
    let logs = world.gather(0, &pack(log))?;
    let cells = world.gather(0, &cells.concat())?;
    let (Some(logs), Some(cells)) = (logs, cells) else { return Ok(Ok(())) };
    let mut all = Log::new();
    for (place, seen) in logs.iter().flat_map(|words| unpack(words)) {
        all.entry(place).or_default().push(seen);
    }
    let cell_of = |(window, rank, cell): chains::Place| {
        cells[rank as usize][window * super::program::CELLS as usize + cell as usize]
    };
    Ok(chains::check(&all, cell_of, counts))
}

fn pack(log: &Log) -> Vec<u64> {
    let entries = log.iter().flat_map(|(place, seen)| seen.iter().map(move |seen| (place, seen)));
    entries
        .flat_map(|(place, seen)| -> [u64; ENTRY] {
            let (window, rank, cell) = *place;
            [
                window as u64,
                rank.into(),
                cell,
                seen.actor.into(),
                seen.number.into(),
                seen.round.into(),
                seen.fetched,
                seen.wrote.is_some().into(),
                seen.wrote.unwrap_or(0),
            ]
        })
        .collect()
}

fn unpack(words: &[u64]) -> impl Iterator<Item = (chains::Place, Seen)> + '_ {
    words.chunks_exact(ENTRY).map(|entry| {
        let seen = Seen {
            actor: entry[3] as u32,
            number: entry[4] as u32,
            round: entry[5] as u32,
            fetched: entry[6],
            wrote: (entry[7] == 1).then_some(entry[8]),
        };
        ((entry[0] as usize, entry[1] as u32, entry[2]), seen)
    })
}
