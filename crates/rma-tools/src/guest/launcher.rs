//! Launchers of other libraries: how each is told a variable of the ranks.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// How a variable gets to the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launcher {
    /// `mpiexec` of MPICH and its kin.
    Hydra,
    /// `mpirun` of Open MPI, or PRRTE's own name.
    OpenMpi,
    /// What hands its environment on, such as `srun`, or a program that is a rank alone.
    Other,
}

/// What launchers that differ are called, with or without an ending such as `.mpich`.
const NAMES: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "prun", "mpiexec.hydra"];

impl Launcher {
    /// What the program is. Only what has the name of a launcher is started to be asked.
    pub(super) fn of(program: &OsStr) -> Self {
        let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !NAMES.iter().any(|known| {
            name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }) {
            return Self::Other;
        }
        let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        let said = answer.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
        Self::by_its_words(&String::from_utf8_lossy(&said))
    }

    fn by_its_words(said: &str) -> Self {
        let lower = said.to_lowercase();
        if ["open mpi", "openrte", "prrte", "prterun"].iter().any(|word| lower.contains(word)) {
            Self::OpenMpi
        } else if lower.contains("hydra") {
            Self::Hydra
        } else {
            Self::Other
        }
    }

    /// The words that stand first behind the launcher's name.
    pub(super) fn words(self, name: &str, value: &OsStr) -> Vec<OsString> {
        match self {
            Self::Hydra => vec!["-genv".into(), name.into(), value.to_owned()],
            Self::OpenMpi => {
                let mut pair = OsString::from(format!("{name}="));
                pair.push(value);
                vec!["-x".into(), pair]
            }
            Self::Other => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_words() {
        for (said, expected) in [
            ("mpirun (Open MPI) 4.1.4\n\nReport bugs to", Launcher::OpenMpi),
            ("prterun (PRRTE) 3.0.13", Launcher::OpenMpi),
            ("HYDRA build details:\n    Version: 4.0.2", Launcher::Hydra),
            ("usage: unknown", Launcher::Other),
        ] {
            assert_eq!(Launcher::by_its_words(said), expected, "{said}");
        }
    }

    #[test]
    fn a_program_that_is_no_launcher_is_not_started() {
        // Each of them would say its version, or fail.
        for name in ["./prog", "/bin/false", "srun", "mpirunner", ""] {
            assert_eq!(Launcher::of(name.as_ref()), Launcher::Other, "{name}");
        }
    }

    #[test]
    fn each_is_told_in_its_own_way() {
        let words = |launcher: Launcher| launcher.words("A", "b:c".as_ref());
        assert_eq!(words(Launcher::Hydra), ["-genv", "A", "b:c"]);
        assert_eq!(words(Launcher::OpenMpi), ["-x", "A=b:c"]);
        assert!(words(Launcher::Other).is_empty());
    }
}
