//! What a channel tells of itself, and what it is opened with.

use super::look_up::LookUp;
use rma_core::channel::Channel;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// How far apart two processes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// On one node: they can map each other's memory.
    Node,
    /// On two nodes.
    Remote,
}

/// A channel that can be chosen by its name.
pub trait ChannelKind: Send + Sync {
    /// The name in `RMA_CHANNEL`: a short lower-case word, and that of the channel's capabilities.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn text(&self) -> &'static str;

    /// About what a short packet costs, in nanoseconds; `None` where the channel does not reach. Without a wish the cheapest
    /// is taken, so all processes must come to the same order.
    fn cost_ns(&self, distance: Distance, look_up: LookUp<'_>) -> Option<u32>;

    /// Whether processes that it reaches map each other's memory.
    fn shares_memory(&self) -> bool {
        false
    }

    /// What the user has set that asks for this channel beside `RMA_CHANNEL`, as a clause.
    fn wish(&self, look_up: LookUp<'_>) -> Option<String> {
        let _ = look_up;
        None
    }

    /// What there is of it in this process's surroundings.
    ///
    /// # Errors
    /// Why there is nothing, and what to do.
    fn probe(&self, look_up: LookUp<'_>) -> Result<String, String>;

    /// Opens it, and publishes where the others find it.
    ///
    /// # Errors
    /// When the system refuses what it needs.
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Channel>>;
}

/// Where processes of a job leave words for each other: all of them can read what one has left, after they have met.
pub(crate) trait WordExchange: Send + Sync {
    /// Leaves a word.
    ///
    /// # Errors
    /// When the keeper of the words does not answer.
    fn put(&self, key: &str, value: &str) -> Result<()>;

    /// The word that a process has left under this key.
    ///
    /// # Errors
    /// As [`WordExchange::put`].
    fn get(&self, peer: Peer, key: &str) -> Result<Option<String>>;
}

/// What a channel is opened with.
#[derive(Clone)]
pub struct Opening<'a> {
    /// This process.
    pub me: Peer,
    /// Number of processes of the job.
    pub size: u32,
    /// Name of the job.
    pub job: &'a str,
    /// What all processes of the job know, and no other process.
    pub secret: [u8; 32],
    /// The address of this machine that the others reach it by.
    pub listen: IpAddr,
    /// Whether ranks outnumber the cores here: a spinning rank may keep the awaited one from running.
    pub is_oversubscribed: bool,
    /// The environment.
    pub look_up: LookUp<'a>,
    pub(crate) exchange: Arc<dyn WordExchange>,
    /// The channel's name, as in keys of the exchange.
    pub(crate) scope: String,
}

impl Opening<'_> {
    /// Publishes this process's address; a text without line ends.
    ///
    /// # Errors
    /// When the launcher does not answer.
    pub fn publish(&self, address: &str) -> Result<()> {
        self.exchange.put(&key(&self.scope), address)
    }

    /// Looks up what another process has published through the channel of this name.
    pub fn directory(&self) -> Box<dyn FnMut(Peer) -> io::Result<String> + Send> {
        let (exchange, key) = (Arc::clone(&self.exchange), key(&self.scope));
        Box::new(move |peer| {
            let found = exchange.get(peer, &key);
            let address = found.map_err(|error| io::Error::other(error.cause().to_owned()))?;
            address.ok_or_else(|| io::Error::other(format!("process {peer} has published no address")))
        })
    }

    /// The same for a channel that lies below this one: its addresses are kept apart.
    #[must_use]
    pub fn below(&self) -> Self {
        Self { scope: format!("{}-below", self.scope), ..self.clone() }
    }

    /// That the system refuses something, as an error.
    pub fn refused(what: &str, cause: &io::Error) -> Error {
        let cause = crate::descriptors::explain(cause);
        Error::new(ErrorClass::Other, "init", format!("the system refuses {what}: {cause}"))
    }
}

impl fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("me", &self.me).field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// Under this key a rank publishes where it is reached.
pub(super) fn key(scope: &str) -> String {
    format!("rma-{scope}")
}
