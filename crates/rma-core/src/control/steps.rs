//! Atomic steps on one word of a domain, chosen by operation and type from a table: what an accumulate or a fetch of one element
//! from C comes to, where every instruction counts.
//!
//! They do what [`Kernel`](crate::kernel::Kernel) does to an aligned element, with the same functions and under the same exclusion;
//! a table instead of its match over operation, type and width, and words in registers instead of buffers, are the difference.

use super::domain::Domain;
use crate::datatype::BasicType;
use crate::kernel::{Class, Exclusion, Function, Number, ReduceOp, with_function};
use crate::mem::{Element, Word};

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

/// More than the codes of types and of operations.
const TYPES: usize = 32;
const OPERATIONS: usize = 16;

type Table = [[WordStep; TYPES]; OPERATIONS];

static ACCUMULATES: Table = table(false);
static FETCHES: Table = table(true);

impl WordStep {
    /// That of an accumulate: nobody asks for what the element was before.
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

/// Stores `new` in an element if it is `compare`; answers what it was before. Out of line, as the steps of the table are.
#[inline(never)]
pub(crate) fn compare_and_swap<W: Word>(domain: Domain<'_>, element: Element<W>, compare: W, new: W) -> W {
    let _entry = domain.enter(element.span());
    element.compare_exchange(compare, new).unwrap_or_else(|found| found)
}

const fn table(fetches: bool) -> Table {
    let mut table = [[WordStep(Width::None); TYPES]; OPERATIONS];
    let mut op = 0;
    while op < ReduceOp::ALL.len() {
        let mut ty = 0;
        while ty < BasicType::ALL.len() {
            let (of, on) = (ReduceOp::ALL[op], BasicType::ALL[ty]);
            table[of as usize][on as usize] = WordStep(width(of, on, fetches));
            ty += 1;
        }
        op += 1;
    }
    table
}

const fn width(op: ReduceOp, ty: BasicType, fetches: bool) -> Width {
    // MPI_NO_OP has no operand, and is not what these are for.
    if !op.is_defined_on(ty) || matches!(op, ReduceOp::NoOp) {
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
