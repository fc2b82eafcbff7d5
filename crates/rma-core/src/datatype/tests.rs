//! Datatypes against a reference that lists every byte, over random nested types; and what the standard says in numbers.

use super::*;
use crate::error::ErrorClass;

/// A type map as the standard writes it: displacement and basic type of every element, and the bounds that were set.
#[derive(Clone, Debug, Default)]
struct Reference {
    map: Vec<(i64, BasicType)>,
    lower: Option<i64>,
    upper: Option<i64>,
}

impl Reference {
    fn basic(ty: BasicType) -> Self {
        Self { map: vec![(0, ty)], ..Self::default() }
    }

    /// Copies at these displacements, in order.
    fn at(&self, displacements: impl IntoIterator<Item = i64>) -> Self {
        Self::joined(displacements.into_iter().map(|by| (by, self)))
    }

    fn joined<'a>(parts: impl IntoIterator<Item = (i64, &'a Self)>) -> Self {
        let mut new = Self::default();
        for (by, part) in parts {
            new.map.extend(part.map.iter().map(|(at, ty)| (at + by, *ty)));
            new.lower = [new.lower, part.lower.map(|mark| mark + by)].into_iter().flatten().min();
            new.upper = [new.upper, part.upper.map(|mark| mark + by)].into_iter().flatten().max();
        }
        new
    }

    fn bytes(&self) -> Vec<i64> {
        let of = |(at, ty): &(i64, BasicType)| {
            let runs: &[(i64, i64)] = match ty {
                BasicType::ShortInt => &[(0, 2), (4, 4)],
                ty => &[(0, ty.size() as i64)],
            };
            runs.iter().flat_map(|(from, len)| at + from..at + from + len).collect::<Vec<_>>()
        };
        self.map.iter().flat_map(of).collect()
    }

    fn true_bounds(&self) -> (i64, i64) {
        let bytes = self.bytes();
        (bytes.iter().min().copied().unwrap_or(0), bytes.iter().max().map_or(0, |last| last + 1))
    }

    fn lower(&self) -> i64 {
        self.lower.unwrap_or(self.true_bounds().0)
    }

    fn extent(&self) -> i64 {
        if let Some(upper) = self.upper {
            return upper - self.lower();
        }
        let align = self.map.iter().map(|(_, ty)| ty.align() as i64).max().unwrap_or(1);
        let natural = self.true_bounds().1 - self.lower();
        natural + (align - natural.rem_euclid(align)) % align
    }
}

/// A small generator: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % sides
    }

    fn around(&mut self, reach: i64) -> i64 {
        self.below(2 * reach as u64 + 1) as i64 - reach
    }
}

fn random_type(dice: &mut Dice, depth: u32) -> (Datatype, Reference) {
    if depth == 0 || dice.below(8) == 0 {
        let ty = BasicType::ALL[dice.below(BasicType::ALL.len() as u64) as usize];
        return (Datatype::basic(ty), Reference::basic(ty));
    }
    let (base, model) = random_type(dice, depth - 1);
    let step = model.extent();
    let block = |len: u64, at: i64| (0..len as i64).map(move |i| at + i * step);
    match dice.below(12) {
        0 => {
            let count = dice.below(4);
            (Datatype::contiguous(count, &base).unwrap(), model.at(block(count, 0)))
        }
        1 => {
            let (count, len, stride) = (dice.below(4), dice.below(4), dice.around(5));
            let at = (0..count as i64).flat_map(|i| block(len, i * stride * step));
            (Datatype::vector(count, len, stride, &base).unwrap(), model.at(at))
        }
        2 => {
            let (count, len, stride) = (dice.below(4), dice.below(4), dice.around(70));
            let at = (0..count as i64).flat_map(|i| block(len, i * stride));
            (Datatype::hvector(count, len, stride, &base).unwrap(), model.at(at))
        }
        3 | 4 => {
            let blocks = random_blocks(dice, 9);
            let at = blocks.iter().flat_map(|(len, at)| block(*len, at * step)).collect::<Vec<_>>();
            (Datatype::indexed(blocks, &base).unwrap(), model.at(at))
        }
        5 => {
            let blocks = random_blocks(dice, 90);
            let at = blocks.iter().flat_map(|(len, at)| block(*len, *at)).collect::<Vec<_>>();
            (Datatype::hindexed(blocks, &base).unwrap(), model.at(at))
        }
        6 => {
            let len = dice.below(4);
            let places = (0..dice.below(6)).map(|_| dice.around(9)).collect::<Vec<_>>();
            let at = places.iter().flat_map(|at| block(len, at * step)).collect::<Vec<_>>();
            (Datatype::indexed_block(len, places, &base).unwrap(), model.at(at))
        }
        7 => {
            let len = dice.below(4);
            let places = (0..dice.below(6)).map(|_| dice.around(90)).collect::<Vec<_>>();
            let at = places.iter().flat_map(|at| block(len, *at)).collect::<Vec<_>>();
            (Datatype::hindexed_block(len, places, &base).unwrap(), model.at(at))
        }
        8 => {
            let (other, other_model) = random_type(dice, depth - 1);
            let blocks = random_blocks(dice, 90);
            let pick = |i: usize| if i.is_multiple_of(2) { (&base, &model) } else { (&other, &other_model) };
            let fields = blocks.iter().enumerate();
            let fields =
                fields.map(|(i, (count, offset))| Field { count: *count, offset: *offset, ty: pick(i).0 });
            let made = Datatype::structure(fields).unwrap();
            let parts = blocks.iter().enumerate().flat_map(|(i, (count, at))| {
                let model = pick(i).1;
                (0..*count as i64).map(move |n| (at + n * model.extent(), model))
            });
            (made, Reference::joined(parts))
        }
        9 => {
            let (lower, extent) = (dice.around(20), dice.around(60));
            let marked = Reference { lower: Some(lower), upper: Some(lower + extent), ..model };
            (Datatype::resized(lower, extent, &base).unwrap(), marked)
        }
        10 => random_subarray(dice, &base, &model),
        _ => random_darray(dice, &base, &model),
    }
}

fn random_blocks(dice: &mut Dice, reach: i64) -> Vec<(u64, i64)> {
    (0..dice.below(6)).map(|_| (dice.below(4), dice.around(reach))).collect()
}

/// Displacements of the chosen indices of an array, fastest dimension innermost, each dimension's size and chosen indices
/// in the order of the call.
fn places(dims: &[(u64, Vec<u64>)], order: ArrayOrder, step: i64) -> (Vec<i64>, i64) {
    let mut places = vec![0];
    let mut step = step;
    let fastest_first: Vec<_> = match order {
        ArrayOrder::C => dims.iter().rev().collect(),
        ArrayOrder::Fortran => dims.iter().collect(),
    };
    for (size, chosen) in fastest_first {
        places = chosen.iter().flat_map(|i| places.iter().map(move |at| at + *i as i64 * step)).collect();
        step *= *size as i64;
    }
    (places, step)
}

fn random_order(dice: &mut Dice) -> ArrayOrder {
    if dice.below(2) == 0 { ArrayOrder::C } else { ArrayOrder::Fortran }
}

fn random_subarray(dice: &mut Dice, base: &Datatype, model: &Reference) -> (Datatype, Reference) {
    let order = random_order(dice);
    let dims = (0..1 + dice.below(3))
        .map(|_| {
            let size = 1 + dice.below(4);
            let part = 1 + dice.below(size);
            SubarrayDim { size, part, start: dice.below(size - part + 1) }
        })
        .collect::<Vec<_>>();
    let chosen = dims.iter().map(|d| (d.size, (d.start..d.start + d.part).collect())).collect::<Vec<_>>();
    let (at, extent) = places(&chosen, order, model.extent());
    let model = Reference { lower: Some(0), upper: Some(extent), ..model.at(at) };
    (Datatype::subarray(&dims, order, base).unwrap(), model)
}

fn random_darray(dice: &mut Dice, base: &Datatype, model: &Reference) -> (Datatype, Reference) {
    let order = random_order(dice);
    let dims = (0..1 + dice.below(2))
        .map(|_| {
            let (size, processes) = (1 + dice.below(9), 1 + dice.below(3));
            let distribution = match dice.below(4) {
                0 => Distribution::Block(None),
                1 => Distribution::Block(Some(size.div_ceil(processes) + dice.below(2))),
                2 => Distribution::Cyclic(None),
                _ => Distribution::Cyclic(Some(1 + dice.below(4))),
            };
            DarrayDim { size, distribution, processes }
        })
        .collect::<Vec<_>>();
    let rank = dice.below(dims.iter().map(|d| d.processes).product());
    let mut chosen = vec![];
    let mut rest = rank;
    for d in dims.iter().rev() {
        let place = rest % d.processes;
        rest /= d.processes;
        let len = match d.distribution {
            Distribution::None => d.size,
            Distribution::Block(len) => len.unwrap_or(d.size.div_ceil(d.processes)),
            Distribution::Cyclic(len) => len.unwrap_or(1),
        };
        chosen.push((d.size, (0..d.size).filter(|i| i / len % d.processes == place).collect()));
    }
    chosen.reverse();
    let (at, extent) = places(&chosen, order, model.extent());
    let model = Reference { lower: Some(0), upper: Some(extent), ..model.at(at) };
    (Datatype::darray(rank, &dims, order, base).unwrap(), model)
}

fn walk(layout: &Layout, mut step: impl FnMut() -> u64) -> Vec<i64> {
    let mut walk = layout.segments();
    let mut bytes = Vec::new();
    while let Some(run) = walk.peek_run() {
        assert!(run.len > 0 && run.count > 0 && run.len * run.count <= walk.remaining());
        let take = (run.len * run.count).min(step());
        bytes
            .extend((0..take).map(|i| run.offset + (i / run.len) as i64 * run.stride + (i % run.len) as i64));
        walk.advance(take);
    }
    assert_eq!(walk.remaining(), 0);
    bytes
}

#[test]
fn random_nested_types_are_what_the_standard_defines() {
    for seed in 1..=4000 {
        let mut dice = Dice::new(seed);
        let depth = 1 + dice.below(4) as u32;
        let (ty, model) = random_type(&mut dice, depth);
        let say = || format!("seed {seed}: {ty:?}");
        let bytes = model.bytes();
        let (low, high) = model.true_bounds();
        assert_eq!(ty.size(), bytes.len() as u64, "{}", say());
        assert_eq!((ty.true_lower_bound(), ty.true_extent()), (low, high - low), "{}", say());
        assert_eq!((ty.lower_bound(), ty.extent()), (model.lower(), model.extent()), "{}", say());
        if let Some((_, first)) = model.map.first() {
            let only = model.map.iter().all(|(_, ty)| ty == first).then_some(*first);
            // Fields without elements count as well: what they are of was said.
            assert!(ty.basic_type().is_none() || ty.basic_type() == only, "{}", say());
        }
        for count in 0..3 {
            let layout = ty.layout(count).unwrap();
            let expected = model.at((0..count as i64).map(|i| i * model.extent())).bytes();
            assert_eq!(walk(&layout, || u64::MAX), expected, "count {count}, {}", say());
            assert_eq!(walk(&layout, || 1 + dice.below(9)), expected, "count {count}, {}", say());
            let mut back = layout.segments();
            let front = back.split_to(layout.size() / 2);
            assert_eq!((front.remaining(), back.remaining()), (layout.size() / 2, layout.size().div_ceil(2)));
        }
    }
}

#[test]
fn packed_and_unpacked_bytes_are_those_of_the_type_map() {
    for seed in 1..=500 {
        let mut dice = Dice::new(seed + 10_000);
        let (ty, model) = random_type(&mut dice, 3);
        let places = model.at([0, model.extent()]).bytes();
        let low = places.iter().min().copied().unwrap_or(0).min(0);
        let len = (places.iter().max().copied().unwrap_or(0) + 1 - low) as usize;
        let memory: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let mut packed = vec![0; places.len()];
        // SAFETY: `low` and `len` cover every byte of two elements.
        unsafe { ty.gather(memory.as_ptr().wrapping_offset(-low as isize), 2).unwrap() }.read(&mut packed);
        let expected: Vec<u8> = places.iter().map(|at| memory[(at - low) as usize]).collect();
        assert_eq!(packed, expected, "seed {seed}: {ty:?}");
        let mut target = vec![0xff; len];
        // SAFETY: as above.
        unsafe { ty.scatter(target.as_mut_ptr().wrapping_offset(-low as isize), 2).unwrap() }.write(&packed);
        let mut expected = vec![0xff; len];
        for (at, byte) in places.iter().zip(&packed) {
            expected[(at - low) as usize] = *byte;
        }
        assert_eq!(target, expected, "seed {seed}: {ty:?}");
    }
}

fn int() -> Datatype {
    Datatype::basic(BasicType::I32)
}

#[test]
fn regular_types_have_the_same_size_in_memory_whatever_their_counts() {
    let double = Datatype::basic(BasicType::F64);
    let pair = Datatype::structure([
        Field { count: 1, offset: 0, ty: &int() },
        Field { count: 1, offset: 8, ty: &double },
    ])
    .unwrap();
    for count in [10, 1 << 40] {
        let column = Datatype::vector(count, 1, 100, &double).unwrap().layout(1).unwrap();
        assert_eq!((column.loops.len(), &column.body), (1, &None));
        let matrix = Datatype::vector(count, 3, 100, &double).unwrap();
        let stack = Datatype::contiguous(7, &Datatype::resized(0, 4, &matrix).unwrap()).unwrap();
        assert_eq!(stack.layout(1).unwrap().loops.len(), 2);
        let records = pair.layout(count).unwrap();
        assert_eq!((records.loops.len(), records.runs()), (1, 2 * count));
        let even = Datatype::indexed((0..1000).map(|i| (2, 5 * i)), &double).unwrap();
        assert_eq!(
            even.layout(1).unwrap(),
            Datatype::vector(1000, 2, 5, &double).unwrap().layout(1).unwrap()
        );
    }
}

#[test]
fn an_index_list_is_shared_by_everything_made_of_it() {
    let places = (0..1000).map(|i| i * i);
    let list = Datatype::indexed_block(1, places, &int()).unwrap();
    let once = list.layout(1).unwrap();
    let often = Datatype::contiguous(50, &list).unwrap().layout(3).unwrap();
    let body = |layout: &Layout| std::sync::Arc::as_ptr(layout.body.as_ref().unwrap());
    assert_eq!(body(&once), body(&often));
    assert_eq!(often.runs(), 150 * once.runs());
}

/// MPI 5.0 §5.1.7: the examples of extents and bounds.
#[test]
fn bounds_are_those_of_the_standards_examples() {
    let double = Datatype::basic(BasicType::F64);
    let char = Datatype::basic(BasicType::Char);
    let record = Datatype::structure([
        Field { count: 1, offset: 0, ty: &double },
        Field { count: 1, offset: 8, ty: &char },
    ])
    .unwrap();
    assert_eq!((record.size(), record.lower_bound(), record.extent()), (9, 0, 16));
    assert_eq!((record.true_lower_bound(), record.true_extent()), (0, 9));
    let resized = Datatype::resized(-3, 9, &int()).unwrap();
    assert_eq!((resized.lower_bound(), resized.extent()), (-3, 9));
    let two = Datatype::contiguous(2, &resized).unwrap();
    assert_eq!((two.lower_bound(), two.extent(), two.size()), (-3, 18, 8));
    assert_eq!((two.true_lower_bound(), two.true_extent()), (0, 13));
    assert_eq!(record.basic_type(), None);
    assert_eq!(two.dup().basic_type(), Some(BasicType::I32));
}

#[test]
fn blocks_of_no_elements_are_no_content() {
    let (float, byte) = (Datatype::basic(BasicType::F32), Datatype::basic(BasicType::Byte));
    let empty = [
        Datatype::contiguous(0, &byte),
        Datatype::vector(3, 0, 5, &byte),
        Datatype::hindexed([(0, 8)], &byte),
        Datatype::structure([Field { count: 0, offset: 4, ty: &byte }]),
        Datatype::contiguous(3, &Datatype::contiguous(0, &byte).unwrap()),
    ];
    for ty in empty.iter().map(|made| made.as_ref().unwrap()).chain([&byte]) {
        let count = u64::from(ty.size() == 0);
        let fields = [Field { count: 1, offset: 0, ty: &float }, Field { count, offset: 4, ty }];
        assert_eq!(Datatype::structure(fields).unwrap().basic_type(), Some(BasicType::F32), "{ty:?}");
    }
    let both = [Field { count: 1, offset: 0, ty: &float }, Field { count: 1, offset: 4, ty: &byte }];
    assert_eq!(Datatype::structure(both).unwrap().basic_type(), None);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let huge = Datatype::contiguous(1 << 61, &Datatype::basic(BasicType::Byte)).unwrap();
    let class = |made: crate::Result<Datatype>| made.unwrap_err().class();
    assert_eq!(class(Datatype::contiguous(4, &huge)), ErrorClass::Count);
    assert_eq!(class(Datatype::contiguous(u64::MAX, &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::vector(2, 1, i64::MAX, &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::vector(3, 1, i64::MAX / 4, &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::hvector(3, 1, i64::MIN, &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::indexed([(1, i64::MAX)], &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::hindexed([(1, i64::MAX - 2)], &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::hindexed([(1, i64::MIN), (1, i64::MAX - 8)], &int())), ErrorClass::Count);
    assert_eq!(class(Datatype::resized(i64::MAX, 1, &int())), ErrorClass::Arg);
    assert_eq!(
        class(Datatype::contiguous(3, &Datatype::resized(0, i64::MAX, &int()).unwrap())),
        ErrorClass::Count
    );
    assert_eq!(huge.layout(4).unwrap_err().class(), ErrorClass::Count);
    let dim = SubarrayDim { size: 1 << 40, part: 1, start: 0 };
    assert_eq!(class(Datatype::subarray(&[dim, dim], ArrayOrder::C, &int())), ErrorClass::Count);
}

#[test]
fn parts_outside_their_array_are_errors() {
    let class = |made: crate::Result<Datatype>| made.unwrap_err().class();
    for (size, part, start) in [(4, 5, 0), (4, 2, 3), (0, 0, 0), (4, 0, 0), (4, 2, u64::MAX)] {
        let dims = [SubarrayDim { size, part, start }];
        assert_eq!(class(Datatype::subarray(&dims, ArrayOrder::C, &int())), ErrorClass::Arg);
    }
    assert_eq!(class(Datatype::subarray(&[], ArrayOrder::C, &int())), ErrorClass::Arg);
    let darray = |rank, size, distribution, processes| {
        Datatype::darray(rank, &[DarrayDim { size, distribution, processes }], ArrayOrder::C, &int())
    };
    assert_eq!(class(darray(3, 9, Distribution::Block(None), 3)), ErrorClass::Arg);
    assert_eq!(class(darray(0, 9, Distribution::Block(Some(2)), 3)), ErrorClass::Arg);
    assert_eq!(class(darray(0, 9, Distribution::Cyclic(Some(0)), 3)), ErrorClass::Arg);
    assert_eq!(class(darray(0, 9, Distribution::None, 3)), ErrorClass::Arg);
    assert_eq!(class(darray(0, 0, Distribution::Block(None), 3)), ErrorClass::Arg);
    assert_eq!(class(darray(0, 9, Distribution::Block(None), 0)), ErrorClass::Arg);
    assert_eq!(darray(0, 9, Distribution::None, 1).unwrap().size(), 36);
}
