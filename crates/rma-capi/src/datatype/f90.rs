//! Fortran's parametrized types (MPI 5.0 §19.1.9): a kind by what it has to hold. They are predefined, one for all calls with the same
//! arguments, but have no constants: each is an object with its arguments as its recipe, which the program cannot free.

use super::object::{derived, enter, get};
use super::recipe::Recipe;
use crate::abi::*;
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

/// Those that the program has asked for, by combiner and arguments.
static MADE: Mutex<BTreeMap<(c_int, Vec<c_int>), MPI_Datatype>> = Mutex::new(BTreeMap::new());

/// Digits and exponents that Fortran's kinds hold, up to so many.
const INTEGERS: [(c_int, MPI_Datatype); 4] =
    [(2, MPI_INTEGER1), (4, MPI_INTEGER2), (9, MPI_INTEGER4), (18, MPI_INTEGER8)];
const REALS: [(c_int, c_int, MPI_Datatype, MPI_Datatype); 3] = [
    (6, 37, MPI_REAL4, MPI_COMPLEX8),
    (15, 307, MPI_REAL8, MPI_COMPLEX16),
    (18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX),
];

/// `MPI_Type_create_f90_integer`: with decimal digits.
pub(crate) fn integer(digits: c_int) -> Result<MPI_Datatype> {
    let found = INTEGERS.into_iter().find(|(most, _)| digits <= *most).map(|(_, base)| base);
    match found.filter(|_| digits >= 0) {
        Some(base) => known(MPI_COMBINER_F90_INTEGER, &[digits], base),
        None => refuse(format!("r is {digits}, but integers have 0 to 18 decimal digits")),
    }
}

/// `MPI_Type_create_f90_real` and `_complex`: with a precision and a range, of which one may be `MPI_UNDEFINED`.
pub(crate) fn real(precision: c_int, range: c_int, is_complex: bool) -> Result<MPI_Datatype> {
    let holds = |asked: c_int, most: c_int| asked == MPI_UNDEFINED || (0..=most).contains(&asked);
    let fits =
        |(digits, exponent, ..): &(c_int, c_int, _, _)| holds(precision, *digits) && holds(range, *exponent);
    if precision == MPI_UNDEFINED && range == MPI_UNDEFINED {
        return refuse("p and r are both MPI_UNDEFINED".to_owned());
    }
    let Some((_, _, base, complex)) = REALS.into_iter().find(fits) else {
        return refuse(format!("p is {precision} and r is {range}, but 18 digits and 4931 are the most"));
    };
    match is_complex {
        false => known(MPI_COMBINER_F90_REAL, &[precision, range], base),
        true => known(MPI_COMBINER_F90_COMPLEX, &[precision, range], complex),
    }
}

fn known(combiner: c_int, arguments: &[c_int], base: MPI_Datatype) -> Result<MPI_Datatype> {
    let mut made = MADE.lock();
    let key = (combiner, arguments.to_vec());
    if let Some(datatype) = made.get(&key) {
        return Ok(*datatype);
    }
    let recipe = Recipe::new(combiner, &[base]).integers(arguments);
    let datatype = enter(get("base", base)?, recipe)?;
    if let Some(derived) = derived(datatype) {
        derived.is_committed.store(true, Relaxed);
    }
    made.insert(key, datatype);
    Ok(datatype)
}

fn refuse<T>(cause: String) -> Result<T> {
    Err(Error::new(ErrorClass::Arg, "", cause))
}
