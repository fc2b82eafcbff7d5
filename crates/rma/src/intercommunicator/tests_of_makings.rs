//! Communicators are made, and agreed upon, while processes die at any point: every process that lives ends every call. Each is a
//! program that runs on the real messages and machines, in one thread, and a seed draws whose packet, step or notice comes next: of
//! each death every process hears by the launcher, at any time, and by its channel, behind what the dead has sent. The programs are
//! those of `tests/c-faults/made.c`.

use super::*;
use crate::collective::{AllGather, Barrier, drive};
use crate::communicator::Created;
use crate::elements::{as_bytes, from_bytes};
use crate::message::{Ballot, MessageConfig, Messenger, Scope};
use crate::testing::{Dice, Net};
use rma_core::channel::{Lane, MIN_PACKET};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

const SEEDS: u64 = 2500;
/// Rounds of a program.
const ROUNDS: usize = 3;

/// A process as its program sees it.
#[derive(Clone)]
struct Process {
    me: Peer,
    messenger: Messenger,
    contexts: Rc<Cell<u32>>,
    /// What it does now, and where: of one that waits for ever.
    doing: Rc<RefCell<String>>,
}

/// A communicator of one group, or of two: then the collectives are those of both.
struct Comm {
    process: Process,
    group: host::Group,
    sides: Option<(Group, Group)>,
    started: Cell<u64>,
    agreements: Cell<u64>,
}

/// What a making gives.
#[derive(Clone)]
struct Named {
    context: u64,
    group: host::Group,
    sides: Option<(Group, Group)>,
    beside: Option<(Making, Vec<Peer>)>,
}

impl Created for Named {
    fn made(&self) -> Option<u64> {
        Some(self.context)
    }

    fn beside(&self) -> Option<(Making, Vec<Peer>)> {
        self.beside.clone()
    }
}

impl Process {
    fn context(&self) -> u64 {
        self.contexts.set(self.contexts.get() + 1);
        u64::from(self.me.0) << 32 | u64::from(self.contexts.get())
    }

    async fn run<M: Machine>(&self, what: &str, mut machine: M) -> Result<M::Output> {
        *self.doing.borrow_mut() = what.to_owned();
        poll_fn(|_| drive(&mut machine).transpose().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// A new communicator, which the machine's function has opened.
    fn comm(&self, named: Named) -> Comm {
        let Named { group, sides, .. } = named;
        Comm { process: self.clone(), group, sides, started: Cell::new(0), agreements: Cell::new(0) }
    }

    fn named(&self, context: u64, members: &Group) -> Named {
        let group = members.with_context(context, members.rank(self.me).expect("a member"));
        self.messenger.open(&group);
        Named { context, group, sides: None, beside: None }
    }

    fn between(
        &self,
        context: u64,
        first: &Group,
        second: &Group,
        beside: Option<(Making, Vec<Peer>)>,
    ) -> Named {
        let named = self.named(context, &first.union(second));
        Named { sides: Some((first.clone(), second.clone())), beside, ..named }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.process.messenger.close(self.group.context());
    }
}

impl Comm {
    fn me(&self) -> u32 {
        self.group.me().0
    }

    fn link(&self) -> Link {
        let number = self.started.replace(self.started.get() + 1);
        let scope = Scope { context: self.group.context(), plane: Plane::Collective };
        Link::new(self.process.messenger.clone(), self.group.clone(), scope, number)
    }

    async fn agreed(&self, what: &str, flags: u32, context: u64) -> Ballot {
        let number = self.agreements.replace(self.agreements.get() + 1);
        *self.process.doing.borrow_mut() = format!("{what} {number} of {:x}", self.group.context());
        self.process.messenger.vote(&self.group, number, 0, Ballot::new(flags, context));
        let messenger = &self.process.messenger;
        poll_fn(|_| messenger.take_agreed(self.group.context(), number).map_or(Poll::Pending, Poll::Ready))
            .await
    }

    /// Between two groups there are two ballots.
    async fn agree(&self, is_ok: bool) -> bool {
        let ballots = if self.sides.is_some() { 2 } else { 1 };
        let first = self.agreements.get();
        for number in first..first + ballots {
            self.process.messenger.vote(&self.group, number, 0, Ballot::new(is_ok.into(), 0));
        }
        self.agreements.set(first + ballots);
        let mut is_agreed = true;
        for number in first..first + ballots {
            *self.process.doing.borrow_mut() = format!("agree {number} of {:x}", self.group.context());
            let messenger = &self.process.messenger;
            let ballot = poll_fn(|_| {
                messenger.take_agreed(self.group.context(), number).map_or(Poll::Pending, Poll::Ready)
            });
            let ballot = ballot.await;
            is_agreed &= ballot.flags == 1 && ballot.failed & !ballot.acknowledged == 0;
        }
        is_agreed
    }

    async fn shrink(&self) -> Self {
        let ballot = self.agreed("shrink", 0, self.process.context()).await;
        let lives = |rank: &u32| ballot.failed >> rank & 1 == 0;
        let living: Vec<_> = (0..self.group.size()).filter(lives).collect();
        let members = Group::from(&self.group).incl(&living).unwrap();
        self.process.comm(self.process.named(ballot.context, &members))
    }

    async fn split(&self, color: u64) -> Result<Self> {
        let (link, process, members) = (self.link(), self.process.clone(), Group::from(&self.group));
        let words = AllGather::new(link.clone(), as_bytes(&[color, process.context()]).to_vec());
        let machine = Creation::new(link, words, move |blocks: Vec<Vec<u8>>| {
            let said: Vec<Vec<u64>> =
                blocks.iter().map(|block| from_bytes(block, "split").unwrap()).collect();
            let chosen: Vec<u32> =
                (0..said.len() as u32).filter(|rank| said[*rank as usize][0] == color).collect();
            Ok(process.named(said[chosen[0] as usize][1], &members.incl(&chosen)?))
        });
        Ok(self.process.comm(self.process.run("split", machine).await?))
    }

    /// Of this group, whose rank 0 leads it, and that of the process `other` leads, on a communicator that both are in.
    async fn create_inter(&self, bridge: &Self, other: Peer) -> Result<Self> {
        let (own, process, local) = (self.link(), self.process.clone(), Group::from(&self.group));
        let scope = Scope { context: bridge.group.context(), plane: Plane::Creation };
        let partner = (self.me() == 0).then_some(other);
        let group = match partner {
            Some(_) => host::Group::of(bridge.group.context(), Rank(0), &[process.me, other]),
            None => self.group.clone(),
        };
        let context = partner.map_or(0, |_| process.context());
        let way = Link::new(process.messenger.clone(), group, scope, 3).step(1);
        let mut words = Vec::new();
        local.write(&mut words);
        let partner_rank = partner.map(|_| PARTNER);
        let proposals = exchange((process.me, context), way, partner_rank, own.clone(), 0, words);
        let machine = Creation::new(own, proposals, move |[ours, theirs]: [Proposal; 2]| {
            let remote = Group::read(&theirs.rest).unwrap();
            let beside = Some((theirs.making, remote.peers().collect()));
            Ok(match ours.leader < theirs.leader {
                true => process.between(ours.context, &local, &remote, beside),
                false => process.between(theirs.context, &remote, &local, beside),
            })
        });
        Ok(self.process.comm(self.process.run("create_inter", machine.with(partner)).await?))
    }

    async fn merge(&self) -> Result<Self> {
        let (link, process) = (self.link(), self.process.clone());
        let (first, second) = self.sides.clone().unwrap();
        let is_first = first.rank(process.me).is_some();
        let local = if is_first { &first } else { &second };
        let me = local.rank(process.me).unwrap();
        let partner = (me == 0).then(|| if is_first { first.size() } else { 0 });
        let context = partner.map_or(0, |_| process.context());
        let within = link.within(local.with_context(self.group.context(), me)).step(1);
        let proposals = exchange((process.me, context), link.clone(), partner, within, 0, Vec::new());
        let machine = Creation::new(link, proposals, move |[ours, theirs]: [Proposal; 2]| {
            let context = if is_first { ours.context } else { theirs.context };
            Ok(process.named(context, &first.union(&second)))
        });
        Ok(self.process.comm(self.process.run("merge", machine).await?))
    }

    async fn create_group(&self, members: &Group, tag: u32) -> Result<Self> {
        let process = self.process.clone();
        let known = members.with_context(self.group.context(), members.rank(process.me).unwrap());
        let making = process.messenger.next_making(&known, tag);
        let scope = Scope { context: self.group.context(), plane: Plane::Creation };
        let link = Link::new(process.messenger.clone(), known, scope, tag.into());
        let named = (link.me() == 0).then(|| process.context().to_le_bytes().to_vec());
        let (words, members) = (Broadcast::new(link.clone(), 0, named, 8), members.clone());
        let machine = Creation::named(making, link, words, move |named: Vec<u8>| {
            Ok(process.named(u64::from_le_bytes(named.try_into().unwrap()), &members))
        });
        Ok(self.process.comm(self.process.run("create_group", machine).await?))
    }

    async fn barrier(&self) -> bool {
        self.process.run("barrier", Barrier::new(self.link())).await.is_ok()
    }

    /// All kinds of makings; whether all that live have got through.
    async fn try_all(&self) -> bool {
        let (me, size) = (self.me(), self.group.size());
        let is_first = me < size / 2;
        let half = self.split(is_first.into()).await;
        if !self.agree(half.is_ok()).await {
            return false;
        }
        let Ok(half) = half else { return false };
        let other = self.group.peer(Rank(if is_first { size / 2 } else { 0 }));
        let inter = half.create_inter(self, other).await;
        let mut is_ok = inter.is_ok();
        if let Ok(inter) = inter {
            inter.agree(true).await;
            let whole = inter.merge().await;
            is_ok = whole.is_ok();
            if let Ok(whole) = whole {
                whole.agree(true).await;
                is_ok = whole.barrier().await;
            }
        }
        if me < size - 1 {
            let part = Group::from(&self.group).incl(&(0..size - 1).collect::<Vec<_>>()).unwrap();
            if let Ok(some) = self.create_group(&part, 5).await {
                some.agree(true).await;
            }
        }
        drop(half);
        self.agree(is_ok).await
    }
}

async fn program(process: Process, size: u32) {
    let all = Group::of((0..size).map(Peer));
    let world = process.comm(process.named(0, &all));
    let mut base = world.shrink().await;
    for _ in 0..ROUNDS {
        if base.group.size() == 1 {
            break;
        }
        if !base.try_all().await {
            base = base.shrink().await;
        }
    }
    *process.doing.borrow_mut() = "nothing".to_owned();
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Something that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Deliver(u32, u32, bool),
    Advance(u32),
    Run(u32),
    /// The launcher tells the first of the death of the second.
    Tell(u32, u32),
    Cut(u32, u32),
}

struct World {
    net: Net,
    dice: Dice,
    processes: Vec<Process>,
    tasks: Vec<Option<Task>>,
    /// Events that a program has seen.
    seen: Vec<Option<u64>>,
    is_dead: Vec<bool>,
    to_tell: BTreeSet<(u32, u32)>,
    to_cut: BTreeSet<(u32, u32)>,
}

impl World {
    fn new(size: u32, seed: u64) -> Self {
        let net = Net::new(size, &MessageConfig::default(), 8, MIN_PACKET, seed);
        let process = |me: u32| Process {
            me: Peer(me),
            messenger: net.messengers[me as usize].clone(),
            contexts: Rc::default(),
            doing: Rc::default(),
        };
        let processes: Vec<_> = (0..size).map(process).collect();
        let task = |process: &Process| Some(Box::pin(program(process.clone(), size)) as Task);
        Self {
            tasks: processes.iter().map(task).collect(),
            net,
            dice: Dice::new(seed ^ 0x5eed),
            seen: vec![None; size as usize],
            is_dead: vec![false; size as usize],
            processes,
            to_tell: BTreeSet::new(),
            to_cut: BTreeSet::new(),
        }
    }

    fn living(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.is_dead.len() as u32).filter(|me| !self.is_dead[*me as usize])
    }

    fn kill(&mut self, victim: u32) {
        self.is_dead[victim as usize] = true;
        self.net.kill(victim);
        // What it holds it does not give back.
        std::mem::forget(self.tasks[victim as usize].take());
        let others: Vec<_> = self.living().map(|other| (other, victim)).collect();
        self.to_tell.extend(&others);
        self.to_cut.extend(&others);
        self.to_tell.retain(|(rank, _)| *rank != victim);
        self.to_cut.retain(|(rank, _)| *rank != victim);
    }

    fn moves(&self) -> Vec<Move> {
        let pending = self.net.pending();
        let mut moves: Vec<_> = pending
            .iter()
            .map(|(from, to, lane)| Move::Deliver(*from, *to, *lane == Lane::Response))
            .collect();
        moves.extend(self.to_tell.iter().map(|(rank, victim)| Move::Tell(*rank, *victim)));
        let is_behind =
            |(rank, victim): &&(u32, u32)| !pending.iter().any(|(from, to, _)| (from, to) == (victim, rank));
        moves.extend(self.to_cut.iter().filter(is_behind).map(|(rank, victim)| Move::Cut(*rank, *victim)));
        for me in self.living() {
            let has_news = self.seen[me as usize] != Some(self.net.events(me));
            if has_news && self.tasks[me as usize].is_some() {
                moves.push(Move::Run(me));
            }
            if self.net.is_active(me) {
                moves.push(Move::Advance(me));
            }
        }
        moves
    }

    /// Makes a move; says whether it has changed anything.
    fn make(&mut self, next: Move) -> bool {
        match next {
            Move::Deliver(from, to, is_response) => {
                self.net.deliver((from, to, if is_response { Lane::Response } else { Lane::Request }));
            }
            Move::Advance(me) => return self.net.advance(me),
            Move::Run(me) => {
                let at = me as usize;
                self.seen[at] = Some(self.net.events(me));
                let task = self.tasks[at].as_mut().expect("it has not ended");
                if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    self.tasks[at] = None;
                }
            }
            Move::Tell(rank, victim) => {
                self.to_tell.remove(&(rank, victim));
                self.net.messengers[rank as usize].hear_of_death(Peer(victim), false);
            }
            Move::Cut(rank, victim) => {
                self.to_cut.remove(&(rank, victim));
                self.net.cut(rank, victim);
            }
        }
        true
    }

    /// Runs to the end, with deaths at these steps. Names the processes that wait for ever.
    fn run(&mut self, deaths: &mut Vec<usize>) -> Vec<String> {
        let (mut step, mut idle) = (0, 0);
        loop {
            let moves = self.moves();
            if moves.is_empty() || idle > 200 {
                let waits = self.living().filter(|me| self.tasks[*me as usize].is_some());
                let says = |me| format!("{me}: {}", self.processes[me as usize].doing.borrow());
                return waits.map(says).collect();
            }
            if deaths.iter().any(|at| *at <= step) {
                deaths.retain(|at| *at > step);
                let victim = self.dice.below(self.is_dead.len()) as u32;
                if !self.is_dead[victim as usize] && self.living().count() > 1 {
                    self.kill(victim);
                    continue;
                }
            }
            let next = moves[self.dice.below(moves.len())];
            idle = if self.make(next) { 0 } else { idle + 1 };
            step += 1;
        }
    }
}

#[test]
fn the_living_end_every_making_and_agreement() {
    let mut most = 0;
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let size = 3 + dice.below(3) as u32;
        let mut deaths: Vec<_> = (0..1 + dice.below(size as usize - 1)).map(|_| dice.below(2000)).collect();
        let mut world = World::new(size, seed);
        let waits = world.run(&mut deaths);
        assert!(waits.is_empty(), "seed {seed}, {size} processes: {waits:?}");
        most = most.max(world.is_dead.iter().filter(|is_dead| **is_dead).count());
    }
    assert!(most > 1);
}
