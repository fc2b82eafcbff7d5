//! Communication calls with datatypes on both sides, over every path, against a reference that moves element by element.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::window::{Destination, Origin, TargetArea, Window, WindowSpec};
use rma_tests::random::Random;
use rma_tests::types::{Listed, random_type};
use rma_tests::world::{Setup, TestRank, run};

/// Bytes of each window.
const WINDOW: usize = 64 * 1024;

fn contents(window: &Window) -> Vec<u8> {
    // SAFETY: the span is used here only, while the window is borrowed and therefore not freed.
    let span = unsafe { window.local() };
    let mut bytes = vec![0; span.len()];
    span.as_read().read(&mut bytes);
    bytes
}

fn set_contents(window: &Window, bytes: &[u8]) {
    // SAFETY: as for `contents`.
    unsafe { window.local() }.write(bytes);
}

/// Bytes in the caller's memory, with room for a type's lowest displacement before the base.
struct Memory {
    bytes: Vec<u8>,
    base: usize,
}

impl Memory {
    fn new(listed: &Listed, basic: BasicType, random: &mut Random) -> Self {
        let (low, high) = listed.bounds(basic.extent() as u64);
        let base = (-low).max(0) as usize + 8;
        let mut bytes = vec![0; base + high.max(0) as usize + 8];
        fill(&mut bytes, basic, random);
        Self { bytes, base }
    }

    fn element(&mut self, at: i64, basic: BasicType) -> Element<'_> {
        Element { bytes: &mut self.bytes, at: (self.base as i64 + at) as usize, basic }
    }

    fn origin<'a>(&self, listed: &'a Listed) -> Origin<'a> {
        Origin { base: self.bytes.as_ptr().wrapping_add(self.base), count: 1, ty: &listed.ty }
    }

    fn destination<'a>(&mut self, listed: &'a Listed) -> Destination<'a> {
        Destination { base: self.bytes.as_mut_ptr().wrapping_add(self.base), count: 1, ty: &listed.ty }
    }
}

/// Any bytes that are ordinary numbers of the type.
fn fill(bytes: &mut [u8], basic: BasicType, random: &mut Random) {
    for byte in bytes.iter_mut() {
        *byte = random.below(64) as u8;
    }
    if matches!(basic, BasicType::F80 | BasicType::ComplexF80 | BasicType::LongDoubleInt) {
        // Wherever an extended number begins, its leading bit is set.
        bytes.iter_mut().for_each(|byte| *byte |= 0x80);
    }
}

/// One element somewhere in some bytes.
struct Element<'a> {
    bytes: &'a mut [u8],
    at: usize,
    basic: BasicType,
}

impl Element<'_> {
    /// Offset and length of each run of data bytes.
    fn parts(&self) -> Vec<(usize, usize)> {
        match self.basic {
            BasicType::ShortInt => vec![(self.at, 2), (self.at + 4, 4)],
            basic => vec![(self.at, basic.size())],
        }
    }

    fn get(&self) -> Vec<u8> {
        self.parts().into_iter().flat_map(|(at, len)| self.bytes[at..at + len].to_vec()).collect()
    }

    fn set(&mut self, mut value: &[u8]) {
        for (at, len) in self.parts() {
            let (front, rest) = value.split_at(len);
            self.bytes[at..at + len].copy_from_slice(front);
            value = rest;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Put,
    Get,
    Accumulate(ReduceOp),
    GetAccumulate(ReduceOp),
}

/// One call, with everything it works on, made from a seed on every rank alike.
struct Case {
    basic: BasicType,
    operation: Operation,
    origin: Listed,
    result: Listed,
    area: Listed,
    disp: u64,
    from: Memory,
    to: Memory,
    window: Vec<u8>,
}

impl Case {
    fn new(seed: u64, most: u64) -> Self {
        let mut random = Random::new(seed);
        let basic = random.pick(BasicType::ALL);
        let elements = 1 + if random.below(6) == 0 { random.below(most) } else { random.below(40.min(most)) };
        let ops = ReduceOp::ALL.iter().copied().filter(|op| op.is_defined_on(basic)).collect::<Vec<_>>();
        let op = random.pick(&ops);
        let operation = match random.below(6) {
            0 => Operation::Put,
            1 => Operation::Get,
            2 | 3 if op.is_accumulate() => Operation::Accumulate(op),
            _ => Operation::GetAccumulate(op),
        };
        let mut made = || {
            loop {
                let listed = random_type(&mut random, basic, elements);
                let (low, high) = listed.bounds(basic.extent() as u64);
                if high - low <= WINDOW as i64 {
                    return listed;
                }
            }
        };
        let (origin, result, area) = (made(), made(), made());
        let (low, high) = area.bounds(basic.extent() as u64);
        let least = (-low).max(0) as u64;
        let room = WINDOW as u64 - (high - low) as u64;
        let disp = (least + random.below(room / 8 + 1) * 8).min(WINDOW as u64 - high.max(0) as u64);
        let (from, to) = (Memory::new(&origin, basic, &mut random), Memory::new(&result, basic, &mut random));
        let mut window = vec![0; WINDOW];
        fill(&mut window, basic, &mut random);
        Self { basic, operation, origin, result, area, disp, from, to, window }
    }

    /// Does it on private memory.
    fn expect(&mut self) {
        let basic = self.basic;
        for i in 0..self.area.places.len() {
            let operand = self.from.element(self.origin.places[i], basic).get();
            let at = (self.disp as i64 + self.area.places[i]) as usize;
            let mut target = Element { bytes: &mut self.window, at, basic };
            let old = target.get();
            let mut result = self.to.element(self.result.places[i], basic);
            let combined = |op| {
                let mut new = old.clone();
                Kernel::new(op, basic).unwrap().combine(&mut new, &operand);
                new
            };
            match self.operation {
                Operation::Put => target.set(&operand),
                Operation::Get => result.set(&old),
                Operation::Accumulate(op) => target.set(&combined(op)),
                Operation::GetAccumulate(op) => {
                    result.set(&old);
                    target.set(&combined(op));
                }
            }
        }
    }

    /// Does it on a window, in an epoch that is open to the target.
    fn perform(&mut self, window: &Window, target: Rank) -> Result<()> {
        let area = TargetArea { disp: Disp(self.disp), count: 1, ty: &self.area.ty };
        let (origin, result) = (self.from.origin(&self.origin), self.to.destination(&self.result));
        // SAFETY: the memory is the case's, which lives until the epoch has been closed.
        unsafe {
            match self.operation {
                Operation::Put => window.put_typed(origin, target, area),
                Operation::Get => window.get_typed(result, target, area),
                Operation::Accumulate(op) => window.accumulate_typed(origin, op, target, area),
                Operation::GetAccumulate(op) => window.get_accumulate(origin, result, op, target, area),
            }
        }
    }
}

fn window(rank: &TestRank) -> Window {
    let spec = WindowSpec::Allocate { len: WINDOW as u64, unit: 1 };
    rank.engine.create_window(rank.group(), spec).unwrap()
}

fn random_calls(setup: &Setup, seeds: std::ops::Range<u64>, most: u64) {
    run(setup, |rank| {
        let window = window(rank);
        for seed in seeds.clone() {
            let (mut right, mut case) = (Case::new(seed, most), Case::new(seed, most));
            right.expect();
            set_contents(&window, &case.window);
            rank.barrier();
            // The last rank is sometimes its own target.
            let origin = rank.size - 1;
            let target = if seed % 7 == 0 { origin } else { 0 };
            if rank.me == origin {
                let kind = if seed % 2 == 0 { Exclusive } else { Shared };
                window.lock(kind, Rank(target), Assert::NONE).unwrap();
                case.perform(&window, Rank(target)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                // A type may go as soon as the call has returned.
                case.area.ty = Datatype::basic(case.basic);
                case.origin.ty = case.area.ty.clone();
                case.result.ty = case.area.ty.clone();
                window.unlock(Rank(target)).unwrap();
                let what = format!(
                    "seed {seed}: {:?} on {} x {}",
                    case.operation,
                    case.basic,
                    case.area.places.len()
                );
                assert!(case.to.bytes == right.to.bytes, "{what}: result");
                assert!(case.from.bytes == right.from.bytes, "{what}: origin");
            }
            rank.barrier();
            let (found, expected) =
                (contents(&window), if rank.me == target { &right.window } else { &case.window });
            let differs = (0..WINDOW).find(|at| found[*at] != expected[*at]);
            assert_eq!(
                differs, None,
                "seed {seed}: {:?} on {}, byte of the window",
                case.operation, case.basic
            );
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn random_types_on_both_sides_move_every_element_over_every_path() {
    for (number, setup) in Setup::all(3).iter().enumerate() {
        let is_smallest = setup.engine.op_pool_global == 0;
        let (seeds, most) = if is_smallest { (120, 60) } else { (400, 1500) };
        let first = 1000 * number as u64;
        random_calls(setup, first..first + seeds, most);
    }
}
