//! The settings with which each library uses shared memory, or TCP although all ranks are on one machine.
//!
//! Through shared memory every library runs as it comes, except that nothing is pinned. Over TCP a library may have several
//! ways, and each is a column of its own, since none is best in all cases. Which settings work was found by trial; what does
//! not use TCP in truth shows as "local" in the report, being faster than a round trip.

use super::libraries::{Family, Library, fixed_arguments};
use super::results::{Column, Transport};
use std::path::Path;
use std::process::Command;

/// A set of settings.
#[derive(Debug)]
struct Variant {
    family: Family,
    transport: Transport,
    /// Tells the ways of one library from each other; empty when there is only one.
    name: &'static str,
    /// What the library must say of itself for this to apply.
    needs: &'static str,
    /// Left out of quick runs.
    is_extra: bool,
    /// Assignments, separated by spaces.
    environment: &'static str,
    /// Arguments of the launcher, separated by spaces.
    arguments: &'static str,
}

const fn variant(family: Family, transport: Transport) -> Variant {
    Variant { family, transport, name: "", needs: "", is_extra: false, environment: "", arguments: "" }
}

const VARIANTS: &[Variant] = &[
    variant(Family::Ours, Transport::Shm),
    Variant { environment: "RMA_CHANNEL=tcp", ..variant(Family::Ours, Transport::Tcp) },
    variant(Family::Mpich, Transport::Shm),
    // NOLOCAL makes every rank a node of its own.
    Variant {
        name: "ucx",
        needs: "ucx",
        environment: "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=tcp,self",
        ..variant(Family::Mpich, Transport::Tcp)
    },
    Variant {
        name: "ofi",
        needs: "ofi",
        environment: "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp",
        ..variant(Family::Mpich, Transport::Tcp)
    },
    Variant {
        needs: "ch3",
        environment: "MPIR_CVAR_CH3_NOLOCAL=1",
        ..variant(Family::Mpich, Transport::Tcp)
    },
    variant(Family::OpenMpi, Transport::Shm),
    Variant {
        name: "pt2pt",
        needs: "v4.",
        arguments: "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo --mca osc pt2pt",
        ..variant(Family::OpenMpi, Transport::Tcp)
    },
    // The component rdma is of no use here: with the TCP module its windows lie in shared memory all the same.
    Variant {
        name: "ucx",
        needs: "v4.",
        is_extra: true,
        environment: "UCX_TLS=tcp,self",
        arguments: "--mca pml ucx --mca osc ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any",
        ..variant(Family::OpenMpi, Transport::Tcp)
    },
    Variant {
        name: "ucx",
        needs: "v5.",
        environment: "UCX_TLS=tcp,self",
        arguments: "--mca pml ob1 --mca btl tcp,self --mca osc ucx --mca opal_common_ucx_tls any \
                    --mca opal_common_ucx_devices any",
        ..variant(Family::OpenMpi, Transport::Tcp)
    },
];

/// A column, and what runs it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) column: Column,
    library: Library,
    environment: Vec<(&'static str, &'static str)>,
    arguments: Vec<String>,
}

impl Setup {
    /// A job of so many ranks.
    pub(crate) fn command(&self, ranks: u32, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.library.launcher);
        command.args(&self.arguments).args(["-n", &ranks.to_string()]).arg(&self.library.program);
        command.args(arguments).envs(self.environment.iter().copied());
        command
    }
}

/// The columns of these libraries, shared memory first.
pub(crate) fn setups(libraries: &[Library], is_quick: bool) -> Vec<Setup> {
    let mut setups = Vec::new();
    for transport in Transport::ALL {
        for library in libraries {
            let mine = VARIANTS.iter().filter(|variant| {
                variant.family == library.family
                    && variant.transport == transport
                    && own_words(library).contains(variant.needs)
                    && !(is_quick && variant.is_extra)
                    // Its packets are ours, whatever the host's settings.
                    && !(library.guest.is_some() && transport == Transport::Tcp)
            });
            let mine: Vec<&Variant> = mine.collect();
            setups.extend(mine.iter().map(|variant| setup(library, variant, mine.len() > 1)));
        }
    }
    setups
}

/// The part of what a library says that tells its kind: device or version, not the options it was built with.
fn own_words(library: &Library) -> &str {
    let text = library.version.as_str();
    let text = text.split_once("Device:").map_or(text, |(_, rest)| rest);
    text.split_once("MPICH configure").map_or(text, |(words, _)| words)
}

fn setup(library: &Library, variant: &Variant, is_one_of_several: bool) -> Setup {
    let environment: Vec<(&str, &str)> =
        variant.environment.split(' ').filter_map(|assignment| assignment.split_once('=')).collect();
    let arguments: Vec<String> = fixed_arguments(library.family)
        .iter()
        .copied()
        .chain(variant.arguments.split(' ').filter(|argument| !argument.is_empty()))
        .map(str::to_owned)
        .chain(library.guest.iter().flat_map(|guest| preload(library.family, guest)))
        .collect();
    let suffix = |separator| match is_one_of_several {
        true => format!("{separator}{}", variant.name),
        false => String::new(),
    };
    let column = Column {
        key: format!("{}{}-{}", library.key, suffix('-'), variant.transport.word()),
        name: format!("{}{}", library.name, suffix(' ')),
        transport: variant.transport,
        is_ours: library.is_ours,
        version: library.version.clone(),
        compiler: library.compiler.display().to_string(),
        launcher: format!("{} {}", library.launcher.display(), arguments.join(" ")).trim_end().to_owned(),
        environment: environment.iter().map(|(name, value)| format!("{name}={value}")).collect(),
    };
    Setup { column, library: library.clone(), environment, arguments }
}

/// What has a launcher put the guest in front of the program, and not in front of itself.
fn preload(family: Family, guest: &Path) -> Vec<String> {
    let guest = guest.display().to_string();
    match family {
        Family::OpenMpi => vec!["-x".to_owned(), format!("LD_PRELOAD={guest}")],
        Family::Ours | Family::Mpich => vec!["-genv".to_owned(), "LD_PRELOAD".to_owned(), guest],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn library(family: Family, version: &str) -> Library {
        Library {
            key: "k".to_owned(),
            name: "K".to_owned(),
            family,
            is_ours: family == Family::Ours,
            version: version.to_owned(),
            compiler: "cc".into(),
            launcher: "/b/run".into(),
            program: "/t/bench".into(),
            guest: None,
        }
    }

    fn keys(version: &str, family: Family, is_quick: bool) -> Vec<String> {
        setups(&[library(family, version)], is_quick).into_iter().map(|setup| setup.column.key).collect()
    }

    #[test]
    fn a_library_gets_the_ways_that_it_has() {
        let two = "MPICH Version: 5.0.2 MPICH Device: ch4:ucx ofi MPICH configure: --x";
        assert_eq!(keys(two, Family::Mpich, true), ["k-shm", "k-ucx-tcp", "k-ofi-tcp"]);
        let one = "MPICH Version: 4.0.2 MPICH Device: ch4:ucx MPICH configure: --with-ofi=x";
        assert_eq!(keys(one, Family::Mpich, true), ["k-shm", "k-tcp"]);
        assert_eq!(keys("Open MPI v4.1.4, x", Family::OpenMpi, true), ["k-shm", "k-tcp"]);
        assert_eq!(keys("Open MPI v4.1.4, x", Family::OpenMpi, false), ["k-shm", "k-pt2pt-tcp", "k-ucx-tcp"]);
        assert_eq!(keys("rma 0.1", Family::Ours, false), ["k-shm", "k-tcp"]);
    }

    #[test]
    fn the_guest_is_in_front_of_programs_through_shared_memory() {
        let guest = Some("/g.so".into());
        let of =
            |family| setups(&[Library { guest: guest.clone(), ..library(family, "Open MPI v5.") }], false);
        for (family, words) in [
            (Family::Mpich, &["-genv", "LD_PRELOAD", "/g.so", "-n", "2"][..]),
            (Family::OpenMpi, &["-x", "LD_PRELOAD=/g.so", "-n", "2"]),
        ] {
            let setups = of(family);
            let command = setups[0].command(2, &[]);
            let arguments: Vec<&OsStr> = command.get_args().collect();
            let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
            assert!(
                setups.len() == 1 && arguments.windows(words.len()).any(|some| some == words),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn settings_reach_the_command() {
        let setups = setups(&[library(Family::OpenMpi, "Open MPI v5.0.1")], true);
        let command = setups[1].command(4, &["--quick".to_owned()]);
        let arguments: Vec<&OsStr> = command.get_args().collect();
        assert!(arguments.ends_with(&["-n", "4", "/t/bench", "--quick"].map(OsStr::new)), "{arguments:?}");
        assert!(arguments.windows(3).any(|three| three == ["--mca", "osc", "ucx"].map(OsStr::new)));
        let tls = command.get_envs().find(|(name, _)| *name == "UCX_TLS");
        assert_eq!(tls, Some((OsStr::new("UCX_TLS"), Some(OsStr::new("tcp,self")))));
    }
}
