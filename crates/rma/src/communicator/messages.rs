//! Messages of typed values between two ranks.
//!
//! Values are copied into messages and out of them, so a request owns all it needs and may be dropped at any time.

use super::handle::Communicator;
use crate::elements::{Element, as_bytes, from_bytes};
use crate::ending::{Boxed, Ending};
use crate::message::{Plane, ReceiveRequest, Received, SendRequest, Waiting};
use crate::runtime::Runtime;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<T> {
    /// The rank that sent it.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// What it says.
    pub values: Vec<T>,
}

/// A message that waits to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The rank that sent it.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Its length in bytes.
    pub len_bytes: u64,
}

/// A message on its way to another rank. Dropping it lets the message go on. It can be awaited, in a task of any executor.
#[must_use]
pub struct Sending {
    runtime: Arc<Runtime>,
    request: SendRequest,
}

/// A message that is waited for, by calls or in a task of any executor. Dropping it takes the receive back, unless the message is on its way already: that one is
/// lost then.
#[must_use]
pub struct Receiving<'c, T> {
    communicator: &'c Communicator,
    request: ReceiveRequest,
    values: PhantomData<fn() -> T>,
}

/// What a send and a receive wait for.
const LEAVES: &str = "a message to leave, or to be received";
const ARRIVES: &str = "a message to arrive";

impl Communicator {
    /// Sends values to a rank, which may be the caller's own, and returns when they are on their way. Messages from one rank
    /// to another on one communicator are received in the order of the sends, as far as their tags are asked for.
    ///
    /// A long message waits for its receive; so do short ones, once the receiver has not asked for many of them. Two ranks
    /// that send to each other begin the sends, or the receives, before they wait.
    ///
    /// ```
    /// rma::World::run_threads(3, |world| {
    ///     let (rank, size) = (world.rank(), world.size());
    ///     let sending = world.begin_send((rank + 1) % size, 7, &[rank; 1000])?;
    ///     let message = world.receive::<u32>(None, Some(7))?;
    ///     let before = (rank + size - 1) % size;
    ///     assert_eq!((message.source, message.values), (before, vec![before; 1000]));
    ///     sending.wait()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When there is no rank `to`, or it is lost.
    pub fn send<T: Element>(&self, to: u32, tag: u32, values: &[T]) -> Result<()> {
        self.begin_message(to, tag, values)?.wait()
    }

    /// Begins to send values to a rank; see [`Communicator::send`]. The values are copied.
    ///
    /// # Errors
    /// When there is no rank `to`.
    pub fn begin_send<T: Element>(&self, to: u32, tag: u32, values: &[T]) -> Result<Sending> {
        let sending = self.begin_message(to, tag, values)?;
        self.engine().poll();
        Ok(sending)
    }

    /// Receives a message of any length, from the rank `from` or any, with the tag `tag` or any.
    ///
    /// # Errors
    /// When there is no rank `from`, the message is not a whole number of values, or a rank is lost that it might come from.
    pub fn receive<T: Element>(&self, from: Option<u32>, tag: Option<u32>) -> Result<Message<T>> {
        self.begin_message_from(from, tag)?.wait()
    }

    /// Begins to receive a message; see [`Communicator::receive`].
    ///
    /// # Errors
    /// When there is no rank `from`.
    pub fn begin_receive<T: Element>(&self, from: Option<u32>, tag: Option<u32>) -> Result<Receiving<'_, T>> {
        let receiving = self.begin_message_from(from, tag)?;
        self.engine().poll();
        Ok(receiving)
    }

    /// The message that such a receive would take, if one has arrived.
    ///
    /// # Errors
    /// When there is no rank `from`, or it is lost and no message of it has arrived.
    pub fn probe(&self, from: Option<u32>, tag: Option<u32>) -> Result<Option<Envelope>> {
        let source = self.source(from, "probe")?;
        self.engine().poll();
        let waiting = self.runtime().messenger.probe(self.scope(Plane::User), source, tag.map(u64::from));
        if waiting.is_none() {
            self.runtime().messenger.check_source(self.scope(Plane::User), source)?;
        }
        Ok(waiting.map(|Waiting { source, tag, len }| {
            let (source, tag) = self.envelope(source, tag);
            Envelope { source, tag, len_bytes: len }
        }))
    }

    fn begin_message<T: Element>(&self, to: u32, tag: u32, values: &[T]) -> Result<Sending> {
        let to = self.peer(to).map_err(|error| error.in_call("send"))?;
        let message = as_bytes(values).to_vec();
        let messenger = &self.runtime().messenger;
        let request = messenger.begin_send(to, self.scope(Plane::User), u64::from(tag), message)?;
        Ok(Sending { runtime: Arc::clone(self.runtime()), request })
    }

    fn begin_message_from<T: Element>(
        &self,
        from: Option<u32>,
        tag: Option<u32>,
    ) -> Result<Receiving<'_, T>> {
        let source = self.source(from, "receive")?;
        let messenger = &self.runtime().messenger;
        let tag = tag.map(u64::from);
        let request = messenger.begin_receive(self.scope(Plane::User), source, tag, u64::MAX)?;
        Ok(Receiving { communicator: self, request, values: PhantomData })
    }

    fn source(&self, from: Option<u32>, call: &'static str) -> Result<Option<Peer>> {
        from.map(|from| self.peer(from)).transpose().map_err(|error| error.in_call(call))
    }

    /// Source and tag of a message of this communicator, whose tags users have given and whose sources are its ranks.
    fn envelope(&self, source: Peer, tag: u64) -> (u32, u32) {
        (self.rank_of(source).unwrap_or(u32::MAX), tag as u32)
    }
}

impl Sending {
    /// Moves whatever can be moved now; says whether the message has left.
    ///
    /// # Errors
    /// When the receiver is lost.
    pub fn test(&mut self) -> Result<bool> {
        self.runtime.engine.poll();
        self.request.test().transpose().map(|end| end.is_some())
    }

    /// Waits until the message has left.
    ///
    /// # Errors
    /// When the receiver is lost.
    pub fn wait(mut self) -> Result<()> {
        let _call = self.runtime.engine.trace_call("send");
        let (runtime, name) = (&self.runtime, self.request.name());
        let describe = || runtime.awaited(LEAVES, Some(name));
        self.runtime.wait_until("send", &describe, &mut || self.request.test().transpose())
    }
}

impl<T: Element> Receiving<'_, T> {
    /// Moves whatever can be moved now; gives the message once, when it is here.
    ///
    /// # Errors
    /// As [`Communicator::receive`].
    pub fn test(&mut self) -> Result<Option<Message<T>>> {
        self.communicator.engine().poll();
        let received = self.request.test().transpose()?;
        received.map(|received| message(self.communicator, received)).transpose()
    }

    /// Waits for the message.
    ///
    /// # Errors
    /// As [`Communicator::receive`].
    pub fn wait(mut self) -> Result<Message<T>> {
        let runtime = self.communicator.runtime();
        let _call = runtime.engine.trace_call("receive");
        let name = self.request.name();
        let describe = || runtime.awaited(ARRIVES, Some(name));
        let received = runtime.wait_until("receive", &describe, &mut || self.request.test().transpose());
        message(self.communicator, received.map_err(not_pending)?)
    }
}

impl IntoFuture for Sending {
    type Output = Result<()>;
    type IntoFuture = Boxed<'static, ()>;

    /// The end of [`Sending::wait`], as a future.
    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, mut request } = self;
        let (name, awaited) = (request.name(), Arc::clone(&runtime));
        let describe = move || awaited.awaited(LEAVES, Some(name));
        let ending = Ending::new(&runtime.engine, &runtime.wakers, describe, move || request.test());
        Box::pin(async move { ending.await? })
    }
}

impl<'c, T: Element> IntoFuture for Receiving<'c, T> {
    type Output = Result<Message<T>>;
    type IntoFuture = Boxed<'c, Message<T>>;

    /// The end of [`Receiving::wait`], as a future.
    fn into_future(self) -> Self::IntoFuture {
        let Self { communicator, mut request, .. } = self;
        let (name, awaited) = (request.name(), Arc::clone(communicator.runtime()));
        let describe = move || awaited.awaited(ARRIVES, Some(name));
        let Runtime { engine, wakers, .. } = &**communicator.runtime();
        let ending = Ending::new(engine, wakers, describe, move || request.test());
        Box::pin(async move { message(communicator, ending.await?.map_err(not_pending)?) })
    }
}

/// Nothing is pending of a receive that has answered.
fn not_pending(error: Error) -> Error {
    match error.class() {
        ErrorClass::ProcFailedPending => Error::new(ErrorClass::ProcFailed, error.call(), error.cause()),
        _ => error,
    }
}

fn message<T: Element>(communicator: &Communicator, received: Received) -> Result<Message<T>> {
    let (source, tag) = communicator.envelope(received.source, received.tag);
    let values = from_bytes(&received.data.unwrap_or_default(), "receive")?;
    Ok(Message { source, tag, values })
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sending ({:?})", self.request)
    }
}

impl<T> fmt::Debug for Receiving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiving ({:?})", self.request)
    }
}
