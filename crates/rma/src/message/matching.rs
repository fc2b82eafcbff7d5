//! Matching: which receive takes which message. Per scope, in the order of posting and of arrival.
//!
//! Invariant: no posted receive matches a message that waits in the same scope, so order is kept by looking at one side
//! only. Scopes without entries take no memory, but for the queues of a few of them, which the next scopes get.

use super::packet::{Label, Plane, Scope};
use super::request::RequestId;
use super::state::Waiting;
use rma_core::ids::Peer;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// What a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) scope: Scope,
    /// `None` is any.
    pub(super) source: Option<Peer>,
    /// `None` is any.
    pub(super) tag: Option<u64>,
}

/// A message that nobody has asked for yet.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) source: Peer,
    pub(super) tag: u64,
    pub(super) content: Content,
}

/// Where the message is.
#[derive(Debug)]
pub(super) enum Content {
    /// Here.
    Kept(Vec<u8>),
    /// At its sender, under this name.
    Announced { sender: RequestId, len: u64 },
    /// In a send request of this very process.
    Own { send: RequestId, len: u64 },
}

#[derive(Debug, Default)]
pub(super) struct Matcher {
    scopes: FxHashMap<Scope, Queues>,
    /// Empty queues, with the memory that they have.
    spare: Vec<Queues>,
}

/// Empty queues that are kept: a message that waits, or is waited for, mostly is the only one of its scope.
const SPARE: usize = 4;
/// Entries that the memory of such a queue has room for at most.
const SPARE_ENTRIES: usize = 64;

#[derive(Debug, Default)]
struct Queues {
    posted: VecDeque<(Pattern, RequestId)>,
    arrived: VecDeque<Arrived>,
}

impl Pattern {
    fn takes(&self, source: Peer, tag: u64) -> bool {
        self.source.is_none_or(|wanted| wanted == source) && self.tag.is_none_or(|wanted| wanted == tag)
    }
}

impl Arrived {
    /// What a probe says of it.
    pub(super) fn waiting(&self) -> Waiting {
        Waiting { source: self.source, tag: self.tag, len: self.content.len() }
    }
}

impl Content {
    /// Length of the message.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::Announced { len, .. } | Self::Own { len, .. } => *len,
        }
    }
}

impl Matcher {
    /// The receive that a message of `source` belongs to; it is not posted any more then.
    pub(super) fn take_posted(&mut self, label: Label, source: Peer) -> Option<RequestId> {
        let queues = self.scopes.get_mut(&label.scope)?;
        let at = queues.posted.iter().position(|(pattern, _)| pattern.takes(source, label.tag))?;
        let request = queues.posted.remove(at).map(|(_, request)| request);
        self.forget_if_empty(label.scope);
        request
    }

    /// Keeps a message that no posted receive takes.
    pub(super) fn keep(&mut self, scope: Scope, arrived: Arrived) {
        self.queues(scope).arrived.push_back(arrived);
    }

    /// The first message that a receive takes; it is not kept any more then.
    pub(super) fn take_arrived(&mut self, pattern: Pattern) -> Option<Arrived> {
        let queues = self.scopes.get_mut(&pattern.scope)?;
        let at = queues.arrived.iter().position(|a| pattern.takes(a.source, a.tag))?;
        let arrived = queues.arrived.remove(at);
        self.forget_if_empty(pattern.scope);
        arrived
    }

    /// The first message that a receive would take.
    pub(super) fn peek_arrived(&self, pattern: Pattern) -> Option<&Arrived> {
        let queues = self.scopes.get(&pattern.scope)?;
        queues.arrived.iter().find(|a| pattern.takes(a.source, a.tag))
    }

    /// Posts a receive that takes no kept message.
    pub(super) fn post(&mut self, pattern: Pattern, request: RequestId) {
        self.queues(pattern.scope).posted.push_back((pattern, request));
    }

    /// The queues of a scope, made when there are none.
    fn queues(&mut self, scope: Scope) -> &mut Queues {
        let Self { scopes, spare } = self;
        scopes.entry(scope).or_insert_with(|| spare.pop().unwrap_or_default())
    }

    /// Takes a posted receive back.
    pub(super) fn withdraw(&mut self, scope: Scope, request: RequestId) {
        if let Some(queues) = self.scopes.get_mut(&scope) {
            queues.posted.retain(|(_, posted)| *posted != request);
        }
        self.forget_if_empty(scope);
    }

    /// The peer is lost: what it announced never comes, and who waits for it (or for anybody) waits in vain. Answers the
    /// receives that are not posted any more.
    pub(super) fn on_lost(&mut self, peer: Peer) -> Vec<RequestId> {
        let mut in_vain = Vec::new();
        for queues in self.scopes.values_mut() {
            let announced = |a: &Arrived| matches!(a.content, Content::Announced { .. });
            queues.arrived.retain(|a| a.source != peer || !announced(a));
            queues.posted.retain(|(pattern, request)| {
                let hopeless = pattern.source.is_none_or(|source| source == peer);
                in_vain.extend(hopeless.then_some(*request));
                !hopeless
            });
        }
        self.scopes.retain(|_, queues| !queues.is_empty());
        in_vain
    }

    /// The peer sends nothing more, but for the last meeting: who waits for it waits in vain. Answers as
    /// [`Matcher::on_lost`].
    pub(super) fn on_left(&mut self, peer: Peer) -> Vec<RequestId> {
        let mut in_vain = Vec::new();
        for queues in self.scopes.values_mut() {
            queues.posted.retain(|(pattern, request)| {
                let hopeless = pattern.source == Some(peer) && pattern.scope != Scope::LAST;
                in_vain.extend(hopeless.then_some(*request));
                !hopeless
            });
        }
        self.scopes.retain(|_, queues| !queues.is_empty());
        in_vain
    }

    /// Sources of the posted receives of these planes, ascending; `None` for one that takes any.
    pub(super) fn awaited(&self, planes: &[Plane]) -> BTreeSet<Option<Peer>> {
        let of_planes = self.scopes.iter().filter(|(scope, _)| planes.contains(&scope.plane));
        of_planes.flat_map(|(_, queues)| queues.posted.iter().map(|(pattern, _)| pattern.source)).collect()
    }

    /// Number of messages kept, and of receives posted.
    pub(super) fn counts(&self) -> (usize, usize) {
        let queues = self.scopes.values();
        queues.fold((0, 0), |(kept, posted), q| (kept + q.arrived.len(), posted + q.posted.len()))
    }

    fn forget_if_empty(&mut self, scope: Scope) {
        if self.scopes.get(&scope).is_some_and(Queues::is_empty)
            && let Some(queues) = self.scopes.remove(&scope)
            && self.spare.len() < SPARE
            && queues.posted.capacity().max(queues.arrived.capacity()) <= SPARE_ENTRIES
        {
            self.spare.push(queues);
        }
    }
}

impl Queues {
    fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.arrived.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::Plane;
    use super::*;

    const SCOPE: Scope = Scope { context: 3, plane: Plane::User };

    fn pattern(source: Option<u32>, tag: Option<u64>) -> Pattern {
        Pattern { scope: SCOPE, source: source.map(Peer), tag }
    }

    fn id(index: u32) -> RequestId {
        RequestId { index, generation: 0 }
    }

    fn keep(matcher: &mut Matcher, source: u32, tag: u64, text: &str) {
        let content = Content::Kept(text.as_bytes().to_vec());
        matcher.keep(SCOPE, Arrived { source: Peer(source), tag, content });
    }

    fn take(matcher: &mut Matcher, pattern: Pattern) -> Option<String> {
        match matcher.take_arrived(pattern)?.content {
            Content::Kept(bytes) => Some(String::from_utf8(bytes).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_are_taken_in_order_of_arrival_by_any_pattern() {
        let mut matcher = Matcher::default();
        for (source, tag, text) in [(1, 5, "a"), (2, 5, "b"), (1, 6, "c"), (1, 5, "d")] {
            keep(&mut matcher, source, tag, text);
        }
        assert_eq!(take(&mut matcher, pattern(Some(3), None)), None);
        assert_eq!(matcher.peek_arrived(pattern(None, Some(6))).unwrap().content.len(), 1);
        assert_eq!(take(&mut matcher, pattern(Some(1), Some(5))).as_deref(), Some("a"));
        assert_eq!(take(&mut matcher, pattern(Some(1), None)).as_deref(), Some("c"));
        assert_eq!(take(&mut matcher, pattern(None, Some(5))).as_deref(), Some("b"));
        assert_eq!(take(&mut matcher, pattern(None, None)).as_deref(), Some("d"));
        assert_eq!(matcher.counts(), (0, 0));
        assert!(matcher.scopes.is_empty());
    }

    #[test]
    fn receives_are_matched_in_order_of_posting_within_their_scope() {
        let mut matcher = Matcher::default();
        for (i, (source, tag)) in
            [(Some(1), Some(5)), (None, Some(5)), (Some(1), None)].into_iter().enumerate()
        {
            matcher.post(pattern(source, tag), id(i as u32));
        }
        let label = |tag| Label { scope: SCOPE, tag };
        let elsewhere = Label { scope: Scope { plane: Plane::Host, ..SCOPE }, tag: 5 };
        assert_eq!(matcher.take_posted(elsewhere, Peer(1)), None);
        assert_eq!(matcher.take_posted(label(5), Peer(2)), Some(id(1)));
        assert_eq!(matcher.take_posted(label(5), Peer(1)), Some(id(0)));
        matcher.withdraw(SCOPE, id(2));
        assert_eq!(matcher.take_posted(label(5), Peer(1)), None);
        assert!(matcher.scopes.is_empty());
    }

    #[test]
    fn a_lost_peer_leaves_what_it_had_sent() {
        let mut matcher = Matcher::default();
        keep(&mut matcher, 1, 0, "sent");
        let content = Content::Announced { sender: id(7), len: 9 };
        matcher.keep(SCOPE, Arrived { source: Peer(1), tag: 0, content });
        let other = Scope { context: 4, plane: Plane::User };
        for (i, source) in [Some(1), Some(2), None].into_iter().enumerate() {
            matcher.post(Pattern { scope: other, ..pattern(source, None) }, id(i as u32));
        }
        assert_eq!(matcher.on_lost(Peer(1)), [id(0), id(2)]);
        assert_eq!(matcher.counts(), (1, 1));
        assert_eq!(take(&mut matcher, pattern(Some(1), None)).as_deref(), Some("sent"));
    }
}
