//! How a derived type was made: what `MPI_Type_get_envelope` and `MPI_Type_get_contents` tell (MPI 5.0 §5.1.13).

use super::marks::is_mark;
use super::object::{derived, enter};
use super::predefined::basic_type;
use crate::abi::{
    MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_INTEGER, MPI_COMBINER_F90_REAL, MPI_COMBINER_STRUCT,
    MPI_Datatype,
};
use crate::arguments::Wide;
use rma::Result;
use rma_core::datatype::{BasicType, Datatype};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::Arc;

/// The arguments of the call that made a type, in the standard's order for each combiner.
#[derive(Default)]
pub(crate) struct Recipe {
    pub(crate) combiner: c_int,
    pub(crate) integers: SmallVec<[c_int; 4]>,
    /// Arguments of type `MPI_Aint`.
    pub(crate) addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`, of calls with large counts only.
    pub(crate) counts: Vec<i64>,
    pub(crate) types: SmallVec<[Ingredient; 1]>,
}

/// A type that another was made from. It lives on when the program frees its handle.
pub(crate) enum Ingredient {
    Predefined(MPI_Datatype),
    Derived { inner: Datatype, recipe: Arc<Recipe> },
}

impl Recipe {
    pub(crate) fn new(combiner: c_int, types: &[MPI_Datatype]) -> Self {
        let types = types.iter().map(|datatype| Ingredient::of(*datatype)).collect();
        Self { combiner, types, ..Self::default() }
    }

    /// Adds arguments that are `int` in every form of the call.
    pub(crate) fn integers(mut self, values: &[c_int]) -> Self {
        self.integers.extend_from_slice(values);
        self
    }

    /// Adds arguments that are `int`, or `MPI_Count` in the form with large counts.
    pub(crate) fn sizes<C: Wide>(mut self, values: &[C]) -> Self {
        match C::IS_WIDE {
            true => self.counts.extend(values.iter().map(|value| value.wide())),
            // An `int` fits an `int`.
            false => self.integers.extend(values.iter().map(|value| value.wide() as c_int)),
        }
        self
    }

    /// Adds arguments that are `MPI_Aint`, or `MPI_Count` in the form with large counts, which `C` tells.
    pub(crate) fn addresses<C: Wide>(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        if C::IS_WIDE {
            self.counts.extend(values)
        } else {
            self.addresses.extend(values)
        }
        self
    }
}

impl Recipe {
    /// Whether it is of one of Fortran's parametrized types, which count as predefined.
    pub(crate) fn is_parametrized(&self) -> bool {
        matches!(self.combiner, MPI_COMBINER_F90_COMPLEX | MPI_COMBINER_F90_INTEGER | MPI_COMBINER_F90_REAL)
    }

    /// The types that the program is told of.
    pub(crate) fn told(&self) -> &[Ingredient] {
        if self.is_parametrized() { &[] } else { &self.types }
    }

    /// The basic type that one of Fortran's parametrized types is.
    pub(crate) fn basic(&self) -> Option<BasicType> {
        match self.types.first().filter(|_| self.is_parametrized())? {
            Ingredient::Predefined(datatype) => basic_type(*datatype),
            Ingredient::Derived { .. } => None,
        }
    }
}

impl Recipe {
    /// The block lengths of a structure: behind the number of blocks, which is as many as there are types.
    pub(crate) fn block_lens(&self) -> Vec<u64> {
        let narrow = self.integers.iter().map(|len| i64::from(*len));
        let lens: Vec<i64> = if self.counts.is_empty() { narrow.collect() } else { self.counts.clone() };
        // None is negative: the constructor has checked them.
        lens.into_iter().skip(1).take(self.types.len()).map(|len| len as u64).collect()
    }
}

impl Recipe {
    /// Adds the predefined types that the type consists of, each once, up to so many. A type that many others are made of is
    /// seen once.
    fn add_elements(&self, found: &mut Vec<MPI_Datatype>, most: usize, seen: &mut HashSet<*const Self>) {
        // Of a structure, what no block has an element of is no part.
        let lens = if self.combiner == MPI_COMBINER_STRUCT { self.block_lens() } else { Vec::new() };
        for (place, ingredient) in self.types.iter().enumerate() {
            match ingredient {
                _ if found.len() >= most => return,
                _ if lens.get(place) == Some(&0) => {}
                Ingredient::Derived { inner, .. } if inner.size() == 0 => {}
                Ingredient::Predefined(datatype) if found.contains(datatype) || is_mark(*datatype) => {}
                Ingredient::Predefined(datatype) => found.push(*datatype),
                Ingredient::Derived { recipe, .. } => {
                    if seen.insert(Arc::as_ptr(recipe)) {
                        recipe.add_elements(found, most, seen);
                    }
                }
            }
        }
    }

    /// The predefined types that the type consists of: the first few.
    pub(crate) fn elements(&self) -> Vec<MPI_Datatype> {
        let mut found = Vec::new();
        self.add_elements(&mut found, 3, &mut HashSet::new());
        found
    }
}

impl Ingredient {
    fn of(datatype: MPI_Datatype) -> Self {
        match derived(datatype) {
            None => Self::Predefined(datatype),
            Some(derived) => {
                Self::Derived { inner: derived.inner.clone(), recipe: Arc::clone(&derived.recipe) }
            }
        }
    }

    /// A handle for the program: the predefined one, or a new one that the program must free.
    pub(crate) fn hand_out(&self) -> Result<MPI_Datatype> {
        match self {
            Self::Predefined(datatype) => Ok(*datatype),
            Self::Derived { inner, recipe } => enter(inner.clone(), Arc::clone(recipe)),
        }
    }
}
