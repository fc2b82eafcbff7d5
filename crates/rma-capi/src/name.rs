//! Names that a program gives to objects (MPI 5.0 §7.8): bytes, of which at most as many are kept as there is room for.

use crate::abi::MPI_MAX_OBJECT_NAME;
use crate::arguments::{Out, Text, TextOut};
use parking_lot::Mutex;
use rma::Result;
use std::ffi::c_int;

/// The name of one object; empty at first.
#[derive(Default)]
pub(crate) struct Name(Mutex<Vec<u8>>);

impl Name {
    pub(crate) fn of(text: &str) -> Self {
        Self(Mutex::new(text.as_bytes().to_vec()))
    }

    /// What the calls that set a name do: a long one is cut.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a null pointer.
    pub(crate) fn set(&self, argument: &str, name: Text) -> Result<()> {
        *self.0.lock() = name.start(argument, MPI_MAX_OBJECT_NAME as usize - 1)?;
        Ok(())
    }

    /// What the calls that ask for a name do.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a null pointer.
    pub(crate) fn get(&self, argument: &str, name: TextOut, resultlen: Out<c_int>) -> Result<()> {
        tell(&self.0.lock(), argument, name, resultlen)
    }

    /// The name as it was given, cut to its place.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
    }
}

/// As [`Name::get`], of a null handle, whose name is that of its constant (MPI 4.1 §7.8).
pub(crate) fn of_null(constant: &str, argument: &str, name: TextOut, resultlen: Out<c_int>) -> Result<()> {
    tell(constant.as_bytes(), argument, name, resultlen)
}

fn tell(bytes: &[u8], argument: &str, name: TextOut, resultlen: Out<c_int>) -> Result<()> {
    resultlen.check("resultlen")?;
    let len = name.set_bytes(argument, bytes, MPI_MAX_OBJECT_NAME as usize)?;
    resultlen.set("resultlen", len)
}
