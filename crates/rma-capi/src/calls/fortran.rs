//! What the ABI says of Fortran (MPI 5.0 §20): this library has the default kinds of compilers, and no others.

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::{call_any_time, plain};
use crate::info::{self, Info};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

/// Bytes of the default kinds.
const SIZES: [(&str, usize); 4] = [
    ("mpi_logical_size", 4),
    ("mpi_integer_size", 4),
    ("mpi_real_size", 4),
    ("mpi_double_precision_size", 8),
];

/// Which of the other kinds there are datatypes for.
const KINDS: [(&str, bool); 19] = [
    ("mpi_logical1_supported", true),
    ("mpi_logical2_supported", true),
    ("mpi_logical4_supported", true),
    ("mpi_logical8_supported", true),
    ("mpi_logical16_supported", false),
    ("mpi_integer1_supported", true),
    ("mpi_integer2_supported", true),
    ("mpi_integer4_supported", true),
    ("mpi_integer8_supported", true),
    ("mpi_integer16_supported", false),
    ("mpi_real2_supported", false),
    ("mpi_real4_supported", true),
    ("mpi_real8_supported", true),
    ("mpi_real16_supported", false),
    ("mpi_complex4_supported", false),
    ("mpi_complex8_supported", true),
    ("mpi_complex16_supported", true),
    ("mpi_complex32_supported", false),
    ("mpi_double_complex_supported", true),
];

plain! {
    /// `MPI_Abi_get_fortran_info` (§20.2).
    fn MPI_Abi_get_fortran_info(info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Abi_get_fortran_info", || {
            info.check("info")?;
            let sizes = SIZES.into_iter().map(|(key, size)| (key, size.to_string()));
            let kinds = KINDS.into_iter().map(|(key, is_there)| (key, is_there.to_string()));
            info.set("info", info::enter(Info::of(sizes.chain(kinds)))?)
        })
    }

    /// `MPI_Abi_set_fortran_info` (§20.2): other sizes than the library's are refused.
    fn MPI_Abi_set_fortran_info(info: MPI_Info) -> c_int {
        call_any_time("MPI_Abi_set_fortran_info", || {
            let given = info::get(info)?;
            for (key, size) in SIZES {
                let asked = given.text(key);
                if asked.as_ref().is_some_and(|asked| asked.trim().parse() != Ok(size)) {
                    let asked = asked.unwrap_or_default();
                    return refuse(format!("{key} is {asked}, but this library has {size}"));
                }
            }
            Ok(())
        })
    }

    /// `MPI_Abi_get_fortran_booleans` (§20.2): 1 and 0, of any size that logical datatypes have.
    fn MPI_Abi_get_fortran_booleans(
        logical_size: c_int,
        logical_true: Memory,
        logical_false: Memory,
        is_set: Out<c_int>,
    ) -> c_int {
        call_any_time("MPI_Abi_get_fortran_booleans", || {
            is_set.check("is_set")?;
            for (name, memory, value) in [
                ("logical_true", logical_true, 1),
                ("logical_false", logical_false, 0),
            ] {
                match logical_size {
                    1 => memory.place::<i8>().set(name, value as i8)?,
                    2 => memory.place::<i16>().set(name, value as i16)?,
                    4 => memory.place::<i32>().set(name, value as i32)?,
                    8 => memory.place::<i64>().set(name, value)?,
                    size => return no_size(size),
                }
            }
            is_set.set("is_set", 1)
        })
    }

    /// `MPI_Abi_set_fortran_booleans` (§20.2): other values than the library's are refused.
    fn MPI_Abi_set_fortran_booleans(
        logical_size: c_int, logical_true: Memory, logical_false: Memory,
    ) -> c_int {
        call_any_time("MPI_Abi_set_fortran_booleans", || {
            for (name, memory, value) in [
                ("logical_true", logical_true, 1),
                ("logical_false", logical_false, 0),
            ] {
                let given = match logical_size {
                    1 => memory.value::<i8>().one(name)?.into(),
                    2 => memory.value::<i16>().one(name)?.into(),
                    4 => memory.value::<i32>().one(name)?.into(),
                    8 => memory.value::<i64>().one(name)?,
                    size => return no_size(size),
                };
                if given != value {
                    return refuse(format!("{name} is {given}, but this library's reductions give {value}"));
                }
            }
            Ok(())
        })
    }
}

fn no_size(size: c_int) -> Result<()> {
    Err(Error::new(ErrorClass::Arg, "", format!("logical_size is {size}, not 1, 2, 4 or 8")))
}

fn refuse(cause: String) -> Result<()> {
    Err(Error::new(ErrorClass::Abi, "", cause))
}
