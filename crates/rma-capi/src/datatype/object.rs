//! A datatype and its table, and what calls want to know of a handle.

use super::marks;
use super::predefined::{self, basic_type, dense_size};
use super::recipe::Recipe;
use crate::abi::{MPI_DATATYPE_NULL, MPI_Datatype};
use crate::arguments::{Wide, count};
use crate::attributes::Attributes;
use crate::handle::Table;
use crate::name::Name;
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{BasicType, Datatype};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};

/// A datatype that the program has made.
pub(crate) struct Derived {
    pub(crate) inner: Datatype,
    pub(crate) is_committed: AtomicBool,
    /// The program's handle, until it is freed, and what has to find the type by the handle.
    uses: AtomicUsize,
    pub(crate) is_freed: AtomicBool,
    pub(crate) name: Name,
    pub(crate) recipe: Arc<Recipe>,
    pub(crate) attributes: Attributes,
}

pub(crate) static TYPES: Table<MPI_Datatype, Derived> = Table::new();

/// The derived type of a handle.
pub(crate) fn derived(datatype: MPI_Datatype) -> Option<&'static Derived> {
    // SAFETY: MPI forbids to free a datatype while another thread passes it to a call.
    unsafe { TYPES.get(datatype) }
}

/// The engine's type of a handle, committed or not; `name` is the argument's.
pub(crate) fn get(name: &str, datatype: MPI_Datatype) -> Result<Datatype> {
    get_shared(name, datatype).cloned()
}

/// As [`get`], for the time of the call that the program has given the handle to.
pub(crate) fn get_shared(name: &str, datatype: MPI_Datatype) -> Result<&'static Datatype> {
    if let Some(basic) = basic_type(datatype) {
        return Ok(predefined::datatype(basic));
    }
    let derived = derived(datatype).map(|derived| &derived.inner);
    derived.or_else(|| marks::datatype(datatype)).ok_or_else(|| unknown(name, datatype))
}

/// The engine's type of a handle that is used for communication, so must be committed (MPI 5.0 §5.1.9).
pub(crate) fn committed(name: &str, datatype: MPI_Datatype) -> Result<Datatype> {
    committed_shared(name, datatype).cloned()
}

/// As [`committed`], for the time of the call that the program has given the handle to.
#[inline]
pub(crate) fn committed_shared(name: &str, datatype: MPI_Datatype) -> Result<&'static Datatype> {
    match derived(datatype) {
        Some(derived) if derived.is_committed.load(Relaxed) => Ok(&derived.inner),
        found => not_derived(name, datatype, found.is_some()),
    }
}

/// [`committed_shared`] of what is not, or not made by the program.
#[inline(never)]
fn not_derived(name: &str, datatype: MPI_Datatype, is_derived: bool) -> Result<&'static Datatype> {
    if is_derived {
        let cause = format!("{name} was not committed (MPI_Type_commit)");
        return Err(Error::new(ErrorClass::Type, "", cause));
    }
    get_shared(name, datatype)
}

/// The basic type of a handle for calls that take nothing else (`MPI_Fetch_and_op`): itself, or what the program's
/// duplicate of it is.
pub(crate) fn predefined_only(name: &str, datatype: MPI_Datatype) -> Result<BasicType> {
    if let Some(basic) = basic_type(datatype) {
        return Ok(basic);
    }
    committed(name, datatype)?;
    if let Some(basic) = derived(datatype).and_then(|derived| derived.recipe.basic()) {
        return Ok(basic);
    }
    let cause = format!("{name} is a derived datatype, but the call needs a predefined one");
    Err(Error::new(ErrorClass::Type, "", cause))
}

/// The names of the predefined types that a datatype consists of, for messages: what the program has written.
#[cold]
pub(crate) fn elements_name(datatype: MPI_Datatype) -> String {
    let name = |datatype| predefined::name(datatype).unwrap_or("no datatype");
    match derived(datatype) {
        None => name(datatype).to_owned(),
        Some(derived) => derived.recipe.elements().into_iter().map(name).collect::<Vec<_>>().join(" and "),
    }
}

/// Enters a type; it is not committed.
pub(crate) fn enter(inner: Datatype, recipe: impl Into<Arc<Recipe>>) -> Result<MPI_Datatype> {
    let derived = Derived {
        inner,
        is_committed: AtomicBool::new(false),
        uses: AtomicUsize::new(1),
        is_freed: AtomicBool::new(false),
        name: Name::default(),
        recipe: recipe.into(),
        attributes: Attributes::new(),
    };
    TYPES
        .insert(derived)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another datatype"))
}

/// A use of a datatype that keeps its handle good, also when the program frees it: functions of the program ask it.
pub(crate) struct DatatypeUse(MPI_Datatype);

impl DatatypeUse {
    pub(crate) fn new(datatype: MPI_Datatype) -> Self {
        if let Some(derived) = derived(datatype) {
            derived.uses.fetch_add(1, Relaxed);
        }
        Self(datatype)
    }

    pub(crate) fn handle(&self) -> MPI_Datatype {
        self.0
    }
}

impl Drop for DatatypeUse {
    fn drop(&mut self) {
        release(self.0);
    }
}

/// Gives up a use of a handle.
pub(crate) fn release(datatype: MPI_Datatype) {
    if let Some(derived) = derived(datatype)
        && derived.uses.fetch_sub(1, AcqRel) == 1
    {
        TYPES.remove(datatype);
    }
}

/// Bytes of `count` elements of a predefined type that lie without gaps; `None` for everything else, also what is wrong.
#[inline(always)]
pub(crate) fn dense_bytes<C: Wide>(count: C, datatype: MPI_Datatype) -> Option<u64> {
    let (count, size) = (count.wide(), dense_size(datatype));
    if size == 0 || count < 0 {
        return None;
    }
    match C::IS_WIDE {
        true => (count as u64).checked_mul(size).filter(|bytes| *bytes <= i64::MAX as u64),
        // An `int` times the size of an element.
        false => Some(count as u64 * size),
    }
}

/// Bytes of data in `number` elements.
pub(crate) fn bytes(name: &str, number: impl Wide, datatype: &Datatype) -> Result<u64> {
    let number = count(name, number)?;
    number.checked_mul(datatype.size()).filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or_else(|| {
        let cause =
            format!("{name} is {number}: so many elements of {} bytes are more than 2^63", datatype.size());
        Error::new(ErrorClass::Count, "", cause)
    })
}

#[cold]
pub(crate) fn unknown(name: &str, datatype: MPI_Datatype) -> Error {
    let cause = match datatype {
        MPI_DATATYPE_NULL => format!("{name} is MPI_DATATYPE_NULL"),
        datatype => match predefined::unsupported(datatype) {
            Some(text) => format!("{name} is {text}, which this library does not have"),
            None => format!("{name} {:#x} is no datatype, or was freed", datatype.0),
        },
    };
    Error::new(ErrorClass::Type, "", cause)
}
