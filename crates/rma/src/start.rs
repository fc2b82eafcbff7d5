//! From the environment to a running process of a job.
//!
//! ```text
//!   configuration  the environment, read once
//!   launcher       rank, size, places, and the secret (rank 0 makes one under launchers that do not)
//!   channels       opened, and addresses published, before anybody is told to look for them
//!   meet           a barrier of the launcher
//!   engine         on the channels
//! ```

use crate::answering;
use crate::config::{Configuration, Listen};
use crate::host::{HostSettings, Places, RuntimeHost, Siblings};
use crate::message::Messenger;
use crate::nobody::Nobody;
use crate::pmi::{Client, Notice, ProcessMapping, SECRET_KEY, Secret, other_launcher};
use crate::runtime::{Alarm, Parts, Runtime};
use crate::{descriptors, log};
use rma_ch_shm::segment::Mailbox;
use rma_ch_shm::{ShmChannel, ShmSettings};
use rma_ch_tcp::{TcpChannel, TcpSettings};
use rma_core::channel::{Channel, Router};
use rma_core::host::Locality;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// A process that has started, and its launcher if it has one.
pub(crate) struct Started {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) launcher: Option<Arc<Client>>,
}

/// Under this key rank 0 publishes the secret where the launcher does not.
const OWN_SECRET_KEY: &str = "rma-secret-of-rank-0";

/// Under this key rank 0 publishes whether ranks outnumber cores where it runs: collectives go by one answer on all ranks.
const CROWDED_KEY: &str = "rma-crowded";

/// Which channel reaches which peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    shm: bool,
    tcp: bool,
    /// The only one, whatever the place.
    forced: bool,
}

/// Who this process is in the job.
struct Identity {
    me: Peer,
    size: u32,
    job: String,
    secret: Secret,
}

/// Starts the process that the environment describes.
pub(crate) fn start(look_up: &dyn Fn(&str) -> Option<String>, names: Vec<String>) -> Result<Started> {
    let mut configuration = Configuration::read(look_up)?;
    let limit = Duration::from_secs(configuration.runtime.launcher_timeout_s);
    let launcher = Client::from_environment(look_up, limit)?.map(Arc::new);
    if let Some(line) = other_launcher(look_up).filter(|_| launcher.is_none()) {
        eprintln!("rma: warning: {line}");
    }
    let identity = identity(launcher.as_deref())?;
    log::set_rank(identity.me.0);
    descriptors::prepare(identity.size - 1);
    if identity.me == Peer(0) {
        configuration.warnings(names).iter().for_each(|line| eprintln!("rma: warning: {line}"));
    }
    let places = places(&identity, launcher.as_deref(), &configuration)?;
    let is_crowded = places.on_this_machine() > crate::cores::shared_by_ranks();
    if is_crowded {
        // Whoever spins keeps the one that it waits for from running.
        configuration.engine.spin_us = 0;
        // And whoever sleeps between polls is told what there is to read: it need not try.
        configuration.tcp.direct_reads = 0;
    }
    let reach = Reach::choose(&places, &configuration.runtime.channel)?;
    let siblings = siblings(&identity, &places, &configuration);
    let channel = channel(&identity, &places, reach, launcher.as_ref(), &configuration)?;
    let messenger = Messenger::new(identity.me, identity.size, &configuration.message);
    if let Some(launcher) = &launcher {
        // The client has a way to the messenger too: neither keeps the other.
        let told = Arc::downgrade(launcher);
        // A launcher that cannot be told sees the end of this process.
        let tell = move |peer: Peer| drop(told.upgrade().map(|launcher| launcher.tell_lost(peer.0)));
        messenger.set_herald(Box::new(tell));
        if !launcher.is_own() {
            messenger.pass_deaths_on();
        }
    }
    if let Some(launcher) = launcher.as_deref().filter(|_| configuration.runtime.on_failure == "continue") {
        // Before the first meeting: behind it all ranks are told the same.
        launcher.outlive()?;
    }
    if let Some(launcher) = launcher.as_deref().filter(|_| identity.size > 1) {
        if identity.me == Peer(0) {
            launcher.put(CROWDED_KEY, if is_crowded { "1" } else { "0" })?;
        }
        launcher.barrier()?;
        messenger.set_crowded(launcher.get(CROWDED_KEY)?.as_deref() == Some("1"));
    }
    let direct = configuration.runtime.direct && !reach.forced;
    let tells = launcher.as_ref().filter(|launcher| launcher.is_own()).map(Arc::downgrade);
    let tell_stuck = tells.map(|launcher| {
        let tell = move || launcher.upgrade().is_some_and(|launcher| launcher.tell_stuck());
        Box::new(tell) as Box<dyn Fn() -> bool + Send + Sync>
    });
    let settings = HostSettings { places, siblings: siblings.clone(), direct, tell_stuck };
    let host = RuntimeHost::new(messenger.clone(), settings);
    let runtime = Runtime::new(Parts {
        me: identity.me,
        size: identity.size,
        channel,
        host: Arc::new(host),
        messenger,
        configuration,
        siblings,
        alarm: Arc::new(Alarm::default()),
        job: identity.job,
    })?;
    let runtime = Arc::new(runtime);
    if let Some(launcher) = &launcher {
        let (messenger, engine) = (runtime.messenger.clone(), runtime.engine.wake_handle());
        // As above.
        let (asked, asks) = (Arc::downgrade(&runtime), Arc::downgrade(launcher));
        launcher.watch(move |notice| match notice {
            Notice::Death(rank) => {
                messenger.hear_of_death(Peer(rank));
                engine.wake();
            }
            Notice::Report(number) => answering::begin(number, asked.clone(), asks.clone()),
        })?;
    }
    Ok(Started { runtime, launcher })
}

impl Reach {
    fn choose(places: &Places, channel: &str) -> Result<Self> {
        let (siblings, remotes) = (places.has_siblings(), places.has_remotes());
        let others = siblings || remotes;
        match channel {
            "shm" if !places.is_one_machine() => {
                let cause = "RMA_CHANNEL is shm, but the job runs on several machines";
                Err(Error::new(ErrorClass::Arg, "init", cause))
            }
            "shm" => Ok(Self { shm: others, tcp: false, forced: true }),
            "tcp" => Ok(Self { shm: false, tcp: others, forced: true }),
            _ => Ok(Self { shm: siblings, tcp: remotes, forced: false }),
        }
    }
}

fn identity(launcher: Option<&Client>) -> Result<Identity> {
    let Some(launcher) = launcher else {
        let secret = Secret::generate().map_err(|cause| refused("the job's secret", &cause))?;
        return Ok(Identity { me: Peer(0), size: 1, job: format!("single-{}", std::process::id()), secret });
    };
    let text = match launcher.get(SECRET_KEY)? {
        Some(text) => text,
        None => {
            // No launcher of this project: rank 0 makes the secret, and nobody looks before it is there.
            if launcher.rank() == 0 {
                let secret = Secret::generate().map_err(|cause| refused("the job's secret", &cause))?;
                launcher.put(OWN_SECRET_KEY, &secret.to_hex())?;
            }
            launcher.barrier()?;
            launcher.get(OWN_SECRET_KEY)?.unwrap_or_default()
        }
    };
    let secret = Secret::from_hex(&text).ok_or_else(|| {
        Error::new(ErrorClass::Other, "init", "what the launcher keeps as the job's secret is none")
    })?;
    let job = launcher.job().to_owned();
    Ok(Identity { me: Peer(launcher.rank()), size: launcher.size(), job, secret })
}

fn places(identity: &Identity, launcher: Option<&Client>, configuration: &Configuration) -> Result<Places> {
    let mapping = match launcher {
        None => ProcessMapping::regular(identity.size, identity.size),
        Some(launcher) => match launcher.get("PMI_process_mapping")?.filter(|text| !text.is_empty()) {
            Some(text) => {
                ProcessMapping::parse(&text).map_err(|why| Error::new(ErrorClass::Other, "init", why))?
            }
            // A launcher that does not tell: every process may be on a machine of its own.
            None => ProcessMapping::regular(identity.size, 1),
        },
    };
    let virtual_nodes = u32::try_from(configuration.runtime.ranks_per_node).ok().filter(|ranks| *ranks > 0);
    Ok(Places::new(identity.me, identity.size, mapping, virtual_nodes))
}

/// The way to hand memory to siblings; without it windows are reached by packets, which is said in one line.
fn siblings(identity: &Identity, places: &Places, configuration: &Configuration) -> Option<Arc<Siblings>> {
    if !places.has_siblings() {
        return None;
    }
    match Mailbox::open(identity.me, &identity.job, identity.secret.bytes()) {
        Ok(mailbox) => Some(Arc::new(Siblings::new(mailbox, configuration.shm.clone()))),
        Err(error) => {
            eprintln!("rma: process {} shares no memory: {error}", identity.me);
            None
        }
    }
}

fn channel(
    identity: &Identity,
    places: &Places,
    reach: Reach,
    launcher: Option<&Arc<Client>>,
    configuration: &Configuration,
) -> Result<Box<dyn Channel>> {
    let mut channels: Vec<Box<dyn Channel>> = Vec::new();
    if reach.shm {
        let settings = ShmSettings {
            me: identity.me,
            size: identity.size,
            job: identity.job.clone(),
            secret: identity.secret.bytes(),
            config: configuration.shm.clone(),
        };
        let shm = ShmChannel::new(settings).map_err(|cause| refused("shared memory", &cause))?;
        channels.push(Box::new(shm));
    }
    if let (true, Some(launcher)) = (reach.tcp, launcher) {
        channels.push(Box::new(tcp(identity, places, launcher, configuration)?));
    }
    match channels.len() {
        0 => return Ok(Box::new(Nobody)),
        1 => return Ok(channels.remove(0)),
        _ => {}
    }
    let places = places.clone();
    let route = move |peer| usize::from(places.locality(peer) == Locality::Remote);
    Ok(Box::new(Router::new(channels, Box::new(route))))
}

fn tcp(
    identity: &Identity,
    places: &Places,
    launcher: &Arc<Client>,
    configuration: &Configuration,
) -> Result<TcpChannel> {
    let listen = match configuration.runtime.tcp_listen {
        Listen::At(address) => address,
        Listen::Auto if places.is_one_machine() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Listen::Auto => default_address().map_err(|cause| {
            refused("an address for other machines (RMA_TCP_LISTEN can name one)", &cause)
        })?,
    };
    let looked_up_in = Arc::clone(launcher);
    let directory = move |peer: Peer| {
        let address =
            looked_up_in.get(&tcp_key(peer)).map_err(|error| io::Error::other(error.cause().to_owned()))?;
        address.ok_or_else(|| io::Error::other(format!("process {peer} has published no address")))
    };
    let settings = TcpSettings {
        me: identity.me,
        size: identity.size,
        job: identity.job.clone(),
        secret: identity.secret.bytes(),
        listen,
        config: configuration.tcp.clone(),
        directory: Box::new(directory),
    };
    let channel =
        TcpChannel::bind(settings).map_err(|cause| refused(&format!("listening on {listen}"), &cause))?;
    launcher.put(&tcp_key(identity.me), &channel.address())?;
    Ok(channel)
}

fn tcp_key(peer: Peer) -> String {
    format!("rma-tcp-{peer}")
}

/// The address of the interface of the default route. Nothing is sent.
fn default_address() -> io::Result<IpAddr> {
    let probe = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // An address for documentation (RFC 5737): routed like any other, used by nobody.
    probe.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
    Ok(probe.local_addr()?.ip())
}

fn refused(what: &str, cause: &io::Error) -> Error {
    Error::new(ErrorClass::Other, "init", format!("the system refuses {what}: {}", descriptors::told(cause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(size: u32, machines: u32, virtual_nodes: Option<u32>) -> Places {
        Places::new(Peer(0), size, ProcessMapping::regular(size, size.div_ceil(machines)), virtual_nodes)
    }

    #[test]
    fn channels_are_opened_only_for_peers_that_need_them() {
        let reach = |shm, tcp, forced| Reach { shm, tcp, forced };
        for (places, channel, expected) in [
            (places(1, 1, None), "auto", reach(false, false, false)),
            (places(1, 1, None), "tcp", reach(false, false, true)),
            (places(4, 1, None), "auto", reach(true, false, false)),
            (places(4, 1, None), "shm", reach(true, false, true)),
            (places(4, 1, None), "tcp", reach(false, true, true)),
            (places(4, 1, Some(1)), "auto", reach(false, true, false)),
            (places(4, 1, Some(2)), "auto", reach(true, true, false)),
            (places(4, 1, Some(2)), "shm", reach(true, false, true)),
            (places(4, 2, None), "auto", reach(true, true, false)),
            (places(4, 4, None), "auto", reach(false, true, false)),
        ] {
            assert_eq!(Reach::choose(&places, channel).unwrap(), expected, "{places:?} {channel}");
        }
        let error = Reach::choose(&places(4, 2, None), "shm").unwrap_err();
        assert!(error.to_string().contains("several machines"), "{error}");
    }

    #[test]
    fn the_default_address_is_one_of_this_machine() {
        if let Ok(address) = default_address() {
            assert!(!address.is_unspecified());
        }
    }
}
