//! What a program can ask of how it was started (MPI 5.0 §11.2.1 and §10 on `MPI_INFO_CREATE_ENV`).

use super::Info;
use crate::abi::{MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_SINGLE};
use crate::process::{asked_level, running};
use std::sync::OnceLock;

/// `MPI_INFO_ENV`, from the first question on; to be asked while MPI runs, when all is known.
pub(super) fn of_process() -> &'static Info {
    static OF_PROCESS: OnceLock<Info> = OnceLock::new();
    static BEFORE: OnceLock<Info> = OnceLock::new();
    let arguments = || std::env::args_os().map(|text| text.to_string_lossy().into_owned());
    match running() {
        None => OF_PROCESS.get().unwrap_or_else(|| BEFORE.get_or_init(|| describe(arguments()))),
        Some(process) => OF_PROCESS.get_or_init(|| {
            let info = describe(arguments());
            info.set(b"maxprocs".to_vec(), process.world.inner.size().to_string().into_bytes());
            info.set(b"thread_level".to_vec(), level(asked_level(process)).into());
            let handler = process.world.inner.runtime().configuration().runtime.initial_errhandler.clone();
            info.set(b"mpi_initial_errhandler".to_vec(), handler.into_bytes());
            info
        }),
    }
}

/// What is known of a process with these arguments, the program's name first.
pub(crate) fn describe(arguments: impl IntoIterator<Item = String>) -> Info {
    let mut arguments = arguments.into_iter();
    let command = arguments.next().map(|command| ("command", command));
    let rest: Vec<String> = arguments.collect();
    let rest = (!rest.is_empty()).then(|| ("argv", rest.join(" ")));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let directory = std::env::current_dir().ok().map(|path| ("wdir", path.to_string_lossy().into_owned()));
    let known = [("host", host), ("arch", std::env::consts::ARCH.to_owned())];
    Info::of(command.into_iter().chain(rest).chain(known).chain(directory))
}

/// The name of a thread level.
pub(crate) fn level(asked: i32) -> &'static str {
    match asked {
        MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}
