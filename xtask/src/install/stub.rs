//! What programs are linked with: a library of the same name that has the functions of the header and no others.
//!
//! The library itself also has the names of functions that it does not support, for programs that were built with another
//! one. A linker must not find those. So the compiler wrappers, pkg-config and CMake name `lib/link`, where the file for
//! the linker is a stub, and the one for the loader, which has another name, is the library.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Builds the stub in a scratch directory; answers its bytes.
pub(super) fn build(functions: &BTreeSet<String>, scratch: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
    std::fs::create_dir_all(scratch).map_err(failed)?;
    let (from, to) = (scratch.join("stub.c"), scratch.join("stub.so"));
    std::fs::write(&from, source(functions)).map_err(failed)?;
    let mut compile = Command::new("cc");
    compile.args([
        "-shared",
        "-nostdlib",
        "-fno-builtin",
        &format!("-Wl,-soname,{}", crate::abi::SONAME),
        "-o",
    ]);
    let output = compile.arg(&to).arg(&from).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cc could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cc refuses the stub:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::read(&to).map_err(failed)
}

/// Functions that must not be called: a program that does must not go on.
fn source(functions: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for name in functions {
        let _ = writeln!(text, "void {name}(void) {{ __builtin_trap(); }}");
        let _ = writeln!(text, "void P{name}(void) {{ __builtin_trap(); }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stub_has_the_functions_and_the_librarys_name() {
        let scratch = tempfile::tempdir().unwrap();
        let stub = build(&BTreeSet::from(["MPI_Put".to_owned()]), scratch.path()).unwrap();
        let name = b"libmpi_abi.so.1\0";
        assert!(stub.windows(name.len()).any(|bytes| bytes == name));
        let links = |function: &str| {
            let source = scratch.path().join("program.c");
            std::fs::write(
                &source,
                format!("int {function}(void);\nint main(void) {{ return {function}(); }}\n"),
            )
            .unwrap();
            let mut compile = Command::new("cc");
            compile
                .arg(&source)
                .arg(scratch.path().join("stub.so"))
                .arg("-o")
                .arg(scratch.path().join("program"));
            compile.output().unwrap().status.success()
        };
        assert!(links("MPI_Put") && links("PMPI_Put") && !links("MPI_Get"));
    }
}
