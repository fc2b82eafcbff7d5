//! A program in words, for the search for a fault.

use super::program::{Action, Item, Phase, Program};
use std::fmt::{self, Display, Formatter};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ranks, {} threads each", self.ranks, self.threads)?;
        for (at, window) in self.windows.iter().enumerate() {
            writeln!(f, "window {at}: {window:?}")?;
        }
        for (at, phase) in self.phases.iter().enumerate() {
            self.phase(f, at, phase)?;
        }
        Ok(())
    }
}

impl Program {
    fn phase(&self, f: &mut Formatter<'_>, at: usize, phase: &Phase) -> fmt::Result {
        writeln!(f, "phase {at}: {:?}, looks {:?}, stores {}", phase.kind, phase.looks, phase.stores)?;
        for (at, bodies) in phase.rounds.iter().enumerate() {
            writeln!(f, "  round {at}")?;
            for (thread, makings) in phase.makings.get(at).into_iter().flatten().enumerate() {
                for making in makings {
                    writeln!(f, "    thread {thread} of all ranks: {making:?}")?;
                }
            }
            for (actor, body) in bodies.iter().enumerate().filter(|(_, body)| !body.is_empty()) {
                let (rank, thread) = (actor as u32 / self.threads, actor as u32 % self.threads);
                writeln!(f, "    rank {rank}, thread {thread}")?;
                items(f, body, 6)?;
            }
        }
        Ok(())
    }
}

fn items(f: &mut Formatter<'_>, body: &[Item], indent: usize) -> fmt::Result {
    for item in body {
        match item {
            Item::Op(op) | Item::Nowhere(op) => {
                let kind = if op.has_request { "request " } else { "" };
                let nowhere = if matches!(item, Item::Nowhere(_)) { "nowhere, as if " } else { "" };
                write!(f, "{:indent$}{kind}window {} {nowhere}to {}: ", "", op.window, op.target)?;
                action(f, &op.action)?;
            }
            Item::Locks { window, locks, items: inner, .. } => {
                writeln!(f, "{:indent$}window {window}: {locks:?}", "")?;
                items(f, inner, indent + 2)?;
            }
            Item::LockAll { window, is_unchecked, items: inner } => {
                writeln!(f, "{:indent$}window {window}: lock_all, unchecked {is_unchecked}", "")?;
                items(f, inner, indent + 2)?;
            }
            other => writeln!(f, "{:indent$}{other:?}", "")?,
        }
    }
    Ok(())
}

fn action(f: &mut Formatter<'_>, action: &Action) -> fmt::Result {
    writeln!(f, "{action:?}")
}
