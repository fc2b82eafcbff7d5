//! Keys of attributes.
//!
//! Invariants: a key's number is never used again, so that a stale one is found out; an attribute keeps its key's functions
//! after the key is freed (MPI 5.0 §7.7.2: a freed key stays in force where it is attached). A key that is freed and still
//! attached may be freed again: delete functions do that with the number they are given.

use super::attached::OwnerKind;
use super::callback::{CopyFunction, DeleteFunction};
use crate::abi::MPI_KEYVAL_INVALID;
use crate::arguments::{Opaque, Out};
use crate::noted;
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, LazyLock, Weak};

/// Numbers below this are the standard's.
const FIRST: c_int = 1 << 16;

/// What a program has said of a key.
#[derive(Debug)]
pub(super) struct Keyval {
    pub(super) kind: OwnerKind,
    pub(super) copy: CopyFunction,
    pub(super) delete: DeleteFunction,
    pub(super) extra_state: Opaque,
    made_by: Option<&'static str>,
}

struct Known {
    keyvals: HashMap<c_int, Arc<Keyval>>,
    /// Freed while they were attached.
    freed: HashMap<c_int, Weak<Keyval>>,
    next: c_int,
}

static KNOWN: LazyLock<Mutex<Known>> =
    LazyLock::new(|| Mutex::new(Known { keyvals: HashMap::new(), freed: HashMap::new(), next: FIRST }));

/// What the calls that make a key do, for one kind of object.
///
/// # Errors
/// `MPI_ERR_ARG` when there is no place for the key; `MPI_ERR_NO_MEM` when all numbers have been used.
pub(crate) fn create(
    kind: OwnerKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    keyval: Out<c_int>,
    extra_state: Opaque,
) -> Result<()> {
    keyval.check("keyval")?;
    keyval.set("keyval", enter(kind, copy, delete, extra_state)?)
}

pub(super) fn enter(
    kind: OwnerKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    extra_state: Opaque,
) -> Result<c_int> {
    let keyval = Keyval { kind, copy, delete, extra_state, made_by: noted::noted() };
    let mut known = KNOWN.lock();
    let number = known.next;
    known.next = number
        .checked_add(1)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "all numbers of keyvals have been used"))?;
    known.keyvals.insert(number, Arc::new(keyval));
    Ok(number)
}

/// What the calls that free a key do, for one kind of object: no attribute can be set under it any more.
///
/// # Errors
/// `MPI_ERR_ARG` when there is no place of a key; `MPI_ERR_KEYVAL` when it is not a key of the program for this kind of
/// object, or was freed and is attached nowhere.
pub(crate) fn free(kind: OwnerKind, keyval: Out<c_int>) -> Result<()> {
    remove(kind, keyval.current().one("keyval")?)?;
    keyval.set("keyval", MPI_KEYVAL_INVALID)
}

pub(super) fn remove(kind: OwnerKind, keyval: c_int) -> Result<()> {
    let mut known = KNOWN.lock();
    match known.keyvals.get(&keyval) {
        Some(found) if found.kind == kind => {
            let attached = Arc::downgrade(found);
            known.keyvals.remove(&keyval);
            known.freed.retain(|_, keyval| keyval.strong_count() > 0);
            if attached.strong_count() > 0 {
                known.freed.insert(keyval, attached);
            }
            Ok(())
        }
        None if known.is_attached(kind, keyval) => Ok(()),
        found => Err(refuse(kind, keyval, found)),
    }
}

impl Known {
    /// Whether a freed key is attached to an object of the kind.
    fn is_attached(&self, kind: OwnerKind, keyval: c_int) -> bool {
        self.freed.get(&keyval).and_then(Weak::upgrade).is_some_and(|keyval| keyval.kind == kind)
    }
}

/// The key of this number.
///
/// # Errors
/// `MPI_ERR_KEYVAL` when it is not a key of the program for this kind of object.
pub(super) fn find(kind: OwnerKind, keyval: c_int) -> Result<Arc<Keyval>> {
    let known = KNOWN.lock();
    match known.keyvals.get(&keyval) {
        Some(found) if found.kind == kind => Ok(Arc::clone(found)),
        found => Err(refuse(kind, keyval, found)),
    }
}

/// The calls that have made the keys which are not freed, as far as that was noted.
pub(crate) fn keyvals_alive() -> Vec<Option<&'static str>> {
    KNOWN.lock().keyvals.values().map(|keyval| keyval.made_by).collect()
}

fn refuse(kind: OwnerKind, keyval: c_int, found: Option<&Arc<Keyval>>) -> Error {
    let cause = match (keyval, found) {
        (MPI_KEYVAL_INVALID, _) => "keyval is MPI_KEYVAL_INVALID".to_owned(),
        (_, Some(found)) => format!("keyval {keyval} is for {}, not for {}", found.kind.name(), kind.name()),
        (_, None) if keyval < FIRST => format!("keyval {keyval} is not one that the program can change"),
        (_, None) => format!("keyval {keyval} was freed, or never made"),
    };
    Error::new(ErrorClass::Keyval, "", cause)
}
