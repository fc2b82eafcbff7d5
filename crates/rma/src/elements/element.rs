//! Element types of windows and messages.

use rma_core::datatype::BasicType;
use rma_core::{Error, ErrorClass, Result};

/// A type that a window can hold: numbers, arrays of elements, and structs of elements by `#[derive(Element)]` (feature `derive`).
///
/// ```
/// use rma::Element;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Particle {
///     place: [f64; 3],
///     charge: f32,
///     id: u32,
/// }
///
/// rma::World::run_threads(4, |world| {
///     let mut window = world.allocate::<Particle>(1)?;
///     let id = world.rank();
///     let particle = Particle { place: [0.5; 3], charge: 1.0, id };
///     window.fence_epoch(|epoch| epoch.put_value(particle, (id + 1) % 4, 0))?;
///     assert_eq!(window.local().get(0), Particle { id: (id + 3) % 4, ..particle });
///     window.free()
/// })
/// .unwrap();
/// ```
///
/// # Safety
/// Every bit pattern is a valid value, there is no padding, and the type has no interior mutability and owns nothing:
/// other processes write such values byte by byte.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a window",
    label = "not an `Element`",
    note = "windows hold numbers, arrays of elements, and structs with `#[derive(Element)]` (feature `derive`) and `#[repr(C)]`; another plain type \
            can be one by `unsafe impl Element`, if every bit pattern is a valid value of it"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The value whose bytes are all zero.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is a valid value, by the trait's contract.
        unsafe { std::mem::zeroed() }
    }
}

/// A type that accumulates compute on: one of the basic types, or a type of yours that is laid out like one.
///
/// A [`Number::BASIC`] of another size than the type's is answered by `MPI_ERR_COUNT`, or computes on other numbers than
/// were meant; it reaches no memory outside the operation's.
#[diagnostic::on_unimplemented(
    message = "accumulates do not compute on elements of type `{Self}`",
    note = "they compute on integers and floating point numbers; arrays and structs can only be put and got"
)]
pub trait Number: Element {
    /// How the engine calls it.
    const BASIC: BasicType;
}

/// A number that compare-and-swap is defined for (MPI 3.1 §11.3.5).
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be compared and swapped",
    note = "compare-and-swap is defined on integers: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`"
)]
pub trait Integer: Number {}

macro_rules! elements {
    ($($type:ty => $basic:ident $(, $integer:ident)?;)*) => {$(
        // SAFETY: primitive numbers have no padding and no invalid bit pattern.
        unsafe impl Element for $type {}
        impl Number for $type {
            const BASIC: BasicType = BasicType::$basic;
        }
        $(impl $integer for $type {})?
    )*};
}

elements! {
    i8 => I8, Integer;
    u8 => U8, Integer;
    i16 => I16, Integer;
    u16 => U16, Integer;
    i32 => I32, Integer;
    u32 => U32, Integer;
    i64 => I64, Integer;
    u64 => U64, Integer;
    f32 => F32;
    f64 => F64;
}

#[cfg(target_pointer_width = "64")]
elements! {
    isize => I64, Integer;
    usize => U64, Integer;
}

// SAFETY: an array has no padding between its elements, and every bit pattern of it is one of them.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}

/// That a type is as long as the basic type that it is laid out like: counts are of basic types.
pub(crate) fn has_size<T: Number>(call: &'static str) -> Result<()> {
    if size_of::<T>() == T::BASIC.extent() {
        return Ok(());
    }
    let cause = format!("an element of {} bytes is said to be laid out as {}", size_of::<T>(), T::BASIC);
    Err(Error::new(ErrorClass::Count, call, cause))
}
