//! What libraries on top of this one need below its typed calls: bytes instead of elements, nonblocking forms, and one way to
//! wait for all of them. The C library is made of it. Programs in Rust need none of it.

pub use crate::collective::{
    AllGather, AllReduce, AllToAll, Barrier, Broadcast, Combine, EDGE_TAGS, Edge, ElementWise, Exchange,
    Gather, Given, Link, Machine, Neighbors, PersistentStart, Prefix, Reduce, ReduceScatter, Scan, Scatter,
    ShortAllToAll, Take,
};
pub use crate::intercommunicator::{Intercommunicator, Root};
pub use crate::message::{
    MatchedMessage, MessageId, Messenger, Plane, ReceiveMemory, ReceiveRequest, Received, Scope, SendMemory,
    SendMode, SendRequest, ShortReceive, Waiting,
};
pub use crate::runtime::{CollectiveRequest, Runtime};
pub use rma_core::fork::{end_child as end_forked_child, is_child as is_forked_child, when_forked};
