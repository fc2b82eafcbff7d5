//! Attributes of datatypes (MPI 5.0 §7.7.4). Predefined datatypes have them too.

use super::object::{derived, get};
use crate::abi::MPI_Datatype;
use crate::attributes::{AttributeOwner, Attributes, OwnerKind};
use parking_lot::Mutex;
use rma::Result;
use std::collections::BTreeMap;

/// Attributes of predefined types; an entry stays once it is made.
static PREDEFINED: Mutex<BTreeMap<MPI_Datatype, &'static Attributes>> = Mutex::new(BTreeMap::new());

/// A datatype as passed to the program's functions.
pub(crate) fn owner(datatype: MPI_Datatype) -> AttributeOwner {
    AttributeOwner { kind: OwnerKind::Type, handle: datatype.0 }
}

/// The attributes of a type.
pub(crate) fn of(datatype: MPI_Datatype) -> Result<&'static Attributes> {
    get("datatype", datatype)?;
    Ok(match derived(datatype) {
        Some(derived) => &derived.attributes,
        None => PREDEFINED.lock().entry(datatype).or_insert_with(|| Box::leak(Box::new(Attributes::new()))),
    })
}
