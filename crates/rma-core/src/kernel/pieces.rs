//! The three sides of a kernel whose elements need not lie side by side: pieces of the target, the operands for them, and where
//! old values go.

use super::apply::{Work, rewrite, update};
use super::function::Function;
use super::long::{plain_short, steps};
use super::operand::{Nowhere, OperandSource, ResultSink};
use crate::datatype::{Gather, Layout, Scatter, Upcoming, UpcomingRoom};
use crate::mem::{Element, Fold, Folding, Lent, ReadSpan, Word, WriteSpan};
use std::ops::ControlFlow;

/// Where the operands come from.
#[derive(Debug)]
pub(crate) enum Operands<'a> {
    /// A packet.
    Bytes(&'a [u8]),
    /// The user's memory.
    Memory(Gather<&'a Layout>),
    /// Nowhere: the operation reads none.
    None,
}

/// Aligned pieces with which the target goes on, as many as one admission covers, operands for them and where old values go.
pub(super) struct Pieces<'a, R> {
    pub(super) target: &'a Scatter<&'a Layout>,
    /// The admission is for words that begin so many bytes from the first on.
    pub(super) reach: usize,
    pub(super) front: Front<'a>,
    pub(super) result: R,
    /// Most bytes to be changed; there are operands and room for them.
    pub(super) limit: usize,
    /// Whether no other thread changes the words meanwhile.
    pub(super) is_plain: bool,
    /// How many bytes have been changed.
    pub(super) done: &'a mut usize,
}

impl<W: Word, R: ResultCursor> Work<W> for Pieces<'_, R> {
    fn run<F: Function<W>>(self) {
        let Self { target, reach, mut front, mut result, limit, is_plain, done } = self;
        let folding = if is_plain { F::FOLD.and_then(Fold::here) } else { None };
        let (mut first, mut left) = (None, limit);
        target.each_span(|span| {
            let address = span.as_mut_ptr().addr();
            let reach = reach.saturating_sub(address.wrapping_sub(*first.get_or_insert(address)));
            if !are_words(span, W::SIZE) || reach == 0 {
                return ControlFlow::Break(());
            }
            // A word belongs to where it begins.
            let end = span.len().min(whole(reach.saturating_add(W::SIZE - 1), W::SIZE));
            let mut at = 0;
            while at < end {
                let wanted = (end - at).min(left);
                let len = wanted.min(front.ready(W::SIZE)).min(result.ready(W::SIZE));
                if len == 0 {
                    return ControlFlow::Break(());
                }
                let piece = span.part(at, len);
                if is_plain {
                    change_plain::<W, F, R>(piece, front.take(len), result.take(len), folding);
                } else {
                    change::<W, F, R>(piece, front.take(len), result.take(len));
                }
                at += len;
                left -= len;
            }
            if end == span.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        *done = limit - left;
    }
}

/// Changes words in atomic steps.
#[inline(always)]
fn change<W: Word, F: Function<W>, R: ResultCursor>(
    piece: WriteSpan,
    operand: Lent<'_>,
    mut room: R::Part<'_>,
) {
    match single::<W, F>(piece, operand) {
        Some((element, operand)) => update::<W, F, _>(element, operand, &mut room, 0),
        None => steps::<W, F, _, _>(piece, operand, 0, &mut room),
    }
}

/// Changes words that no other thread changes meanwhile.
#[inline(always)]
fn change_plain<W: Word, F: Function<W>, R: ResultCursor>(
    piece: WriteSpan,
    operand: Lent<'_>,
    mut room: R::Part<'_>,
    folding: Option<Folding>,
) {
    match single::<W, F>(piece, operand) {
        Some((element, operand)) => rewrite::<W, F, _>(element, operand, &mut room, 0),
        None => plain_short::<W, F, _, _>(piece, operand, 0, &mut room, folding),
    }
}

/// The one word of a piece, and its operand: most pieces are single words, which are not worth a loop.
#[inline(always)]
fn single<W: Word, F: Function<W>>(piece: WriteSpan, operand: Lent<'_>) -> Option<(Element<W>, W)> {
    let element = if piece.len() == W::SIZE { piece.element::<W>(0)? } else { return None };
    Some((element, if F::READS_OPERAND { operand.word_at(0) } else { W::default() }))
}

/// Room for old values, taken from the front.
pub(super) trait ResultCursor {
    type Part<'p>: ResultSink
    where
        Self: 'p;

    /// Bytes of whole words that lie side by side in front; 0 when a word does not.
    fn ready(&mut self, word: usize) -> usize;

    /// The first `len` of them.
    fn take(&mut self, len: usize) -> Self::Part<'_>;
}

impl ResultCursor for Nowhere {
    type Part<'p> = Self;

    #[inline]
    fn ready(&mut self, _: usize) -> usize {
        usize::MAX
    }

    #[inline]
    fn take(&mut self, _: usize) -> Self {
        *self
    }
}

impl OperandSource for Lent<'_> {
    #[inline]
    fn byte_len(self) -> usize {
        self.span().len()
    }

    #[inline]
    fn word_at<W: Word>(self, offset: usize) -> W {
        self.span().word_at(offset)
    }

    #[inline]
    fn each_word<W: Word>(self, count: usize, use_word: impl FnMut(usize, W)) {
        self.span().each_word(count, use_word);
    }

    fn bytes_at(self, offset: usize, into: &mut [u8]) {
        self.span().bytes_at(offset, into);
    }

    fn copy_to(self, offset: usize, into: WriteSpan) {
        self.span().copy_to(offset, into);
    }

    #[inline(always)] // as that of the span
    fn combine_into(
        self,
        offset: usize,
        into: WriteSpan,
        folding: Folding,
        before: Option<WriteSpan>,
    ) -> usize {
        self.span().combine_into(offset, into, folding, before)
    }
}

/// Where the old values of one step go.
pub(super) enum Kept<'a> {
    /// Where they belong.
    There(WriteSpan),
    /// Memory in between.
    Stage(&'a mut [u8]),
}

impl ResultSink for Kept<'_> {
    #[inline]
    fn byte_len(&self) -> usize {
        match self {
            Self::There(span) => span.len(),
            Self::Stage(bytes) => bytes.len(),
        }
    }

    #[inline]
    fn set_word_at<W: Word>(&mut self, offset: usize, word: W) {
        match self {
            Self::There(span) => span.set_word_at(offset, word),
            Self::Stage(bytes) => bytes.set_word_at(offset, word),
        }
    }

    fn set_bytes_at(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::There(span) => span.set_bytes_at(offset, bytes),
            Self::Stage(stage) => stage.set_bytes_at(offset, bytes),
        }
    }

    fn copy_at(&mut self, offset: usize, from: ReadSpan) {
        match self {
            Self::There(span) => span.copy_at(offset, from),
            Self::Stage(bytes) => bytes.copy_at(offset, from),
        }
    }

    fn span(&mut self, offset: usize, len: usize) -> Option<WriteSpan> {
        match self {
            Self::There(span) => span.span(offset, len),
            Self::Stage(bytes) => bytes.span(offset, len),
        }
    }
}

impl<'a> Kept<'a> {
    /// Room for the next `wanted` old values' bytes, or the first of them: where they belong if at least `least` lie side by side
    /// there, else in `stage`; `None` when that is not there.
    pub(super) fn room(
        results: &Scatter<&Layout>,
        wanted: usize,
        least: usize,
        word: usize,
        stage: Option<&'a mut [u8]>,
    ) -> Option<Self> {
        let there = results.peek(wanted).unwrap_or(WriteSpan::EMPTY);
        let len = whole(there.len(), word);
        if len >= least.min(whole(wanted, word)) {
            return Some(Self::There(there.part(0, len)));
        }
        stage.map(|stage| {
            let len = stage.len().min(wanted);
            Self::Stage(&mut stage[..len])
        })
    }

    /// The same room, for as long as this is not used.
    pub(super) fn reborrow(&mut self) -> Kept<'_> {
        match self {
            Self::There(span) => Kept::There(*span),
            Self::Stage(bytes) => Kept::Stage(bytes),
        }
    }

    /// Brings the first `len` bytes to where they belong, and goes on behind them.
    pub(super) fn bring(self, results: &mut Scatter<&Layout>, len: usize) {
        match self {
            Self::There(_) => results.advance(len),
            Self::Stage(bytes) => results.write(&bytes[..len]),
        }
    }
}

/// Room for the old values of a list of pieces, taken from the front: where they belong, or all of it in between.
pub(super) struct Rooms<'a> {
    front: Kept<'a>,
    /// Bytes of it that have been taken.
    taken: usize,
    behind: Option<UpcomingRoom<'a>>,
}

impl<'a> Rooms<'a> {
    pub(super) fn there(front: WriteSpan, behind: Option<UpcomingRoom<'a>>) -> Self {
        Self { front: Kept::There(front), taken: 0, behind }
    }

    pub(super) fn staged(stage: &'a mut [u8]) -> Self {
        Self { front: Kept::Stage(stage), taken: 0, behind: None }
    }
}

impl ResultCursor for Rooms<'_> {
    type Part<'p>
        = Kept<'p>
    where
        Self: 'p;

    #[inline]
    fn ready(&mut self, word: usize) -> usize {
        let mut left = self.front.byte_len() - self.taken;
        if left == 0
            && let Some(span) = self.behind.as_mut().and_then(Iterator::next)
        {
            left = span.len();
            (self.front, self.taken) = (Kept::There(span), 0);
        }
        whole(left, word)
    }

    #[inline]
    fn take(&mut self, len: usize) -> Kept<'_> {
        let (from, to) = (self.taken, self.taken + len);
        self.taken = to;
        match &mut self.front {
            Kept::There(span) => Kept::There(span.part(from, len)),
            Kept::Stage(bytes) => Kept::Stage(&mut bytes[from..to]),
        }
    }
}

impl<'a> Operands<'a> {
    /// The next `wanted` bytes, or the first of them, in whole words: from where they are if at least `least` lie side by side, else
    /// in `stage`; `None` when that is not there, and when there are no operands left.
    pub(super) fn take<'s>(
        &'s self,
        wanted: usize,
        least: usize,
        word: usize,
        stage: Option<&'s mut [u8]>,
    ) -> Option<(Lent<'s>, usize)> {
        self.side_by_side(wanted, least, word).or_else(|| self.staged(wanted, word, stage?))
    }

    /// As [`Operands::take`], with what is behind those that lie where they are.
    pub(super) fn front<'s>(
        &'s self,
        wanted: usize,
        least: usize,
        word: usize,
        stage: Option<&'s mut [u8]>,
    ) -> Option<Front<'s>> {
        let Self::Memory(gather) = self else {
            let (taken, len) = self.side_by_side(wanted, least, word)?;
            return Some(Front { taken, len, all: len, behind: None });
        };
        let (next, behind) = gather.upcoming()?;
        let next = next.part(0, next.len().min(wanted));
        if whole(next.len(), word) >= least.min(whole(wanted, word)).max(word) {
            // With what is in front of a word that is torn, which ends the list.
            let all = usize::try_from(gather.remaining()).unwrap_or(usize::MAX);
            return Some(Front { taken: Lent::from(next), len: next.len(), all, behind: Some(behind) });
        }
        let (taken, len) = self.staged(wanted, word, stage?)?;
        Some(Front { taken, len, all: len, behind: None })
    }

    fn side_by_side(&self, wanted: usize, least: usize, word: usize) -> Option<(Lent<'_>, usize)> {
        let (taken, len) = match self {
            Self::None => return Some((Lent::from(&[][..]), whole(wanted, word))),
            Self::Bytes(bytes) => {
                let len = whole(wanted.min(bytes.len()), word);
                (Lent::from(&bytes[..len]), len)
            }
            Self::Memory(gather) => {
                let span = gather.peek(wanted)?;
                let len = whole(span.len(), word);
                if len < least.min(whole(wanted, word)) {
                    return None;
                }
                (Lent::from(span.part(0, len)), len)
            }
        };
        (len > 0).then_some((taken, len))
    }

    fn staged<'s>(&self, wanted: usize, word: usize, stage: &'s mut [u8]) -> Option<(Lent<'s>, usize)> {
        let Self::Memory(gather) = self else { return None };
        let len = (wanted as u64).min(gather.remaining()).min(stage.len() as u64) as usize;
        let stage = &mut stage[..whole(len, word)];
        gather.clone().read(stage);
        (!stage.is_empty()).then_some((Lent::from(&*stage), stage.len()))
    }

    /// Says that the next `len` bytes have been used.
    pub(super) fn advance(&mut self, len: usize) {
        match self {
            Self::None => {}
            Self::Bytes(bytes) => *bytes = &bytes[len..],
            Self::Memory(gather) => gather.advance(len),
        }
    }

    pub(super) fn read(&mut self, into: &mut [u8]) {
        match self {
            Self::None => {}
            Self::Bytes(bytes) => {
                let (front, rest) = bytes.split_at(into.len());
                into.copy_from_slice(front);
                *bytes = rest;
            }
            Self::Memory(gather) => gather.read(into),
        }
    }
}

/// Operands of a list of pieces, taken from the front.
pub(super) struct Front<'a> {
    taken: Lent<'a>,
    /// Bytes left of them; operations that read none have them as well.
    len: usize,
    /// Bytes of them and of what is behind.
    all: usize,
    behind: Option<Upcoming<'a>>,
}

impl<'a> Front<'a> {
    /// Bytes that may be taken.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Bytes of whole words that lie side by side in front; 0 when a word does not.
    #[inline]
    fn ready(&mut self, word: usize) -> usize {
        if self.len == 0
            && let Some(span) = self.behind.as_mut().and_then(Iterator::next)
        {
            (self.taken, self.len) = (Lent::from(span), span.len());
        }
        whole(self.len, word)
    }

    /// The first `len` of them.
    #[inline]
    fn take(&mut self, len: usize) -> Lent<'a> {
        self.len -= len;
        let (front, rest) = self.taken.split_at(len.min(self.taken.span().len()));
        self.taken = rest;
        front
    }
}

/// Whether the bytes are whole words of so many bytes, a power of two, and naturally aligned.
#[inline]
pub(super) fn are_words(span: WriteSpan, word: usize) -> bool {
    (span.as_mut_ptr().addr() | span.len()) & (word - 1) == 0
}

/// The bytes of whole words of `word` bytes, a power of two.
#[inline]
fn whole(len: usize, word: usize) -> usize {
    len & !(word - 1)
}
