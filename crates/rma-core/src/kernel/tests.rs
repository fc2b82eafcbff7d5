//! Every operation on every type against a plain reference, aligned and not, alone and under threads.

use super::{Admission, CompareAndSwap, Exclusion, Kernel, ReduceOp, Sole};
use crate::datatype::{BasicType, TypeClass};
use crate::mem::WriteSpan;
use crate::mem::testing::{bytes, memory};
use std::sync::{Mutex, MutexGuard};

/// The reference: each type computed as itself, with nothing shared with the kernels but the operation's name.
fn expected(op: ReduceOp, ty: BasicType, target: &[u8], origin: &[u8]) -> Vec<u8> {
    macro_rules! integer {
        ($t:ty) => {{
            let a = <$t>::from_ne_bytes(target.try_into().unwrap());
            let b = <$t>::from_ne_bytes(origin.try_into().unwrap());
            let truth = |v: bool| if v { 1 } else { 0 };
            let value: $t = match op {
                ReduceOp::Sum => (i128::from(a) + i128::from(b)) as $t,
                ReduceOp::Prod => i128::from(a).wrapping_mul(i128::from(b)) as $t,
                ReduceOp::Min => {
                    if b < a {
                        b
                    } else {
                        a
                    }
                }
                ReduceOp::Max => {
                    if b > a {
                        b
                    } else {
                        a
                    }
                }
                ReduceOp::LogicalAnd => truth(a != 0 && b != 0),
                ReduceOp::LogicalOr => truth(a != 0 || b != 0),
                ReduceOp::LogicalXor => truth((a == 0) ^ (b == 0)),
                ReduceOp::BitAnd => a & b,
                ReduceOp::BitOr => a | b,
                ReduceOp::BitXor => a ^ b,
                ReduceOp::Replace => b,
                ReduceOp::NoOp => a,
                ReduceOp::MinLoc | ReduceOp::MaxLoc => unreachable!("{op} is defined on pairs"),
            };
            value.to_ne_bytes().to_vec()
        }};
    }
    macro_rules! float {
        ($t:ty) => {{
            let a = <$t>::from_ne_bytes(target.try_into().unwrap());
            let b = <$t>::from_ne_bytes(origin.try_into().unwrap());
            let value: $t = match op {
                ReduceOp::Sum => a + b,
                ReduceOp::Prod => a * b,
                ReduceOp::Min if a == 0.0 && b == 0.0 => {
                    if a.is_sign_negative() {
                        a
                    } else {
                        b
                    }
                }
                ReduceOp::Max if a == 0.0 && b == 0.0 => {
                    if a.is_sign_positive() {
                        a
                    } else {
                        b
                    }
                }
                ReduceOp::Min => a.min(b),
                ReduceOp::Max => a.max(b),
                ReduceOp::Replace => b,
                ReduceOp::NoOp => a,
                _ => unreachable!("{op} is not defined on floating point"),
            };
            value.to_ne_bytes().to_vec()
        }};
    }
    match ty {
        BasicType::Byte | BasicType::U8 | BasicType::Char | BasicType::Logical8 => integer!(u8),
        BasicType::I8 => integer!(i8),
        BasicType::I16 => integer!(i16),
        BasicType::U16 | BasicType::Logical16 => integer!(u16),
        BasicType::I32 => integer!(i32),
        BasicType::U32 | BasicType::WChar | BasicType::Logical32 => integer!(u32),
        BasicType::I64 => integer!(i64),
        BasicType::U64 | BasicType::Logical64 => integer!(u64),
        BasicType::F32 => float!(f32),
        BasicType::F64 => float!(f64),
        wide => unreachable!("{wide} is no word"),
    }
}

/// Values at the edges of every type that has this size, as bytes.
fn edges(ty: BasicType) -> Vec<Vec<u8>> {
    match ty {
        BasicType::F32 => {
            let values = [
                0.0,
                -0.0,
                1.5,
                -2.25,
                f32::MAX,
                f32::MIN_POSITIVE,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
            ];
            values.iter().map(|v| v.to_ne_bytes().to_vec()).collect()
        }
        BasicType::F64 => {
            let values = [
                0.0,
                -0.0,
                1.5,
                -2.25,
                f64::MAX,
                f64::MIN_POSITIVE,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ];
            values.iter().map(|v| v.to_ne_bytes().to_vec()).collect()
        }
        _ => {
            let top = 1u64 << (8 * ty.size() - 1);
            let values = [0, 1, 2, 3, 0x5a, top - 1, top, top + 1, u64::MAX - 1, u64::MAX];
            values.iter().map(|v| v.to_le_bytes()[..ty.size()].to_vec()).collect()
        }
    }
}

fn is_nan(ty: BasicType, bytes: &[u8]) -> bool {
    match ty {
        BasicType::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        BasicType::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    }
}

/// Equal bytes; two NaN of a sum or product count as equal, since their payload is the processor's choice.
fn same(ty: BasicType, a: &[u8], b: &[u8]) -> bool {
    a == b || is_nan(ty, a) && is_nan(ty, b)
}

/// All legal kernels.
fn kernels() -> impl Iterator<Item = Kernel> {
    let pairs = ReduceOp::ALL.iter().flat_map(|op| BasicType::ALL.iter().map(move |ty| (*op, *ty)));
    pairs.filter_map(|(op, ty)| Kernel::new(op, ty))
}

/// All kernels on words.
fn word_kernels() -> impl Iterator<Item = Kernel> {
    kernels().filter(|kernel| kernel.ty().is_word())
}

#[test]
fn illegal_pairs_have_no_kernel() {
    let count = |class| BasicType::ALL.iter().filter(|ty| ty.class() == class).count();
    let (floats, complex) = (count(TypeClass::Float), count(TypeClass::Complex));
    assert_eq!((floats, complex, count(TypeClass::Pair)), (3, 3, 8));
    let any = 2 * BasicType::ALL.len();
    assert_eq!(kernels().count(), any + 10 * 8 + 4 * floats + 2 * complex + 3 * 4 + 3 + 2 * 8);
    assert_eq!(Kernel::new(ReduceOp::BitAnd, BasicType::F64), None);
    assert_eq!(Kernel::new(ReduceOp::Sum, BasicType::Byte), None);
    assert_eq!(Kernel::new(ReduceOp::Max, BasicType::ComplexF64), None);
    assert_eq!(Kernel::new(ReduceOp::MaxLoc, BasicType::F64), None);
    let comparable = BasicType::ALL.iter().filter(|ty| CompareAndSwap::new(**ty).is_some());
    assert_eq!(comparable.count(), 8 + 4 + 1);
}

#[test]
fn every_kernel_equals_the_reference_at_every_alignment() {
    for kernel in word_kernels() {
        let (size, values) = (kernel.ty().size(), edges(kernel.ty()));
        let pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(move |b| (a, b))).collect();
        let targets: Vec<u8> = pairs.iter().flat_map(|(a, _)| a.iter().copied()).collect();
        let origins: Vec<u8> = pairs.iter().flat_map(|(_, b)| b.iter().copied()).collect();
        for shift in 0..size {
            let name = format!("{} on {} shifted by {shift}", kernel.op(), kernel.ty());
            let all = memory(targets.len() + 2 * 8);
            all.part(0, 8).write(&[0xa5; 8]);
            let target = all.part(8 + shift, targets.len());
            let origin = memory(origins.len() + 8).part(8 - shift, origins.len());
            origin.write(&origins);

            target.write(&targets);
            let mut old = vec![0; targets.len()];
            kernel.fetch_accumulate(target, &origins[..], &mut old[..], &Sole);
            assert_eq!(old, targets, "{name}: values before");
            let fetched = bytes(target);
            for (i, (a, b)) in pairs.iter().enumerate() {
                let (found, right) = (&fetched[i * size..][..size], expected(kernel.op(), kernel.ty(), a, b));
                assert!(
                    same(kernel.ty(), found, &right),
                    "{name}: {a:?}, {b:?} gave {found:?}, not {right:?}"
                );
            }

            target.write(&targets);
            kernel.accumulate(target, origin.as_read(), &Sole);
            assert_eq!(bytes(target), fetched, "{name}: without fetching, from a span");

            let mut private = targets.clone();
            kernel.combine(&mut private, &origins);
            for (combined, right) in private.chunks(size).zip(fetched.chunks(size)) {
                assert!(same(kernel.ty(), combined, right), "{name}: in private memory");
            }

            target.write(&targets);
            let old = memory(targets.len() + 8).part(shift, targets.len());
            kernel.fetch_accumulate(target, origin.as_read(), old, &Sole);
            assert_eq!((bytes(target), bytes(old)), (fetched, targets.clone()), "{name}: between spans");
            assert_eq!(bytes(all.part(0, 8)), [0xa5; 8], "{name}: bytes before");
            assert!(
                bytes(all.part(8 + shift + targets.len(), 8 - shift)).iter().all(|b| *b == 0),
                "{name}: after"
            );
        }
    }
}

#[test]
fn runs_of_every_short_length_and_single_words_equal_the_words_of_a_long_run() {
    const MOST: usize = 40;
    for kernel in word_kernels() {
        let (size, values) = (kernel.ty().size(), edges(kernel.ty()));
        let word = |i: usize| &values[i % values.len()][..];
        let targets: Vec<u8> = (0..MOST).flat_map(word).copied().collect();
        let origins: Vec<u8> = (0..MOST).flat_map(|i| word(i / 3 + 1)).copied().collect();
        let (target, origin, old) = (memory(8 * MOST), memory(8 * MOST), memory(8 * MOST));
        target.write(&targets);
        origin.write(&origins);
        kernel.accumulate(target.part(0, size * MOST), origin.as_read(), &Sole);
        let right = bytes(target.part(0, size * MOST));
        for len in 0..=MOST {
            let (bytes_len, name) = (size * len, format!("{} on {len} of {}", kernel.op(), kernel.ty()));
            target.write(&targets);
            kernel.fetch_accumulate(
                target.part(0, bytes_len),
                origin.as_read(),
                old.part(0, bytes_len),
                &Sole,
            );
            let found = bytes(target.part(0, size * MOST));
            assert_eq!(bytes(old.part(0, bytes_len)), targets[..bytes_len], "{name}");
            assert_eq!(found[bytes_len..], targets[bytes_len..], "{name}: behind the run");
            for at in (0..bytes_len).step_by(size) {
                assert!(same(kernel.ty(), &found[at..at + size], &right[at..at + size]), "{name}");
            }
        }
    }
}

#[test]
fn float_extremes_do_not_depend_on_the_order_of_arrival() {
    for (op, right) in [(ReduceOp::Min, f64::NEG_INFINITY), (ReduceOp::Max, f64::INFINITY)] {
        let kernel = Kernel::new(op, BasicType::F64).unwrap();
        let values = [f64::NAN, 1.0, right, -0.0, 0.0];
        for start in 0..values.len() {
            let target = memory(8);
            target.write(&f64::NAN.to_ne_bytes());
            for i in 0..values.len() {
                kernel.accumulate(target, &values[(start + i) % values.len()].to_ne_bytes()[..], &Sole);
            }
            assert_eq!(bytes(target), right.to_ne_bytes(), "{op} from {start}");
        }
    }
}

#[test]
fn no_op_reads_no_operand_and_zero_elements_are_ordinary() {
    for ty in BasicType::ALL {
        let kernel = Kernel::new(ReduceOp::NoOp, *ty).unwrap();
        let target = memory(ty.size());
        target.write(&vec![7; ty.size()]);
        let mut result = vec![0; ty.size()];
        kernel.fetch_accumulate(target, &[][..], &mut result[..], &Sole);
        assert_eq!(result, vec![7; ty.size()]);
    }
    for kernel in kernels() {
        kernel.fetch_accumulate(WriteSpan::EMPTY, &[][..], &mut [][..], &Sole);
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused_before_memory_is_touched() {
    let kernel = Kernel::new(ReduceOp::Sum, BasicType::U32).unwrap();
    let target = memory(16);
    let refused = |len: usize, origin: usize, result: usize| {
        let (origin, mut result) = (vec![1; origin], vec![0; result]);
        let call = || kernel.fetch_accumulate(target.part(0, len), &origin[..], &mut result[..], &Sole);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
    };
    assert!(refused(6, 8, 8) && refused(8, 7, 8) && refused(8, 8, 7));
    assert_eq!(bytes(target), [0; 16]);
    assert!(!refused(8, 9, 9));
}

#[test]
fn compare_and_swap_compares_bits_at_every_alignment() {
    for swap in BasicType::ALL.iter().filter_map(|ty| CompareAndSwap::new(*ty)) {
        let size = swap.ty().size();
        let (old, other, new) = (vec![0x81; size], vec![0x82; size], vec![0x7f; size]);
        for shift in 0..size {
            let target = memory(16).part(shift, size);
            target.write(&old);
            let mut result = vec![0; size];
            swap.apply(target, &other[..], &new[..], &mut result[..], &Sole);
            assert_eq!((&result, bytes(target)), (&old, old.clone()), "{} at {shift}", swap.ty());
            swap.apply(target, &old[..], &new[..], &mut result[..], &Sole);
            assert_eq!((&result, bytes(target)), (&old, new.clone()), "{} at {shift}", swap.ty());
        }
    }
}

/// The exclusion of tests.
struct Locked(Mutex<()>);

impl Exclusion for Locked {
    type Guard<'a> = MutexGuard<'a, ()>;
    type Entry<'a> = ();

    fn exclude(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap()
    }

    fn enter(&self, _: WriteSpan) {}

    fn enter_run(&self, _: WriteSpan, bytes: usize) -> Admission<()> {
        Admission { entry: (), reach: bytes, is_plain: false }
    }
}

#[test]
fn concurrent_updates_are_not_lost_at_any_alignment() {
    const THREADS: u64 = 4;
    const STEPS: u64 = 5_000;
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    let float = Kernel::new(ReduceOp::Sum, BasicType::F64).unwrap();
    let max = Kernel::new(ReduceOp::Max, BasicType::I64).unwrap();
    let replace = Kernel::new(ReduceOp::Replace, BasicType::U64).unwrap();
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    for shift in [0, 3] {
        let exclusion = Locked(Mutex::new(()));
        let words = memory(8 * 8);
        let word = |i: usize| words.part(8 * i + shift, 8);
        let value = |i: usize| u64::from_ne_bytes(bytes(word(i)).try_into().unwrap());
        let handed_on = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (exclusion, handed_on) = (&exclusion, &handed_on);
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    for step in 0..STEPS {
                        let mut old = [0; 8];
                        sum.fetch_accumulate(word(0), &1u64.to_ne_bytes()[..], &mut old[..], exclusion);
                        seen.push(u64::from_ne_bytes(old));
                        float.accumulate(word(1), &0.5f64.to_ne_bytes()[..], exclusion);
                        let mine = step * THREADS + thread + 1;
                        max.accumulate(word(2), &mine.to_ne_bytes()[..], exclusion);
                        replace.fetch_accumulate(word(3), &mine.to_ne_bytes()[..], &mut old[..], exclusion);
                        seen.push(u64::from_ne_bytes(old) << 32);
                        loop {
                            let guess = value(4);
                            let new = (guess + 1).to_ne_bytes();
                            swap.apply(word(4), &guess.to_ne_bytes()[..], &new[..], &mut old[..], exclusion);
                            if u64::from_ne_bytes(old) == guess {
                                break;
                            }
                        }
                    }
                    handed_on.lock().unwrap().extend(seen);
                });
            }
        });
        assert_eq!(value(0), THREADS * STEPS, "shift {shift}");
        assert_eq!(f64::from_bits(value(1)), 0.5 * (THREADS * STEPS) as f64);
        assert_eq!(value(2), THREADS * STEPS);
        assert_eq!(value(4), THREADS * STEPS);
        let handed_on = handed_on.into_inner().unwrap();
        let (mut counts, mut replaced): (Vec<u64>, Vec<u64>) = handed_on.iter().partition(|v| **v < 1 << 32);
        // Each replaced value was handed to exactly one thread; the last one is still there. The very first is 0, which
        // the partition put among the counts.
        assert_eq!(counts.iter().filter(|v| **v == 0).count(), 2);
        counts.sort_unstable();
        counts.remove(0);
        assert_eq!(counts, (0..THREADS * STEPS).collect::<Vec<_>>(), "no count twice");
        replaced.push(value(3) << 32);
        replaced.sort_unstable();
        assert_eq!(replaced, (1..=THREADS * STEPS).map(|v| v << 32).collect::<Vec<_>>(), "no value lost");
    }
}
