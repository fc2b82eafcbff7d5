//! `cargo xtask guest`: the C programs under other libraries with the guest in front.

use crate::Outcome;
use crate::bench::install_peers;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode};

/// Run the C programs of windows under other MPI libraries, with the guest in front.
///
/// MPICH and Open MPI take part where they are installed (Debian: mpich, libopenmpi-dev); what is missing is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what it runs under, and do nothing else: the packages of Debian when this is root, and the newest MPICH and Open MPI of
    /// PyPI below the target directory.
    #[arg(long, exclusive = true)]
    install_hosts: bool,

    /// Only tests whose name contains this.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Debian's packages.
const PACKAGES: [&str; 5] = ["mpich", "libmpich-dev", "openmpi-bin", "libopenmpi-dev", "gfortran"];

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    if args.install_hosts {
        return install_hosts(workspace);
    }
    let mut build = workspace.cargo("build");
    build.args(["--package", "rma-guest", "--package", "rma-capi", "--package", "rma-tools"]);
    build.args(["--package", "rma-mpi", "--features", "rma-mpi/launcher"]);
    let mut test = workspace.cargo("test");
    test.args(["--package", "rma-tests", "--test", "guest", "--"]).args(&args.name);
    test.args(["--nocapture", "--test-threads", "1"]).env("RMA_TEST_C", "all");
    for mut command in [build, test] {
        let status = command.status().map_err(|error| format!("cargo could not be started: {error}"))?;
        if !status.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn install_hosts(workspace: &Workspace) -> Outcome {
    let id =
        Command::new("id").arg("-u").output().map_err(|error| format!("id could not be started: {error}"))?;
    if id.stdout.trim_ascii() == b"0" {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends"]).args(PACKAGES);
        match apt.status() {
            Ok(status) if status.success() => {}
            Ok(_) | Err(_) => eprintln!("Debian's packages could not be installed."),
        }
    } else {
        eprintln!("Debian's packages are left out: only root can install them.");
    }
    install_peers(workspace.target())
}
