//! What rides on a request: a bit for each, and the counter of a notice.

use std::fmt;

/// What rides on a request besides its operation.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestFlags(u64);

/// Where the counter of a notice stands.
const COUNTER_AT: u32 = 32;

impl RequestFlags {
    /// Nothing rides along.
    pub const NONE: Self = Self(0);
    /// Acquire a shared lock first.
    pub const LOCK_SHARED: Self = Self(1);
    /// Acquire an exclusive lock first.
    pub const LOCK_EXCLUSIVE: Self = Self(2);
    /// The origin already holds a lock of the same lock_all epoch (lessons, decision 2).
    pub const HOLDS: Self = Self(4);
    /// Acknowledge when everything up to this packet has been applied.
    pub const ACK: Self = Self(8);
    /// Release the origin's lock afterwards.
    pub const UNLOCK: Self = Self(16);
    /// The origin is done with the target's exposure epoch.
    pub const DONE: Self = Self(32);

    /// The origin has come to its next fence of the window, and has sent every operation before it.
    pub const FENCE: Self = Self(64);

    /// More packets of the same operation follow; never with another flag.
    pub const MORE: Self = Self(128);

    /// A notice, of whichever counter; for [`RequestFlags::has`] and [`RequestFlags::without`].
    pub const NOTICE: Self = Self(256);

    /// Raise this counter of the target when the operation's data are where they belong. On the operation's last packet.
    pub fn notice(counter: u32) -> Self {
        Self(Self::NOTICE.0 | u64::from(counter) << COUNTER_AT)
    }

    /// The counter that a notice raises.
    pub fn counter(self) -> Option<u32> {
        self.has(Self::NOTICE).then_some((self.0 >> COUNTER_AT) as u32)
    }

    /// Whether all of `other`'s flags are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a lock is asked for.
    pub fn locks(self) -> bool {
        self.0 & (Self::LOCK_SHARED.0 | Self::LOCK_EXCLUSIVE.0) != 0
    }

    /// Whether the origin's epoch to the target ends with this packet.
    pub fn closes(self) -> bool {
        self.0 & (Self::UNLOCK.0 | Self::DONE.0 | Self::FENCE.0) != 0
    }

    /// These flags and `other`'s.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags without `other`'s.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let counter = if other.has(Self::NOTICE) { !0 << COUNTER_AT } else { 0 };
        Self(self.0 & !(other.0 | counter))
    }

    /// The bits that every head has; a notice stands elsewhere.
    pub(super) fn bits(self) -> u8 {
        self.0 as u8
    }

    pub(super) fn parse(bits: u8) -> Result<Self, &'static str> {
        let flags = Self(bits.into());
        if flags.has(Self::MORE) && flags != Self::MORE {
            return Err("a flag in a request that more of its operation follows");
        }
        if flags.has(Self::LOCK_SHARED.with(Self::LOCK_EXCLUSIVE)) {
            return Err("shared and exclusive lock in one request");
        }
        if flags.has(Self::DONE) && (flags.locks() || flags.has(Self::UNLOCK)) {
            return Err("done in a request that locks or unlocks");
        }
        if flags.has(Self::FENCE) && (flags.locks() || flags.has(Self::UNLOCK) || flags.has(Self::DONE)) {
            return Err("fence in a request that locks, unlocks or ends an epoch of start");
        }
        Ok(flags)
    }
}

impl fmt::Debug for RequestFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] =
            ["lock-shared", "lock-exclusive", "holds", "ack", "unlock", "done", "fence", "more"];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0);
        let notice = self.counter().map(|counter| format!("notice of {counter}"));
        let all = set.map(|(_, name)| (*name).to_owned()).chain(notice);
        f.write_str(&all.collect::<Vec<_>>().join("+"))
    }
}
