//! Operations of the program: a function, and how it is called on packed values.
//!
//! Reductions carry packed elements. The function wants elements as they lie in memory, so they are unpacked around each
//! call, into memory as well aligned as any C type wants it.

use crate::abi::{MPI_Count, MPI_Datatype, UserFunction, UserFunctionLarge};
use crate::datatype::DatatypeUse;
use rma::collective::Combine;
use rma_core::datatype::{Datatype, Gather, Layout, Scatter};
use std::ffi::c_int;

/// An operation of the program.
#[derive(Clone, Copy)]
pub(crate) struct UserOp {
    pub(crate) function: OpFunction,
    pub(crate) is_commutative: bool,
}

/// The function, in one of its two forms.
#[derive(Clone, Copy)]
pub(crate) enum OpFunction {
    Small(UserFunction),
    Large(UserFunctionLarge),
}

/// An operation on packed elements of one datatype.
pub(super) struct UserCombine {
    op: UserOp,
    /// What the function is given, which it may ask about until the reduction is over.
    handle: DatatypeUse,
    datatype: Datatype,
}

/// Elements of a datatype as they lie in memory.
struct ElementMemory {
    memory: Vec<u128>,
    /// Bytes from the start of the memory to the address of the first element.
    origin: i64,
}

const WORD: i64 = size_of::<u128>() as i64;

/// A call of the function takes at most so many bytes, so that the copies stay in the cache.
const BATCH: u64 = 64 << 10;

impl UserCombine {
    pub(super) fn new(op: UserOp, handle: MPI_Datatype, datatype: Datatype) -> Self {
        Self { op, handle: DatatypeUse::new(handle), datatype }
    }

    fn combine_batch(&self, lower: &[u8], values: &mut [u8], count: u64) {
        // What fits memory in packed form has been laid out by the program itself.
        let Ok(layout) = self.datatype.layout(count) else { return };
        let (low, high) = self.bounds(&layout, count);
        let (mut left, mut right) = (ElementMemory::new(low, high), ElementMemory::new(low, high));
        // SAFETY: the memory has room from `low` to `high` around its origin, and is used by this call only.
        let mut places = unsafe { [Scatter::new(left.base(), &layout), Scatter::new(right.base(), &layout)] };
        places[0].write(lower);
        places[1].write(values);
        self.call(&mut left, &mut right, count);
        // SAFETY: as above.
        unsafe { Gather::new(right.base(), &layout) }.read(values);
    }

    /// Where the elements lie around their address, with their gaps: the function may copy elements as a whole.
    fn bounds(&self, layout: &Layout, count: u64) -> (i64, i64) {
        let (low, high) = layout.bounds();
        let (first, extent) = (self.datatype.lower_bound(), self.datatype.extent());
        // The extent may be negative, and as many extents as the layout has fit 63 bits.
        let last = first + extent * (count as i64 - 1);
        let end = (first + extent).max(last + extent);
        (low.min(first).min(last), high.max(end))
    }

    fn call(&self, left: &mut ElementMemory, right: &mut ElementMemory, count: u64) {
        let mut handle = self.handle.handle();
        // SAFETY: the program has given the function for this purpose and keeps it callable; both vectors have `count`
        // elements of the datatype, and all four pointers are good for the duration of the call.
        unsafe {
            match self.op.function {
                OpFunction::Small(function) => {
                    let mut len = count as c_int;
                    function(left.base().cast(), right.base().cast(), &raw mut len, &raw mut handle);
                }
                OpFunction::Large(function) => {
                    let mut len = count as MPI_Count;
                    function(left.base().cast(), right.base().cast(), &raw mut len, &raw mut handle);
                }
            }
        }
    }
}

impl Combine for UserCombine {
    fn combine(&self, lower: &[u8], values: &mut [u8]) {
        let size = self.datatype.size();
        if size == 0 {
            return;
        }
        let batch = (BATCH / size.max(self.datatype.extent().unsigned_abs())).max(1);
        let step = (batch * size) as usize;
        for (lower, values) in lower.chunks(step).zip(values.chunks_mut(step)) {
            let count = values.len() as u64 / size;
            self.combine_batch(lower, values, count);
        }
    }

    fn is_commutative(&self) -> bool {
        self.op.is_commutative
    }
}

impl ElementMemory {
    fn new(low: i64, high: i64) -> Self {
        // The address that the program sees keeps its alignment, also when it lies outside the memory.
        let start = low.div_euclid(WORD) * WORD;
        let words = round_up(high - start) / WORD;
        Self { memory: vec![0; words as usize + 1], origin: -start }
    }

    fn base(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_offset(self.origin as isize)
    }
}

/// The next multiple of the word's size, for a value that is not negative.
fn round_up(value: i64) -> i64 {
    (value + WORD - 1) / WORD * WORD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::MPI_INT;
    use rma_core::datatype::BasicType;
    use std::ffi::c_void;

    /// `lower - value`, on the first `int` of each element of 32 bytes, all of which it writes.
    unsafe extern "C" fn subtract(
        lower: *mut c_void,
        values: *mut c_void,
        count: *mut c_int,
        _datatype: *mut MPI_Datatype,
    ) {
        let (lower, values) = (lower.cast::<[i32; 8]>(), values.cast::<[i32; 8]>());
        // SAFETY: the test gives it such elements.
        unsafe {
            for i in 0..*count as usize {
                let difference = (*lower.add(i))[0] - (*values.add(i))[0];
                *values.add(i) = [difference; 8];
            }
        }
    }

    #[test]
    fn functions_see_elements_with_their_gaps() {
        let pack = |values: &[i32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let int = Datatype::basic(BasicType::I32);
        for lower_bound in [0, 40] {
            let datatype = Datatype::resized(lower_bound, 32, &int).unwrap();
            let op = UserOp { function: OpFunction::Small(subtract), is_commutative: false };
            let combine = UserCombine::new(op, MPI_INT, datatype);
            let (lower, value) = (Vec::from_iter(0..5000), Vec::from_iter((0..5000).map(|i| i * 3)));
            let mut packed = pack(&value);
            combine.combine(&pack(&lower), &mut packed);
            assert_eq!(packed, pack(&Vec::from_iter((0..5000).map(|i| -2 * i))), "{lower_bound}");
        }
        let nothing = Datatype::contiguous(0, &int).unwrap();
        let op = UserOp { function: OpFunction::Small(subtract), is_commutative: false };
        UserCombine::new(op, MPI_INT, nothing).combine(&[], &mut []);
    }
}
