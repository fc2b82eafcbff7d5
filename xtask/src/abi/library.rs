//! The built library: what it exports and what it calls itself.

use super::tables::Tables;
use super::unsupported::Unsupported;
use object::read::elf::{Dyn, FileHeader};
use object::{Object, ObjectSymbol, elf};
use std::collections::BTreeSet;
use std::path::Path;

/// The name under which programs with the standard ABI look for the library (MPI 5.0, chapter 20).
pub(crate) const SONAME: &str = "libmpi_abi.so.1";

/// Names that the library keeps for `librma_guest.so` begin so.
const OF_GUEST: &str = "rma_guest_";

/// What a shared library says of itself.
#[derive(Debug, Default)]
pub(super) struct Library {
    pub(super) soname: Option<String>,
    /// Names of what it defines for others.
    pub(super) exports: BTreeSet<String>,
}

impl Library {
    /// Reads a shared library.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let data = std::fs::read(path).map_err(|error| failed(&error))?;
        let file = object::File::parse(&*data).map_err(|error| failed(&error))?;
        let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
        let exports = symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect();
        let soname = soname(&data).map_err(|error| failed(&error))?;
        Ok(Self { soname, exports })
    }

    /// The functions of the table that it exports.
    pub(super) fn implemented(&self, tables: &Tables) -> BTreeSet<String> {
        let names = tables.functions.iter().map(|function| &function.name);
        names.filter(|name| self.exports.contains(*name)).cloned().collect()
    }

    /// What is wrong with the names: a line for each.
    pub(super) fn findings(&self, tables: &Tables, unsupported: &[Unsupported]) -> Vec<String> {
        let mut findings = Vec::new();
        if self.soname.as_deref() != Some(SONAME) {
            let name = self.soname.as_deref().unwrap_or("nothing");
            findings.push(format!("the library calls itself {name}, programs look for {SONAME}"));
        }
        for name in self.exports.iter().filter(|name| !name.starts_with(OF_GUEST)) {
            let plain = name.strip_prefix('P').filter(|plain| plain.starts_with("MPI"));
            let (plain, twin) = match plain {
                Some(plain) => (plain, plain.to_owned()),
                None => (name.as_str(), format!("P{name}")),
            };
            let is_known = tables.functions.iter().any(|function| function.name == plain);
            if !is_known && !unsupported.iter().any(|function| function.name == plain) {
                findings.push(format!("the library exports {name}, which is not in the table of functions"));
            } else if !self.exports.contains(&twin) {
                findings.push(format!("the library exports {name} but not its twin {twin}"));
            }
        }
        findings
    }
}

/// The entry `DT_SONAME` of a library of this machine's kind.
fn soname(data: &[u8]) -> Result<Option<String>, object::Error> {
    let header = elf::FileHeader64::<object::Endianness>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let Some((entries, link)) = sections.dynamic(endian, data)? else { return Ok(None) };
    let strings = sections.strings(endian, data, link)?;
    for entry in entries {
        if entry.tag32(endian) == Some(elf::DT_SONAME) {
            let name = entry.string(endian, strings)?;
            return Ok(Some(String::from_utf8_lossy(name).into_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        let functions =
            "group\tname\treturns\tparameters\nrma\tMPI_Put\tint\tint a\nrma\tMPI_Get\tint\tint b\n";
        Tables::parse("name\ttype\tvalue\n", functions).unwrap()
    }

    fn library(exports: &[&str]) -> Library {
        let exports = exports.iter().map(|name| (*name).to_owned()).collect();
        Library { soname: Some(SONAME.to_owned()), exports }
    }

    #[test]
    fn missing_twins_and_unknown_exports_are_found() {
        let good = library(&["MPI_Put", "PMPI_Put"]);
        assert_eq!(good.findings(&tables(), &[]), [""; 0]);
        assert_eq!(good.implemented(&tables()).into_iter().collect::<Vec<_>>(), ["MPI_Put"]);
        for (exports, why) in [
            (&["MPI_Put"][..], "MPI_Put but not its twin PMPI_Put"),
            (&["PMPI_Get"], "PMPI_Get but not its twin MPI_Get"),
            (&["MPI_Send", "PMPI_Send"], "exports MPI_Send, which is not in the table"),
            (&["rust_eh_personality"], "rust_eh_personality, which is not in the table"),
        ] {
            let findings = library(exports).findings(&tables(), &[]);
            assert!(findings.iter().any(|finding| finding.contains(why)), "{findings:?}");
        }
        let name = "MPI_Send".to_owned();
        let (group, answer, parameters) = ("messages".to_owned(), "error".to_owned(), None);
        let send = Unsupported { group, name, answer, parameters };
        assert_eq!(library(&["MPI_Send", "PMPI_Send"]).findings(&tables(), &[send]), [""; 0]);
        let other = Library { soname: None, ..library(&[]) };
        assert!(other.findings(&tables(), &[])[0].contains("calls itself nothing"));
    }

    #[test]
    fn a_library_of_the_system_is_read() {
        // Some library that this very program has mapped.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.split_whitespace().find(|word| word.contains("/libc.so")).unwrap();
        let library = Library::read(Path::new(path)).unwrap();
        assert_eq!(library.soname.as_deref(), Some("libc.so.6"));
        assert!(library.exports.contains("malloc"));
        assert!(Library::read(Path::new("/proc/self/maps")).is_err());
    }
}
