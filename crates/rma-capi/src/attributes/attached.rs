//! The attributes of one object.
//!
//! Functions of the program run without any lock held: they may ask for attributes of the same object.

use super::keyval::{self, Keyval};
use crate::arguments::Opaque;
use parking_lot::Mutex;
use rma::Result;
use std::ffi::c_int;
use std::sync::Arc;

/// A kind of object that has attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerKind {
    Comm,
    Win,
    Type,
}

/// The object that attributes belong to, as passed to the program's functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributeOwner {
    pub(crate) kind: OwnerKind,
    /// The handle's bits.
    pub(crate) handle: usize,
}

/// The attributes of one object, in the order in which they were set first.
///
/// Each value is deleted once, whichever threads set and delete under its key at the same time: the deleting
/// thread claims it before it calls the program's function. Until that has answered, the value is still
/// visible.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Mutex<AttributeList>);

#[derive(Debug, Default)]
struct AttributeList {
    attributes: Vec<Attribute>,
    /// What the next attribute is told apart from others by.
    next: u64,
}

#[derive(Clone, Debug)]
struct Attribute {
    id: u64,
    number: c_int,
    keyval: Arc<Keyval>,
    value: Opaque,
    /// A thread calls its delete function, so it is none to be deleted or replaced.
    is_claimed: bool,
}

impl OwnerKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Comm => "communicators",
            Self::Win => "windows",
            Self::Type => "datatypes",
        }
    }
}

impl Attributes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The value under a key, if one was set.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` when the key is not one for this kind of object.
    pub(crate) fn get(&self, kind: OwnerKind, keyval: c_int) -> Result<Option<Opaque>> {
        // A freed key is still good for what is attached.
        match self.0.lock().find(keyval) {
            Some(found) => Ok(Some(found.value)),
            None => keyval::find(kind, keyval).map(|_| None),
        }
    }

    /// Sets a value; the one that was there is deleted before, with its function.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` as for [`Attributes::get`]; what the delete function answers, and then nothing has changed.
    pub(crate) fn set(&self, owner: AttributeOwner, keyval: c_int, value: Opaque) -> Result<()> {
        let found = keyval::find(owner.kind, keyval)?;
        let mut list = self.0.lock();
        while let Some(old) = list.claim(|attribute| attribute.number == keyval) {
            drop(list);
            self.say_deleted(owner, &old)?;
            list = self.0.lock();
            // Unless another thread has set a value meanwhile, which has to be deleted as well.
            if !list.is_set(keyval) {
                list.replace(old.id, value);
                return Ok(());
            }
            list.remove(old.id);
        }
        list.push(keyval, found, value);
        Ok(())
    }

    /// Deletes a value, with its function. There may be none.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` as for [`Attributes::get`]; what the delete function answers, and then nothing has changed.
    pub(crate) fn delete(&self, owner: AttributeOwner, keyval: c_int) -> Result<()> {
        let claimed = self.0.lock().claim(|attribute| attribute.number == keyval);
        match claimed {
            Some(attribute) => self.finish(owner, &attribute),
            // One that another thread is deleting is gone.
            None => self.get(owner.kind, keyval).map(drop),
        }
    }

    /// Deletes all values, the one that was set last first, because the object goes.
    ///
    /// # Errors
    /// What the first delete function answers that fails; its attribute and those set before it stay.
    pub(crate) fn delete_all(&self, owner: AttributeOwner) -> Result<()> {
        loop {
            let claimed = self.0.lock().claim(|_| true);
            match claimed {
                Some(last) => self.finish(owner, &last)?,
                None => return Ok(()),
            }
        }
    }

    /// Gives a copy of the object what its attributes' functions say it gets. `owner` is the object that is copied.
    ///
    /// # Errors
    /// What the first copy function answers that fails; the copy has then what came before it.
    pub(crate) fn copy_to(&self, owner: AttributeOwner, copy: &Self) -> Result<()> {
        let list = self.0.lock().attributes.clone();
        for Attribute { number, keyval, value, .. } in list.into_iter().filter(|one| !one.is_claimed) {
            if let Some(value) = keyval.copy.call(owner, number, keyval.extra_state, value)? {
                copy.0.lock().push(number, keyval, value);
            }
        }
        Ok(())
    }

    /// Deletes an attribute that was claimed.
    fn finish(&self, owner: AttributeOwner, claimed: &Attribute) -> Result<()> {
        self.say_deleted(owner, claimed)?;
        self.0.lock().remove(claimed.id);
        Ok(())
    }

    /// Calls the function of an attribute that was claimed; when it fails, the attribute stays as it was.
    fn say_deleted(&self, owner: AttributeOwner, claimed: &Attribute) -> Result<()> {
        let Attribute { number, keyval, value, .. } = claimed;
        let result = keyval.delete.call(owner, *number, *value, keyval.extra_state);
        if result.is_err() {
            self.0.lock().give_back(claimed.id);
        }
        result
    }
}

impl AttributeList {
    /// The attribute of a key: one that stays, or else one that goes.
    fn find(&self, keyval: c_int) -> Option<&Attribute> {
        let mut of_key = self.attributes.iter().filter(|attribute| attribute.number == keyval);
        of_key.clone().find(|attribute| !attribute.is_claimed).or_else(|| of_key.next())
    }

    /// Whether there is an attribute of a key that stays.
    fn is_set(&self, keyval: c_int) -> bool {
        self.find(keyval).is_some_and(|attribute| !attribute.is_claimed)
    }

    /// Claims the last that is wanted and not claimed.
    fn claim(&mut self, is_wanted: impl Fn(&Attribute) -> bool) -> Option<Attribute> {
        let mut from_last = self.attributes.iter_mut().rev();
        let found = from_last.find(|attribute| !attribute.is_claimed && is_wanted(attribute))?;
        found.is_claimed = true;
        Some(found.clone())
    }

    /// Makes a claimed attribute one that stays, unless its key has got another.
    fn give_back(&mut self, id: u64) {
        let Some(place) = self.attributes.iter().position(|attribute| attribute.id == id) else { return };
        match self.is_set(self.attributes[place].number) {
            true => drop(self.attributes.remove(place)),
            false => self.attributes[place].is_claimed = false,
        }
    }

    /// Puts a value in the place of one that was deleted.
    fn replace(&mut self, id: u64, value: Opaque) {
        if let Some(attribute) = self.attributes.iter_mut().find(|attribute| attribute.id == id) {
            attribute.value = value;
            attribute.is_claimed = false;
        }
    }

    fn push(&mut self, number: c_int, keyval: Arc<Keyval>, value: Opaque) {
        let id = self.next;
        self.next += 1;
        self.attributes.push(Attribute { id, number, keyval, value, is_claimed: false });
    }

    fn remove(&mut self, id: u64) {
        self.attributes.retain(|attribute| attribute.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::keyval::{enter, remove};
    use super::super::{CopyFunction, DeleteFunction};
    use super::*;
    use rma::ErrorClass;
    use std::cell::RefCell;
    use std::sync::LazyLock;

    const COMM: AttributeOwner = AttributeOwner { kind: OwnerKind::Comm, handle: 77 };

    thread_local! {
        static CALLS: RefCell<Vec<(&'static str, usize, usize, usize)>> = const { RefCell::new(Vec::new()) };
    }

    fn note(what: &'static str, handle: usize, value: Opaque, extra: Opaque) {
        CALLS.with_borrow_mut(|calls| calls.push((what, handle, value.bits(), extra.bits())));
    }

    fn calls() -> Vec<(&'static str, usize, usize, usize)> {
        CALLS.take()
    }

    unsafe extern "C" fn copy_plus_one(
        handle: usize,
        _keyval: c_int,
        extra: Opaque,
        value: Opaque,
        out: *mut Opaque,
        flag: *mut c_int,
    ) -> c_int {
        note("copy", handle, value, extra);
        if value.bits() == 13 {
            return 1234;
        }
        // SAFETY: the library passes pointers that are good for the call.
        unsafe {
            *out = Opaque::of(value.bits() + 1);
            *flag = c_int::from(value.bits() != 14);
        }
        0
    }

    unsafe extern "C" fn delete(handle: usize, _keyval: c_int, value: Opaque, extra: Opaque) -> c_int {
        note("delete", handle, value, extra);
        if value.bits() == 13 { 4321 } else { 0 }
    }

    fn key(extra: usize) -> c_int {
        enter(OwnerKind::Comm, CopyFunction::of(copy_plus_one), DeleteFunction::of(delete), Opaque::of(extra))
            .unwrap()
    }

    fn value(attributes: &Attributes, keyval: c_int) -> Option<usize> {
        attributes.get(OwnerKind::Comm, keyval).unwrap().map(Opaque::bits)
    }

    #[test]
    fn setting_again_deletes_the_old_value_first() {
        let (object, keyval) = (Attributes::new(), key(5));
        assert_eq!(value(&object, keyval), None);
        object.set(COMM, keyval, Opaque::of(1)).unwrap();
        assert_eq!((value(&object, keyval), calls()), (Some(1), vec![]));
        object.set(COMM, keyval, Opaque::of(13)).unwrap();
        assert_eq!((value(&object, keyval), calls()), (Some(13), vec![("delete", 77, 1, 5)]));
        let error = object.set(COMM, keyval, Opaque::of(2)).unwrap_err();
        assert_eq!((error.code(), value(&object, keyval)), (4321, Some(13)), "a failing function stops it");
        assert_eq!(object.delete(COMM, keyval).unwrap_err().code(), 4321);
        assert_eq!(value(&object, keyval), Some(13));
    }

    #[test]
    fn copies_get_what_the_functions_say() {
        let object = Attributes::new();
        let (one, not, dup) = (key(0), key(1), key(2));
        let null = enter(OwnerKind::Comm, CopyFunction::NONE, DeleteFunction::NONE, Opaque::NULL).unwrap();
        for (keyval, value) in [(one, 20), (not, 14), (dup, 30), (null, 40)] {
            object.set(COMM, keyval, Opaque::of(value)).unwrap();
        }
        let copy = Attributes::new();
        object.copy_to(COMM, &copy).unwrap();
        assert_eq!([one, not, dup, null].map(|k| value(&copy, k)), [Some(21), None, Some(31), None]);
        assert_eq!(calls(), [("copy", 77, 20, 0), ("copy", 77, 14, 1), ("copy", 77, 30, 2)]);
        object.set(COMM, not, Opaque::of(13)).unwrap();
        let copy = Attributes::new();
        assert_eq!(object.copy_to(COMM, &copy).unwrap_err().code(), 1234);
        assert_eq!([one, dup].map(|k| value(&copy, k)), [Some(21), None], "what came before the failure");
    }

    #[test]
    fn the_last_that_was_set_is_deleted_first() {
        let object = Attributes::new();
        let keys = [key(1), key(2), key(3)];
        for (place, keyval) in keys.into_iter().enumerate() {
            object.set(COMM, keyval, Opaque::of(place)).unwrap();
        }
        object.delete_all(COMM).unwrap();
        assert_eq!(calls(), [("delete", 77, 2, 3), ("delete", 77, 1, 2), ("delete", 77, 0, 1)]);
        assert_eq!(keys.map(|k| value(&object, k)), [None; 3]);
    }

    #[test]
    fn keys_are_for_one_kind_and_stay_in_force_where_attached() {
        let object = Attributes::new();
        let keyval = key(9);
        for kind in [OwnerKind::Win, OwnerKind::Type] {
            assert_eq!(object.get(kind, keyval).unwrap_err().class(), ErrorClass::Keyval);
            assert_eq!(remove(kind, keyval).unwrap_err().class(), ErrorClass::Keyval);
        }
        object.set(COMM, keyval, Opaque::of(3)).unwrap();
        remove(OwnerKind::Comm, keyval).unwrap();
        // A delete function may free its own key, which is in force until it is attached nowhere.
        remove(OwnerKind::Comm, keyval).unwrap();
        assert_eq!(object.set(COMM, keyval, Opaque::of(4)).unwrap_err().class(), ErrorClass::Keyval);
        assert_eq!(value(&object, keyval), Some(3));
        object.delete(COMM, keyval).unwrap();
        assert_eq!(calls(), [("delete", 77, 3, 9)]);
        assert_eq!(object.get(OwnerKind::Comm, keyval).unwrap_err().class(), ErrorClass::Keyval);
        assert_eq!(remove(OwnerKind::Comm, keyval).unwrap_err().class(), ErrorClass::Keyval);
    }

    #[test]
    fn a_value_is_deleted_once_whichever_threads_delete_and_replace_it() {
        static DELETED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        unsafe extern "C" fn note(_handle: usize, _keyval: c_int, value: Opaque, _extra: Opaque) -> c_int {
            std::thread::yield_now();
            DELETED.lock().push(value.bits());
            0
        }
        const ROUNDS: usize = 2000;
        let delete = DeleteFunction::of(note);
        let keyval = enter(OwnerKind::Comm, CopyFunction::NONE, delete, Opaque::NULL);
        let (object, keyval) = (Attributes::new(), keyval.unwrap());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let object = &object;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        object.set(COMM, keyval, Opaque::of(thread * ROUNDS + round)).unwrap();
                        if round % 7 == thread {
                            object.delete(COMM, keyval).unwrap();
                        }
                    }
                });
            }
        });
        object.delete_all(COMM).unwrap();
        let mut deleted = std::mem::take(&mut *DELETED.lock());
        deleted.sort_unstable();
        assert!(deleted.into_iter().eq(0..3 * ROUNDS), "each value once");
    }

    #[test]
    fn a_value_is_seen_until_its_function_has_answered() {
        static OBJECT: LazyLock<Attributes> = LazyLock::new(Attributes::new);
        unsafe extern "C" fn look(_handle: usize, keyval: c_int, value: Opaque, _extra: Opaque) -> c_int {
            assert_eq!(OBJECT.get(OwnerKind::Comm, keyval).unwrap(), Some(value));
            // Deleted already, so nothing happens.
            OBJECT.delete(COMM, keyval).unwrap();
            0
        }
        let delete = DeleteFunction::of(look);
        let keyval = enter(OwnerKind::Comm, CopyFunction::NONE, delete, Opaque::NULL);
        let keyval = keyval.unwrap();
        OBJECT.set(COMM, keyval, Opaque::of(1)).unwrap();
        OBJECT.set(COMM, keyval, Opaque::of(2)).unwrap();
        assert_eq!(value(&OBJECT, keyval), Some(2));
        OBJECT.delete(COMM, keyval).unwrap();
        assert_eq!(value(&OBJECT, keyval), None);
    }
}
