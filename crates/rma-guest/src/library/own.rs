//! This project's own library, with the engine in it.

use super::object::{Object, file_of};
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The library of the one-sided calls.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) object: Object,
    pub(crate) file: PathBuf,
}

/// What it is called where it is installed, and where it is built.
const NAMES: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so"];

/// The library, which lies beside this one; loaded when it is first asked for.
///
/// # Errors
/// Why it cannot be loaded.
pub(crate) fn own() -> Result<&'static Own, &'static str> {
    static OWN: OnceLock<Result<Own, String>> = OnceLock::new();
    OWN.get_or_init(load).as_ref().map_err(String::as_str)
}

fn load() -> Result<Own, String> {
    let this = file_of((own as fn() -> _) as *const c_void).and_then(|file| file.canonicalize().ok());
    let folder =
        this.and_then(|file| Some(file.parent()?.to_owned())).ok_or("librma_guest.so has no folder")?;
    let file = NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let file = file.ok_or_else(|| format!("there is no {} in {}", NAMES[0], folder.display()))?;
    Ok(Own { object: Object::load(&file)?, file })
}
