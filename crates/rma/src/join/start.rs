//! The seam: what a process must know to join a job.

use crate::pmi::{Client, Notice, ProcessMapping, Secret};
use rma_core::Result;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What is done about a notice, on whichever thread has it: the engine's lock may be held there.
pub type OnNotice = Box<dyn Fn(Notice) + Send + Sync>;

/// What starts this process as a rank of a job: a launcher, or another runtime.
///
/// * S1: Ranks are numbered from 0, each has one number, and all get the same size and the same name of the
///   job.
/// * S2: A rank finds what any rank, itself too, has put before the last [`fence`](Self::fence) of both.
/// * S3: What no rank has put is not found, and asking for it does not wait for it.
/// * S4: A fence ends when every rank has entered it. Every rank enters as many.
/// * S5: Keys are printable words of at most 32 bytes, values of at most 1,000; a rank puts a key once.
/// * S6: All calls may come from several threads, one fence at a time.
///
/// All methods beyond [`finalize`](Self::finalize) have an answer that does without.
pub trait Start: Send + Sync + fmt::Debug {
    /// This process's rank in the job.
    fn rank(&self) -> u32;

    /// Number of ranks of the job.
    fn size(&self) -> u32;

    /// Name of the job, unique on its machines while it runs.
    fn job(&self) -> &str;

    /// Publishes a value of this rank.
    ///
    /// # Errors
    /// When it is refused.
    fn put(&self, key: &str, value: &str) -> Result<()>;

    /// Meets all ranks of the job, however late they are.
    ///
    /// # Errors
    /// When that is not possible any more.
    fn fence(&self) -> Result<()>;

    /// The value that rank `of` has put under this key, if it has.
    ///
    /// # Errors
    /// When there is no answer.
    fn get(&self, of: u32, key: &str) -> Result<Option<String>>;

    /// Asks that all ranks end now, and the job with this status. It may return: this process exits with the status then.
    ///
    /// # Errors
    /// When there is no launcher to ask.
    fn abort(&self, code: i32) -> Result<()>;

    /// This rank ends its part in the job in order: its exit is no failure from now on.
    ///
    /// # Errors
    /// When it cannot be said.
    fn finalize(&self) -> Result<()>;

    /// The job's secret, if it was made before the ranks. Otherwise rank 0 makes one and publishes it.
    ///
    /// # Errors
    /// When there is no answer.
    fn secret(&self) -> Result<Option<Secret>> {
        Ok(None)
    }

    /// Which ranks share a machine. All ranks get an answer, or none. Otherwise each publishes what its
    /// machine is.
    ///
    /// # Errors
    /// When there is no answer, or one that is none.
    fn nodes(&self) -> Result<Option<ProcessMapping>> {
        Ok(None)
    }

    /// From now on calls `on_notice` with what comes unasked, from any thread. Says whether every death is
    /// reported to all ranks; otherwise ranks report to each other those that their channels see.
    ///
    /// # Errors
    /// When there is no answer.
    fn watch(&self, on_notice: OnNotice) -> Result<bool> {
        drop(on_notice);
        Ok(false)
    }

    /// What becomes readable when there may be notices. A thread of the library waits there, and calls [`read`](Self::read) then; it
    /// shares the descriptor instead of having one of its own, which would stay open behind the end of the library.
    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// Hands on the notices that have come, without waiting; says whether more may come.
    fn read(&self) -> bool {
        false
    }

    /// The launcher of this project, which watches over its ranks and knows why they end.
    fn overseer(&self) -> Option<&Client> {
        None
    }
}
