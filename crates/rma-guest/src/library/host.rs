//! The host: which library it is, and whose ABI it has.

use super::object::{Object, file_of, files, loads, next};
use crate::abi::{Constants, Family};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The library that the program was linked with.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) object: Object,
    pub(crate) file: PathBuf,
    pub(crate) family: Family,
    pub(crate) constants: Constants,
    /// Whether it is this project's own, which needs no guest.
    pub(crate) is_own: bool,
}

/// What the files of libraries of MPI are called. A program in another language may have loaded one with names that no other object sees.
const NAMES: [&str; 4] = ["libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cxx.so"];

/// The host of this process. Without one there is nothing that a call could be handed on to.
pub(crate) fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        find().unwrap_or_else(|| {
            eprintln!("rma-guest: this process calls MPI, and has no library of MPI that could be called");
            std::process::abort();
        })
    })
}

fn find() -> Option<Host> {
    let file = file_of(next(c"PMPI_Init")).or_else(|| files().into_iter().find(|file| is_named(file)))?;
    let object = Object::loaded(&file).filter(|object| object.has(c"PMPI_Init"))?;
    let family = if object.has(c"ompi_mpi_comm_world") {
        Family::OpenMpi
    } else if name_of(&file).starts_with("libmpi_abi") {
        Family::Standard
    } else {
        Family::Mpich
    };
    let is_own = object.has(c"MPIX_Start_gathered");
    Some(Host {
        object,
        family,
        constants: Constants::of(family, |name| object.variable(name)),
        is_own,
        file,
    })
}

/// What libraries with MPICH's ABI say in their first line: MPICH and MVAPICH, those made of them, and Intel's.
const KIN_OF_MPICH: [&str; 2] = ["PICH", "Intel"];

impl Host {
    /// Whether a library that says so has the ABI that it is taken for: MPICH's has no sign of its own.
    pub(crate) fn is_one_that_says(&self, version: &str) -> bool {
        self.family != Family::Mpich || KIN_OF_MPICH.iter().any(|name| version.contains(name))
    }

    /// The handle of a predefined object; 0 where the host has none.
    pub(crate) fn handle_of(&self, named: &crate::abi::Named) -> usize {
        match self.family {
            Family::Standard => named.standard,
            Family::Mpich => named.mpich as usize,
            Family::OpenMpi if named.open_mpi.is_empty() => 0,
            Family::OpenMpi => self.object.variable(named.open_mpi),
        }
    }
}

/// What the files of bindings of Fortran have in their names, behind one of [`NAMES`] or of its like: those of MPICH and of Open MPI.
const OF_FORTRAN: [&str; 3] = ["fort", "mpifh", "usempi"];

/// Whether this process has bindings of Fortran that attach attributes to windows by a function which the guest has not (`calls::fortran`
/// has those of Open MPI, and MPICH's since 4.0). Bindings of C++ call C's.
pub(crate) fn attaches_unseen() -> bool {
    has_fortran()
        && match host().family {
            Family::OpenMpi => false,
            Family::Mpich => !host().object.has(c"MPII_Win_set_attr"),
            Family::Standard => true,
        }
}

fn has_fortran() -> bool {
    /// Objects loaded at the last look, and whether bindings were among them.
    static SEEN: Mutex<(u64, bool)> = Mutex::new((0, false));
    let (now, mut seen) = (loads(), SEEN.lock());
    if seen.0 != now {
        let is_one = |file: &PathBuf| {
            let name = name_of(file);
            name.starts_with("libmpi") && OF_FORTRAN.iter().any(|part| name.contains(part))
        };
        *seen = (now, files().iter().any(is_one));
    }
    seen.1
}

fn is_named(file: &Path) -> bool {
    NAMES.iter().any(|name| name_of(file).starts_with(name))
}

fn name_of(file: &Path) -> &str {
    file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
