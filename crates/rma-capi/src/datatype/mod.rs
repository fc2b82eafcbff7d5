//! Datatypes: the objects behind `MPI_Datatype`, and how they are made and described (MPI 5.0 §5).
//!
//! A predefined handle is a basic type of the engine; a derived one keeps the engine's datatype and the arguments it was
//! made from. The engine knows nothing of handles, names, or whether a type was committed: that is checked here.

pub(crate) mod attributes;
pub(crate) mod construct;
mod elements;
pub(crate) mod external;
pub(crate) mod f90;
mod marks;
mod names;
mod object;
mod predefined;
mod recipe;

pub(crate) use elements::{bytes_of_elements, elements_in};
pub(crate) use marks::is_mark;
pub(crate) use names::name_of;
pub(crate) use object::{
    DatatypeUse, Derived, TYPES, bytes, committed, committed_shared, dense_bytes, derived, elements_name,
    enter, get, predefined_only, release, unknown,
};
pub(crate) use predefined::{basic_type, dense_size};
pub(crate) use recipe::Recipe;
