//! From the environment to a running process of a job.
//!
//! ```text
//!   configuration  the environment, read once
//!   start          what has started this process, by the seam ([`Start`])
//!   identity       rank, size, places, and the secret; what the start does not tell, ranks tell each other, and meet
//!   channels       opened, and addresses published, before any peer looks for them
//!   meet           a fence of the start
//!   engine         on the channels
//! ```

use crate::alarm::Alarm;
use crate::answering;
use crate::channels::{self, ChannelKind, Distance, LookUp, Opening, Plan, WordExchange, missing};
use crate::config::{Configuration, Listen, RuntimeConfig};
use crate::host::{HostSettings, NodeMemory, Places, RuntimeHost, huge_pages};
use crate::join::{self, Notice, Notices, Start};
use crate::message::{Absence, Messenger};
use crate::network::{Candidates, Choice, machine_name};
use crate::no_peers::NoPeers;
use crate::pmi::Secret;
use crate::runtime::{Runtime, RuntimeParts};
use crate::{descriptors, log};
use rma_ch_shm::segment::Mailbox;
use rma_core::channel::{Channel, Router};
use rma_core::config::Value;
use rma_core::host::Locality;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// A process that has started, and what has started it.
pub(crate) struct StartedProcess {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) start: Arc<dyn Start>,
    pub(crate) notices: Notices,
    /// Whether rank 0 sums up what all have counted, behind a fence at the end.
    pub(crate) is_summed: bool,
}

/// Under this key rank 0 publishes the secret where the start tells none.
const SECRET_KEY: &str = "rma-secret-of-rank";

/// Under this key rank 0 publishes what all ranks go by: letters of [`OVERSUBSCRIBED`] and [`SUMMED`], and behind a comma what is
/// to be alike. No letter is one that a launcher's protocol may separate words by.
const JOB_KEY: &str = "rma-job";
/// Ranks outnumber cores where rank 0 runs: it selects the algorithms of collectives.
const OVERSUBSCRIBED: char = 'c';
/// Rank 0 sums up counters: all ranks meet for that at the end.
const SUMMED: char = 's';

/// Under this key rank 0 publishes the networks that it is in, where machines are several.
const NETWORKS_KEY: &str = "rma-networks";

/// Under this key rank 0 publishes its plan of channels.
const CHANNELS_KEY: &str = "rma-channels";

/// The rank of this process in the job, and where the others are.
struct Identity {
    me: Peer,
    size: u32,
    job: String,
    secret: Secret,
    places: Places,
}

/// Starts the process that the environment describes, by the start that is given or else by the one that the environment names.
pub(crate) fn start(
    look_up: LookUp<'_>,
    names: Vec<String>,
    given: Option<Arc<dyn Start>>,
) -> Result<StartedProcess> {
    let configuration = Configuration::read(&look_up.reader())?;
    channels::load(look_up)?;
    let start = match given {
        Some(start) => start,
        None => {
            let RuntimeConfig { launcher_timeout_s, pmix_lib, .. } = &configuration.runtime;
            join::from_environment(&look_up.reader(), Duration::from_secs(*launcher_timeout_s), pmix_lib)?
        }
    };
    let (rank, is_alone) = (start.rank(), start.size() == 1);
    let joined = join_job(start, configuration, (look_up, names));
    joined.map_err(|error| if is_alone { error } else { of_rank(rank, &error) })
}

/// An error of a rank before it is part of the job: the others, and the launcher, know it by nothing else.
fn of_rank(rank: u32, error: &Error) -> Error {
    let at = machine_name().map_or_else(String::new, |name| format!(" on {name}"));
    Error::new(error.class(), error.call(), format!("process {rank}{at}: {}", error.cause()))
}

fn join_job(
    start: Arc<dyn Start>,
    mut configuration: Configuration,
    (look_up, names): (LookUp<'_>, Vec<String>),
) -> Result<StartedProcess> {
    let identity = identity(&*start, &configuration)?;
    let (me, size, places) = (identity.me, identity.size, &identity.places);
    log::set_rank(me.0);
    descriptors::prepare(size - 1);
    if me == Peer(0) {
        configuration.warnings(names).iter().for_each(|line| eprintln!("rma: warning: {line}"));
    }
    let is_oversubscribed = places.on_this_machine() > crate::cores::shared_by_ranks();
    if is_oversubscribed {
        // A spinning rank may keep the awaited one from running.
        configuration.engine.spin_us = 0;
    }
    let plan = Plan::choose(&configuration.runtime.channel, look_up);
    if me == Peer(0) && places.has_remotes() {
        let unmet = plan.unmet(&configuration.runtime.channel, Distance::Remote, look_up);
        unmet.iter().for_each(|line| eprintln!("rma: warning: {line}"));
    }
    if configuration.runtime.debug {
        huge_pages::want_line();
    }
    let node_memory = node_memory(&identity, &configuration);
    let channel = open(&identity, &start, &plan, &configuration, (look_up, is_oversubscribed))?;
    let messenger = Messenger::new(me, size, &configuration.message);
    tell_absences(&start, &messenger);
    if let Some(launcher) = start.overseer().filter(|_| configuration.runtime.on_failure == "continue") {
        // Before the first meeting: after it all ranks get the same answer.
        launcher.outlive()?;
    }
    let letters = [(is_oversubscribed, OVERSUBSCRIBED), (configuration.observer.stats, SUMMED)];
    let is_summed = meet(&*start, &messenger, letters, &alike(&configuration))?;
    agree(&*start, &plan, &configuration, look_up)?;
    let direct = configuration.runtime.direct && plan.is_direct;
    let tells = start.overseer().map(|_| Arc::downgrade(&start));
    let tell_stuck = tells.map(|start| {
        let tell = move || {
            start
                .upgrade()
                .is_some_and(|start| start.overseer().is_some_and(|launcher| launcher.tell_stuck()))
        };
        Box::new(tell) as Box<dyn Fn() -> bool + Send + Sync>
    });
    let settings =
        HostSettings { places: places.clone(), node_memory: node_memory.clone(), direct, tell_stuck };
    let host = RuntimeHost::new(messenger.clone(), settings);
    let runtime = Runtime::new(RuntimeParts {
        me,
        size,
        channel,
        host: Arc::new(host),
        messenger: messenger.clone(),
        configuration,
        node_memory,
        alarm: Arc::new(Alarm::default()),
        job: identity.job,
    })?;
    let runtime = Arc::new(runtime);
    let (has_all_notices, notices) = watch(&start, &runtime)?;
    if !has_all_notices {
        messenger.pass_deaths_on();
    }
    Ok(StartedProcess { runtime, start, notices, is_summed })
}

/// What must be the same in all processes, and is found out by nothing else: a rank takes no more from another one than that may
/// send by its own numbers, and ranks that place each other differently wait for each other in vain.
fn alike(configuration: &Configuration) -> String {
    let Configuration { runtime, engine, message, .. } = configuration;
    format!(
        "RMA_CREDITS:{},RMA_MESSAGE_WINDOW:{},RMA_RANKS_PER_NODE:{}",
        engine.credits, message.window_bytes, runtime.ranks_per_node
    )
}

/// Meets all ranks, behind which addresses are found; says whether rank 0 sums up at the end.
fn meet(start: &dyn Start, messenger: &Messenger, letters: [(bool, char); 2], alike: &str) -> Result<bool> {
    if start.size() == 1 {
        return Ok(letters.contains(&(true, SUMMED)));
    }
    if start.rank() == 0 {
        let told: String = letters.iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect();
        start.put(JOB_KEY, &format!("{told},{alike}"))?;
    }
    start.fence()?;
    let told = start.get(0, JOB_KEY)?.unwrap_or_default();
    let (told, of_rank_0) = told.split_once(',').unwrap_or((&told, alike));
    let mut pairs = alike.split(',').zip(of_rank_0.split(','));
    if let Some((own, other)) = pairs.find(|(own, other)| own != other) {
        let (own, other) = (own.replace(':', " is "), other.rsplit(':').next().unwrap_or_default());
        let cause =
            format!("{own} on this rank and {other} on process 0, but must be the same in all processes");
        return Err(Error::new(ErrorClass::Arg, "init", cause));
    }
    messenger.set_oversubscribed(told.contains(OVERSUBSCRIBED));
    Ok(told.contains(SUMMED))
}

/// Has this process hear of deaths and questions; says whether of every death.
fn watch(start: &Arc<dyn Start>, runtime: &Arc<Runtime>) -> Result<(bool, Notices)> {
    let (messenger, engine) = (runtime.messenger.clone(), runtime.engine.wake_handle());
    // As for the herald.
    let (asked, asks) = (Arc::downgrade(runtime), Arc::downgrade(start));
    let on_notice = move |notice| match notice {
        Notice::Death(rank) | Notice::HostLost(rank) => {
            messenger.hear_of_death(Peer(rank), notice == Notice::HostLost(rank));
            engine.wake();
        }
        Notice::Report(number) => answering::begin(number, asked.clone(), asks.clone()),
    };
    join::watch(start, Box::new(on_notice))
}

/// The launcher hears of the ranks that are found absent here.
fn tell_absences(start: &Arc<dyn Start>, messenger: &Messenger) {
    if start.overseer().is_none() {
        return;
    }
    // The start has a way to the messenger too: neither keeps the other.
    let told = Arc::downgrade(start);
    // A launcher that cannot be reached sees the end of this process.
    let tell = move |peer: Peer, absence| {
        if let Some(launcher) = told.upgrade().as_ref().and_then(|start| start.overseer()) {
            let _ = match absence {
                Absence::Lost => launcher.tell_lost(peer.0),
                Absence::Left => launcher.tell_left(peer.0),
            };
        }
    };
    messenger.set_herald(Box::new(tell));
}

/// All ranks reach each other in the same way, which is that of rank 0.
fn agree(start: &dyn Start, plan: &Plan, configuration: &Configuration, look_up: LookUp<'_>) -> Result<()> {
    if start.size() == 1 {
        return Ok(());
    }
    let (own, first) = (plan.word(), start.get(0, CHANNELS_KEY)?.unwrap_or_default());
    if own == first {
        return Ok(());
    }
    let refusals = Plan::refusals(&configuration.runtime.channel, Distance::Remote, look_up);
    let refused = if refusals.is_empty() { String::new() } else { format!(" ({})", refusals.join("; ")) };
    let cause = format!(
        "this rank would use {own} within and between nodes{refused}, but process 0 {first}: set RMA_CHANNEL alike on all \
         nodes to what all of them have (rma-info --channels)"
    );
    Err(Error::new(ErrorClass::Other, "init", cause))
}

fn identity(start: &dyn Start, configuration: &Configuration) -> Result<Identity> {
    let (me, size) = (Peer(start.rank()), start.size());
    let (secret, mapping) = (start.secret()?, start.nodes()?);
    if secret.is_none() && me == Peer(0) {
        let secret = Secret::generate().map_err(|cause| refused("the job's secret", &cause))?;
        start.put(SECRET_KEY, &secret.to_hex())?;
    }
    if mapping.is_none() {
        join::announce(start)?;
    }
    if secret.is_none() || mapping.is_none() {
        // No rank looks before it is there.
        start.fence()?;
    }
    let secret = match secret {
        Some(secret) => secret,
        None => {
            let text = start.get(0, SECRET_KEY)?.unwrap_or_default();
            Secret::from_hex(&text).ok_or_else(|| {
                Error::new(ErrorClass::Other, "init", "what is kept as the job's secret of rank 0 is none")
            })?
        }
    };
    let mapping = mapping.map_or_else(|| join::mapping(start), Ok)?;
    let virtual_nodes = u32::try_from(configuration.runtime.ranks_per_node).ok().filter(|ranks| *ranks > 0);
    let places = Places::new(me, size, mapping, virtual_nodes);
    Ok(Identity { me, size, job: start.job().to_owned(), secret, places })
}

/// The way to hand memory to peers of the node; without it windows are reached by packets, which is said in one line.
fn node_memory(identity: &Identity, configuration: &Configuration) -> Option<Arc<NodeMemory>> {
    if !identity.places.has_node_peers() {
        return None;
    }
    match Mailbox::open(identity.me, &identity.job, identity.secret.bytes()) {
        Ok(mailbox) => Some(Arc::new(NodeMemory::new(mailbox, configuration.shm.clone()))),
        Err(error) => {
            eprintln!("rma: process {} shares no memory: {error}", identity.me);
            None
        }
    }
}

/// Opens the channels of the plan with what this process is.
fn open(
    identity: &Identity,
    start: &Arc<dyn Start>,
    plan: &Plan,
    configuration: &Configuration,
    (look_up, is_oversubscribed): (LookUp<'_>, bool),
) -> Result<Box<dyn Channel>> {
    if identity.size == 1 {
        return Ok(Box::new(NoPeers));
    }
    if identity.me == Peer(0) {
        start.put(CHANNELS_KEY, &plan.word())?;
    }
    // Whether a channel asks for it or not: ranks may meet for it.
    let listen = address(identity, &**start, configuration.runtime.tcp_listen)?;
    let opening = Opening {
        me: identity.me,
        size: identity.size,
        job: &identity.job,
        secret: identity.secret.bytes(),
        listen,
        is_oversubscribed,
        look_up,
        exchange: Arc::new(StartExchange(Arc::clone(start))),
        scope: String::new(),
    };
    channel(&opening, &identity.places, plan, configuration)
}

/// The start as channels see it.
struct StartExchange(Arc<dyn Start>);

impl WordExchange for StartExchange {
    fn put(&self, key: &str, value: &str) -> Result<()> {
        self.0.put(key, value)
    }

    fn get(&self, peer: Peer, key: &str) -> Result<Option<String>> {
        self.0.get(peer.0, key)
    }
}

/// Opens the channels that the plan has for the processes that there are.
fn channel(
    opening: &Opening<'_>,
    places: &Places,
    plan: &Plan,
    configuration: &Configuration,
) -> Result<Box<dyn Channel>> {
    // What is forced is forced on virtual nodes too.
    let is_forced = configuration.runtime.channel.forced().is_some();
    let places = if is_forced { places.physical() } else { places.clone() };
    let open =
        |kind: &dyn ChannelKind| kind.open(&Opening { scope: kind.name().to_owned(), ..opening.clone() });
    let needed = |is_needed: bool, distance: Distance| match plan.of(distance) {
        Some(kind) if is_needed => Ok(Some(kind)),
        None if is_needed => Err(out_of_reach(distance, configuration, opening.look_up)),
        _ => Ok(None),
    };
    let node = needed(places.has_node_peers(), Distance::Node)?;
    let remote = needed(places.has_remotes(), Distance::Remote)?;
    match (node, remote) {
        (None, None) => Ok(Box::new(NoPeers)),
        (Some(node), Some(remote)) if node.name() != remote.name() => {
            let parts = vec![open(node)?, open(remote)?];
            let route = move |peer| usize::from(places.locality(peer) == Locality::Remote);
            Ok(Box::new(Router::new(parts, Box::new(route))))
        }
        (Some(one), _) | (None, Some(one)) => open(one),
    }
}

fn out_of_reach(distance: Distance, configuration: &Configuration, look_up: LookUp<'_>) -> Error {
    let among = match distance {
        Distance::Node => "some ranks share a node",
        Distance::Remote => "the job runs on several machines",
    };
    let preference = &configuration.runtime.channel;
    let refusals = Plan::refusals(preference, distance, look_up);
    let why = match &missing(preference)[..] {
        [] if refusals.is_empty() => "that does not reach so far".to_owned(),
        [] => format!("what reaches so far cannot be had here: {}", refusals.join("; ")),
        names => format!(
            "neither the program nor RMA_CHANNEL_PLUGIN has registered a channel {}",
            names.join(", ")
        ),
    };
    let cause = format!("RMA_CHANNEL is {}, but {among}, and {why}", preference.show());
    Error::new(ErrorClass::Arg, "init", cause)
}

/// The address that other processes reach this one by. In jobs on several machines all ranks meet here.
fn address(identity: &Identity, start: &dyn Start, listen: Listen) -> Result<IpAddr> {
    let is_one_machine = identity.places.is_one_machine();
    let found = match listen {
        Listen::At(address) => Ok((address, None)),
        Listen::Auto if is_one_machine => Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), None)),
        Listen::Auto => Candidates::find(Choice::Order).map(|all| (all.first(), Some(all))),
        // Refused only if a channel listens: most jobs of one machine need no address.
        Listen::In(network) if is_one_machine => {
            let found = Candidates::find(Choice::In(network));
            Ok((found.map_or(network.address(), |all| all.first()), None))
        }
        Listen::In(network) => Candidates::find(Choice::In(network)).map(|all| (all.first(), Some(all))),
    };
    let refused = |cause| refused("an address for other machines (RMA_TCP_LISTEN can name one)", &cause);
    let (address, candidates) = found.map_err(refused)?;
    if is_one_machine {
        return Ok(address);
    }
    if let (Some(own), 0) = (&candidates, start.rank()) {
        start.put(NETWORKS_KEY, &own.emit())?;
    }
    start.fence()?;
    let of_rank_0 = start.get(0, NETWORKS_KEY)?.map(|text| Candidates::parse(&text));
    let is_here = identity.places.is_on_machine(Peer(0));
    Ok(match (candidates, of_rank_0) {
        (Some(own), Some(of_rank_0)) => own.choose(&of_rank_0, is_here),
        _ => address,
    })
}

fn refused(what: &str, cause: &io::Error) -> Error {
    Opening::refused(what, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::ProcessMapping;

    fn places(size: u32, machines: u32, virtual_nodes: Option<u32>) -> Places {
        Places::new(Peer(0), size, ProcessMapping::regular(size, size.div_ceil(machines)), virtual_nodes)
    }

    /// The channels that are opened, and whether windows are direct.
    fn opened(places: &Places, channel: &str) -> Result<(String, bool)> {
        let mut configuration = Configuration::default();
        configuration.runtime.channel = channel.into();
        let plan = Plan::choose(&configuration.runtime.channel, LookUp::new(&|_| None));
        let opening = Opening {
            me: Peer(0),
            size: 4,
            job: "opened",
            secret: [0; 32],
            is_oversubscribed: false,
            look_up: LookUp::new(&|_| None),
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            exchange: Arc::new(NoWords),
            scope: String::new(),
        };
        let channel = super::channel(&opening, places, &plan, &configuration)?;
        Ok((channel.capabilities().name.to_owned(), plan.is_direct))
    }

    struct NoWords;

    impl WordExchange for NoWords {
        fn put(&self, _: &str, _: &str) -> Result<()> {
            Ok(())
        }

        fn get(&self, _: Peer, _: &str) -> Result<Option<String>> {
            Ok(None)
        }
    }

    #[test]
    fn one_machine_needs_no_interface_before_a_channel_listens() {
        let start = crate::join::Allgather::alone();
        let identity = identity(&start, &Configuration::default()).unwrap();
        let at = |listen| address(&identity, &start, listen).unwrap().to_string();
        let within = |network: &str| at(Listen::In(network.parse().unwrap()));
        assert_eq!(at(Listen::Auto), "127.0.0.1");
        assert_eq!(within("127.0.0.0/8"), "127.0.0.1");
        // Of no machine (RFC 5737).
        assert_eq!(within("203.0.113.0/24"), "203.0.113.0");
    }

    #[test]
    fn channels_are_opened_only_for_peers_that_need_them() {
        for (places, channel, expected, is_direct) in [
            (places(1, 1, None), "auto", "none", true),
            (places(1, 1, None), "tcp", "none", false),
            (places(4, 1, None), "auto", "shm", true),
            (places(4, 1, None), "shm", "shm", false),
            (places(4, 1, None), "tcp", "tcp", false),
            (places(4, 1, None), "tcp,shm", "tcp", true),
            (places(4, 1, Some(1)), "auto", "tcp", true),
            (places(4, 1, Some(2)), "auto", "mixed", true),
            (places(4, 1, Some(2)), "shm,tcp", "mixed", true),
            (places(4, 1, Some(2)), "shm", "shm", false),
            (places(4, 2, None), "auto", "mixed", true),
            (places(4, 4, None), "auto", "tcp", true),
        ] {
            assert_eq!(
                opened(&places, channel).unwrap(),
                (expected.to_owned(), is_direct),
                "{places:?} {channel}"
            );
        }
        let error = opened(&places(4, 2, None), "shm").unwrap_err();
        assert!(error.to_string().contains("several machines"), "{error}");
    }
}
