//! The hint that the job is to go on when a rank dies: `rma_on_failure`, with the value `continue`, on any communicator or window.
//!
//! It is about the job, and stays when the object that it was given with is gone. So it is carried out when
//! it is given, and every object of a job that goes on shows it, also those it was not given with.

use super::Info;
use crate::process::{Process, running};
use rma::Result;
use std::sync::atomic::Ordering::Relaxed;

const KEY: &str = "rma_on_failure";
const CONTINUE: &str = "continue";

/// Carries the hint out, if it is among others.
///
/// # Errors
/// When the launcher does not answer.
pub(crate) fn heed(info: &Info) -> Result<()> {
    match (info.text(KEY).as_deref(), running()) {
        (Some(CONTINUE), Some(process)) => process.outlive_ranks(),
        _ => Ok(()),
    }
}

/// The hint, to be returned with others, if it is in force.
pub(crate) fn tell(process: &Process, info: Info) -> Info {
    if process.survives().load(Relaxed) != 0 {
        info.set(KEY.into(), CONTINUE.into());
    }
    info
}
