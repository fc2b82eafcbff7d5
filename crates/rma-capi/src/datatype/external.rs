//! The representation of data that all machines share, `external32` (MPI 5.0 §14.5.2): big-endian, with sizes of its own.
//!
//! Data are packed as by `MPI_Pack` first, and then go element by element from this machine's form to the other one. The order of the
//! elements is that in which the type was made; the numbers of a pair or of a complex value are elements of their own.

use super::object::derived;
use super::predefined::basic_type;
use super::recipe::{Ingredient, Recipe};
use crate::abi::*;
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{BasicType, TypeClass};

/// A number, as bytes here and there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// As many bytes on both sides, in the other order.
    Same(usize),
    /// An integer that has fewer bytes there.
    Narrow { here: usize, there: usize, is_signed: bool },
    /// Ten bytes of the processor in sixteen, and IEEE's number of sixteen.
    Long,
}

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Here,
}

/// A type as its order of elements has it.
enum Shape<'a> {
    Basic(MPI_Datatype),
    Made(&'a Recipe, u64),
}

impl Part {
    fn len(self, way: Way) -> usize {
        match (self, way) {
            (Self::Same(len), _) => len,
            (Self::Narrow { there, .. }, Way::There) => there,
            (Self::Narrow { here, .. }, Way::Here) => here,
            (Self::Long, _) => 16,
        }
    }

    fn other(way: Way) -> Way {
        if way == Way::There { Way::Here } else { Way::There }
    }

    /// Appends the number in its other form.
    fn convert(self, from: &[u8], way: Way, into: &mut Vec<u8>) -> Result<()> {
        match (self, way) {
            (Self::Same(_), _) => into.extend(from.iter().rev()),
            (Self::Narrow { there, is_signed, .. }, Way::There) => {
                let (kept, cut) = from.split_at(there);
                let sign = if is_signed && kept[there - 1] & 0x80 != 0 { 0xff } else { 0 };
                if cut.iter().any(|byte| *byte != sign) {
                    let cause =
                        format!("a number does not fit into the {there} bytes that external32 has for it");
                    return Err(Error::new(ErrorClass::Conversion, "", cause));
                }
                into.extend(kept.iter().rev());
            }
            (Self::Narrow { here, is_signed, .. }, Way::Here) => {
                let sign = if is_signed && from[0] & 0x80 != 0 { 0xff } else { 0 };
                into.extend(from.iter().rev());
                into.extend(std::iter::repeat_n(sign, here - from.len()));
            }
            (Self::Long, Way::There) => into.extend(widened(from).to_be_bytes()),
            (Self::Long, Way::Here) => {
                let (mantissa, head) = narrowed(u128::from_be_bytes(from.try_into().unwrap_or_default()));
                into.extend(mantissa.to_le_bytes());
                into.extend(head.to_le_bytes());
                into.extend([0; 6]);
            }
        }
        Ok(())
    }
}

/// The bits of a fraction of IEEE's number of sixteen bytes, and those of them that the processor does not have.
const FRACTION: u32 = 112;
const MORE: u32 = FRACTION - 63;

/// The processor's number with a one in front of its fraction that is written out, as IEEE's, where it is not.
fn widened(bytes: &[u8]) -> u128 {
    let bits = bytes.iter().take(10).rev().fold(0, |bits: u128, byte| bits << 8 | u128::from(*byte));
    let (mantissa, head) = (bits as u64, (bits >> 64) as u16);
    let is_normal = mantissa >> 63 == 1;
    // The smallest exponent is written as 0 or as 1 there, by that one.
    let exponent = if head & 0x7fff == 0 && is_normal { 1 } else { head & 0x7fff };
    u128::from(head >> 15) << 127
        | u128::from(exponent) << FRACTION
        | u128::from(mantissa & (u64::MAX >> 1)) << MORE
}

/// The inverse, rounded to the nearest, and to even between two.
fn narrowed(bits: u128) -> (u64, u16) {
    let (sign, exponent) = ((bits >> 127) as u16, (bits >> FRACTION) as u16 & 0x7fff);
    let fraction = bits & ((1 << FRACTION) - 1);
    let (kept, cut) = ((fraction >> MORE) as u64, fraction & ((1 << MORE) - 1));
    let half = 1 << (MORE - 1);
    if exponent == 0x7fff {
        // What is no number stays none.
        let quiet = if fraction != 0 && kept == 0 { 1 << 62 } else { 0 };
        return (1 << 63 | kept | quiet, sign << 15 | exponent);
    }
    let is_up = cut > half || (cut == half && kept & 1 == 1);
    // The exponent above the fraction: a carry grows it.
    let rounded = (u128::from(exponent) << 63 | u128::from(kept)) + u128::from(is_up);
    let exponent = (rounded >> 63) as u16;
    let one = if exponent == 0 { 0 } else { 1 << 63 };
    let fraction = if exponent == 0x7fff { 0 } else { rounded as u64 & (u64::MAX >> 1) };
    (one | fraction, sign << 15 | exponent)
}

/// The numbers of an element of a predefined type.
fn parts(datatype: MPI_Datatype) -> Vec<Part> {
    let long = |is_signed| Part::Narrow { here: 8, there: 4, is_signed };
    let Some(basic) = basic_type(datatype) else { return Vec::new() };
    let same = |len: usize| Part::Same(len);
    let extended = if cfg!(target_arch = "x86_64") { Part::Long } else { same(16) };
    match datatype {
        MPI_LONG => return vec![long(true)],
        MPI_UNSIGNED_LONG => return vec![long(false)],
        MPI_LONG_INT => return vec![long(true), same(4)],
        MPI_WCHAR => return vec![Part::Narrow { here: basic.size(), there: 2, is_signed: false }],
        _ => {}
    }
    match basic {
        BasicType::F80 => vec![extended],
        BasicType::ComplexF80 => vec![extended; 2],
        BasicType::LongDoubleInt => vec![extended, same(4)],
        BasicType::ComplexF32 | BasicType::ComplexF64 | BasicType::FloatFloat | BasicType::DoubleDouble => {
            vec![same(basic.size() / 2); 2]
        }
        _ if basic.class() == TypeClass::Pair => vec![same(basic.size() - 4), same(4)],
        _ => vec![same(basic.size())],
    }
}

impl<'a> Shape<'a> {
    fn of(datatype: MPI_Datatype) -> Self {
        match derived(datatype) {
            None => Self::Basic(datatype),
            Some(derived) => Self::Made(&derived.recipe, derived.inner.size()),
        }
    }

    fn of_ingredient(ingredient: &'a Ingredient) -> Self {
        match ingredient {
            Ingredient::Predefined(datatype) => Self::Basic(*datatype),
            Ingredient::Derived { inner, recipe } => Self::Made(recipe, inner.size()),
        }
    }

    /// Bytes here.
    fn size(&self) -> u64 {
        match self {
            Self::Basic(datatype) => basic_type(*datatype).map_or(0, |basic| basic.size() as u64),
            Self::Made(_, size) => *size,
        }
    }

    /// What one of these consists of, one after the other.
    fn blocks(&self) -> Vec<(u64, Shape<'a>)> {
        match self {
            Self::Basic(_) => Vec::new(),
            Self::Made(recipe, _) if recipe.combiner == MPI_COMBINER_STRUCT => {
                recipe.block_lens().into_iter().zip(recipe.types.iter().map(Self::of_ingredient)).collect()
            }
            Self::Made(recipe, size) => {
                let one = recipe.types.first().map(Self::of_ingredient);
                let count = |one: &Self| size.checked_div(one.size()).unwrap_or(0);
                one.map(|one| (count(&one), one)).into_iter().collect()
            }
        }
    }

    /// Bytes of so many there; `None` when they are more than 2⁶³.
    fn size_there(&self, count: u64) -> Option<u64> {
        let one = match self {
            Self::Basic(datatype) => {
                parts(*datatype).into_iter().map(|part| part.len(Way::There) as u64).sum()
            }
            Self::Made(..) => {
                let mut sum = 0_u64;
                for (count, block) in self.blocks() {
                    sum = sum.checked_add(block.size_there(count)?)?;
                }
                sum
            }
        };
        one.checked_mul(count).filter(|size| i64::try_from(*size).is_ok())
    }

    /// Converts so many from the start of `from`, which goes on behind them.
    fn convert(&self, count: u64, from: &mut &[u8], way: Way, into: &mut Vec<u8>) -> Result<()> {
        let (parts, blocks) = match self {
            Self::Basic(datatype) => (parts(*datatype), Vec::new()),
            Self::Made(..) => (Vec::new(), self.blocks()),
        };
        if self.size() == 0 {
            return Ok(());
        }
        // One kind of block is one loop, however many of these there are.
        if let [(len, block)] = &blocks[..] {
            return block.convert(len * count, from, way, into);
        }
        for _ in 0..count {
            for part in &parts {
                let (number, rest) = from.split_at(part.len(Part::other(way)));
                part.convert(number, way, into)?;
                *from = rest;
            }
            for (len, block) in &blocks {
                block.convert(*len, from, way, into)?;
            }
        }
        Ok(())
    }
}

/// Bytes of so many elements in the other form.
///
/// # Errors
/// `MPI_ERR_COUNT` when they are more than 2⁶³.
pub(crate) fn size(datatype: MPI_Datatype, count: u64) -> Result<u64> {
    Shape::of(datatype).size_there(count).ok_or_else(|| {
        let cause = format!("{count} elements of the datatype are more than 2^63 bytes of external32");
        Error::new(ErrorClass::Count, "", cause)
    })
}

/// So many elements, packed here or there, in the other form. `from` has as many bytes as they take.
///
/// # Errors
/// `MPI_ERR_CONVERSION` when a number has no other form.
pub(crate) fn convert(datatype: MPI_Datatype, count: u64, mut from: &[u8], way: Way) -> Result<Vec<u8>> {
    let mut into = Vec::new();
    if into.try_reserve_exact(from.len()).is_err() {
        return Err(Error::new(ErrorClass::NoMem, "", format!("no memory for {} bytes", from.len())));
    }
    Shape::of(datatype).convert(count, &mut from, way, &mut into)?;
    Ok(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(datatype: MPI_Datatype, bytes: &[u8], there: &[u8]) {
        let one = convert(datatype, 1, bytes, Way::There).unwrap();
        assert_eq!(one, there, "{:#x}", datatype.0);
        assert_eq!(size(datatype, 1).unwrap(), there.len() as u64);
        assert_eq!(convert(datatype, 1, &one, Way::Here).unwrap(), bytes, "{:#x}", datatype.0);
    }

    #[test]
    fn numbers_come_back_as_they_went() {
        there_and_back(MPI_INT, &1_i32.to_le_bytes(), &[0, 0, 0, 1]);
        there_and_back(MPI_LONG, &(-2_i64).to_le_bytes(), &[255, 255, 255, 254]);
        there_and_back(MPI_UNSIGNED_LONG, &0x8000_0000_u64.to_le_bytes(), &[0x80, 0, 0, 0]);
        there_and_back(MPI_WCHAR, &0xe9_i32.to_le_bytes(), &[0, 0xe9]);
        there_and_back(MPI_DOUBLE, &1.5_f64.to_le_bytes(), &1.5_f64.to_be_bytes());
        there_and_back(MPI_SHORT_INT, &[1, 0, 2, 0, 0, 0], &[0, 1, 0, 0, 0, 2]);
        there_and_back(MPI_C_FLOAT_COMPLEX, &[1, 2, 3, 4, 5, 6, 7, 8], &[4, 3, 2, 1, 8, 7, 6, 5]);
        let large = convert(MPI_LONG, 1, &(1_i64 << 40).to_le_bytes(), Way::There);
        assert_eq!(large.unwrap_err().class(), ErrorClass::Conversion);
    }

    #[test]
    fn long_doubles_come_back_as_they_went() {
        let bytes = |head: u16, mantissa: u64| {
            let mut bytes = mantissa.to_le_bytes().to_vec();
            bytes.extend(head.to_le_bytes());
            bytes.extend([0; 6]);
            bytes
        };
        // 1, -1.5, the least normal number, the least of all, the largest, infinity, none.
        for (head, mantissa, there) in [
            (0x3fff, 1 << 63, 0x3fff_u128 << 112),
            (0xbfff, 3 << 62, 0xbfff_u128 << 112 | 1 << 111),
            (1, 1 << 63, 1 << 112),
            (0, 1, 1 << 49),
            (0x7ffe, u64::MAX, 0x7ffe_u128 << 112 | ((1 << 63) - 1) << 49),
            (0x7fff, 1 << 63, 0x7fff_u128 << 112),
            (0x7fff, 3 << 62, 0x7fff_u128 << 112 | 1 << 111),
        ] {
            there_and_back(MPI_LONG_DOUBLE, &bytes(head, mantissa), &there.to_be_bytes());
        }
        // What has more digits is rounded: up into the next exponent, and to even.
        let rounded = |there: u128| convert(MPI_LONG_DOUBLE, 1, &there.to_be_bytes(), Way::Here).unwrap();
        assert_eq!(rounded((0x3fff_u128 << 112) + ((1 << 112) - 1)), bytes(0x4000, 1 << 63));
        assert_eq!(rounded((0x3fff_u128 << 112) + (1 << 48)), bytes(0x3fff, 1 << 63));
        assert_eq!(rounded((0x7fff_u128 << 112) - 1), bytes(0x7fff, 1 << 63));
        assert_eq!(rounded((0x7fff_u128 << 112) + 1), bytes(0x7fff, 3 << 62), "it stays no number");
    }
}
