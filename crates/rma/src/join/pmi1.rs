//! The seam over PMI-1: `rmarun`, Hydra, Slurm's pmi2 plugin, Flux.
//!
//! PMI-1 has one space of keys for all ranks, so the rank that puts a value stands in the key.

use super::{OnNotice, Start};
use crate::pmi::{Client, ProcessMapping, SECRET_KEY, Secret};
use rma_core::{Error, ErrorClass, Result};
use std::os::fd::OwnedFd;
use std::sync::Arc;

impl Start for Client {
    fn rank(&self) -> u32 {
        Self::rank(self)
    }

    fn size(&self) -> u32 {
        Self::size(self)
    }

    fn job(&self) -> &str {
        Self::job(self)
    }

    fn put(&self, key: &str, value: &str) -> Result<()> {
        Self::put(self, &of_rank(key, Self::rank(self)), value)
    }

    fn fence(&self) -> Result<()> {
        self.barrier()
    }

    fn get(&self, of: u32, key: &str) -> Result<Option<String>> {
        Self::get(self, &of_rank(key, of))
    }

    fn abort(&self, code: i32) -> Result<()> {
        Self::abort(self, code)
    }

    fn finalize(&self) -> Result<()> {
        Self::finalize(self)
    }

    fn secret(&self) -> Result<Option<Secret>> {
        let Some(text) = Self::get(self, SECRET_KEY)? else { return Ok(None) };
        Ok(Some(Secret::from_hex(&text).ok_or_else(|| {
            Error::new(ErrorClass::Other, "init", "what the launcher keeps as the job's secret is none")
        })?))
    }

    fn nodes(&self) -> Result<Option<ProcessMapping>> {
        let Some(text) = Self::get(self, "PMI_process_mapping")?.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        ProcessMapping::parse(&text).map(Some).map_err(|why| Error::new(ErrorClass::Other, "init", why))
    }

    fn watch(&self, on_notice: OnNotice) -> Result<bool> {
        match self.overseer() {
            Some(launcher) => launcher.listen(on_notice).map(|()| true),
            // Other launchers are asked nothing that they have not got.
            None => Ok(false),
        }
    }

    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.overseer().map(Self::stream)
    }

    fn read(&self) -> bool {
        self.read_notices()
    }

    fn overseer(&self) -> Option<&Client> {
        self.is_own().then_some(self)
    }
}

fn of_rank(key: &str, rank: u32) -> String {
    format!("{key}-{rank}")
}
