//! What the communicators of a process share: engine, messages, and the way they wait.

use super::request::CollectiveRequest;
use super::slots::Departures;
use crate::agent::AgentPlace;
use crate::alarm::Alarm;
use crate::collective::Machine;
use crate::config::Configuration;
use crate::host::{Block, NodeMemory};
use crate::message::{MessageId, MessageUpper, Messenger, Plane, Scope, ShortReceive};
use crate::no_peers::NoPeers;
use crate::progress::{RuntimeUpper, StartedCollectives};
use crate::trace::Recorder;
use crate::wakers::Wakers;
use parking_lot::Mutex;
use rma_core::channel::{Channel, Tracer};
use rma_core::host::{Awaited, Group, Host, Locality, Need};
use rma_core::ids::{Peer, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::trace::{ObservedPackets, Observer};
use rma_core::{Engine, Error, ErrorClass, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One process of a job: what the communicators of the process share. For libraries on top of this one, which find it by
/// [`crate::Communicator::runtime`].
pub struct Runtime {
    pub(crate) me: Peer,
    pub(crate) size: u32,
    pub(crate) engine: Engine,
    pub(crate) messenger: Messenger,
    pub(crate) configuration: Configuration,
    host: Arc<dyn Host>,
    /// The memory that this process shares with others of its node, when there are any.
    node_memory: Option<Arc<NodeMemory>>,
    /// Serves others while the program computes.
    pub(crate) agent: AgentPlace,
    /// Those of futures.
    pub(crate) wakers: Arc<Wakers>,
    /// Collectives that the engine's next step takes over.
    pub(crate) started: Arc<StartedCollectives>,
    /// What communicators that were freed have left in shared memory.
    pub(crate) departures: Arc<Departures>,
    /// Contexts that this process has named so far.
    contexts: AtomicU64,
    pub(crate) alarm: Arc<Alarm>,
    /// What users call communicators, by context.
    names: Mutex<HashMap<u64, Names>>,
    /// Writes the timeline of this process.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Whether the last collective failed here: then the ranks are out of step.
    pub(crate) is_out_of_step: AtomicBool,
}

/// What a communicator is called.
#[derive(Debug, Default)]
struct Names {
    /// By the program; empty if it has not said.
    given: String,
    /// The call that has made it.
    maker: &'static str,
}

/// What a runtime is made from.
pub(crate) struct RuntimeParts {
    pub(crate) me: Peer,
    pub(crate) size: u32,
    pub(crate) channel: Box<dyn Channel>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) messenger: Messenger,
    pub(crate) configuration: Configuration,
    pub(crate) node_memory: Option<Arc<NodeMemory>>,
    pub(crate) alarm: Arc<Alarm>,
    /// The job, as its traces name it.
    pub(crate) job: String,
}

impl Runtime {
    /// Puts an engine on the channel, and this runtime's messages and collectives on the engine.
    pub(crate) fn new(parts: RuntimeParts) -> Result<Self> {
        let RuntimeParts { me, size, mut channel, host, messenger, configuration, node_memory, alarm, job } =
            parts;
        let recorder = Recorder::start(&configuration.observer, me, size, &job).map(Arc::new);
        let observer = recorder.clone().map(|recorder| recorder as Arc<dyn Observer>);
        if observer.is_some() || ObservedPackets::are_traced() {
            channel = Box::new(Tracer::new(me, channel, ObservedPackets::new(observer.clone())));
        }
        let started = Arc::new(StartedCollectives::default());
        let messages: MessageUpper = messenger.upper();
        let upper = Box::new(RuntimeUpper::new(messages, Arc::clone(&started)));
        let config = configuration.engine.clone();
        let engine = Engine::with_observer(config, channel, Arc::clone(&host), upper, observer)?;
        if configuration.observer.stats {
            engine.keep_statistics();
        }
        let wakers = Arc::new(Wakers::new(engine.clone(), Arc::clone(&alarm)));
        Ok(Self {
            me,
            size,
            engine,
            messenger,
            configuration,
            host,
            node_memory,
            agent: AgentPlace::default(),
            wakers,
            started,
            departures: Arc::default(),
            contexts: AtomicU64::new(1),
            alarm,
            names: Mutex::default(),
            recorder,
            is_out_of_step: AtomicBool::new(false),
        })
    }

    /// This process.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Number of processes of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The engine, which moves everything.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The configuration in force.
    pub fn configuration(&self) -> Configuration {
        let mut configuration = self.configuration.clone();
        (configuration.engine.spin_us, configuration.engine.wait_report_s) = self.engine.patience();
        configuration
    }

    /// Changes a variable while the process runs, for what begins from now on. `false` when this one is read at the start
    /// only.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when the value is not legal, with the range.
    pub fn change(&self, name: &str, value: &str) -> Result<bool> {
        let read = Configuration::read(&|asked| (asked == name).then(|| value.to_owned()))?;
        let (spin_us, wait_report_s) = self.engine.patience();
        match name {
            "RMA_SPIN" => self.engine.set_patience(read.engine.spin_us, wait_report_s),
            "RMA_WAIT_REPORT" => self.engine.set_patience(spin_us, read.engine.wait_report_s),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The messages of this process. What is begun on it leaves with the engine's next step.
    pub fn messenger(&self) -> &Messenger {
        &self.messenger
    }

    /// Sends a short message at once, as [`Messenger::begin_send_from`] in standard mode would that has ended when it returns,
    /// but with neither a request nor a step of the engine. `false` when the slow path has to be taken: it is too long, others
    /// are before it, the receiver has no room for it or has not been in contact, or tracing is on.
    pub fn try_send(&self, to: Peer, scope: Scope, tag: u64, message: ReadSpan) -> bool {
        self.messenger.send_fast(&self.engine, to, scope, tag, message)
    }

    /// Receives a message within this call into contiguous memory, as [`Messenger::begin_receive_into`] and a wait would, but
    /// without a request if it is a short one that fits. `None` when the slow path has to be taken: another thread receives
    /// like this, the message that has arrived is no such one, the sender has not been in contact, or tracing is on.
    ///
    /// # Errors
    /// As [`Runtime::wait_until`]; the receive is withdrawn then, unless a message was found for it: that is answered instead.
    ///
    /// # Safety
    /// The memory must be writable, with no reference to it, until the call has returned or the request that it answers has
    /// ended.
    pub unsafe fn try_receive(
        &self,
        scope: Scope,
        source: Option<Peer>,
        tag: Option<u64>,
        memory: WriteSpan,
    ) -> Option<Result<ShortReceive>> {
        if self.engine.is_observed() {
            return None;
        }
        // SAFETY: as the caller promises; the receive is withdrawn when the wait fails.
        match unsafe { self.messenger.lend(scope, source, tag, memory) }? {
            Ok(waiting) => {
                self.end_short_call();
                Some(Ok(ShortReceive::Message(waiting)))
            }
            Err(mut lent) => {
                let describe = || Awaited::one("a message to arrive".to_owned(), Need::Message(source));
                // What it came to is asked for once, behind the wait: a result that every test hands through the layers of
                // a wait costs more than the rest of the test.
                let ended = self.wait_until("receive", &describe, &mut || Ok(lent.has_moved().then_some(())));
                Some(match (lent.test(), ended) {
                    // Of a wait that failed too: a message that was found for it has come, or will.
                    (Some(received), _) => Ok(received),
                    (None, Err(error)) => Err(error),
                    (None, Ok(())) => unreachable!("the lender alone takes the result"),
                })
            }
        }
    }

    /// After a call on messages that ended at once, without a step of the engine: other threads hear of what it ended, and what
    /// it has left to be sent leaves now. If there is nothing, one in a few such calls polls.
    pub fn end_short_call(&self) {
        if self.messenger.is_due() {
            self.engine.poll();
        } else {
            self.engine.poll_in_short_calls();
        }
        if !self.engine.has_one_caller() {
            self.engine.wake_waiters();
        }
    }

    /// Zeroed memory at a multiple of `align`, a power of two up to a huge page, that the other processes of the
    /// node can map: windows over it are reached directly (`MPI_Alloc_mem`). `None` when there is no process
    /// to share with, or no such memory.
    pub fn allocate(&self, len: u64, align: u64) -> Option<Block> {
        self.node_memory.as_ref()?.allocate(len, align).ok()
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// What has to be before a window is made: the thread that serves others, where it starts with the first one.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn prepare_window(&self) -> Result<()> {
        self.agent.before_window(&self.engine)
    }

    /// Where a process is, seen from this one.
    pub fn locality(&self, peer: Peer) -> Locality {
        self.host.locality(peer)
    }

    /// The lowest rank of a group that is on this node.
    pub(crate) fn first_here(&self, group: &Group) -> Option<u32> {
        (0..group.size()).find(|rank| self.locality(group.peer(Rank(*rank))) != Locality::Remote)
    }

    /// Waits until `ready` gives a value, moving everything meanwhile; the one way to wait for requests of several kinds.
    /// `describe` says what is waited for when it takes long. `ready` must call neither the engine nor anything that polls:
    /// requests have a call that only looks ([`CollectiveRequest::take`], [`crate::message::ReceiveRequest::test`]).
    ///
    /// # Errors
    /// Whatever `ready` answers, or that another rank of a world of threads has failed.
    pub fn wait_until<T, W: Into<Awaited>>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> W,
        ready: &mut dyn FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let describe = || self.with_behind(describe().into());
        self.engine.wait_until(call, &describe, &mut || {
            self.alarm.check()?;
            ready()
        })
    }

    /// As [`Runtime::wait_until`], for what other processes write into shared memory: `ready` receives
    /// whether this process may sleep after the look ([`Engine::wait_in_memory`]).
    pub(crate) fn wait_in_memory<T>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> Awaited,
        ready: &mut dyn FnMut(bool) -> Result<Option<T>>,
    ) -> Result<T> {
        let describe = || self.with_behind(describe());
        self.engine.wait_in_memory(call, &describe, &mut |may_sleep| {
            self.alarm.check()?;
            ready(may_sleep)
        })
    }

    /// Begins a collective of any kind.
    pub fn begin<M>(self: &Arc<Self>, call: &'static str, machine: M) -> CollectiveRequest<M::Output>
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
    {
        CollectiveRequest::begin(self, call, machine)
    }

    /// Drives a collective to its end.
    pub(crate) fn run<M>(self: &Arc<Self>, call: &'static str, machine: M) -> Result<M::Output>
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
    {
        // What failed here the others hear of now: the caller may not come back for long.
        CollectiveRequest::enter(self, call, machine).wait().inspect_err(|_| {
            self.engine.poll();
        })
    }

    /// Notes whether a collective succeeded.
    pub(crate) fn noted<T>(&self, result: Result<T>) -> Result<T> {
        self.is_out_of_step.store(result.is_err(), Ordering::Relaxed);
        result
    }

    /// A context that no communicator of the job has or will have: this process's number, and one that it has not used.
    ///
    /// # Errors
    /// When this process has named 2³² contexts.
    pub(crate) fn new_context(&self) -> Result<u64> {
        let number = self.contexts.fetch_add(1, Ordering::Relaxed) + 1;
        match u32::try_from(number) {
            Ok(number) => Ok(self.context(number)),
            Err(_) => {
                let cause = format!("process {} has named all of its {} communicators", self.me, u32::MAX);
                Err(Error::new(ErrorClass::Other, "comm_create", cause))
            }
        }
    }

    /// The context of this process's communicator of its own.
    pub(crate) fn own_context(&self) -> u64 {
        self.context(1)
    }

    /// Number 0 of process 0 is the world's.
    fn context(&self, number: u32) -> u64 {
        u64::from(self.me.0) << 32 | u64::from(number)
    }

    #[cfg(test)]
    pub(crate) fn set_contexts_named(&self, number: u64) {
        self.contexts.store(number, Ordering::Relaxed);
    }

    /// Waits until everything this process has sent has left, says goodbye, and closes the channels.
    pub(crate) fn close(&self) -> Result<()> {
        let describe = || format!("messages of process {} to leave{}", self.me, self.behind());
        self.engine.wait_until("finalize", &describe, &mut || {
            self.alarm.check()?;
            Ok(self.messenger.has_sent_all().then_some(()))
        })?;
        self.engine.close()
    }

    /// Gives back what only a process of a job needs, sockets above all. A runtime that is kept longer has no
    /// peers.
    pub(crate) fn release(&self) {
        self.engine.replace_channel(Box::new(NoPeers));
        if let Some(node_memory) = &self.node_memory {
            node_memory.close();
        }
    }

    /// Names the communicator of a context, for reports; an empty name is none.
    pub fn name_communicator(&self, context: u64, name: &str) {
        self.names.lock().entry(context).or_default().given = name.to_owned();
    }

    /// Notes the call that makes the communicator of a context, for reports of those that have no name.
    pub(crate) fn note_maker(&self, context: u64, call: &'static str) {
        self.names.lock().entry(context).or_default().maker = call;
    }

    /// A communicator is gone.
    pub(crate) fn forget_names(&self, context: u64) {
        self.names.lock().remove(&context);
    }

    /// What users call a communicator.
    pub(crate) fn communicator_name(&self, context: u64) -> Option<String> {
        self.names.lock().get(&context)?.text(context)
    }

    /// What the wait for a message awaits: `text`, and what the message needs. Without one it is a wait for any of this process's.
    pub fn awaited(&self, text: &str, message: Option<MessageId>) -> Awaited {
        let needs = match message {
            Some(message) => self.messenger.need_of(message).into_iter().collect(),
            None => vec![self.messenger.needs_of_all()],
        };
        Awaited { needs, ..Awaited::from(text) }
    }

    /// What the wait for a collective awaits, whose call has named a root or not.
    pub fn awaited_collective(&self, root: Option<u32>) -> Awaited {
        let needs = self.messenger.need_of_collective(root).into_iter().collect();
        Awaited { needs, ..Awaited::from("the other ranks of the collective") }
    }

    fn with_behind(&self, mut awaited: Awaited) -> Awaited {
        awaited.text += &self.behind();
        awaited
    }

    /// The ranks that messages and collectives of this process wait for, as the end of a sentence.
    fn behind(&self) -> String {
        self.messenger
            .waits_for(&Plane::OF_USERS)
            .map_or_else(String::new, |whom| format!(", next for {whom}"))
    }

    /// Ends the trace in order, if there is one.
    pub(crate) fn end_trace(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.finish(&self.engine);
        }
    }
}

impl Names {
    /// Contexts that a process names before those of its communicators: that of its own.
    const BEFORE: u64 = 1;

    /// The same on all ranks, where they have given the same name or none: the first rank has named the context, and counted.
    fn text(&self, context: u64) -> Option<String> {
        let (rank, number) = (context >> 32, context & u64::from(u32::MAX));
        match (&self.given[..], self.maker) {
            ("", "") => None,
            ("", maker) => {
                let of = if rank == 0 { String::new() } else { format!(" of rank {rank}") };
                Some(format!("communicator {}{of} made by {maker}", number.saturating_sub(Self::BEFORE)))
            }
            (given, _) => Some(format!("communicator {given:?}")),
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("me", &self.me).field("size", &self.size).finish_non_exhaustive()
    }
}
