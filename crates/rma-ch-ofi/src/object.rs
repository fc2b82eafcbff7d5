//! Calls of libfabric's objects, by the tables of functions that they carry.

use crate::abi::Fid;

/// Calls a function of an object's table.
macro_rules! call {
    ($object:expr, $table:ident . $function:ident ($($argument:expr),*)) => {{
        let object = $object;
        // SAFETY: an object that the library made and that is not closed, whose table has this function in every version
        // since 1.0; the arguments are valid for the time of the call, or stay in place until the completion.
        unsafe {
            match (*(*object).$table).$function {
                Some(function) => function(object, $($argument),*),
                None => -38, // FI_ENOSYS
            }
        }
    }};
}

pub(crate) use call;

pub(crate) fn close(object: *mut Fid) {
    if object.is_null() {
        return;
    }
    // An object that does not close stays: the failure cannot be reported anywhere.
    let _ = call!(object, ops.close());
}
