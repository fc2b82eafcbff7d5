//! Elements of other crates, each behind the feature of its name.

#[cfg(any(feature = "half", feature = "num-complex", feature = "bytemuck", feature = "zerocopy"))]
use crate::elements::Element;
#[cfg(feature = "num-complex")]
use crate::elements::Number;

#[cfg(feature = "half")]
mod halves {
    use super::Element;

    // SAFETY: it is a `u16` of which every value is a number.
    unsafe impl Element for half::f16 {}
    // SAFETY: as above.
    unsafe impl Element for half::bf16 {}
}

#[cfg(feature = "num-complex")]
mod complex {
    use super::{Element, Number};
    use num_complex::Complex;
    use rma_core::datatype::BasicType;

    // SAFETY: two numbers side by side, by `repr(C)`.
    unsafe impl Element for Complex<f32> {}
    // SAFETY: as above.
    unsafe impl Element for Complex<f64> {}

    impl Number for Complex<f32> {
        const BASIC: BasicType = BasicType::ComplexF32;
    }

    impl Number for Complex<f64> {
        const BASIC: BasicType = BasicType::ComplexF64;
    }
}

/// A type that `bytemuck` knows to be plain bytes, as an element.
#[cfg(feature = "bytemuck")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Pod<T>(pub T);

// SAFETY: the contract of `bytemuck::Pod` is that of `Element`.
#[cfg(feature = "bytemuck")]
unsafe impl<T: bytemuck::Pod + Send + Sync> Element for Pod<T> {}

/// A type that `zerocopy` knows to be plain bytes, as an element.
#[cfg(feature = "zerocopy")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

// SAFETY: `FromBytes` says that every bit pattern is a value, `IntoBytes` that there is no padding, `Immutable` that there is no
// interior mutability, and a value that is copied owns nothing.
#[cfg(feature = "zerocopy")]
unsafe impl<T> Element for Plain<T> where
    T: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + Copy + Send + Sync + 'static
{
}
