//! A start made of an allgather: what another runtime needs to bring this one up, and what a process alone has.
//!
//! Values are kept until a fence, which gives them to all ranks by one allgather. Memory grows with the number of ranks.

use super::Start;
use super::draft::{Draft, values};
use parking_lot::Mutex;
use rma_core::random::random;
use rma_core::{Error, ErrorClass, Result};
use std::collections::HashMap;
use std::fmt;
use std::io;

/// Gives this rank's bytes to all ranks, and answers those of all in rank order; of any lengths.
type GatherFunction = Box<dyn Fn(&[u8]) -> io::Result<Vec<Vec<u8>>> + Send + Sync>;
type OnAbort = Box<dyn Fn(i32) + Send + Sync>;

/// A [`Start`] for a runtime that has an allgather between its processes.
///
/// ```
/// use rma::{Allgather, World};
///
/// // What the other runtime knows: here a job of one rank, whose allgather is short.
/// let (rank, size) = (0, 1);
/// let allgather = |mine: &[u8]| Ok(vec![mine.to_vec()]);
///
/// let world = World::builder().start(Allgather::new(rank, size, allgather)?).init()?;
/// assert_eq!((world.rank(), world.size()), (0, 1));
/// world.finalize()?;
/// # Ok::<(), rma::Error>(())
/// ```
///
/// The allgather is called by every rank once by [`Allgather::new`], a few times while the world starts, and at most once at its
/// end; never by two threads at once. It may be any exchange: an MPI communicator, a store, files.
pub struct Allgather {
    rank: u32,
    size: u32,
    job: String,
    gather: GatherFunction,
    on_abort: Option<OnAbort>,
    values: Mutex<KeyValues>,
}

#[derive(Debug, Default)]
struct KeyValues {
    /// Put by this rank since the last fence.
    own: Draft,
    known: HashMap<(u32, String), String>,
}

impl Allgather {
    /// Rank `rank` of `size`. All ranks meet in this call: rank 0 makes up the job's name.
    ///
    /// # Errors
    /// When the allgather fails, or answers anything but one contribution of each rank.
    pub fn new(
        rank: u32,
        size: u32,
        gather: impl Fn(&[u8]) -> io::Result<Vec<Vec<u8>>> + Send + Sync + 'static,
    ) -> Result<Self> {
        if rank >= size {
            return Err(failed(format!("there is no rank {rank} of {size}")));
        }
        let mut new = Self {
            rank,
            size,
            job: String::new(),
            gather: Box::new(gather),
            on_abort: None,
            values: Mutex::default(),
        };
        let number = random().map_err(|cause| failed(format!("the system has no random bytes: {cause}")))?;
        let name = format!("gathered-{:016x}", u64::from_ne_bytes(number));
        let names = new.gather(if rank == 0 { &name } else { "" })?;
        new.job = names.into_iter().next().unwrap_or_default();
        Ok(new)
    }

    /// A process alone.
    pub fn alone() -> Self {
        Self {
            rank: 0,
            size: 1,
            job: format!("single-{}", std::process::id()),
            gather: Box::new(|mine| Ok(vec![mine.to_vec()])),
            on_abort: None,
            values: Mutex::default(),
        }
    }

    /// With a way to end all ranks. Without it the others see that the channels of the one that aborts have gone.
    #[must_use]
    pub fn on_abort(self, abort: impl Fn(i32) + Send + Sync + 'static) -> Self {
        Self { on_abort: Some(Box::new(abort)), ..self }
    }

    fn gather(&self, mine: &str) -> Result<Vec<String>> {
        let all = (self.gather)(mine.as_bytes())
            .map_err(|cause| failed(format!("the allgather of {} ranks failed: {cause}", self.size)))?;
        if all.len() != self.size as usize {
            return Err(failed(format!("the allgather of {} ranks gave {} values", self.size, all.len())));
        }
        let texts = all.into_iter().map(String::from_utf8).collect::<Result<_, _>>();
        texts.map_err(|_| failed("the allgather gave bytes that no rank has put".to_owned()))
    }
}

impl Start for Allgather {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn job(&self) -> &str {
        &self.job
    }

    fn put(&self, key: &str, value: &str) -> Result<()> {
        self.values.lock().own.put(key, value)
    }

    fn fence(&self) -> Result<()> {
        let own = self.values.lock().own.take();
        let all = self.gather(&own)?;
        let known = &mut self.values.lock().known;
        for (rank, text) in (0..).zip(all) {
            let new = values(&text).map(|(key, value)| ((rank, key.to_owned()), value.to_owned()));
            known.extend(new);
        }
        Ok(())
    }

    fn get(&self, of: u32, key: &str) -> Result<Option<String>> {
        Ok(self.values.lock().known.get(&(of, key.to_owned())).cloned())
    }

    fn abort(&self, code: i32) -> Result<()> {
        if let Some(abort) = &self.on_abort {
            abort(code);
        }
        Ok(())
    }

    fn finalize(&self) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Allgather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, size, job, .. } = self;
        f.debug_struct("Allgather")
            .field("rank", rank)
            .field("size", size)
            .field("job", job)
            .finish_non_exhaustive()
    }
}

fn failed(cause: String) -> Error {
    Error::new(ErrorClass::Other, "init", cause)
}
