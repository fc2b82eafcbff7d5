//! What the C compiler makes of the header: sizes, offsets and values, in C and, where there is a compiler, in C++.
//!
//! Two programs. One compares every constant with the table and is run; the other takes the address of everything that the
//! header declares and is linked with the library, so a name that is declared and not there is named by the linker.

use super::header::{FORTRAN, REMOVED};
use super::tables::{Constant, Kind, Tables};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Sizes and offsets: an expression and its value on the machines that the ABI is used on here.
const LAYOUT: &[(&str, u32)] = &[
    ("sizeof(MPI_Status)", 32),
    ("offsetof(MPI_Status, MPI_SOURCE)", 0),
    ("offsetof(MPI_Status, MPI_TAG)", 4),
    ("offsetof(MPI_Status, MPI_ERROR)", 8),
    ("offsetof(MPI_Status, MPI_internal)", 12),
    ("sizeof(MPI_Aint)", 8),
    ("sizeof(MPI_Offset)", 8),
    ("sizeof(MPI_Count)", 8),
    ("sizeof(MPI_Comm)", 8),
    ("sizeof(int)", 4),
];

/// Compares the header in `include` with the tables, and what it declares with the library. Answers what is wrong.
pub(super) fn findings(
    tables: &Tables,
    declared: &BTreeSet<String>,
    include: &Path,
    library: &Path,
    directory: &Path,
) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    let values = values(&tables.types, &tables.constants);
    let addresses = addresses(declared);
    for (compiler, standard, suffix) in [("cc", "-std=c99", "c"), ("c++", "-std=c++11", "cpp")] {
        if suffix == "cpp" && !has(compiler) {
            println!("no {compiler} here: the header is not tried in C++");
            continue;
        }
        for (name, text, is_run) in [("values", &values, true), ("addresses", &addresses, false)] {
            let (source, program) = (directory.join(format!("{name}.{suffix}")), directory.join(name));
            std::fs::write(&source, text).map_err(|error| format!("{}: {error}", source.display()))?;
            let mut compile = Command::new(compiler);
            compile.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(include);
            compile.arg(&source).arg("-o").arg(&program).args((!is_run).then_some(library));
            findings.extend(complaint(&mut compile, &format!("{compiler} refuses the header"))?);
            if is_run && program.exists() {
                findings.extend(complaint(&mut Command::new(&program), "values differ")?);
                let _ = std::fs::remove_file(&program);
            }
        }
    }
    Ok(findings)
}

/// Runs a command; what it printed when it fails.
fn complaint(command: &mut Command, what: &str) -> Result<Option<String>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program} could not be started: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    Ok((!output.status.success()).then(|| format!("{what}:\n{}", String::from_utf8_lossy(&text).trim_end())))
}

fn has(compiler: &str) -> bool {
    let mut command = Command::new(compiler);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A program that ends with 1 when a constant or a size is not what the table says, and names it; it needs every type.
fn values(types: &[String], constants: &[Constant]) -> String {
    let mut text = "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n\n\
                    static int bad;\n\n\
                    static void same(const char *name, long long is, long long should) {\n    \
                    if (is != should) {\n        printf(\"%s is %lld, not %lld\\n\", name, is, should);\n        \
                    bad = 1;\n    }\n}\n\nint main(void) {\n"
        .to_owned();
    for name in types {
        let _ = writeln!(text, "    {{ {name} *none = 0; same(\"{name}\", none != 0, 0); }}");
    }
    for (expression, value) in LAYOUT {
        let _ = writeln!(text, "    same(\"{expression}\", (long long)({expression}), {value});");
    }
    for constant in constants {
        let name = &constant.name;
        let cast = match &constant.kind {
            Kind::TypeAlias(_) => continue,
            // Through a variable of the type, so that a wrong type is an error too.
            Kind::Handle(kind) | Kind::Pointer(kind) => {
                let _ = writeln!(
                    text,
                    "    {{ {kind} typed = {name}; same(\"{name}\", (long long)(intptr_t)typed, {}); }}",
                    constant.value
                );
                continue;
            }
            Kind::Offset => {
                let _ = writeln!(
                    text,
                    "    same(\"sizeof {name}\", (long long)sizeof({name}), (long long)sizeof(MPI_Offset));"
                );
                ""
            }
            Kind::Int | Kind::Choice(_) => "",
            Kind::Alias(_) => "(intptr_t)",
        };
        let _ = writeln!(text, "    same(\"{name}\", (long long){cast}{name}, {});", constant.value);
    }
    text + "    return bad;\n}\n"
}

/// A program that needs every declared function, and its twin, to link.
fn addresses(declared: &BTreeSet<String>) -> String {
    let mut text = format!("#define {FORTRAN}\n#define {REMOVED}\n");
    text.push_str("#include <mpi.h>\n\ntypedef void any(void);\n\nint main(void) {\n    any *all[] = {\n");
    for name in declared {
        let _ = writeln!(text, "        (any *)(intptr_t)&{name}, (any *)(intptr_t)&P{name},");
    }
    text + "        (any *)0,\n    };\n    return all[0] == (any *)0;\n}\n"
}

#[cfg(test)]
mod tests {
    use super::super::header;
    use super::*;

    const CONSTANTS: &str = "name\ttype\tvalue\nMPI_SUM\tMPI_Op\t0x00000021\nMPI_ANY_TAG\tint\t-2\nMPI_HERE\tMPI_Offset\t-1\n\
                             MPI_PLUS\talias\tMPI_SUM\nMPI_ABI_Count\talias\tMPI_ABI_Offset\n";
    const FUNCTIONS: &str = "group\tname\treturns\tparameters\nrma\tMPI_Nope\tint\tint a\n";

    /// What is wrong with this header, with a library that exports nothing of MPI.
    fn judge(header: &str, declared: &[&str]) -> String {
        let directory = std::env::temp_dir().join(format!("rma-abi-{}-{}", std::process::id(), header.len()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("mpi.h"), header).unwrap();
        let (source, library) = (directory.join("empty.c"), directory.join("libempty.so"));
        std::fs::write(&source, "int nothing;\n").unwrap();
        let built = Command::new("cc").args(["-shared", "-o"]).arg(&library).arg(&source).status().unwrap();
        assert!(built.success());
        let tables = Tables::parse(CONSTANTS, FUNCTIONS).unwrap();
        let declared = declared.iter().map(|name| (*name).to_owned()).collect();
        let findings = findings(&tables, &declared, &directory, &library, &directory).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        findings.join("\n")
    }

    fn generated(declared: &[&str]) -> String {
        let declared = declared.iter().map(|name| (*name).to_owned()).collect();
        header::generate(&Tables::parse(CONSTANTS, FUNCTIONS).unwrap(), &declared, &[])
    }

    #[test]
    fn the_generated_header_passes_and_wrong_ones_do_not() {
        let good = generated(&[]);
        assert_eq!(judge(&good, &[]), "");
        for (from, to, why) in [
            ("(-2)", "(-3)", "MPI_ANY_TAG is -3, not -2"),
            ("MPI_internal[5]", "MPI_internal[6]", "sizeof(MPI_Status) is 36, not 32"),
            ("0x00000021", "0x00000022", "MPI_SUM is 34, not 33"),
            ("((MPI_Op)", "((MPI_Comm)", "refuses the header"),
            ("((MPI_Offset)-1)", "(-1)", "sizeof MPI_HERE is 4, not 8"),
            ("typedef int64_t MPI_Offset", "typedef int32_t MPI_Offset", "sizeof(MPI_Count) is 4, not 8"),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            let findings = judge(&format!("{bad}/* {why} */\n"), &[]);
            assert!(findings.contains(why), "{findings}");
        }
    }

    #[test]
    fn what_is_declared_and_not_exported_is_named() {
        let findings = judge(&generated(&["MPI_Nope"]), &["MPI_Nope"]);
        assert!(findings.contains("PMPI_Nope"), "{findings}");
    }
}
