//! The endpoint without the channel: what a benchmark compares the channel with.

use crate::block::{Purpose, SlotName};
use crate::config::OfiConfig;
use crate::fabric::{Done, Fabric, Handed};
use std::io;
use std::net::IpAddr;

/// Slots each way.
const SLOTS: u32 = 16;

/// Two endpoints that send each other messages of one length, and nothing else.
pub struct Bare {
    fabric: Fabric,
    len: usize,
    receive: u32,
    send: u32,
    free: Vec<u32>,
    peer: u64,
    done: Vec<Done>,
}

impl Bare {
    /// An endpoint for messages of `len` bytes.
    ///
    /// # Errors
    /// When libfabric refuses.
    ///
    /// # Safety
    /// As [`probe`](crate::probe).
    pub unsafe fn open(config: &OfiConfig, listen: Option<IpAddr>, len: usize) -> io::Result<Self> {
        // SAFETY: the caller's promise.
        let mut fabric = unsafe { Fabric::open(config, listen).map_err(io::Error::other)? };
        let receive = fabric.add_block(len, SLOTS, Purpose::Receive).map_err(io::Error::other)?;
        let send = fabric.add_block(len, SLOTS, Purpose::Send).map_err(io::Error::other)?;
        let posted = (0..SLOTS).all(|slot| fabric.post(SlotName { block: receive, slot }) == Handed::Over);
        if !posted {
            return Err(io::Error::other("a buffer is refused"));
        }
        Ok(Self { fabric, len, receive, send, free: (0..SLOTS).collect(), peer: 0, done: Vec::new() })
    }

    /// Its address.
    pub fn address(&self) -> Vec<u8> {
        self.fabric.address().to_vec()
    }

    /// Names the other endpoint.
    ///
    /// # Errors
    /// When the address is none.
    pub fn connect(&mut self, address: &[u8]) -> io::Result<()> {
        self.peer = self.fabric.insert(address).map_err(io::Error::other)?;
        Ok(())
    }

    /// Sends a message, as soon as it can.
    ///
    /// # Errors
    /// When it never can.
    pub fn send(&mut self) -> io::Result<()> {
        loop {
            let Some(slot) = self.free.pop() else {
                self.receive()?;
                continue;
            };
            match self.fabric.send(SlotName { block: self.send, slot }, self.len, self.peer) {
                Handed::Over => return Ok(()),
                Handed::Taken => {
                    self.free.push(slot);
                    return Ok(());
                }
                Handed::NotNow => {
                    self.free.push(slot);
                    self.receive()?;
                }
                Handed::Broken(why) => return Err(io::Error::other(why)),
            }
        }
    }

    /// Number of messages that have arrived since.
    ///
    /// # Errors
    /// When one is broken.
    pub fn receive(&mut self) -> io::Result<u32> {
        let mut count = 0;
        self.fabric.collect(&mut self.done);
        for done in self.done.drain(..) {
            done.outcome.map_err(io::Error::other)?;
            if done.place.block != self.receive {
                self.free.push(done.place.slot);
                continue;
            }
            count += 1;
            if self.fabric.post(done.place) != Handed::Over {
                return Err(io::Error::other("a buffer is refused"));
            }
        }
        Ok(count)
    }
}

impl std::fmt::Debug for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bare").field("len", &self.len).finish_non_exhaustive()
    }
}
