//! How many basic elements some bytes of a datatype are (`MPI_Get_elements`, MPI 5.0 §5.1.11).
//!
//! The engine does not keep the order of basic types; how the type was made tells it. A pair type is two elements.

use super::marks::is_mark;
use super::object::{derived, get};
use super::predefined::basic_type;
use super::recipe::{Ingredient, Recipe};
use crate::abi::{MPI_COMBINER_STRUCT, MPI_Datatype};
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{BasicType, TypeClass};

/// Bytes of the index in a pair.
const INT: u64 = 4;

/// The basic elements in the first `bytes` bytes of data of this type; `None` when they end within one.
pub(crate) fn elements_in(datatype: MPI_Datatype, bytes: u64) -> Option<u64> {
    match derived(datatype) {
        None => ElementKind::of_handle(datatype)?.elements(bytes),
        Some(derived) => ElementKind::Made(&derived.recipe, derived.inner.size()).elements(bytes),
    }
}

/// The bytes of data that so many basic elements of this type are.
///
/// # Errors
/// `MPI_ERR_TYPE` when the handle is of no type; `MPI_ERR_COUNT` when there are no such elements, or 2⁶³ bytes of them.
pub(crate) fn bytes_of_elements(datatype: MPI_Datatype, elements: u64) -> Result<u64> {
    get("datatype", datatype)?;
    let bytes = match derived(datatype) {
        None => ElementKind::of_handle(datatype).and_then(|kind| kind.bytes(elements)),
        Some(derived) => ElementKind::Made(&derived.recipe, derived.inner.size()).bytes(elements),
    };
    bytes.filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or_else(|| {
        Error::new(
            ErrorClass::Count,
            "",
            format!("count is {elements}: the datatype cannot have so many elements"),
        )
    })
}

#[derive(Clone, Copy)]
enum ElementKind<'a> {
    Basic(BasicType),
    /// With the size.
    Made(&'a Recipe, u64),
    /// A mark of bounds.
    Nothing,
}

impl<'a> ElementKind<'a> {
    fn of(ingredient: &'a Ingredient) -> Option<Self> {
        match ingredient {
            Ingredient::Predefined(datatype) => Self::of_handle(*datatype),
            Ingredient::Derived { inner, recipe } => Some(Self::Made(recipe, inner.size())),
        }
    }

    /// Of a handle that the program did not make.
    fn of_handle(datatype: MPI_Datatype) -> Option<Self> {
        basic_type(datatype).map(Self::Basic).or_else(|| is_mark(datatype).then_some(Self::Nothing))
    }

    fn size(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Basic(basic) => basic.size() as u64,
            Self::Made(_, size) => size,
        }
    }

    fn elements(self, bytes: u64) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => {
                let (whole, rest) = (bytes / size, bytes % size);
                let in_one = if whole > 0 { self.leading(size)? } else { 0 };
                whole.checked_mul(in_one)?.checked_add(self.leading(rest)?)
            }
        }
    }

    /// The inverse of [`ElementKind::elements`].
    fn bytes(self, elements: u64) -> Option<u64> {
        match self.elements(self.size())? {
            0 => (elements == 0).then_some(0),
            in_one => {
                (elements / in_one).checked_mul(self.size())?.checked_add(self.first(elements % in_one)?)
            }
        }
    }

    /// The bytes of the first elements of one of these, which has more.
    fn first(self, elements: u64) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Basic(basic) => Some(parts(basic).iter().take(elements as usize).sum()),
            Self::Made(recipe, _) if recipe.combiner == MPI_COMBINER_STRUCT => {
                let (mut left, mut bytes) = (elements, 0u64);
                for (len, ingredient) in recipe.block_lens().into_iter().zip(&recipe.types) {
                    let kind = ElementKind::of(ingredient)?;
                    let here = left.min(len.checked_mul(kind.elements(kind.size())?)?);
                    bytes = bytes.checked_add(kind.bytes(here)?)?;
                    left -= here;
                }
                Some(bytes)
            }
            Self::Made(recipe, _) => ElementKind::of(recipe.types.first()?)?.bytes(elements),
        }
    }

    /// The elements in the first bytes of one of these, which has at least so many.
    fn leading(self, bytes: u64) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Basic(basic) => leading_parts(&parts(basic), bytes),
            Self::Made(recipe, _) if recipe.combiner == MPI_COMBINER_STRUCT => {
                let (mut left, mut elements) = (bytes, 0u64);
                for (len, ingredient) in recipe.block_lens().into_iter().zip(&recipe.types) {
                    let kind = ElementKind::of(ingredient)?;
                    let here = left.min(len.checked_mul(kind.size())?);
                    elements = elements.checked_add(kind.elements(here)?)?;
                    left -= here;
                }
                Some(elements)
            }
            Self::Made(recipe, _) => ElementKind::of(recipe.types.first()?)?.elements(bytes),
        }
    }
}

fn parts(basic: BasicType) -> Vec<u64> {
    let size = basic.size() as u64;
    match basic {
        BasicType::FloatFloat | BasicType::DoubleDouble => vec![size / 2; 2],
        _ if basic.class() == TypeClass::Pair => vec![size - INT, INT],
        _ => vec![size],
    }
}

fn leading_parts(parts: &[u64], mut bytes: u64) -> Option<u64> {
    let mut elements = 0;
    for part in parts {
        if bytes == 0 {
            break;
        }
        bytes = bytes.checked_sub(*part)?;
        elements += 1;
    }
    (bytes == 0).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::*;

    #[test]
    fn elements_are_counted_in_the_order_of_the_data() {
        assert_eq!([0, 4, 8, 10].map(|bytes| elements_in(MPI_INT, bytes)), [Some(0), Some(1), Some(2), None]);
        let pairs = [0, 8, 12, 20, 24, 4].map(|bytes| elements_in(MPI_DOUBLE_INT, bytes));
        assert_eq!(pairs, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);

        // Two shorts, then a pair, three times.
        let types = [MPI_SHORT, MPI_DOUBLE_INT];
        let recipe = Recipe::new(MPI_COMBINER_STRUCT, &types).sizes(&[2, 2, 1]);
        let one = ElementKind::Made(&recipe, 16);
        let counts = [16, 20, 18, 2, 28, 48, 7].map(|bytes| one.elements(bytes));
        assert_eq!(counts, [Some(4), Some(6), Some(5), Some(1), Some(7), Some(12), None]);
        assert_eq!([0, 1, 2, 3, 4, 5, 12].map(|n| one.bytes(n)), [0, 2, 4, 12, 16, 18, 48].map(Some));
        assert_eq!(one.bytes(u64::MAX / 2), None);
        let recipe =
            Recipe { types: smallvec::smallvec![Ingredient::Predefined(MPI_2INT)], ..Recipe::default() };
        assert_eq!(ElementKind::Made(&recipe, 24).elements(28), Some(7));
    }
}
