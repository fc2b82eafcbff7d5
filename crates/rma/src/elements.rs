//! Elements as bytes and back, for messages. One of the few files with `unsafe`.

use crate::window::Element;
use rma_core::{Error, ErrorClass, Result};

/// The bytes of elements.
pub(crate) fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements have no padding (the contract of `Element`), so every byte of the slice is initialised; the result
    // borrows the same memory.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The elements that bytes are.
///
/// # Errors
/// When the bytes are not a whole number of elements.
pub(crate) fn from_bytes<T: Element>(bytes: &[u8], call: &'static str) -> Result<Vec<T>> {
    let mut elements = vec![T::zeroed(); bytes.len().checked_div(size_of::<T>()).unwrap_or(0)];
    copy_into(bytes, &mut elements, call)?;
    Ok(elements)
}

/// Stores bytes over elements, of which there must be as many.
///
/// # Errors
/// When there are not.
pub(crate) fn copy_into<T: Element>(bytes: &[u8], elements: &mut [T], call: &'static str) -> Result<()> {
    if bytes.len() != size_of_val(elements) {
        let room = size_of_val(elements);
        let cause = format!("{} bytes arrived where {room} were expected", bytes.len());
        return Err(Error::new(ErrorClass::Truncate, call, cause));
    }
    // SAFETY: the source has as many bytes as the destination, which is exclusively borrowed; every bit pattern is a valid
    // element (the contract of `Element`).
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.as_mut_ptr().cast(), bytes.len()) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_survive_their_bytes() {
        let values = [1.5f64, -0.0, f64::INFINITY];
        assert_eq!(from_bytes::<f64>(as_bytes(&values), "test").unwrap(), values);
        assert_eq!(as_bytes(&[0x0102u16.to_be()]), [1, 2]);
        assert_eq!(from_bytes::<[u8; 3]>(&[1, 2, 3, 4, 5, 6], "test").unwrap(), [[1, 2, 3], [4, 5, 6]]);
        assert!(from_bytes::<u32>(&[0; 6], "test").is_err());
        assert!(copy_into(&[0; 4], &mut [0u32; 2], "test").is_err());
        assert!(from_bytes::<u64>(&[], "test").unwrap().is_empty());
    }
}
