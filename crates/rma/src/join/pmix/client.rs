//! A start over PMIx.
//!
//! PMIx cannot say at once that a key was not put: a launcher waits for it, and with the directive not to
//! wait it does not look on other machines. So what a rank puts is one value per fence, which every rank
//! puts, under a key with the fence's number.

use super::layout::{
    COLLECT_DATA, DEATHS, ERR_NOT_FOUND, JOB_SIZE, LOCAL_PEERS, OPTIONAL, RANK_WILDCARD, SCOPE_GLOBAL,
    TIMEOUT,
};
use super::library::{Directive, Found, Library, PmixFailure, ProcessName};
use super::search;
use crate::agent::with_signals_blocked;
use crate::join::draft::{Draft, values};
use crate::join::{Notice, OnNotice, ProcessMapping, Start};
use crate::paths::FilePath;
use parking_lot::Mutex;
use rma_core::{Error, ErrorClass, Result, fork};
use std::ffi::{CString, c_int};
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};

/// A rank's connection to a launcher that speaks PMIx.
#[derive(Debug)]
pub(in crate::join) struct Pmix {
    library: Library,
    rank: u32,
    size: u32,
    nspace: CString,
    job: String,
    limit_s: c_int,
    own: Mutex<Draft>,
    /// Fences so far.
    fences: AtomicU32,
}

impl Pmix {
    /// Connects to the launcher that the environment names, through `look_up`; `None` when it names none.
    ///
    /// # Errors
    /// When there is no library, or the launcher does not answer.
    pub(in crate::join) fn from_environment(
        look_up: &dyn Fn(&str) -> Option<String>,
        named: &FilePath,
        limit_s: u64,
    ) -> Result<Option<Self>> {
        if look_up("PMIX_NAMESPACE").is_none() || look_up("PMIX_RANK").is_none() {
            return Ok(None);
        }
        let library = open(&search::candidates(named, look_up))?;
        // Its threads inherit that: signals are the program's matter.
        let init = with_signals_blocked(|| library.init());
        let ProcessName { nspace, rank } = init.map_err(|failure| failed("PMIx_Init", &failure))?;
        let size = match library.get(&nspace, RANK_WILDCARD, &word(JOB_SIZE), &[]) {
            Ok(Some(Found::Number(size))) if rank < size => size,
            Ok(other) => {
                return Err(error(format!("the launcher says that rank {rank} is one of {other:?}")));
            }
            Err(failure) => return Err(failed(JOB_SIZE, &failure)),
        };
        let limit_s = c_int::try_from(limit_s).unwrap_or(c_int::MAX);
        let job = nspace.to_string_lossy().into_owned();
        Ok(Some(Self {
            library,
            rank,
            size,
            nspace,
            job,
            limit_s,
            own: Mutex::default(),
            fences: AtomicU32::new(0),
        }))
    }

    /// What a rank has put before a fence, or the launcher says of all, as a text.
    fn ask(&self, of: u32, key: &str, directive: Directive) -> Result<Option<String>> {
        fork::check("a call that asks the launcher");
        match self.library.get(&self.nspace, of, &word(key), &[directive]) {
            Ok(Some(Found::Text(text))) => Ok(Some(text)),
            Ok(_) | Err(PmixFailure { status: ERR_NOT_FOUND, .. }) => Ok(None),
            Err(failure) => Err(failed(key, &failure)),
        }
    }
}

impl Start for Pmix {
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
        self.own.lock().put(key, value)
    }

    fn fence(&self) -> Result<()> {
        fork::check("a call that asks the launcher");
        let number = self.fences.load(Acquire);
        let put = self.library.put(SCOPE_GLOBAL, &word(&draft_key(number)), &word(&self.own.lock().take()));
        put.map_err(|failure| failed("PMIx_Put", &failure))?;
        let fence = self.library.fence(&self.nspace, RANK_WILDCARD, &[Directive::Flag(COLLECT_DATA)]);
        fence.map_err(|failure| failed("PMIx_Fence", &failure))?;
        self.fences.store(number + 1, Release);
        Ok(())
    }

    fn get(&self, of: u32, key: &str) -> Result<Option<String>> {
        // The last first: behind the start only addresses are asked for, which were put last.
        for number in (0..self.fences.load(Acquire)).rev() {
            let text = self.ask(of, &draft_key(number), Directive::Number(TIMEOUT, self.limit_s))?;
            let text = text.ok_or_else(|| error(format!("the launcher has lost what rank {of} has put")))?;
            if let Some((_, value)) = values(&text).find(|(known, _)| *known == key) {
                return Ok(Some(value.to_owned()));
            }
        }
        Ok(None)
    }

    fn abort(&self, code: i32) -> Result<()> {
        fork::check("a call that asks the launcher");
        let why =
            CString::new(format!("rank {} ends the job with status {code}", self.rank)).unwrap_or_default();
        self.library.abort(code, &why).map_err(|failure| failed("PMIx_Abort", &failure))
    }

    fn finalize(&self) -> Result<()> {
        self.library.finalize().map_err(|failure| failed("PMIx_Finalize", &failure))
    }

    fn nodes(&self) -> Result<Option<ProcessMapping>> {
        // Known here from the start, or not at all.
        let peers = self.ask(RANK_WILDCARD, LOCAL_PEERS, Directive::Flag(OPTIONAL))?;
        peers.map(|peers| around(self.rank, self.size, &peers)).transpose()
    }

    fn watch(&self, on_notice: OnNotice) -> Result<bool> {
        let nspace = self.nspace.clone();
        let (size, me) = (self.size, self.rank);
        let on_death = move |name: ProcessName| {
            if name.nspace == nspace && name.rank < size && name.rank != me {
                on_notice(Notice::Death(name.rank));
            }
        };
        // Launchers that tell of deaths do so where the job is to go on; the others end it.
        let _ = self.library.watch(&DEATHS, Box::new(on_death));
        Ok(false)
    }
}

fn draft_key(number: u32) -> String {
    format!("rma-put-{number}")
}

/// The ranks of this machine, as the launcher writes them, against all others: which of those share a machine
/// is not needed here.
fn around(me: u32, size: u32, peers: &str) -> Result<ProcessMapping> {
    let refuse =
        || error(format!("the launcher says that the ranks {peers:?} of {size} are on rank {me}'s machine"));
    let mut nodes = vec![1; size as usize];
    for part in peers.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| refuse());
        nodes.get_mut(number(first)?..=number(last)?).ok_or_else(refuse)?.fill(0);
    }
    match nodes[me as usize] {
        0 => Ok(ProcessMapping::of_nodes(&nodes)),
        _ => Err(refuse()),
    }
}

/// The first that can be loaded.
fn open(candidates: &[PathBuf]) -> Result<Library> {
    let mut tried = Vec::new();
    for path in candidates {
        match Library::open(path) {
            Ok(library) => return Ok(library),
            Err(why) => tried.push(format!("{}: {why}", path.display())),
        }
    }
    Err(error(format!(
        "this job's launcher speaks PMIx, but its library cannot be loaded: install the package libpmix2 (Debian, Ubuntu) or pmix \
         (Fedora, RHEL), or name the launcher's own libpmix.so.2 in RMA_PMIX_LIB (tried {})",
        tried.join("; ")
    )))
}

/// A word that the library takes. Keys and values have no zeros.
fn word(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

fn failed(what: &str, failure: &PmixFailure) -> Error {
    error(format!("PMIx does not answer {what}: {} ({})", failure.text, failure.status))
}

fn error(cause: String) -> Error {
    Error::new(ErrorClass::Other, "init", cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_environment_of_pmix_needs_the_library() {
        let named = FilePath::from("/nowhere/libpmix.so.2");
        let read = |set: &'static [&'static str]| {
            Pmix::from_environment(&move |name| set.contains(&name).then(|| "0".to_owned()), &named, 1)
        };
        assert!(read(&[]).unwrap().is_none() && read(&["PMIX_RANK"]).unwrap().is_none());
        let error = read(&["PMIX_RANK", "PMIX_NAMESPACE"]).unwrap_err().to_string();
        assert!(
            error.contains("libpmix2") && error.contains("RMA_PMIX_LIB") && error.contains("/nowhere"),
            "{error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn local_peers_share_the_machine() {
        let text = |me, size, peers| around(me, size, peers).map(|mapping| mapping.to_string());
        assert_eq!(text(0, 4, "0,1,2,3").unwrap(), "(vector,(0,1,4))");
        assert_eq!(text(3, 4, "2,3").unwrap(), "(vector,(1,1,2),(0,1,2))");
        assert_eq!(text(2, 5, "0,2-4").unwrap(), "(vector,(0,2,1),(0,1,2))");
        for hostile in ["", "x", "0", "1,4", "3-1,1", "1-9", "99999999999999999999"] {
            assert!(around(1, 4, hostile).is_err(), "{hostile}");
        }
    }
}
