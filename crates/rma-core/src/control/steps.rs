//! Atomic steps on one word of a domain, and changes of runs of them, chosen by operation and type from a table: what an accumulate or
//! a fetch from C comes to, where every instruction counts.
//!
//! They do what [`Kernel`](crate::kernel::Kernel) does to aligned elements, with the same functions and under the same exclusion;
//! a table instead of its match over operation, type and width, and single words in registers instead of buffers, are the difference.

use super::domain::Domain;
use crate::datatype::BasicType;
use crate::kernel::{Class, Exclusion, Function, Nowhere, Number, ReduceOp, combine_run, with_function};
use crate::mem::{Element, ReadSpan, Word, WriteSpan};

/// One step of an operation on words of a type.
#[derive(Clone, Copy, Debug)]
pub struct WordStep(pub(crate) Width);

/// A step by the width of its words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    /// Not defined, not one word, or narrower than those that programs count with.
    None,
    Four(Step<u32>),
    Eight(Step<u64>),
}

/// Changes an element by an operand, and answers what it was before where that is asked for.
pub(crate) type Step<W> = for<'a> fn(Domain<'a>, Element<W>, W) -> W;

/// What an operation does to a run of aligned words of a type, side by side.
#[derive(Clone, Copy, Debug)]
pub struct RunStep {
    /// Bytes of a word; 0 where there is no such step.
    word: usize,
    change: ChangeRun,
    fetch: FetchRun,
}

type ChangeRun = for<'a> fn(Domain<'a>, WriteSpan, ReadSpan);
type FetchRun = for<'a> fn(Domain<'a>, WriteSpan, ReadSpan, WriteSpan);

/// More than the codes of types and of operations.
const TYPES: usize = 32;
const OPERATIONS: usize = 16;

type StepTable<T> = [[T; TYPES]; OPERATIONS];

static ACCUMULATES: StepTable<WordStep> = words(false);
static FETCHES: StepTable<WordStep> = words(true);
static RUNS: StepTable<RunStep> = runs();

impl WordStep {
    /// That of an accumulate: the old value of the element is not wanted.
    #[inline(always)]
    pub fn accumulate(op: ReduceOp, ty: BasicType) -> &'static Self {
        &ACCUMULATES[op as usize % OPERATIONS][ty as usize % TYPES]
    }

    /// That of a fetch.
    #[inline(always)]
    pub fn fetch(op: ReduceOp, ty: BasicType) -> &'static Self {
        &FETCHES[op as usize % OPERATIONS][ty as usize % TYPES]
    }
}

impl RunStep {
    /// That of an operation on words of a type.
    #[inline(always)]
    pub fn of(op: ReduceOp, ty: BasicType) -> &'static Self {
        &RUNS[op as usize % OPERATIONS][ty as usize % TYPES]
    }

    /// Whether these bytes are whole aligned words of the step's type.
    #[inline(always)]
    pub(crate) fn suits(&self, place: WriteSpan) -> bool {
        (place.len() | place.as_mut_ptr().addr()) & self.word.wrapping_sub(1) == 0 && self.word > 0
    }

    /// Combines the words of `place` with those of `origin`, which are as many.
    #[inline(always)]
    pub(crate) fn change(&self, domain: Domain<'_>, place: WriteSpan, origin: ReadSpan) {
        (self.change)(domain, place, origin);
    }

    /// Likewise, and stores in `result`, which has as much room, what they were.
    #[inline(always)]
    pub(crate) fn fetch(&self, domain: Domain<'_>, place: WriteSpan, origin: ReadSpan, result: WriteSpan) {
        (self.fetch)(domain, place, origin, result);
    }
}

/// Stores `new` in an element if it is `compare`; answers what it was before. Out of line, as the steps of the table are.
#[inline(never)]
pub(crate) fn compare_and_swap<W: Word>(domain: Domain<'_>, element: Element<W>, compare: W, new: W) -> W {
    let _entry = domain.enter(element.span());
    element.compare_exchange(compare, new).unwrap_or_else(|found| found)
}

const fn words(fetches: bool) -> StepTable<WordStep> {
    let mut table = [[WordStep(Width::None); TYPES]; OPERATIONS];
    let mut at = 0;
    while at < ReduceOp::ALL.len() * BasicType::ALL.len() {
        let (op, ty) = pair(at);
        table[op as usize][ty as usize] = WordStep(width(op, ty, fetches));
        at += 1;
    }
    table
}

const fn runs() -> StepTable<RunStep> {
    let mut table = [[RunStep { word: 0, change: |_, _, _| {}, fetch: |_, _, _, _| {} }; TYPES]; OPERATIONS];
    let mut at = 0;
    while at < ReduceOp::ALL.len() * BasicType::ALL.len() {
        let (op, ty) = pair(at);
        if has_step(op, ty)
            && let Some(run) = run(op, ty)
        {
            table[op as usize][ty as usize] = run;
        }
        at += 1;
    }
    table
}

/// The operation and type of a number, of which there are as many as pairs.
const fn pair(at: usize) -> (ReduceOp, BasicType) {
    (ReduceOp::ALL[at / BasicType::ALL.len()], BasicType::ALL[at % BasicType::ALL.len()])
}

/// `MPI_NO_OP` has no operand, and is not what steps are for.
const fn has_step(op: ReduceOp, ty: BasicType) -> bool {
    op.is_defined_on(ty) && !matches!(op, ReduceOp::NoOp)
}

const fn run(op: ReduceOp, ty: BasicType) -> Option<RunStep> {
    let class = Class::of(ty);
    match ty.word_size() {
        1 => Some(run_of::<u8>(op, class)),
        2 => Some(run_of::<u16>(op, class)),
        4 => Some(run_of::<u32>(op, class)),
        8 => Some(run_of::<u64>(op, class)),
        _ => None,
    }
}

const fn run_of<W: Number>(op: ReduceOp, class: Class) -> RunStep {
    with_function!(
        op,
        class,
        Chosen,
        RunStep { word: W::SIZE, change: change_run::<W, Chosen>, fetch: fetch_run::<W, Chosen> }
    )
}

fn change_run<W: Word, F: Function<W>>(domain: Domain<'_>, place: WriteSpan, origin: ReadSpan) {
    combine_run::<W, F>(place, origin, Nowhere, &domain);
}

fn fetch_run<W: Word, F: Function<W>>(
    domain: Domain<'_>,
    place: WriteSpan,
    origin: ReadSpan,
    result: WriteSpan,
) {
    combine_run::<W, F>(place, origin, result, &domain);
}

const fn width(op: ReduceOp, ty: BasicType, fetches: bool) -> Width {
    if !has_step(op, ty) {
        return Width::None;
    }
    match ty.word_size() {
        4 => Width::Four(step(op, Class::of(ty), fetches)),
        8 => Width::Eight(step(op, Class::of(ty), fetches)),
        _ => Width::None,
    }
}

const fn step<W: Number>(op: ReduceOp, class: Class, fetches: bool) -> Step<W> {
    if fetches {
        with_function!(op, class, Chosen, fetch::<W, Chosen>)
    } else {
        with_function!(op, class, Chosen, change::<W, Chosen>)
    }
}

fn fetch<W: Word, F: Function<W>>(domain: Domain<'_>, element: Element<W>, operand: W) -> W {
    let _entry = domain.enter(element.span());
    F::update(element, operand)
}

fn change<W: Word, F: Function<W>>(domain: Domain<'_>, element: Element<W>, operand: W) -> W {
    let _entry = domain.enter(element.span());
    F::put(element, operand);
    W::default()
}
