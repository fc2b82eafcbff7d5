//! Datatypes of the library that are made for datatypes of the host, each when it is first used.

use super::build::{construct, predefined};
use super::contents::{DatatypeContents, give_back};
use super::recipe::{Call, Recipe};
use crate::abi::Handle;
use crate::errors::Failure;
use crate::{ours, world};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire};

/// A recipe, what it is applied to, and the library's datatype once there is one.
#[derive(Debug)]
pub(super) struct Made {
    recipe: Recipe,
    parts: Vec<Part>,
    /// 0 before it is made. It is committed: whether the program's is, the program's handle knows.
    own: AtomicUsize,
}

/// What the library has, or makes, for a datatype of the host.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Predefined(Handle),
    Made(Arc<Made>),
}

/// The last ones that were used. A program that makes a datatype for each transfer makes the same again and again.
static RECENT: Mutex<Recent> = Mutex::new(Recent { all: [const { None }; 8], next: 0 });

#[derive(Debug)]
struct Recent {
    all: [Option<Arc<Made>>; 8],
    next: usize,
}

/// Longer ones are not kept.
const MOST_COUNTS: usize = 1 << 14;

impl Part {
    /// For a call of a constructor. `known` answers for the datatypes that it has got; `None` when it does not know one.
    pub(super) fn of_call(
        call: &Call<'_>,
        kinds: &[Handle],
        known: impl Fn(Handle) -> Option<Self>,
    ) -> Option<Self> {
        let found = RECENT.lock().all.iter().flatten().find(|made| made.is_of(call, kinds, &known)).cloned();
        let made = match found {
            Some(made) => made,
            None => {
                let parts = kinds.iter().map(|kind| known(*kind)).collect::<Option<Vec<_>>>()?;
                Arc::new(Made { recipe: call.recipe(), parts, own: AtomicUsize::new(0) })
            }
        };
        Some(Self::Made(made))
    }

    /// For a datatype that the host has to be asked about. `known` answers for those that it need not be.
    ///
    /// # Safety
    /// A datatype of the host.
    pub(super) unsafe fn asked(
        kind: Handle,
        known: &dyn Fn(Handle) -> Option<Self>,
    ) -> Result<Self, Box<Failure>> {
        if let Some(part) = known(kind) {
            return Ok(part);
        }
        // SAFETY: as the caller promises.
        let DatatypeContents { recipe, kinds } = unsafe { DatatypeContents::of(kind) }?;
        if let Some(handle) = predefined(kind, recipe.combiner)? {
            return Ok(Self::Predefined(handle));
        }
        // SAFETY: datatypes that the host has given.
        let parts: Vec<_> = kinds.iter().map(|part| unsafe { Self::asked(*part, known) }).collect();
        for part in &kinds {
            // SAFETY: as above, and given to be freed unless it is predefined.
            unsafe { give_back(*part) };
        }
        let parts = parts.into_iter().collect::<Result<_, _>>()?;
        Ok(Self::Made(Arc::new(Made { recipe, parts, own: AtomicUsize::new(0) })))
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Predefined(one), Self::Predefined(other)) => one == other,
            (Self::Made(one), Self::Made(other)) => Arc::ptr_eq(one, other),
            (Self::Predefined(_), Self::Made(_)) | (Self::Made(_), Self::Predefined(_)) => false,
        }
    }

    /// The library's datatype, if it has been made.
    pub(super) fn there(&self) -> Option<Handle> {
        match self {
            Self::Predefined(handle) => Some(*handle),
            Self::Made(made) => Some(made.own.load(Acquire)).filter(|own| *own != 0),
        }
    }

    /// The library's datatype.
    pub(super) fn own(&self) -> Result<Handle, Box<Failure>> {
        match (self.there(), self) {
            (Some(own), _) => Ok(own),
            (None, Self::Made(made)) => {
                let own = made.make()?;
                remember(made);
                Ok(own)
            }
            (None, Self::Predefined(handle)) => Ok(*handle),
        }
    }
}

impl Made {
    fn is_of(&self, call: &Call<'_>, kinds: &[Handle], known: impl Fn(Handle) -> Option<Part>) -> bool {
        let is_part = |(part, kind): (&Part, &Handle)| known(*kind).is_some_and(|known| known.is(part));
        call.has(&self.recipe) && self.parts.len() == kinds.len() && self.parts.iter().zip(kinds).all(is_part)
    }

    fn make(&self) -> Result<Handle, Box<Failure>> {
        let parts = self.parts.iter().map(Part::own).collect::<Result<Vec<_>, _>>()?;
        let mut own = construct(&self.recipe, &parts)?;
        // SAFETY: the datatype that was just made.
        unsafe { ours::type_commit(&raw mut own) };
        match self.own.compare_exchange(0, own, AcqRel, Acquire) {
            Ok(_) => Ok(own),
            Err(others) => {
                // SAFETY: as above; another thread has made one at the same time.
                unsafe { ours::type_free(&raw mut own) };
                Ok(others)
            }
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut own = *self.own.get_mut();
        if own != 0 && world::is_running() {
            // SAFETY: the datatype that was made here; operations under way and what was made of it are not affected.
            unsafe { ours::type_free(&raw mut own) };
        }
    }
}

fn remember(made: &Arc<Made>) {
    if made.recipe.counts.len() > MOST_COUNTS {
        return;
    }
    let mut recent = RECENT.lock();
    if !recent.all.iter().flatten().any(|known| Arc::ptr_eq(known, made)) {
        let next = recent.next;
        recent.next = (next + 1) % recent.all.len();
        let before = recent.all[next].replace(Arc::clone(made));
        drop(recent);
        drop(before);
    }
}
