//! The lines of channels that shared objects bring (`RMA_CHANNEL_PLUGIN`).

use super::kind::{ChannelKind, Distance, Opening, WordExchange, key};
use super::look_up::LookUp;
use super::registry::register;
use crate::paths::FilePath;
use parking_lot::Mutex;
use rma_ch_c::{Meeting, Plugin};
use rma_core::channel::Channel;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// Files that are loaded.
static LOADED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds the channel of the shared object that `RMA_CHANNEL_PLUGIN` names, if it names one; again is once.
///
/// # Errors
/// `MPI_ERR_ARG` with one line that names the file and what is expected.
pub fn load(look_up: LookUp<'_>) -> Result<()> {
    let named = FilePath::from(look_up.text("RMA_CHANNEL_PLUGIN").unwrap_or_default().trim());
    let Some(path) = named.path() else { return Ok(()) };
    let refused = |cause: String| {
        let at = path.display();
        let cause = cause.strip_prefix(&format!("{at}: ")).unwrap_or(&cause).to_owned();
        Error::new(ErrorClass::Arg, "init", format!("RMA_CHANNEL_PLUGIN names {at}: {cause}"))
    };
    let mut loaded = LOADED.lock();
    if loaded.iter().any(|known| known == path) {
        return Ok(());
    }
    // SAFETY: `LookUp` gives only names of objects that are answered for.
    let plugin = unsafe { Plugin::load(path) }.map_err(refused)?;
    register(Box::new(Plugged(plugin))).map_err(|error| refused(error.cause().to_owned()))?;
    loaded.push(path.to_owned());
    Ok(())
}

struct Plugged(Plugin);

impl ChannelKind for Plugged {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn text(&self) -> &'static str {
        self.0.text()
    }

    fn cost_ns(&self, distance: Distance, _: LookUp<'_>) -> Option<u32> {
        let (node, remote) = self.0.costs_ns();
        if distance == Distance::Node { node } else { remote }
    }

    fn probe(&self, _: LookUp<'_>) -> Result<String, String> {
        self.0.probe()
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Channel>> {
        let meeting = PluginExchange { exchange: Arc::clone(&opening.exchange), key: key(&opening.scope) };
        let (place, job) = ((opening.me, opening.size), (opening.job, opening.secret));
        let opened = self.0.open(place, job, &opening.listen.to_string(), Box::new(meeting));
        opened.map_err(|cause| {
            Error::new(ErrorClass::Other, "init", format!("channel {} is refused: {cause}", self.name()))
        })
    }
}

/// The exchange of words as a shared object has it.
struct PluginExchange {
    exchange: Arc<dyn WordExchange>,
    key: String,
}

impl Meeting for PluginExchange {
    fn publish(&self, address: &str) -> Result<(), String> {
        self.exchange.put(&self.key, address).map_err(|error| error.cause().to_owned())
    }

    fn find(&self, peer: Peer) -> Result<String, String> {
        let found = self.exchange.get(peer, &self.key).map_err(|error| error.cause().to_owned())?;
        found.ok_or_else(|| format!("process {peer} has published no address"))
    }
}
