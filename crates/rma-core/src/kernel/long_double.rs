//! C `long double`: what it is on this processor, and arithmetic on it in software, correctly rounded.
//!
//! On 64-bit x86 it is the extended precision of the x87, whose ten bytes lie in 16; on other 64-bit processors of Linux that
//! this library supports it is IEEE 754 quadruple precision, 16 bytes as well. Where it is something else, or varies with the
//! compiler's options, the library does not compile: a type of another size would change what lies where.

use super::wide::{Packed, Real};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Quad, X87DoubleExtended};

/// What `long double` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    X87,
    Quad,
}

/// That of the processor that this library is made for.
pub(super) const FORMAT: Format = match format_of(std::env::consts::ARCH) {
    Some(format) => format,
    None => panic!(
        "the C long double of this processor is not supported: README.md, \"Limits\", names those that are"
    ),
};

/// The format as a number that other processes know: 1 x87, 2 quadruple precision.
pub(crate) const fn long_double_code() -> u8 {
    match FORMAT {
        Format::X87 => 1,
        Format::Quad => 2,
    }
}

/// What `long double` is on a processor, as Rust names it, under Linux.
const fn format_of(arch: &str) -> Option<Format> {
    match arch.as_bytes() {
        b"x86_64" => Some(Format::X87),
        b"aarch64" | b"loongarch64" | b"riscv64" => Some(Format::Quad),
        // 32-bit processors have other sizes, s390x another alignment, and POWER three formats to choose from.
        _ => None,
    }
}

/// A format of 16 bytes, of which the first `BYTES` count; the others are zero in a result.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct LongDouble<F, const BYTES: usize>(F);

/// A number of the x87.
pub(super) type Extended = LongDouble<X87DoubleExtended, 10>;
/// A number of IEEE quadruple precision.
pub(super) type Quadruple = LongDouble<Quad, 16>;

impl<F: Float, const BYTES: usize> Packed for LongDouble<F, BYTES> {
    const SIZE: usize = size_of::<u128>();

    fn read(bytes: &[u8]) -> Self {
        let mut own = [0; size_of::<u128>()];
        own[..BYTES].copy_from_slice(&bytes[..BYTES]);
        Self(F::from_bits(u128::from_le_bytes(own)))
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].copy_from_slice(&self.0.to_bits().to_le_bytes());
    }
}

impl<F: Float, const BYTES: usize> Real for LongDouble<F, BYTES> {
    fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).value)
    }

    fn minus(self, other: Self) -> Self {
        Self((self.0 - other.0).value)
    }

    fn times(self, other: Self) -> Self {
        Self((self.0 * other.0).value)
    }

    fn is_negative(self) -> bool {
        self.0.is_negative()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_its_format_or_none() {
        assert_eq!(format_of("x86_64"), Some(Format::X87));
        for arch in ["aarch64", "riscv64", "loongarch64"] {
            assert_eq!(format_of(arch), Some(Format::Quad), "{arch}");
        }
        for arch in ["x86", "arm", "powerpc64", "s390x", "riscv32", ""] {
            assert_eq!(format_of(arch), None, "{arch}");
        }
        assert_eq!(format_of(std::env::consts::ARCH), Some(FORMAT));
    }

    /// Two numbers, their sum and their product, as the C compiler computes `__float128`.
    #[rustfmt::skip]
    const COMPUTED: &[[u128; 4]] = &[
        [0x00000000000000000000000000000000, 0x00000000000000000000000000000000,
         0x00000000000000000000000000000000, 0x00000000000000000000000000000000],
        [0x00000000000000000000000000000000, 0x80000000000000000000000000000000,
         0x00000000000000000000000000000000, 0x80000000000000000000000000000000],
        [0x80000000000000000000000000000000, 0x80000000000000000000000000000000,
         0x80000000000000000000000000000000, 0x00000000000000000000000000000000],
        [0x3fff0000000000000000000000000000, 0x3fff0000000000000000000000000000,
         0x40000000000000000000000000000000, 0x3fff0000000000000000000000000000],
        [0x3fff0000000000000000000000000000, 0x3ffd5555555555555555555555555555,
         0x3fff5555555555555555555555555555, 0x3ffd5555555555555555555555555555],
        [0x3ffd5555555555555555555555555555, 0x3ffd5555555555555555555555555555,
         0x3ffe5555555555555555555555555555, 0x3ffbc71c71c71c71c71c71c71c71c71c],
        [0x3ffd5555555555555555555555555555, 0xbfff8000000000000000000000000000,
         0xbfff2aaaaaaaaaaaaaaaaaaaaaaaaaab, 0xbffe0000000000000000000000000000],
        [0xbfff8000000000000000000000000000, 0x3f7873add89f474d0765b309cb7348a4,
         0xbfff8000000000000000000000000000, 0xbf7916c262777579c58c46475896767b],
        [0x3f7873add89f474d0765b309cb7348a4, 0xc0610d43b7bc05df13d3855555555555,
         0xc0610d43b7bc05df13d3855555555555, 0xbfda86effde151a6d15309b078fd12b9],
        [0x7ffeffffffffffffffffffffffffffff, 0x7ffeffffffffffffffffffffffffffff,
         0x7fff0000000000000000000000000000, 0x7fff0000000000000000000000000000],
        [0x7ffeffffffffffffffffffffffffffff, 0xc0610d43b7bc05df13d3855555555555,
         0x7ffeffffffffffffffffffffffffffff, 0xffff0000000000000000000000000000],
        [0x00010000000000000000346c18d497d8, 0x3ffd5555555555555555555555555555,
         0x3ffd5555555555555555555555555555, 0x0000555555555555555566ceb2f187f3],
        [0x00010000000000000000346c18d497d8, 0x00010000000000000000346c18d497d8,
         0x00020000000000000000346c18d497d8, 0x00000000000000000000000000000000],
        [0x7fff0000000000000000000000000000, 0x3fff0000000000000000000000000000,
         0x7fff0000000000000000000000000000, 0x7fff0000000000000000000000000000],
        [0xc0610d43b7bc05df13d3855555555555, 0xc0610d43b7bc05df13d3855555555555,
         0xc0620d43b7bc05df13d3855555555555, 0x40c31b37620ad4a03cec750d2075a495],
        [0x00000000000000000000000000000001, 0x00000000000000000000000000000001,
         0x00000000000000000000000000000002, 0x00000000000000000000000000000000],
        [0x00000000000000000000000000000001, 0x3fff0000000000000000000000000000,
         0x3fff0000000000000000000000000000, 0x00000000000000000000000000000001],
        [0x7fff0000000000000000000000000000, 0x7fff0000000000000000000000000000,
         0x7fff0000000000000000000000000000, 0x7fff0000000000000000000000000000],
    ];

    #[test]
    fn quadruple_numbers_are_computed_as_c_does() {
        for [a, b, sum, product] in COMPUTED.iter().map(|row| row.map(u128::to_le_bytes)) {
            let compute = |function: fn(Quadruple, Quadruple) -> Quadruple| {
                let mut result = [0xa5; 16];
                function(Quadruple::read(&a), Quadruple::read(&b)).write(&mut result);
                result
            };
            assert_eq!(compute(Quadruple::plus), sum);
            assert_eq!(compute(Quadruple::times), product);
        }
    }
}
