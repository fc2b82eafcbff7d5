//! Operations made ready to be called: datatypes, buffers, and what their results must be.

use super::compile::Compiler;
use super::program::{Action, EQUALS, Op, Region, Shape};
use super::reference::combine;
use super::values::{elements, scatter};
use rma_core::datatype::{BasicType, Datatype};
use rma_core::ids::Rank;
use rma_core::kernel::ReduceOp;

/// What result buffers hold before anything has come.
pub(super) const BLANK: u8 = 0xee;

/// An operation as a call.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Among all operations of the program.
    pub number: u32,
    /// The round that it belongs to.
    pub round: u32,
    /// On this window.
    pub window: usize,
    /// At this rank, or none.
    pub target: u32,
    /// What the target's type counts from, in bytes from the begin of the window.
    pub at: u64,
    pub(super) call: Call,
    pub(super) result: Judged,
    /// Whether it is one with a request.
    pub has_request: bool,
}

/// The calls.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Put {
        origin: Side,
        area: Area,
    },
    Get {
        area: Area,
        result: Side,
    },
    Accumulate {
        op: ReduceOp,
        origin: Side,
        area: Area,
    },
    GetAccumulate {
        op: ReduceOp,
        origin: Side,
        area: Area,
        result: Side,
    },
    FetchOp {
        op: ReduceOp,
        basic: BasicType,
        operand: Vec<u8>,
    },
    /// Compares with these bytes, or with what the actor has seen in the cell last.
    CompareSwap {
        basic: BasicType,
        compare: Option<Vec<u8>>,
        operand: Vec<u8>,
    },
}

/// A buffer of the origin.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) ty: Datatype,
    /// Displacement of the buffer's first byte.
    pub(super) low: i64,
    pub(super) bytes: Vec<u8>,
    pub(super) is_dense: bool,
}

/// Elements at the target.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub(super) ty: Datatype,
    pub(super) basic: BasicType,
    pub(super) is_dense: bool,
}

/// How a result is judged.
#[derive(Clone, Debug)]
pub(super) enum Judged {
    /// There is none.
    None,
    /// It is known.
    Exactly(Vec<u8>),
    /// Many actors change what it is of: nothing is known of it alone.
    Anything,
    /// It is a number of the counter.
    Counted,
    /// Values of cells from this one on, and what was stored instead.
    Swapped { cell: u64, wrote: Vec<u64> },
    /// The value of a cell, and what was stored instead if it was what had been seen before.
    SwappedIf { cell: u64, wrote: u64 },
    /// Values of cells from this one on.
    Peeked { cell: u64, len: u64 },
    /// Equal numbers.
    Equals,
    /// It stays as it was.
    Untouched,
}

impl Prepared {
    /// Whether it raises the counter of its target: half of those with a request do, so that no other choice has to be drawn anew.
    pub(super) fn is_notified(&self) -> bool {
        self.has_request && self.number.is_multiple_of(2)
    }
}

impl Side {
    fn new(shape: &Shape, bytes: Vec<u8>) -> Self {
        let (low, _) = shape.bounds();
        Self { ty: shape.listed().ty, low, bytes, is_dense: is_dense(shape) }
    }

    fn dense(basic: BasicType, bytes: Vec<u8>) -> Self {
        let shape = Shape::dense(basic, (bytes.len() / basic.extent()) as u64);
        Self::new(&shape, bytes)
    }
}

impl Area {
    fn new(shape: &Shape) -> Self {
        Self { ty: shape.listed().ty, basic: shape.basic, is_dense: is_dense(shape) }
    }
}

fn is_dense(shape: &Shape) -> bool {
    shape.seed == 0 && shape.basic.is_dense()
}

/// Makes an operation ready, and follows what it does in the model.
pub(super) fn prepare(compiler: &mut Compiler<'_>, actor: u32, op: &Op) -> Prepared {
    compiler.number += 1;
    let mut model = Model { compiler, actor, op };
    let (at, call, result) = model.action(&op.action);
    Prepared {
        number: compiler.number,
        round: compiler.round,
        window: op.window,
        target: op.target,
        at,
        call,
        result,
        has_request: op.has_request,
    }
}

/// Makes an operation ready that goes to no process, whatever it would change at its target.
pub(super) fn prepare_nowhere(compiler: &mut Compiler<'_>, actor: u32, op: &Op) -> Prepared {
    let (window, target) = (op.window, op.target as usize);
    let before = (compiler.memory[window][target].clone(), compiler.counts[window][target]);
    let prepared = prepare(compiler, actor, op);
    (compiler.memory[window][target], compiler.counts[window][target]) = before;
    Prepared { target: Rank::NULL.0, result: Judged::Untouched, ..prepared }
}

/// The get of the equal numbers.
pub(super) fn equals(compiler: &mut Compiler<'_>, window: usize, target: u32) -> Prepared {
    compiler.number += 1;
    let (at, _) = compiler.program.windows[window].place(Region::Equals, compiler.program.actors());
    let shape = Shape::dense(BasicType::U64, EQUALS);
    let blank = vec![BLANK; EQUALS as usize * 8];
    let call = Call::Get { area: Area::new(&shape), result: Side::new(&shape, blank) };
    let (number, round) = (compiler.number, compiler.round);
    Prepared { number, round, window, target, at, call, result: Judged::Equals, has_request: false }
}

struct Model<'a, 'b> {
    compiler: &'a mut Compiler<'b>,
    actor: u32,
    op: &'a Op,
}

impl Model<'_, '_> {
    fn action(&mut self, action: &Action) -> (u64, Call, Judged) {
        match *action {
            Action::Put { region, at, area, origin, data } => {
                let values = elements(&origin, data);
                let base = self.base(region, at, &area);
                self.change(base, &area, &values, ReduceOp::Replace);
                let origin = Side::new(&origin, scatter(&origin, &values, 0x55));
                (base as u64, Call::Put { origin, area: Area::new(&area) }, Judged::None)
            }
            Action::Get { region, at, area, result } => {
                let base = self.base(region, at, &area);
                let expected = scatter(&result, &self.read(region, base, &area), BLANK);
                let blank = vec![BLANK; expected.len()];
                let call = Call::Get { area: Area::new(&area), result: Side::new(&result, blank) };
                (base as u64, call, Judged::Exactly(expected))
            }
            Action::Accumulate { region, op, at, area, origin, data } => {
                let values = elements(&origin, data);
                let base = self.base(region, at, &area);
                self.change(base, &area, &values, op);
                let origin = Side::new(&origin, scatter(&origin, &values, 0x55));
                (base as u64, Call::Accumulate { op, origin, area: Area::new(&area) }, Judged::None)
            }
            Action::GetAccumulate { region, op, at, area, origin, result, data } => {
                let values = elements(&origin, data);
                let base = self.base(region, at, &area);
                let expected = scatter(&result, &self.read(region, base, &area), BLANK);
                self.change(base, &area, &values, op);
                let origin = Side::new(&origin, scatter(&origin, &values, 0x55));
                let result = Side::new(&result, vec![BLANK; expected.len()]);
                let call = Call::GetAccumulate { op, origin, area: Area::new(&area), result };
                (base as u64, call, known(region, expected))
            }
            Action::FetchOp { region, op, at, data } => self.fetch_op(region, op, at, data),
            Action::CompareSwap { at, hits, data } => self.compare_swap(at, hits, data),
            Action::Count => {
                let shape = Shape::dense(BasicType::U64, 1);
                let base = self.base(Region::Counter, 0, &shape);
                let one = 1u64.to_ne_bytes().to_vec();
                self.change(base, &shape, std::slice::from_ref(&one), ReduceOp::Sum);
                self.compiler.counts[self.op.window][self.op.target as usize] += 1;
                let call = Call::FetchOp { op: ReduceOp::Sum, basic: BasicType::U64, operand: one };
                (base as u64, call, Judged::Counted)
            }
            Action::Swap { cell, len, is_single } => {
                let wrote = (0..len).map(|lane| self.unique(lane)).collect::<Vec<_>>();
                let (base, call) = self.cells(ReduceOp::Replace, cell, &wrote, is_single);
                (base, call, Judged::Swapped { cell, wrote })
            }
            Action::SwapIf { cell } => {
                let wrote = self.unique(0);
                let base = self.base(Region::Cells, cell * 8, &Shape::dense(BasicType::U64, 1)) as u64;
                let operand = wrote.to_ne_bytes().to_vec();
                let call = Call::CompareSwap { basic: BasicType::U64, compare: None, operand };
                (base, call, Judged::SwappedIf { cell, wrote })
            }
            Action::Peek { cell, len, is_single } => {
                let (base, call) = self.cells(ReduceOp::NoOp, cell, &vec![0; len as usize], is_single);
                (base, call, Judged::Peeked { cell, len })
            }
        }
    }

    fn fetch_op(&mut self, region: Region, op: ReduceOp, at: u64, data: u64) -> (u64, Call, Judged) {
        let basic = self.basic(region);
        let shape = Shape::dense(basic, 1);
        let values = elements(&shape, data);
        let base = self.base(region, at, &shape);
        let expected = scatter(&shape, &self.read(region, base, &shape), BLANK);
        self.change(base, &shape, &values, op);
        let call = if basic.is_word() {
            Call::FetchOp { op, basic, operand: values[0].clone() }
        } else {
            // Wide elements have no call of their own.
            let (origin, blank) = (scatter(&shape, &values, 0), vec![BLANK; expected.len()]);
            let (origin, result) = (Side::new(&shape, origin), Side::new(&shape, blank));
            Call::GetAccumulate { op, origin, area: Area::new(&shape), result }
        };
        (base as u64, call, known(region, expected))
    }

    fn compare_swap(&mut self, at: u64, hits: bool, data: u64) -> (u64, Call, Judged) {
        let region = Region::Ordered(self.actor);
        let basic = self.basic(region);
        let shape = Shape::dense(basic, 1);
        let operand = elements(&shape, data);
        let base = self.base(region, at, &shape);
        let found = self.read(region, base, &shape).remove(0);
        let mut compare = found.clone();
        if hits {
            self.change(base, &shape, &operand, ReduceOp::Replace);
        } else {
            compare[0] ^= 1;
        }
        let operand = operand.into_iter().next().unwrap_or_default();
        let call = Call::CompareSwap { basic, compare: Some(compare), operand };
        (base as u64, call, Judged::Exactly(found))
    }

    fn cells(&self, op: ReduceOp, cell: u64, values: &[u64], is_single: bool) -> (u64, Call) {
        let shape = Shape::dense(BasicType::U64, values.len() as u64);
        let base = self.base(Region::Cells, cell * 8, &shape) as u64;
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        if is_single && values.len() == 1 {
            return (base, Call::FetchOp { op, basic: BasicType::U64, operand: bytes });
        }
        let result = Side::dense(BasicType::U64, vec![BLANK; bytes.len()]);
        let origin = Side::dense(BasicType::U64, bytes);
        (base, Call::GetAccumulate { op, origin, area: Area::new(&shape), result })
    }

    /// A value that no other operation stores.
    fn unique(&self, lane: u64) -> u64 {
        u64::from(self.compiler.number) << 8 | lane
    }

    fn basic(&self, region: Region) -> BasicType {
        let plan = &self.compiler.program.windows[self.op.window];
        if region == Region::Shared { plan.shared_basic } else { plan.basic }
    }

    /// What the displacements of the area's type count from.
    fn base(&self, region: Region, at: u64, area: &Shape) -> i64 {
        base_of(self.compiler.program, self.op.window, region, at, area)
    }

    /// The elements of the area, as the actor must see them.
    fn read(&self, region: Region, base: i64, area: &Shape) -> Vec<Vec<u8>> {
        let is_own = matches!(region, Region::Own(actor) | Region::Ordered(actor) if actor == self.actor);
        let memory = if is_own { &self.compiler.memory } else { &self.compiler.before };
        let memory = &memory[self.op.window][self.op.target as usize];
        let extent = area.basic.extent();
        let start = |place: &i64| (base + place) as usize;
        area.listed()
            .places
            .iter()
            .map(|place| memory[start(place)..start(place) + extent].to_vec())
            .collect()
    }

    fn change(&mut self, base: i64, area: &Shape, values: &[Vec<u8>], op: ReduceOp) {
        let memory = &mut self.compiler.memory[self.op.window][self.op.target as usize];
        let extent = area.basic.extent();
        for (place, value) in area.listed().places.iter().zip(values) {
            let start = (base + place) as usize;
            combine(op, area.basic, &mut memory[start..start + extent], value);
        }
    }
}

/// What the displacements of a shape count from, when its lowest byte is byte `at` of a region.
pub(super) fn base_of(
    program: &super::program::Program,
    window: usize,
    region: Region,
    at: u64,
    area: &Shape,
) -> i64 {
    let (start, _) = program.windows[window].place(region, program.actors());
    (start + at) as i64 - area.bounds().0
}

fn known(region: Region, expected: Vec<u8>) -> Judged {
    if matches!(region, Region::Ordered(_)) { Judged::Exactly(expected) } else { Judged::Anything }
}

impl Call {
    /// The put of words.
    pub(super) fn put_words(bytes: &[u8]) -> Self {
        let shape = Shape::dense(BasicType::U64, bytes.len() as u64 / 8);
        Self::Put { origin: Side::new(&shape, bytes.to_vec()), area: Area::new(&shape) }
    }
}
