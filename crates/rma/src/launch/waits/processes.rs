//! A rank as the system sees it: whether it has a processor, sleeps, or is stopped.

/// What a process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Activity {
    /// It runs, or could.
    Runs,
    Sleeps,
    /// By a signal, or under a debugger.
    Stopped,
    /// The system does not say.
    #[default]
    Unknown,
}

impl Activity {
    const ALL: [Self; 4] = [Self::Runs, Self::Sleeps, Self::Stopped, Self::Unknown];

    /// As a number, which other hosts understand.
    pub(in super::super) fn number(self) -> u32 {
        self as u32
    }

    /// The inverse of [`Activity::number`].
    pub(in super::super) fn of_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// What a process does now: its first thread.
    pub(in super::super) fn of(pid: u32) -> Self {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default())
    }

    /// Reads `/proc/PID/stat` (proc(5)): the state stands behind the name, which may hold anything.
    fn read(stat: &str) -> Self {
        match stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()) {
            Some('R') => Self::Runs,
            Some('S' | 'D' | 'I') => Self::Sleeps,
            Some('T' | 't') => Self::Stopped,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_behind_the_name() {
        for (stat, process) in [
            ("12 (solver) R 1 2", Activity::Runs),
            ("12 (a) T (b) S 1 2", Activity::Sleeps),
            ("12 (solver) T 1 2", Activity::Stopped),
            ("12 (solver) Z 1 2", Activity::Unknown),
            ("", Activity::Unknown),
        ] {
            assert_eq!(Activity::read(stat), process, "{stat}");
        }
        assert_ne!(Activity::of(std::process::id()), Activity::Stopped);
        assert!(Activity::ALL.iter().all(|one| Activity::of_number(one.number()) == Some(*one)));
        assert_eq!(Activity::of_number(4), None);
    }
}
