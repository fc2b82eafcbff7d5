//! Error classes, codes and texts that the program adds (MPI 5.0 §9.5).
//!
//! Classes and codes share their numbers, as the predefined ones do; a class is a code of itself. Numbers start after the
//! highest predefined one, and the highest in use is the attribute `MPI_LASTUSEDCODE`.

use super::text;
use crate::abi::MPI_ERR_LASTCODE;
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

struct Code {
    class: c_int,
    text: Option<Vec<u8>>,
}

static CODES: Mutex<BTreeMap<c_int, Code>> = Mutex::new(BTreeMap::new());
static LAST_USED: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

/// The highest code in use, at an address that stays.
pub(crate) fn last_used_code() -> &'static AtomicI32 {
    &LAST_USED
}

/// The class of a code, if it is one.
pub(crate) fn class_of(code: c_int) -> Option<c_int> {
    match text::predefined(code) {
        Some(_) => Some(code),
        None => CODES.lock().get(&code).map(|known| known.class),
    }
}

/// What the program has said of a code of its own; `None` when the code is none of these.
pub(crate) fn text_of(code: c_int) -> Option<Vec<u8>> {
    CODES.lock().get(&code).map(|known| known.text.clone().unwrap_or_default())
}

/// Adds a code to a class, or a class when none is given.
pub(crate) fn add(class: Option<c_int>) -> Result<c_int> {
    if let Some(class) = class
        && class_of(class) != Some(class)
    {
        return refuse(format!("errorclass {class} is no error class"));
    }
    let mut codes = CODES.lock();
    let Some(code) = LAST_USED.load(Relaxed).checked_add(1) else {
        return refuse("all numbers of error codes have been used".to_owned());
    };
    codes.insert(code, Code { class: class.unwrap_or(code), text: None });
    LAST_USED.store(code, Relaxed);
    Ok(code)
}

/// Gives a code of the program a text.
pub(crate) fn set_text(code: c_int, text: Option<Vec<u8>>) -> Result<()> {
    let mut codes = CODES.lock();
    match (codes.get_mut(&code), text) {
        (None, _) => refuse(format!("error code {code} is not one that the program has added")),
        (Some(Code { text: None, .. }), None) => refuse(format!("error code {code} has no text")),
        (Some(known), text) => {
            known.text = text;
            Ok(())
        }
    }
}

/// Removes a class, which must have no codes left, or a code, and its text.
pub(crate) fn remove(code: c_int, is_class: bool) -> Result<()> {
    let what = if is_class { "class" } else { "code" };
    let mut codes = CODES.lock();
    match codes.get(&code) {
        Some(known) if (known.class == code) == is_class => {}
        _ => return refuse(format!("{code} is no error {what} that the program has added")),
    }
    if let Some((other, _)) = codes.iter().find(|(other, known)| known.class == code && **other != code) {
        return refuse(format!("error class {code} still has the code {other}"));
    }
    codes.remove(&code);
    let last = codes.last_key_value().map_or(MPI_ERR_LASTCODE, |(last, _)| *last);
    LAST_USED.store(last, Relaxed);
    Ok(())
}

fn refuse<T>(cause: String) -> Result<T> {
    Err(Error::new(ErrorClass::Arg, "", cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::MPI_ERR_RMA_SYNC;

    // One test: the codes are the process's.
    #[test]
    fn classes_and_codes_come_and_go() {
        let last = || LAST_USED.load(Relaxed);
        assert_eq!(last(), MPI_ERR_LASTCODE);
        let class = add(None).unwrap();
        let code = add(Some(class)).unwrap();
        let of_predefined = add(Some(MPI_ERR_RMA_SYNC)).unwrap();
        assert_eq!((class, code, last()), (MPI_ERR_LASTCODE + 1, MPI_ERR_LASTCODE + 2, of_predefined));
        assert_eq!([class, code, of_predefined].map(class_of), [class, class, MPI_ERR_RMA_SYNC].map(Some));
        assert!(add(Some(code)).is_err() && add(Some(9999)).is_err(), "these are no classes");

        assert_eq!((text_of(code).as_deref(), text_of(MPI_ERR_RMA_SYNC)), (Some(&b""[..]), None));
        set_text(code, Some(b"boo".to_vec())).unwrap();
        assert_eq!(text_of(code).as_deref(), Some(&b"boo"[..]));
        set_text(code, None).unwrap();
        assert!(set_text(code, None).is_err() && set_text(MPI_ERR_RMA_SYNC, Some(Vec::new())).is_err());

        assert!(remove(class, true).is_err(), "it has a code");
        assert!(remove(class, false).is_err() && remove(code, true).is_err() && remove(5, true).is_err());
        remove(code, false).unwrap();
        remove(class, true).unwrap();
        assert_eq!((class_of(code), class_of(class), last()), (None, None, of_predefined));
        remove(of_predefined, false).unwrap();
        assert_eq!(last(), MPI_ERR_LASTCODE);
    }
}
