//! Elements as bytes and back, for messages, and as the spans that operations on windows read and write.

use super::element::Element;
use rma_core::mem::{ReadSpan, WriteSpan};
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

/// The bytes of a value, as an operand.
pub(crate) fn bytes_of<T: Element>(value: &T) -> &[u8] {
    // SAFETY: the value is borrowed for as long as the slice, and has no padding, so all its bytes are initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The bytes of a buffer to send from.
///
/// # Safety
/// The span must not be used after the borrow that the slice came from has ended; a scope ends after its operations.
pub(crate) unsafe fn read_span<T: Element>(buffer: &[T]) -> ReadSpan {
    // SAFETY: the slice is readable while it is borrowed, and the caller promises to use the span only meanwhile.
    unsafe { ReadSpan::new(buffer.as_ptr().cast(), size_of_val(buffer)) }
}

/// The bytes of a buffer to receive into.
///
/// # Safety
/// As [`read_span`]. Received bytes are valid values by the contract of [`Element`].
pub(crate) unsafe fn write_span<T: Element>(buffer: &mut [T]) -> WriteSpan {
    // SAFETY: the slice is exclusively borrowed, and the caller promises to use the span only meanwhile.
    unsafe { WriteSpan::new(buffer.as_mut_ptr().cast(), size_of_val(buffer)) }
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
