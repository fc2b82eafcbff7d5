//! Matching: which receive takes which message. Per scope, in the order of posting and of arrival.
//!
//! Invariant: no posted receive matches a message that waits in the same scope, so order is kept by looking at one side
//! only. Scopes without entries take no memory, but for the queues of a few of them, which the next scopes get. The scope at
//! hand, which is most often the only one, has its queues outside the table, so that a message costs no change of that; a
//! scope has queues here or there, never both.

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

/// A message that no receive has asked for yet.
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

#[derive(Debug)]
pub(super) struct Matcher {
    /// The scope at hand. When it has no entries, the next scope takes its place.
    at_hand: (Scope, Queues),
    /// The other scopes, none of them without entries.
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

impl Default for Matcher {
    fn default() -> Self {
        let at_hand = (Scope::LAST, Queues::default());
        Self { at_hand, scopes: FxHashMap::default(), spare: Vec::new() }
    }
}

impl Matcher {
    /// The receive that a message of `source` belongs to; it is not posted any more then.
    pub(super) fn take_posted(&mut self, label: Label, source: Peer) -> Option<RequestId> {
        let queues = self.known(label.scope)?;
        // Mostly it is the first.
        let request = match queues.posted.front() {
            Some((pattern, _)) if pattern.takes(source, label.tag) => queues.posted.pop_front(),
            _ => {
                let at = queues.posted.iter().position(|(pattern, _)| pattern.takes(source, label.tag))?;
                queues.posted.remove(at)
            }
        }
        .map(|(_, request)| request);
        self.forget_if_empty(label.scope);
        request
    }

    /// Keeps a message that no posted receive takes.
    pub(super) fn keep(&mut self, scope: Scope, arrived: Arrived) {
        self.queues(scope).arrived.push_back(arrived);
    }

    /// The first message that a receive takes; it is not kept any more then.
    pub(super) fn take_arrived(&mut self, pattern: Pattern) -> Option<Arrived> {
        let queues = self.known(pattern.scope)?;
        let at = queues.arrived.iter().position(|a| pattern.takes(a.source, a.tag))?;
        let arrived = queues.arrived.remove(at);
        self.forget_if_empty(pattern.scope);
        arrived
    }

    /// Forgets a message of this source, wherever it is kept; says whether it was. No hot path: it looks at all.
    pub(super) fn remove_arrived(&mut self, source: Peer, is_it: impl Fn(&Content) -> bool) -> bool {
        let mut at = None;
        for (scope, queues) in self.all() {
            let place = queues.arrived.iter().position(|a| a.source == source && is_it(&a.content));
            at = at.or(place.map(|place| (*scope, place)));
        }
        let Some((scope, place)) = at else { return false };
        let removed = self.known(scope).and_then(|queues| queues.arrived.remove(place));
        self.forget_if_empty(scope);
        removed.is_some()
    }

    /// All scopes that have entries.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        self.all().filter(|(_, queues)| !queues.is_empty()).map(|(scope, _)| *scope).collect()
    }

    /// All messages of a scope with such tags; they are not kept any more then.
    pub(super) fn take_all_arrived(&mut self, scope: Scope, is_of: impl Fn(u64) -> bool) -> Vec<Arrived> {
        let Some(queues) = self.known(scope) else { return Vec::new() };
        let (mut taken, mut left) = (Vec::new(), VecDeque::new());
        for arrived in std::mem::take(&mut queues.arrived) {
            if is_of(arrived.tag) {
                taken.push(arrived);
            } else {
                left.push_back(arrived);
            }
        }
        queues.arrived = left;
        self.forget_if_empty(scope);
        taken
    }

    /// The receives of a scope that wait for this source and such tags; they are not posted any more then.
    pub(super) fn take_posted_of(
        &mut self,
        scope: Scope,
        source: Peer,
        is_of: impl Fn(u64) -> bool,
    ) -> Vec<RequestId> {
        let Some(queues) = self.known(scope) else { return Vec::new() };
        let mut taken = Vec::new();
        queues.posted.retain(|(pattern, request)| {
            let is_hit = pattern.source == Some(source) && pattern.tag.is_some_and(&is_of);
            taken.extend(is_hit.then_some(*request));
            !is_hit
        });
        self.forget_if_empty(scope);
        taken
    }

    /// The first message that a receive would take.
    pub(super) fn peek_arrived(&self, pattern: Pattern) -> Option<&Arrived> {
        let queues = match self.at_hand.0 == pattern.scope {
            true => &self.at_hand.1,
            false => self.scopes.get(&pattern.scope)?,
        };
        queues.arrived.iter().find(|a| pattern.takes(a.source, a.tag))
    }

    /// Posts a receive that takes no kept message.
    pub(super) fn post(&mut self, pattern: Pattern, request: RequestId) {
        self.queues(pattern.scope).posted.push_back((pattern, request));
    }

    /// The queues of a scope, made when there are none.
    fn queues(&mut self, scope: Scope) -> &mut Queues {
        let Self { at_hand, scopes, spare } = self;
        if at_hand.0 != scope && at_hand.1.is_empty() && !scopes.contains_key(&scope) {
            at_hand.0 = scope;
        }
        match at_hand.0 == scope {
            true => &mut at_hand.1,
            false => scopes.entry(scope).or_insert_with(|| spare.pop().unwrap_or_default()),
        }
    }

    /// The queues of a scope, if it may have entries.
    fn known(&mut self, scope: Scope) -> Option<&mut Queues> {
        match self.at_hand.0 == scope {
            true => Some(&mut self.at_hand.1),
            false => self.scopes.get_mut(&scope),
        }
    }

    /// All scopes that may have entries.
    fn all(&self) -> impl Iterator<Item = (&Scope, &Queues)> {
        let (scope, queues) = &self.at_hand;
        std::iter::once((scope, queues)).chain(&self.scopes)
    }

    fn all_queues(&mut self) -> impl Iterator<Item = &mut Queues> {
        std::iter::once(&mut self.at_hand.1).chain(self.scopes.values_mut())
    }

    /// Gives a posted receive another name, in its place.
    pub(super) fn rename(&mut self, scope: Scope, from: RequestId, to: RequestId) {
        let posted = self.known(scope).map(|queues| &mut queues.posted).into_iter().flatten();
        posted.filter(|(_, name)| *name == from).for_each(|(_, name)| *name = to);
    }

    /// Takes a posted receive back.
    pub(super) fn withdraw(&mut self, scope: Scope, request: RequestId) {
        if let Some(queues) = self.known(scope) {
            queues.posted.retain(|(_, posted)| *posted != request);
        }
        self.forget_if_empty(scope);
    }

    /// The peer is lost: what it announced never comes, and waits for it are in vain. Answers the receives
    /// that are not posted any more.
    pub(super) fn on_lost(&mut self, peer: Peer) -> Vec<RequestId> {
        let mut in_vain = Vec::new();
        for queues in self.all_queues() {
            let announced = |a: &Arrived| matches!(a.content, Content::Announced { .. });
            queues.arrived.retain(|a| a.source != peer || !announced(a));
            queues.posted.retain(|(pattern, request)| {
                let hopeless = pattern.source == Some(peer);
                in_vain.extend(hopeless.then_some(*request));
                !hopeless
            });
        }
        self.scopes.retain(|_, queues| !queues.is_empty());
        self.forget_if_empty(self.at_hand.0);
        in_vain
    }

    /// The peer sends nothing more, but for the last meeting: waits for it are in vain. Answers as
    /// [`Matcher::on_lost`].
    pub(super) fn on_left(&mut self, peer: Peer) -> Vec<RequestId> {
        let mut in_vain = Vec::new();
        for queues in self.all_queues() {
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
        let of_planes = self.all().filter(|(scope, _)| planes.contains(&scope.plane));
        of_planes.flat_map(|(_, queues)| queues.posted.iter().map(|(pattern, _)| pattern.source)).collect()
    }

    /// Contexts, sources and tags of the posted receives of a plane, ascending; `None` for those that take any.
    pub(super) fn awaited_in(&self, plane: Plane) -> BTreeSet<(u64, Option<Peer>, Option<u64>)> {
        let of_plane = self.all().filter(|(scope, _)| scope.plane == plane);
        let sources = of_plane.flat_map(|(scope, queues)| {
            queues.posted.iter().map(|(pattern, _)| (scope.context, pattern.source, pattern.tag))
        });
        sources.collect()
    }

    /// Number of messages kept, and of receives posted.
    pub(super) fn counts(&self) -> (usize, usize) {
        let queues = self.all().map(|(_, queues)| queues);
        queues.fold((0, 0), |(kept, posted), q| (kept + q.arrived.len(), posted + q.posted.len()))
    }

    fn forget_if_empty(&mut self, scope: Scope) {
        if self.at_hand.0 == scope {
            let queues = &mut self.at_hand.1;
            if queues.is_empty() && !queues.is_worth_keeping() {
                *queues = Queues::default();
            }
            return;
        }
        if self.scopes.get(&scope).is_some_and(Queues::is_empty)
            && let Some(queues) = self.scopes.remove(&scope)
            && self.spare.len() < SPARE
            && queues.is_worth_keeping()
        {
            self.spare.push(queues);
        }
    }
}

impl Queues {
    /// Whether its memory, empty as it is, is not more than the next scope will mostly want.
    fn is_worth_keeping(&self) -> bool {
        self.posted.capacity().max(self.arrived.capacity()) <= SPARE_ENTRIES
    }

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
    fn scopes_keep_their_order_at_hand_and_in_the_table() {
        let mut matcher = Matcher::default();
        let scope = |context| Scope { context, plane: Plane::User };
        let of = |context| Pattern { scope: scope(context), ..pattern(None, None) };
        let label = |context| Label { scope: scope(context), tag: 0 };
        let keep_in = |matcher: &mut Matcher, context, text: &str| {
            let content = Content::Kept(text.as_bytes().to_vec());
            matcher.keep(scope(context), Arrived { source: Peer(1), tag: 0, content });
        };
        // The first is at hand, the second in the table; then the first is empty, and the third takes its place.
        keep_in(&mut matcher, 1, "a");
        keep_in(&mut matcher, 2, "b");
        assert_eq!(take(&mut matcher, of(1)).as_deref(), Some("a"));
        keep_in(&mut matcher, 2, "c");
        matcher.post(of(3), id(0));
        keep_in(&mut matcher, 1, "d");
        assert_eq!(matcher.counts(), (3, 1));
        assert_eq!(matcher.awaited(&[Plane::User]).len(), 1);
        assert_eq!(matcher.peek_arrived(of(1)).unwrap().content.len(), 1);
        assert_eq!(take(&mut matcher, of(2)).as_deref(), Some("b"));
        assert_eq!(matcher.take_posted(label(3), Peer(1)), Some(id(0)));
        assert_eq!(take(&mut matcher, of(2)).as_deref(), Some("c"));
        assert_eq!(take(&mut matcher, of(2)), None);
        assert_eq!(take(&mut matcher, of(1)).as_deref(), Some("d"));
        assert!(matcher.scopes.is_empty());
        for i in 0..=SPARE_ENTRIES as u32 {
            matcher.post(of(5), id(i));
        }
        (0..=SPARE_ENTRIES as u32).for_each(|i| matcher.withdraw(scope(5), id(i)));
        assert_eq!(matcher.at_hand.1.posted.capacity(), 0, "the memory of many is given back");
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
        assert_eq!(matcher.on_lost(Peer(1)), [id(0)]);
        assert_eq!(matcher.counts(), (1, 2));
        assert_eq!(take(&mut matcher, pattern(Some(1), None)).as_deref(), Some("sent"));
    }
}
