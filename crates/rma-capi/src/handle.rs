//! Handles: what stands behind the ABI's pointers.
//!
//! A handle of a program's object is kind, generation and index in one word, never an address: a null, stale or foreign
//! handle is found out by comparing numbers, and following it is impossible. Predefined handles are the ABI's small
//! numbers; a table answers `None` for them, and the module of the kind knows what they mean.
//!
//! ```text
//!   63   60 59     56 55            32 31           0
//!   | zero | kind     | generation    | index        |
//! ```
//!
//! Each kind has one [`Table`]. Looking up takes no lock: objects live in chunks that never move and are never given
//! back. Entering and removing take the table's lock. A slot keeps the handle that is good for it, so that one comparison
//! finds out every wrong one; the first chunk is part of the table, so that programs with few objects get there by one
//! addition.
//!
//! Invariants: a slot's generation is odd while it holds an object; it grows by one with each change, so that a handle is
//! good for one object; what a handle named stays readable until [`Table::remove`] gives it out.

use crate::abi::{
    MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Message, MPI_Op, MPI_Request,
    MPI_Session, MPI_Win,
};
use crate::noted;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A type of handle.
pub(crate) trait Handle: Copy {
    /// The number in the handle that tells kinds apart; not 0.
    const KIND: u8;

    fn from_bits(bits: usize) -> Self;
    fn bits(self) -> usize;
}

macro_rules! kinds {
    ($($handle:ident = $kind:literal;)*) => {$(
        impl Handle for $handle {
            const KIND: u8 = $kind;

            #[inline]
            fn from_bits(bits: usize) -> Self {
                Self(bits)
            }

            #[inline]
            fn bits(self) -> usize {
                self.0
            }
        }
    )*};
}

kinds! {
    MPI_Comm = 1;
    MPI_Group = 2;
    MPI_Win = 3;
    MPI_Datatype = 4;
    MPI_Op = 5;
    MPI_Info = 6;
    MPI_Errhandler = 7;
    MPI_Request = 8;
    MPI_Message = 9;
    // 10 is that of requests that have ended (`request::ended`), 10 to 13 are those of the tool interface.
    MPI_Session = 14;
}

pub(crate) const KIND_SHIFT: u32 = 56;
pub(crate) const GENERATION_SHIFT: u32 = 32;
pub(crate) const GENERATION_MASK: u32 = (1 << (KIND_SHIFT - GENERATION_SHIFT)) - 1;
const NUMBER_INDEX_BITS: u32 = 24;
const NUMBER_AGE_MASK: u32 = (1 << (30 - NUMBER_INDEX_BITS)) - 1;
/// The first chunk has so many slots, each further one twice as many.
const FIRST_CHUNK_BITS: u32 = 6;
const FIRST_CHUNK_LEN: usize = 1 << FIRST_CHUNK_BITS;
const CHUNKS: usize = 26;

/// The objects of one kind: the table's own, or, as `&'static T`, such as are there for good and stand behind one handle after the
/// other.
pub(crate) struct Table<H, T: 'static, P = Box<T>> {
    first: [HandleSlot<T>; FIRST_CHUNK_LEN],
    /// The further chunks, by number; there is none at 0.
    chunks: [AtomicPtr<HandleSlot<T>>; CHUNKS],
    free: Mutex<Free>,
    handles: PhantomData<fn(H) -> P>,
}

/// A slot of objects that are there for good, while it has no handle.
pub(crate) struct Spare<T: 'static> {
    index: u32,
    pub(crate) object: &'static T,
}

struct HandleSlot<T> {
    /// The handle of the object; [`vacant`] while there is none.
    word: AtomicUsize,
    /// Owned by the table while there is a handle.
    object: AtomicPtr<T>,
}

struct Free {
    /// Slots that were used before.
    indices: Vec<u32>,
    /// The first index that never was.
    unused: u32,
    /// The calls that have made the objects, as far as calls note their names.
    makers: BTreeMap<u32, &'static str>,
}

impl<H: Handle, T: Send + Sync, P> Table<H, T, P> {
    pub(crate) const fn new() -> Self {
        Self::beginning_at(0)
    }

    /// With no object at lower indices.
    pub(crate) const fn beginning_at(lowest: u32) -> Self {
        Self {
            first: [const { HandleSlot::empty() }; FIRST_CHUNK_LEN],
            chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
            free: Mutex::new(Free { indices: Vec::new(), unused: lowest, makers: BTreeMap::new() }),
            handles: PhantomData,
        }
    }

    /// Shows every object that is there, with the call that has made it if that was noted. Nothing is entered or removed
    /// meanwhile.
    pub(crate) fn each(&self, mut show: impl FnMut(&T, Option<&'static str>)) {
        let free = self.free.lock();
        for index in 0..free.unused {
            let is_taken = |slot: &&HandleSlot<T>| generation(slot.word.load(Acquire)) % 2 == 1;
            let Some(slot) = self.slot(index).filter(is_taken) else { continue };
            // SAFETY: the generation is odd, so the slot holds an object, which stays there while the lock is held.
            show(unsafe { &*slot.object.load(Relaxed) }, free.makers.get(&index).copied());
        }
    }

    /// A number for the handle of an object: bit 30, six bits of the generation, 24 of the index. Places beyond have none.
    pub(crate) fn number(&self, handle: H) -> Option<c_int> {
        self.slot_of(handle)?;
        let index = handle.bits() as u32;
        let age = generation(handle.bits()) >> 1 & NUMBER_AGE_MASK;
        (index < 1 << NUMBER_INDEX_BITS).then_some((1 << 30 | age << NUMBER_INDEX_BITS | index) as c_int)
    }

    /// The handle of a number that [`Table::number`] has given, if its object is still there.
    pub(crate) fn of_number(&self, number: c_int) -> Option<H> {
        let index = number as u32 & ((1 << NUMBER_INDEX_BITS) - 1);
        let handle = H::from_bits(self.slot(index)?.word.load(Acquire));
        (self.number(handle) == Some(number)).then_some(handle)
    }

    /// An index that is free; `None` when none is left.
    fn free_index(&self, free: &mut Free) -> Option<u32> {
        if let Some(index) = free.indices.pop() {
            return Some(index);
        }
        let index = free.unused;
        let (chunk, _) = place(index);
        let cell = self.chunks.get(chunk)?;
        if chunk > 0 && cell.load(Relaxed).is_null() {
            let slots: Vec<HandleSlot<T>> = (0..chunk_len(chunk)).map(|_| HandleSlot::empty()).collect();
            // Never given back: a stale handle may be looked up at any time.
            cell.store(Box::leak(slots.into_boxed_slice()).as_mut_ptr(), Release);
        }
        free.unused += 1;
        Some(index)
    }

    fn handle(generation: u32, index: u32) -> H {
        let bits =
            u64::from(H::KIND) << KIND_SHIFT | u64::from(generation) << GENERATION_SHIFT | u64::from(index);
        H::from_bits(bits as usize)
    }

    /// The slot of a handle that is good.
    #[inline]
    fn slot_of(&self, handle: H) -> Option<&HandleSlot<T>> {
        let slot = self.slot(handle.bits() as u32)?;
        (slot.word.load(Acquire) == handle.bits()).then_some(slot)
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&HandleSlot<T>> {
        match self.first.get(index as usize) {
            None => self.slot_beyond(index),
            first => first,
        }
    }

    #[inline(never)]
    fn slot_beyond(&self, index: u32) -> Option<&HandleSlot<T>> {
        let (chunk, within) = place(index);
        let slots = self.chunks.get(chunk)?.load(Acquire);
        // SAFETY: a chunk that is there has `chunk_len(chunk)` slots, of which `within` is one, and stays for ever.
        (!slots.is_null()).then(|| unsafe { &*slots.add(within) })
    }
}

impl<H: Handle, T: Send + Sync> Table<H, T> {
    /// Enters an object; `None` when no index is left.
    pub(crate) fn insert(&self, object: T) -> Option<H> {
        let mut free = self.free.lock();
        let index = self.free_index(&mut free)?;
        if let Some(call) = noted::noted() {
            free.makers.insert(index, call);
        }
        let slot = self.slot(index)?;
        slot.object.store(Box::into_raw(Box::new(object)), Relaxed);
        let handle = Self::handle(next_generation(slot.word.load(Relaxed)), index);
        slot.word.store(handle.bits(), Release);
        Some(handle)
    }

    /// The object of a handle, if it is one of this table.
    ///
    /// # Safety
    /// No thread removes the object while the reference is used. MPI makes that the program's duty: freeing
    /// an object while another thread passes it to a call is erroneous.
    #[inline]
    pub(crate) unsafe fn get(&self, handle: H) -> Option<&T> {
        let slot = self.slot_of(handle)?;
        // SAFETY: the handle is the slot's, so the slot holds an object, which stays there by the caller's promise.
        Some(unsafe { &*slot.object.load(Relaxed) })
    }

    /// Takes an object out; the handle and its copies are stale from now on.
    pub(crate) fn remove(&self, handle: H) -> Option<Box<T>> {
        let mut free = self.free.lock();
        let slot = self.slot_of(handle)?;
        let object = slot.object.swap(null_mut(), Relaxed);
        slot.word.store(vacant(next_generation(handle.bits())), Release);
        free.indices.push(handle.bits() as u32);
        free.makers.remove(&(handle.bits() as u32));
        // SAFETY: made by `insert`, and the slot held it until now: its word was the handle, and only this function, under
        // the lock, takes that away.
        Some(unsafe { Box::from_raw(object) })
    }
}

impl<H: Handle, T: Send + Sync> Table<H, T, &'static T> {
    /// A slot for an object; `None` when no index is left.
    pub(crate) fn add(&self, object: &'static T) -> Option<Spare<T>> {
        let index = self.free_index(&mut self.free.lock())?;
        self.slot(index)?.object.store(std::ptr::from_ref(object).cast_mut(), Relaxed);
        Some(Spare { index, object })
    }

    /// Gives the object a handle, which is good once `before` has been told it.
    pub(crate) fn occupy(&self, spare: Spare<T>, before: impl FnOnce(H)) -> Option<H> {
        let slot = self.slot(spare.index)?;
        if let Some(call) = noted::noted() {
            self.free.lock().makers.insert(spare.index, call);
        }
        let handle = Self::handle(next_generation(slot.word.load(Relaxed)), spare.index);
        before(handle);
        slot.word.store(handle.bits(), Release);
        Some(handle)
    }

    /// Takes the handle away, and its copies are stale from now on. Of several calls at a time for the same handle, the callers
    /// see to it that one does this.
    pub(crate) fn vacate(&self, handle: H) -> Option<Spare<T>> {
        let object = self.find(handle)?;
        let index = handle.bits() as u32;
        self.slot(index)?.word.store(vacant(next_generation(handle.bits())), Release);
        if noted::is_noting() {
            self.free.lock().makers.remove(&index);
        }
        Some(Spare { index, object })
    }

    /// The object of a handle. It may have lost the handle, and have got another one, when this returns.
    #[inline]
    pub(crate) fn find(&self, handle: H) -> Option<&'static T> {
        let object = self.slot_of(handle)?.object.load(Relaxed);
        // SAFETY: only `add` fills slots of such a table, with objects that are there for good.
        Some(unsafe { &*object })
    }
}

impl<T> HandleSlot<T> {
    const fn empty() -> Self {
        Self { word: AtomicUsize::new(vacant(0)), object: AtomicPtr::new(null_mut()) }
    }
}

/// The generation in the word of a slot, or in a handle.
fn generation(word: usize) -> u32 {
    (word as u64 >> GENERATION_SHIFT) as u32 & GENERATION_MASK
}

/// The generation that follows on that of a word.
fn next_generation(word: usize) -> u32 {
    generation(word).wrapping_add(1) & GENERATION_MASK
}

/// The word of a slot without an object: no handle, for no slot has the index in it.
const fn vacant(generation: u32) -> usize {
    (generation as usize) << GENERATION_SHIFT | u32::MAX as usize
}

/// Chunk of an index, and place in it.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + (1 << FIRST_CHUNK_BITS);
    let chunk = shifted.ilog2() - FIRST_CHUNK_BITS;
    (chunk as usize, (shifted - (1 << (chunk + FIRST_CHUNK_BITS))) as usize)
}

fn chunk_len(chunk: usize) -> usize {
    1 << (chunk as u32 + FIRST_CHUNK_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(table: &Table<MPI_Info, String>, handle: MPI_Info) -> Option<String> {
        // SAFETY: one thread, which removes nothing meanwhile.
        unsafe { table.get(handle) }.cloned()
    }

    #[test]
    fn a_handle_is_good_for_one_object_of_its_kind() {
        let table: Table<MPI_Info, String> = Table::new();
        let first = table.insert("a".to_owned()).unwrap();
        let second = table.insert("b".to_owned()).unwrap();
        assert_eq!((get(&table, first).as_deref(), get(&table, second).as_deref()), (Some("a"), Some("b")));
        assert_eq!(table.remove(first).as_deref().map(String::as_str), Some("a"));
        assert_eq!(get(&table, first), None);
        assert!(table.remove(first).is_none());
        let third = table.insert("c".to_owned()).unwrap();
        assert_eq!(
            (third.bits() as u32, get(&table, first)),
            (first.bits() as u32, None),
            "the index is used again"
        );
        assert_eq!(get(&table, third).as_deref(), Some("c"));
    }

    #[test]
    fn objects_are_shown_with_the_calls_that_made_them() {
        let table: Table<MPI_Info, u8> = Table::new();
        let shown = || {
            let mut shown = Vec::new();
            table.each(|object, call| shown.push((*object, call)));
            shown
        };
        let first = noted::on_behalf_of("MPI_A", || table.insert(1)).unwrap();
        noted::on_behalf_of("MPI_B", || table.insert(2)).unwrap();
        assert_eq!(shown(), [(1, Some("MPI_A")), (2, Some("MPI_B"))]);
        table.remove(first);
        assert_eq!(shown(), [(2, Some("MPI_B"))]);
    }

    #[test]
    fn nothing_that_is_no_handle_finds_anything() {
        let table: Table<MPI_Info, String> = Table::new();
        let handle = table.insert("a".to_owned()).unwrap().bits();
        let foreign = Table::<MPI_Group, String>::new().insert("g".to_owned()).unwrap().bits();
        let beyond = handle + 1;
        let far = handle | 0xffff_ffff;
        let older = handle - (1 << GENERATION_SHIFT);
        let high = handle | 1 << 60;
        for bits in [0, 1, 0x130, 0x131, foreign, beyond, far, older, high, usize::MAX] {
            assert_eq!(get(&table, MPI_Info(bits)), None, "{bits:#x}");
        }
    }

    #[test]
    fn a_number_is_good_for_one_object() {
        let table: Table<MPI_Info, String> = Table::new();
        let first = table.insert("a".to_owned()).unwrap();
        let second = table.insert("b".to_owned()).unwrap();
        let numbers = [first, second].map(|handle| table.number(handle).unwrap());
        assert_eq!(numbers.map(|number| table.of_number(number)), [Some(first), Some(second)]);
        table.remove(first);
        assert_eq!((table.number(first), table.of_number(numbers[0])), (None, None));
        let third = table.insert("c".to_owned()).unwrap();
        assert_eq!(table.of_number(numbers[0]), None, "another object has the place");
        assert_eq!(table.of_number(table.number(third).unwrap()), Some(third));
        for number in [0, -1, 1, 0x130, c_int::MAX, numbers[1] & !(1 << 30), numbers[1] + 1] {
            assert_eq!(table.of_number(number), None, "{number:#x}");
        }
    }

    #[test]
    fn thousands_of_objects_keep_their_handles() {
        let table: Table<MPI_Info, String> = Table::new();
        let handles: Vec<_> = (0..5000).map(|i| table.insert(i.to_string()).unwrap()).collect();
        for (i, handle) in handles.iter().enumerate() {
            assert_eq!(get(&table, *handle), Some(i.to_string()));
        }
    }
}
