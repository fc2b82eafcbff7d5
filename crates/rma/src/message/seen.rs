//! What the holder of a request has seen of the messenger's events, so that a test that cannot find anything new takes no lock.

use super::request::RequestId;
use super::state::{MessengerState, Signs};
use std::sync::atomic::Ordering::Relaxed;

/// The events before which a request had not ended; `None` where it may have. A request ends by an event, or is given up because of a
/// loss: while there is neither, it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenEvents(Option<u64>);

impl SeenEvents {
    /// For a request that has begun under this lock.
    pub(super) fn at_begin(state: &MessengerState, id: RequestId) -> Self {
        Self(state.is_under_way(id).then(|| state.signs.events.load(Relaxed)))
    }

    /// Whether a look at the request may find that it has ended. A thread that was told of an event finds it here: events are
    /// counted before threads are told.
    pub(super) fn is_news(&mut self, signs: &Signs) -> bool {
        let now = Some(signs.events.load(Relaxed));
        let is_news = self.0 != now || signs.has_losses.load(Relaxed);
        self.0 = now;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MessageConfig, Messenger, Plane, Scope};
    use super::*;
    use rma_core::ids::Peer;

    #[test]
    fn what_goes_on_is_news_after_an_event_and_after_a_loss_always() {
        const SCOPE: Scope = Scope { context: 1, plane: Plane::User };
        let messenger = Messenger::new(Peer(0), 2, &MessageConfig::default());
        let receive = messenger.begin_receive(SCOPE, Some(Peer(0)), Some(1), 8).unwrap();
        let mut seen = SeenEvents::at_begin(&messenger.lock(), receive.id());
        let mut is_news = || seen.is_news(messenger.signs());
        assert!(!is_news() && !is_news());
        let mut send = messenger.begin_send(Peer(0), SCOPE, 1, vec![7]).unwrap();
        assert!(send.test().is_some());
        assert!(is_news() && !is_news());
        messenger.signs().has_losses.store(true, Relaxed);
        assert!(is_news() && is_news());
        drop(receive);
    }

    #[test]
    fn what_has_ended_as_it_begins_is_found_by_the_first_test() {
        const SCOPE: Scope = Scope { context: 1, plane: Plane::User };
        let messenger = Messenger::new(Peer(0), 2, &MessageConfig::default());
        drop(messenger.begin_send(Peer(0), SCOPE, 1, vec![7]).unwrap());
        let mut receive = messenger.begin_receive(SCOPE, Some(Peer(0)), Some(1), 8).unwrap();
        assert!(!messenger.lock().is_under_way(receive.id()));
        assert_eq!(receive.test().unwrap().unwrap().data, Some(vec![7]));
    }
}
