//! Combining runs of words in place on x86-64, by AVX2: defined also when others write the bytes meanwhile.
//!
//! As with copies, instructions of an `asm!` block access memory as the processor does, whoever else does: what is read is some
//! value that was stored there. Each word of the target is loaded once to be combined, and once more if the old value is kept,
//! and stored once, wherever it lies; a word that is naturally aligned is not torn, because the steps begin at one.

use super::copy::copy_bytes;
use super::span::Fold;
use std::arch::asm;

/// Bytes that an instruction combines. The loop takes four of these at a turn, and what is left behind it one by one.
const STEP: usize = 32;

/// Bytes of which old values are kept at a time: they are copied to where they belong and combined then, while they lie in the
/// first-level cache. One loop that loads a word, stores it there and stores the new one takes half as long again, because
/// it writes to two places in turns.
const PIECE: usize = 4 << 10;
const _: () = assert!(PIECE.is_multiple_of(STEP));

/// One loop for one instruction.
type Combine = unsafe fn(*mut u8, *const u8, usize);

/// Combines the words of `to` with those of `from`, as far as the processor does many at once, and stores in `before`, unless
/// it is null, what they were; answers for how many bytes it has.
///
/// # Safety
/// `from` must be readable, `to` and `before`, if not null, writable for `len` bytes. Others may access all of them at the same
/// time.
pub(super) unsafe fn combine_bytes(
    fold: Fold,
    to: *mut u8,
    from: *const u8,
    before: *mut u8,
    len: usize,
) -> usize {
    let whole = len - len % STEP;
    if whole == 0 || !is_x86_feature_detected!("avx2") {
        return 0;
    }
    let combine = loop_of(fold);
    if before.is_null() {
        // SAFETY: the processor has AVX2; `whole` is steps, of which there is one at least, and not more than the caller promises.
        unsafe { combine(to, from, whole) }
        return whole;
    }
    let mut at = 0;
    while at < whole {
        let len = PIECE.min(whole - at);
        // SAFETY: as above, for `len` bytes from `at` on, which are steps because a piece is.
        unsafe {
            let to = to.add(at);
            copy_bytes(before.add(at), to, len);
            combine(to, from.add(at), len);
        }
        at += len;
    }
    whole
}

fn loop_of(fold: Fold) -> Combine {
    match fold {
        Fold::Add8 => add_8::combine,
        Fold::Add16 => add_16::combine,
        Fold::Add32 => add_32::combine,
        Fold::Add64 => add_64::combine,
        Fold::AddF32 => add_f32::combine,
        Fold::AddF64 => add_f64::combine,
        Fold::MultiplyF32 => multiply_f32::combine,
        Fold::MultiplyF64 => multiply_f64::combine,
        Fold::And => and::combine,
        Fold::Or => or::combine,
        Fold::Xor => xor::combine,
    }
}

macro_rules! loops {
    ($($name:ident: $instruction:literal;)*) => {$(
        mod $name {
            use super::asm;

            /// # Safety
            /// The processor has AVX2; `to` is writable and `from` readable for `len` bytes, a multiple of the step and not 0.
            pub(super) unsafe fn combine(to: *mut u8, from: *const u8, len: usize) {
                // SAFETY: the caller's promise; a turn of the first loop takes 128 of the bytes that are left, less 128, and is made
                // where these are not negative; one of the second takes a step of as many as are left.
                unsafe {
                    asm!(
                        "sub {left}, 128",
                        "jb 3f",
                        ".p2align 5",
                        "2:",
                        "vmovdqu ymm0, [{to}]",
                        "vmovdqu ymm1, [{to} + 32]",
                        "vmovdqu ymm2, [{to} + 64]",
                        "vmovdqu ymm3, [{to} + 96]",
                        concat!($instruction, " ymm0, ymm0, [{from}]"),
                        concat!($instruction, " ymm1, ymm1, [{from} + 32]"),
                        concat!($instruction, " ymm2, ymm2, [{from} + 64]"),
                        concat!($instruction, " ymm3, ymm3, [{from} + 96]"),
                        "vmovdqu [{to}], ymm0",
                        "vmovdqu [{to} + 32], ymm1",
                        "vmovdqu [{to} + 64], ymm2",
                        "vmovdqu [{to} + 96], ymm3",
                        "sub {to}, -128",
                        "sub {from}, -128",
                        "sub {left}, 128",
                        "jae 2b",
                        "3:",
                        "add {left}, 128",
                        "jz 5f",
                        "4:",
                        "vmovdqu ymm0, [{to}]",
                        concat!($instruction, " ymm0, ymm0, [{from}]"),
                        "vmovdqu [{to}], ymm0",
                        "add {to}, 32",
                        "add {from}, 32",
                        "sub {left}, 32",
                        "jnz 4b",
                        "5:",
                        "vzeroupper",
                        to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) len => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                        out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                        out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
                        out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        options(nostack),
                    );
                }
            }
        }
    )*};
}

loops! {
    add_8: "vpaddb";
    add_16: "vpaddw";
    add_32: "vpaddd";
    add_64: "vpaddq";
    add_f32: "vaddps";
    add_f64: "vaddpd";
    multiply_f32: "vmulps";
    multiply_f64: "vmulpd";
    and: "vpand";
    or: "vpor";
    xor: "vpxor";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a fold of words at lengths that are no whole number of steps, between bytes that must stay.
    fn check<const N: usize>(fold: Fold, apply: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
        let lens = [0, 24, 32, 40, 96, 128, 136, 160, 248, 256, PIECE + 8, PIECE + 3 * 128 + 2 * STEP + 8];
        for (len, keeps) in lens.into_iter().flat_map(|len| [(len, false), (len, true)]) {
            let byte = |at: usize, by: usize| ((at * by + 3) % 251) as u8;
            let start: Vec<u8> = (0..len + 16).map(|at| byte(at, 7)).collect();
            let operand: Vec<u8> = (0..len).map(|at| byte(at, 13)).collect();
            let (mut target, mut kept) = (start.clone(), vec![0; len]);
            let before = if keeps { kept.as_mut_ptr() } else { std::ptr::null_mut() };
            // SAFETY: all have `len` bytes from there on.
            let done =
                unsafe { combine_bytes(fold, target[8..].as_mut_ptr(), operand.as_ptr(), before, len) };
            assert_eq!(done, if is_x86_feature_detected!("avx2") { len - len % STEP } else { 0 });
            let mut expected = start.clone();
            for at in (0..done).step_by(N) {
                let word = |bytes: &[u8]| <[u8; N]>::try_from(&bytes[..N]).unwrap();
                let new = apply(word(&start[8 + at..]), word(&operand[at..]));
                expected[8 + at..][..N].copy_from_slice(&new);
            }
            assert!(target == expected, "{fold:?}, {len} bytes");
            assert!(!keeps || kept[..done] == start[8..8 + done], "{fold:?}, {len} bytes");
        }
    }

    #[test]
    fn every_loop_computes_what_its_name_says() {
        check::<1>(Fold::Add8, |[a], [b]| [a.wrapping_add(b)]);
        check(Fold::Add16, |a, b| u16::from_ne_bytes(a).wrapping_add(u16::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::Add32, |a, b| u32::from_ne_bytes(a).wrapping_add(u32::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::Add64, |a, b| u64::from_ne_bytes(a).wrapping_add(u64::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::AddF32, |a, b| (f32::from_ne_bytes(a) + f32::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::AddF64, |a, b| (f64::from_ne_bytes(a) + f64::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::MultiplyF32, |a, b| (f32::from_ne_bytes(a) * f32::from_ne_bytes(b)).to_ne_bytes());
        check(Fold::MultiplyF64, |a, b| (f64::from_ne_bytes(a) * f64::from_ne_bytes(b)).to_ne_bytes());
        check::<1>(Fold::And, |[a], [b]| [a & b]);
        check::<1>(Fold::Or, |[a], [b]| [a | b]);
        check::<1>(Fold::Xor, |[a], [b]| [a ^ b]);
    }
}
