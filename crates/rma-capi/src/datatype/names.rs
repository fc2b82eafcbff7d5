//! Names of datatypes (MPI 5.0 §7.8). Predefined datatypes have them too, and a program may give them others.

use super::object::{derived, get};
use super::{marks, predefined};
use crate::abi::MPI_Datatype;
use crate::name::Name;
use parking_lot::Mutex;
use rma::Result;
use std::collections::BTreeMap;

/// Names of predefined types that the program has asked for or given; an entry stays once it is made.
static PREDEFINED: Mutex<BTreeMap<MPI_Datatype, &'static Name>> = Mutex::new(BTreeMap::new());

/// The name of a type.
pub(crate) fn name_of(datatype: MPI_Datatype) -> Result<&'static Name> {
    // A constant of the ABI has its name also where this library has no type for it.
    let absent = predefined::unsupported(datatype);
    if absent.is_none() {
        get("datatype", datatype)?;
    }
    let name = predefined::name(datatype).or_else(|| marks::name(datatype)).or(absent);
    let given = || Box::leak(Box::new(Name::of(name.unwrap_or_default())));
    Ok(match derived(datatype) {
        Some(derived) => &derived.name,
        None => PREDEFINED.lock().entry(datatype).or_insert_with(|| given()),
    })
}
