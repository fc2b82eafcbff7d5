//! The steps of the table against the kernels that they stand for.

use super::ControlBlock;
use super::domain::{NodeDomain, TargetDomain};
use super::domain_tests::processes;
use super::steps::{RunStep, Width, WordStep, compare_and_swap};
use crate::datatype::BasicType;
use crate::host::Barriers;
use crate::ids::Rank;
use crate::kernel::{Kernel, ReduceOp, Sole};
use crate::mem::WriteSpan;
use crate::mem::testing::{bytes, memory};

fn pairs(ty: BasicType) -> Vec<(u64, u64)> {
    let values = match ty {
        BasicType::F32 => [1.5f32, -0.0, 0.0, f32::NAN, -3.25, 7.0].map(|value| u64::from(value.to_bits())),
        BasicType::F64 => [1.5f64, -0.0, 0.0, f64::NAN, -3.25, 7.0].map(f64::to_bits),
        _ => [0, 1, 2, 7, u64::MAX, 1 << 31 | 1 << 63],
    };
    values.into_iter().flat_map(|a| values.map(|b| (a, b))).collect()
}

/// What the step makes of a word and answers, with the word as its low bytes.
fn by_step(
    step: WordStep,
    node_domain: &NodeDomain,
    block: ControlBlock,
    (before, operand): (u64, u64),
) -> [u64; 2] {
    let target = memory(8);
    target.set_word(0, before);
    let target_domain = TargetDomain::new(block, Rank(0), target);
    let domain = node_domain.domain(&target_domain);
    let old = match step.0 {
        Width::Eight(step) => step(domain, target.element(0).unwrap(), operand),
        Width::Four(step) => step(domain, target.element(0).unwrap(), operand as u32).into(),
        Width::None => panic!("no step"),
    };
    [target.as_read().word(0), old]
}

/// The same by a kernel, which answers zero where it is not asked.
fn by_kernel(kernel: Kernel, fetches: bool, (before, operand): (u64, u64)) -> [u64; 2] {
    let (target, origin, old) = (memory(8), memory(8), memory(8));
    let size = kernel.ty().size();
    target.set_word(0, before);
    origin.set_word(0, operand);
    let (element, operand) = (target.part(0, size), origin.part(0, size).as_read());
    match fetches {
        true => kernel.fetch_accumulate(element, operand, old.part(0, size), &Sole),
        false => kernel.accumulate(element, operand, &Sole),
    }
    [target, old].map(|memory: WriteSpan| memory.as_read().word(0))
}

#[test]
fn each_step_does_to_a_word_what_its_kernel_does() {
    let (blocks, node_domain) = processes(1, |_| Barriers::Even);
    let mut steps = 0;
    for (op, ty) in ReduceOp::ALL.iter().flat_map(|op| BasicType::ALL.iter().map(|ty| (*op, *ty))) {
        for (fetches, step) in [(false, WordStep::accumulate(op, ty)), (true, WordStep::fetch(op, ty))] {
            let kernel = Kernel::new(op, ty).filter(|_| op != ReduceOp::NoOp && ty.word_size() >= 4);
            assert_eq!(matches!(step.0, Width::None), kernel.is_none(), "{op} on {ty}");
            let Some(kernel) = kernel else { continue };
            steps += 1;
            for pair in pairs(ty) {
                let (found, right) =
                    (by_step(*step, &node_domain[0], blocks[0], pair), by_kernel(kernel, fetches, pair));
                assert_eq!(found, right, "{op} on {ty}, {pair:x?}, fetches: {fetches}");
            }
        }
    }
    assert!(steps > 100, "only {steps}");
}

#[test]
fn each_step_does_to_a_run_what_its_kernel_does_and_suits_whole_aligned_words_alone() {
    let (blocks, node_domain) = processes(1, |_| Barriers::Even);
    let (all, origin, old) = (memory(512 + 16), memory(512), memory(512));
    let fill = |memory: WriteSpan, first: u8| {
        (0..memory.len()).for_each(|at| memory.set_word(at, first.wrapping_add((at as u8).wrapping_mul(3))));
    };
    fill(origin, 7);
    let mut steps = 0;
    for (op, ty) in ReduceOp::ALL.iter().flat_map(|op| BasicType::ALL.iter().map(|ty| (*op, *ty))) {
        let (step, word) = (RunStep::of(op, ty), ty.word_size());
        let kernel = Kernel::new(op, ty).filter(|_| op != ReduceOp::NoOp && word > 0);
        let suited = [(8, 64), (8, 0)].map(|(at, len)| step.suits(all.part(at, len)));
        assert_eq!(suited, [kernel.is_some(); 2], "{op} on {ty}");
        let Some(kernel) = kernel else { continue };
        let refused = [(9, 64), (8, 63)].map(|(at, len)| step.suits(all.part(at, len)));
        assert_eq!(refused, [word == 1; 2], "{op} on {ty}");
        steps += 1;
        for (len, fetches) in [8, 24, 64, 200, 512].into_iter().flat_map(|len| [(len, false), (len, true)]) {
            let (place, from, into) = (all.part(8, len), origin.part(0, len).as_read(), old.part(0, len));
            let target_domain = TargetDomain::new(blocks[0], Rank(0), all);
            let results = [true, false].map(|by_step| {
                fill(all, 1);
                fill(old, 9);
                match (by_step, fetches) {
                    (true, false) => step.change(node_domain[0].domain(&target_domain), place, from),
                    (true, true) => step.fetch(node_domain[0].domain(&target_domain), place, from, into),
                    (false, false) => kernel.accumulate(place, from, &Sole),
                    (false, true) => kernel.fetch_accumulate(place, from, into, &Sole),
                }
                (bytes(all), bytes(old))
            });
            assert!(results[0] == results[1], "{op} on {len} bytes of {ty}, fetches: {fetches}");
        }
    }
    assert!(steps > 100, "only {steps}");
}

#[test]
fn a_swap_stores_what_it_is_to_and_answers_what_was_there() {
    let (blocks, node_domain) = processes(1, |_| Barriers::Even);
    let target = memory(16);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let domain = node_domain[0].domain(&target_domain);
    let swap = |compare: u64, new: u64| compare_and_swap(domain, target.element(8).unwrap(), compare, new);
    assert_eq!([swap(1, 5), swap(0, 6), swap(0, 7), swap(6, 8)], [0, 0, 6, 6]);
    assert_eq!(compare_and_swap(domain, target.element(0).unwrap(), 0u32, 9), 0);
    assert_eq!(bytes(target), [9u64.to_ne_bytes(), 8u64.to_ne_bytes()].concat());
}

/// Steps announce themselves: plain code on the same words waits for none of theirs to be lost.
#[test]
fn steps_and_bulk_accumulates_of_several_processes_are_not_lost() {
    const WORDS: usize = 1024;
    const ROUNDS: usize = if cfg!(miri) { 1 } else { 60 };
    let (blocks, node_domain) = processes(4, |_| Barriers::Even);
    let target = memory(8 * WORDS);
    let target_domain = &TargetDomain::new(blocks[0], Rank(0), target);
    let (sum, ones) =
        (Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap(), &1u64.to_ne_bytes().repeat(WORDS));
    std::thread::scope(|scope| {
        for (thread, node_domain) in node_domain.iter().enumerate() {
            scope.spawn(move || {
                let domain = node_domain.domain(target_domain);
                for _ in 0..ROUNDS {
                    if thread == 0 {
                        sum.accumulate(target, &ones[..], &domain);
                        continue;
                    }
                    let step = if thread == 1 { WordStep::accumulate } else { WordStep::fetch };
                    let Width::Eight(step) = step(ReduceOp::Sum, BasicType::U64).0 else { panic!("no step") };
                    let elements = target.elements::<u64>().unwrap();
                    for element in elements.iter() {
                        match thread {
                            3 => add_by_swaps(|compare, new| compare_and_swap(domain, element, compare, new)),
                            _ => {
                                let _old = step(domain, element, 1);
                            }
                        }
                    }
                }
            });
        }
    });
    assert!(bytes(target) == (4 * ROUNDS as u64).to_ne_bytes().repeat(WORDS), "an update was lost");
}

fn add_by_swaps(swap: impl Fn(u64, u64) -> u64) {
    let mut guess = 0;
    loop {
        match swap(guess, guess + 1) {
            found if found == guess => return,
            found => guess = found,
        }
    }
}
