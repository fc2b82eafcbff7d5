//! The result of a fast path, which runs before the frame of its entry point.

use std::ffi::c_int;

/// An entry point, for what is called on its behalf.
pub(crate) trait Named {
    const NAME: &'static str;
}

/// What a fast path answers: the code of the call, or that it has done nothing.
pub(crate) trait Early {
    fn code(self) -> Option<c_int>;
}

impl Early for bool {
    #[inline(always)]
    fn code(self) -> Option<c_int> {
        if self { Some(0) } else { None }
    }
}

impl Early for Option<c_int> {
    #[inline(always)]
    fn code(self) -> Option<c_int> {
        self
    }
}
