//! Which cases a variable concerns, and on which path.

use super::super::cases::CASES;

/// How the ranks of a trial reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// As a job on one node comes: window memory is mapped.
    Mapped,
    /// Packets through shared memory.
    Shm,
    /// Packets over TCP.
    Tcp,
}

impl Path {
    /// The value of `RMA_CHANNEL`.
    pub(super) fn channel(self) -> &'static str {
        match self {
            Self::Mapped => "auto",
            Self::Shm => "shm",
            Self::Tcp => "tcp",
        }
    }

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Mapped => "mapped memory",
            Self::Shm => "packets in shared memory",
            Self::Tcp => "TCP",
        }
    }
}

/// A job to be measured with each value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) path: Path,
    pub(super) ranks: u32,
    pub(super) cases: Vec<&'static str>,
    /// What of it is shown: sizes; all when empty.
    pub(super) sizes: &'static [u64],
}

/// Beginning of a name, path, ranks, cases, sizes.
type Line = (&'static str, Path, u32, &'static [&'static str], &'static [u64]);

use Path::{Mapped, Shm, Tcp};

/// What has no size has 0.
const WORD: &[u64] = &[0, 8];
const EAGER: &[u64] = &[512, 4 << 10, 32 << 10, 256 << 10];
const LARGE: &[u64] = &[8, 4 << 10, 256 << 10, 4 << 20];

/// Whatever a thread beside the program could cost.
const ALL: &[&str] = &[
    "put",
    "put-rate",
    "get",
    "get-rate",
    "vector-put",
    "indexed-put",
    "indexed-acc",
    "block-put",
    "block-acc",
    "acc",
    "acc-rate",
    "acc-double",
    "fetch-op",
    "cas",
    "get-acc",
    "lock-put",
    "fence",
    "pscw",
    "passive-put",
    "created-put",
    "message",
    "idle-wait",
    "idle-away",
    "mix",
    "win-allocate",
];
const CONTENDED: &[&str] = &["counter", "counters", "lock-contended", "mix"];

/// The first lines that fit a name are taken; names that only begin alike stand in order of length.
const LINES: &[Line] = &[
    ("RMA_OP_POOL", Tcp, 2, &["put-rate", "acc-rate"], &[8, 4 << 10]),
    ("RMA_OP_POOL", Tcp, 2, &["mix"], &[]),
    ("RMA_TARGET_POOL", Tcp, 4, &["mix", "counters"], &[]),
    ("RMA_PIGGYBACK_THRESHOLD", Tcp, 2, &["put", "put-rate", "acc-rate", "lock-put", "fence"], WORD),
    ("RMA_LOCK_DATA_BYTES", Tcp, 2, &["lock-put"], &[]),
    ("RMA_LOCK_QUEUE_BYTES", Tcp, 4, &["lock-contended"], &[]),
    ("RMA_CREDITS", Tcp, 2, &["get", "get-rate"], &[8, 4 << 10]),
    ("RMA_UNIT_BYTES", Tcp, 2, &["acc-double", "get-acc"], &[256 << 10, 4 << 20]),
    ("RMA_DIRECT_POLL_INTERVAL", Mapped, 2, &["put", "acc", "lock-put"], WORD),
    ("RMA_DIRECT", Mapped, 2, &["put", "put-rate", "acc", "lock-put", "fence"], WORD),
    ("RMA_SPIN", Tcp, 2, &["put", "lock-put", "fence", "pscw", "message"], WORD),
    ("RMA_SPIN", Tcp, 4, &["counter"], WORD),
    ("RMA_SPIN", Mapped, 2, &["fence", "message"], WORD),
    ("RMA_AGENT_TICK", Tcp, 2, &["passive-put", "put", "lock-put", "fence", "idle-away"], WORD),
    ("RMA_AGENT", Mapped, 2, ALL, &[]),
    ("RMA_AGENT", Mapped, 4, CONTENDED, &[]),
    ("RMA_AGENT", Tcp, 2, ALL, &[]),
    ("RMA_AGENT", Tcp, 4, CONTENDED, &[]),
    ("RMA_YIELDS", Tcp, 4, CONTENDED, &[]),
    ("RMA_MESSAGE", Tcp, 2, &["message"], &[]),
    ("RMA_MESSAGE", Mapped, 2, &["message"], &[]),
    ("RMA_SHM_BULK", Shm, 2, &["put", "get"], EAGER),
    ("RMA_SHM_PACKET", Shm, 2, &["put", "get"], EAGER),
    ("RMA_SHM", Shm, 2, &["put", "put-rate", "get"], LARGE),
    ("RMA_TCP_AUTHENTICATE", Tcp, 2, &["put", "get", "message"], LARGE),
    ("RMA_TCP_BULK_BYTES", Tcp, 2, &["put", "get"], EAGER),
    ("RMA_TCP_PACKET", Tcp, 2, &["put", "get"], EAGER),
    ("RMA_TCP", Tcp, 2, &["put", "put-rate", "get"], LARGE),
    ("RMA_", Tcp, 2, &["put", "put-rate", "acc-rate", "lock-put", "fence"], WORD),
];

/// What to measure for a variable: what its line says, or these cases over TCP.
pub(super) fn trials(variable: &str, only: &[String]) -> Vec<Trial> {
    if !only.is_empty() {
        let wanted = CASES.iter().filter(|case| only.iter().any(|name| name == case.name));
        return wanted
            .map(|case| Trial { path: Tcp, ranks: case.ranks[0], cases: vec![case.name], sizes: &[] })
            .collect();
    }
    let Some(prefix) = LINES.iter().map(|line| line.0).find(|prefix| variable.starts_with(prefix)) else {
        return Vec::new();
    };
    LINES
        .iter()
        .filter(|line| line.0 == prefix)
        .map(|&(_, path, ranks, cases, sizes)| Trial { path, ranks, cases: cases.to_vec(), sizes })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trial_is_of_cases_with_that_many_ranks() {
        for (prefix, _, ranks, cases, _) in LINES {
            for name in *cases {
                let case = CASES.iter().find(|case| case.name == *name);
                assert!(
                    case.is_some_and(|case| case.ranks.contains(ranks) && !case.is_threaded),
                    "{prefix} {name}"
                );
            }
        }
    }

    #[test]
    fn no_line_hides_a_longer_one() {
        for (index, line) in LINES.iter().enumerate() {
            let hidden =
                LINES[index + 1..].iter().find(|later| later.0 != line.0 && later.0.starts_with(line.0));
            assert_eq!(hidden.map(|line| line.0), None, "{}", line.0);
        }
        assert_eq!(trials("RMA_DIRECT", &[])[0].cases.len(), 5);
        assert_eq!(trials("RMA_SLOTS", &[]).len(), 1);
        assert_eq!(trials("RMA_SLOTS", &["mix".to_owned()])[0].ranks, 2);
    }
}
