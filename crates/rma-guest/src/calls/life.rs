//! Start of MPI. Its end is found out by an attribute ([`start`]).

use super::entry;
use crate::start;
use std::ffi::{c_int, c_void};

entry! {
    /// `MPI_Init`.
    fn MPI_Init(argc: *mut c_void, argv: *mut c_void); |host, own| {
        start::prepare();
        let code = host(argc, argv);
        if code == 0 {
            start::begin();
        }
        code
    }

    /// `MPI_Init_thread`.
    fn MPI_Init_thread(
        argc: *mut c_void, argv: *mut c_void, asked: c_int, provided: *mut c_int,
    ); |host, own| {
        start::prepare();
        let code = host(argc, argv, asked, provided);
        if code == 0 {
            start::begin();
        }
        code
    }
}
