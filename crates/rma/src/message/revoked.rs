//! Communicators that were revoked: calls on them end in error everywhere, for good.
//!
//! Each process that learns of it, from the program or from another process, tells all members once. So all
//! living members learn of it as soon as one has, also when the revoking process died after its first packet.
//!
//! What is pending ends when it is looked at ([`super::deaths`]): its scope tells the communicator. What lies here for receives is
//! dropped, and so is what comes later; messages that are announced are declined, as those of collectives that were left are.
//! Windows, whose collectives have a plane of their own, are not touched.

use super::messenger::Messenger;
use super::notice::NoticePacket;
use super::packet::{Plane, Scope};
use super::state::MessengerState;
use rma_core::ids::Rank;
use rma_core::{Error, ErrorClass};
use rustc_hash::FxHashSet;
use std::sync::atomic::Ordering::Relaxed;

impl MessengerState {
    /// A communicator is revoked, as the program or another process says.
    pub(super) fn revoke(&mut self, context: u64) {
        if !self.revoked.insert(context) {
            return;
        }
        self.signs.has_losses.store(true, Relaxed);
        for plane in [Plane::User, Plane::Collective, Plane::Host, Plane::Creation, Plane::Partitioned] {
            for arrived in self.matcher.take_all_arrived(Scope { context, plane }, |_| true) {
                self.drop_arrived(Scope { context, plane }, arrived);
            }
        }
        self.move_lent(&|pattern, _| {
            pattern.scope.context == context && pattern.scope.plane != Plane::Window
        });
        self.spread(context);
        self.note_event();
    }

    /// Tells the members of a revoked communicator, once they are known here.
    pub(super) fn spread(&mut self, context: u64) {
        let Some(members) = self.deaths.circle(context).cloned() else { return };
        for rank in (0..members.size()).map(Rank) {
            self.tell(members.peer(rank), NoticePacket::Revoked { context });
        }
    }

    /// Whether messages of a scope are of a revoked communicator.
    #[inline]
    pub(super) fn is_revoked(&self, scope: Scope) -> bool {
        are_of(&self.revoked, scope)
    }

    /// Why a call on the communicator of a scope fails, if it was revoked.
    pub(super) fn revocation(&self, scope: Scope, call: &'static str) -> Option<Error> {
        self.is_revoked(scope).then(|| revoked_error(call))
    }
}

impl Messenger {
    /// Revokes a communicator. The engine is to be stepped afterwards.
    pub(crate) fn revoke(&self, context: u64) {
        self.lock().revoke(context);
    }

    /// Whether a communicator was revoked, as far as this process has heard.
    pub fn is_revoked(&self, context: u64) -> bool {
        self.signs().has_losses.load(Relaxed) && self.lock().revoked.contains(&context)
    }
}

/// Whether messages of a scope are of one of these revoked communicators.
#[inline]
pub(super) fn are_of(revoked: &FxHashSet<u64>, scope: Scope) -> bool {
    !revoked.is_empty()
        && scope.plane != Plane::Window
        && scope != Scope::LAST
        && revoked.contains(&scope.context)
}

/// What calls on a revoked communicator answer.
pub(super) fn revoked_error(call: &'static str) -> Error {
    Error::new(ErrorClass::Revoked, call, "the communicator was revoked")
}
