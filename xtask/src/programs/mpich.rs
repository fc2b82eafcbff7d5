//! The tests of MPICH, in C and in Fortran, by the lists in their folders.
//!
//! A test says "No Errors" or "No errors" when it is good, unless its line says how it is to fail. What asks for other languages, files or processes is not run, nor what needs more memory than
//! [`MOST_GB`].

use super::outcomes::Outcomes;
use super::place::{Place, said};
use crate::process::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests that are known to fail, and why: what they expect of MPICH alone.
pub(super) const KNOWN: &str = include_str!("../../../tests/programs/mpich.tsv");
/// Folders with a list of tests.
const FOLDERS: [&str; 70] = [
    "attr",
    "basic",
    "coll",
    "comm",
    "datatype",
    "errhan",
    "group",
    "info",
    "init",
    "mpi_t",
    "part",
    "pt2pt",
    "rma",
    "session",
    "threads/coll",
    "threads/comm",
    "threads/init",
    "threads/part",
    "threads/pt2pt",
    "threads/rma",
    "topo",
    "errors/attr",
    "errors/basic",
    "errors/coll",
    "errors/comm",
    "errors/datatype",
    "errors/group",
    "errors/pt2pt",
    "errors/rma",
    "errors/session",
    "errors/topo",
    "f08/attr",
    "f08/coll",
    "f08/comm",
    "f08/datatype",
    "f08/ext",
    "f08/info",
    "f08/init",
    "f08/misc",
    "f08/profile",
    "f08/pt2pt",
    "f08/rma",
    "f08/subarray",
    "f08/timer",
    "f08/topo",
    "f77/attr",
    "f77/coll",
    "f77/comm",
    "f77/datatype",
    "f77/ext",
    "f77/info",
    "f77/init",
    "f77/profile",
    "f77/pt2pt",
    "f77/rma",
    "f77/topo",
    "f90/attr",
    "f90/coll",
    "f90/comm",
    "f90/datatype",
    "f90/ext",
    "f90/f90types",
    "f90/info",
    "f90/init",
    "f90/misc",
    "f90/profile",
    "f90/pt2pt",
    "f90/rma",
    "f90/timer",
    "f90/topo",
];
/// What tests have in common.
const COMMON: [&str; 10] = [
    "util/mtest.c",
    "util/mtest_common.c",
    "util/mtest_thread.c",
    "util/dtypes.c",
    "dtpools/src/dtpools.c",
    "dtpools/src/dtpools_attr.c",
    "dtpools/src/dtpools_custom.c",
    "dtpools/src/dtpools_desc.c",
    "dtpools/src/dtpools_init_verify.c",
    "dtpools/src/dtpools_misc.c",
];
/// What tests in Fortran have in common, below folders of a name.
const FORTRAN: [(&str, &str); 3] =
    [("f08", "mtest_f08.f90"), ("f90", "mtest_f90.f90"), ("f77", "mtest_f77.f")];
/// What their configuration would write for integers of the kind of addresses.
const ADDRESS: (&str, &str) = ("@F77_MPI_ADDRESS@", "integer (kind=MPI_ADDRESS_KIND)");
/// What their configuration would find.
const FOUND: &str = "STDIO_H STDLIB_H STRING_H STDARG_H UNISTD_H SYS_TYPES_H SYS_TIME_H SYS_RESOURCE_H STRINGS_H MEMORY_H \
    INTTYPES_H STDINT_H GETRUSAGE SETENV USLEEP LONG_LONG LONG_DOUBLE FLOAT__COMPLEX DOUBLE__COMPLEX LONG_DOUBLE__COMPLEX \
    MPI_WIN_CREATE MPI_INFO_CREATE INT8_T INT16_T INT32_T INT64_T UINT8_T UINT16_T UINT32_T UINT64_T _BOOL MPI_T PTHREAD_H";
/// The version of Debian's package.
const PACKAGE: &str = "mpich";
/// Folders among what is built: of headers, and an empty one within it.
const HEADERS: &str = "include";
const BELOW: &str = "include/below";
const MOST_GB: f64 = 1.0;
/// What a test says that has found nothing.
const GOOD_WORDS: [&str; 2] = ["No Errors", "No errors"];
/// Longest that a test may take that does not say, in seconds.
const LIMIT_S: u32 = 300;

/// How a test is to end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    succeeds: bool,
    says: bool,
}

/// A line of a list.
#[derive(Debug, PartialEq)]
struct Listed {
    name: String,
    ranks: u32,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    limit_s: u32,
    gigabytes: f64,
    end: End,
}

impl End {
    const GOOD: Self = Self { succeeds: true, says: true };

    /// What a list calls it.
    fn named(name: &str) -> Self {
        match name {
            "TestStatus" | "TestErrFatal" => Self { succeeds: false, says: false },
            "TestStatusNoErrors" => Self { succeeds: false, says: true },
            _ => Self::GOOD,
        }
    }

    fn is_met(self, succeeds: bool, says: bool) -> bool {
        succeeds == self.succeeds && (says || !self.says)
    }
}

impl Listed {
    fn parse(line: &str) -> Option<Self> {
        // Some lines begin with a word that the configuration would replace.
        let line = match line.trim().strip_prefix('@').and_then(|rest| rest.split_once('@')) {
            Some((_, rest)) => rest.trim(),
            None => line.trim(),
        };
        let mut words = line.split_whitespace();
        let (name, ranks) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let (mut arguments, mut environment) = (Vec::new(), Vec::new());
        let (mut limit_s, mut gigabytes, mut end) = (None, 0.0, End::GOOD);
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            match key {
                "arg" => arguments.push(value.to_owned()),
                "env" => environment.extend(value.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()))),
                "timeLimit" => limit_s = value.parse().ok(),
                "resultTest" => end = End::named(value),
                "mem" => gigabytes = value.parse().unwrap_or(f64::MAX),
                _ => {}
            }
        }
        // A slow machine takes longer than the list says, but what the limit is to end ends there.
        let shortest = if end.succeeds { LIMIT_S } else { 0 };
        let limit_s = limit_s.unwrap_or(LIMIT_S).max(shortest);
        Some(Self { name, ranks, arguments, environment, limit_s, gigabytes, end })
    }
}

/// Builds and runs them; says whether all failures are known.
pub(super) fn run(place: &Place<'_>) -> Result<bool, String> {
    let tests = place.sources(PACKAGE)?.join("test/mpi");
    let mut outcomes = Outcomes::new(KNOWN)?;
    let built = Built::new(place, &tests)?;
    for folder in FOLDERS.iter().filter(|folder| tests.join(folder).is_dir()) {
        for test in list(&tests.join(folder)) {
            let name = format!("{folder}/{}", test.name);
            if !place.wants(&name) || test.gigabytes > MOST_GB {
                continue;
            }
            let Some(outcome) = built.run(folder, &test)? else { continue };
            let how = format!(" on {} ranks {:?}", test.ranks, test.arguments);
            outcomes.note(&name, &how, outcome.is_ok(), || outcome.err().unwrap_or_default());
        }
    }
    Ok(outcomes.end("mpich"))
}

/// The lines of a folder's list.
fn list(folder: &Path) -> Vec<Listed> {
    let text =
        ["testlist", "testlist.in"].iter().find_map(|name| std::fs::read_to_string(folder.join(name)).ok());
    text.unwrap_or_default().lines().filter_map(Listed::parse).collect()
}

/// Where tests are built.
struct Built<'a> {
    place: &'a Place<'a>,
    tests: &'a Path,
    folder: PathBuf,
}

impl<'a> Built<'a> {
    /// Builds what tests have in common.
    fn new(place: &'a Place<'a>, tests: &'a Path) -> Result<Self, String> {
        let folder = place.folder.join("mpich");
        let built = Self { place, tests, folder };
        let failed = |error: std::io::Error| format!("{}: {error}", built.folder.display());
        // What was there may be linked with another installation.
        let _ = std::fs::remove_dir_all(&built.folder);
        std::fs::create_dir_all(built.folder.join(BELOW)).map_err(failed)?;
        let mut header = String::from("#ifndef FOUND\n#define FOUND\n");
        FOUND.split_whitespace().for_each(|name| header += &format!("#define HAVE_{name} 1\n"));
        header += "#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n#define THREAD_PACKAGE_NONE 0\n";
        header += "#define F77_NAME_LOWER_USCORE 1\n#define THREAD_PACKAGE_POSIX 1\n#define USE_STRICT_MPI 1\n#endif\n";
        for name in ["mpitestconf.h", "dtpoolsconf.h"] {
            std::fs::write(built.folder.join(name), &header).map_err(failed)?;
            std::fs::write(built.folder.join(HEADERS).join(name), &header).map_err(failed)?;
        }
        for folder in FOLDERS {
            configure(&tests.join(folder), &built.folder).map_err(failed)?;
        }
        for source in COMMON.iter().filter(|source| tests.join(source).is_file()) {
            succeed(built.compiler(false).arg("-c").arg(tests.join(source)))?;
        }
        for source in FORTRAN
            .iter()
            .map(|(_, source)| tests.join("util").join(source))
            .filter(|source| source.is_file())
        {
            succeed(built.compiler(true).arg("-c").arg(source))?;
        }
        Ok(built)
    }

    fn compiler(&self, is_fortran: bool) -> Command {
        let mut compiler = Command::new(self.place.program(if is_fortran { "rmafc" } else { "rmacc" }));
        compiler.current_dir(&self.folder).arg("-w").arg("-I").arg(&self.folder);
        if !is_fortran {
            // Some have old names, and the integers that Fortran has for handles.
            compiler.args(["-DRMA_MPI_1", "-DRMA_MPI_FINT"]);
        }
        for include in ["include", "dtpools/include"] {
            compiler.arg("-I").arg(self.tests.join(include));
        }
        // Some sources name what their configuration writes as a file above a folder of headers, or in a folder above two.
        for include in [HEADERS, BELOW] {
            compiler.arg("-I").arg(self.folder.join(include));
        }
        compiler
    }

    /// Builds and runs a test; `None` when it has no source of its own.
    fn run(&self, folder: &str, test: &Listed) -> Result<Option<Result<(), String>>, String> {
        let here = self.tests.join(folder);
        let sources = self.sources(&here, &test.name);
        if sources.is_empty() {
            return Ok(None);
        }
        let program = self.folder.join(format!("{}-{}", folder.replace('/', "-"), test.name));
        if !program.is_file()
            && let Err(error) = self.build(folder, &sources, &defined(&here, &test.name), &program)?
        {
            return Ok(Some(Err(format!("is not compiled: {error}"))));
        }
        let mut job = self.place.launch(test.ranks, test.limit_s);
        job.arg(&program).args(&test.arguments).envs(test.environment.iter().cloned());
        let (is_good, text) = said(job.current_dir(here))?;
        let is_good = test.end.is_met(is_good, GOOD_WORDS.iter().any(|words| text.contains(words)));
        Ok(Some(if is_good {
            Ok(())
        } else {
            Err(text.chars().take(400).collect::<String>().replace('\n', " | "))
        }))
    }

    /// The files of a test, those that are not made from others.
    fn sources(&self, folder: &Path, name: &str) -> Vec<PathBuf> {
        let names = rule(folder, name, "SOURCES").unwrap_or_else(|| format!("{name}.c {name}.f90 {name}.f"));
        let sources = names.split_whitespace().filter(|name| !name.ends_with(".h"));
        sources.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
    }

    fn build(
        &self,
        folder: &str,
        sources: &[PathBuf],
        defined: &[String],
        program: &Path,
    ) -> Result<Result<(), String>, String> {
        let is_c = |source: &&PathBuf| source.extension().is_some_and(|kind| kind == "c");
        let is_fortran = !sources.iter().all(|source| is_c(&source));
        let mut link = self.compiler(is_fortran);
        link.args(defined).arg("-o").arg(program);
        for source in sources {
            if !is_fortran || !is_c(&source) {
                link.arg(source);
                continue;
            }
            let object = program.with_extension("c.o");
            let (is_good, text) = said(self.compiler(false).arg("-c").arg(source).arg("-o").arg(&object))?;
            if !is_good {
                return Ok(Err(first_error(&text).to_owned()));
            }
            link.arg(object);
        }
        let common = FORTRAN.iter().find(|(below, _)| is_fortran && folder.starts_with(below));
        match common {
            Some((_, source)) => link.arg(Path::new(source).with_extension("o")),
            None => link.args(self.objects()).args(["-lm", "-lpthread"]),
        };
        let (is_good, text) = said(&mut link)?;
        Ok(if is_good { Ok(()) } else { Err(first_error(&text).to_owned()) })
    }

    fn objects(&self) -> impl Iterator<Item = PathBuf> {
        let stem = |source: &&str| Path::new(source).file_stem().unwrap_or_default().to_owned();
        COMMON.iter().map(move |source| PathBuf::from(stem(source)).with_extension("o"))
    }
}

/// Writes what a folder's sources include as its configuration would.
fn configure(folder: &Path, into: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if let Some(name) =
            name.to_str().and_then(|name| name.strip_suffix(".in")).filter(|name| name.ends_with(".h"))
        {
            let text = std::fs::read_to_string(entry.path())?.replace(ADDRESS.0, ADDRESS.1);
            std::fs::write(into.join(name), text)?;
        }
    }
    Ok(())
}

/// What a folder's rules say of a test.
fn rule(folder: &Path, name: &str, what: &str) -> Option<String> {
    let rules = std::fs::read_to_string(folder.join("Makefile.am")).ok()?;
    let of_test = |line: &str| {
        let rest = line.strip_prefix(name)?.strip_prefix('_')?.strip_prefix(what)?.trim_start();
        rest.strip_prefix('=').map(str::to_owned)
    };
    rules.lines().find_map(of_test)
}

/// What is defined for a variant of a test.
fn defined(folder: &Path, name: &str) -> Vec<String> {
    let flags = rule(folder, name, "CPPFLAGS").unwrap_or_default();
    flags.split_whitespace().filter(|word| word.starts_with("-D")).map(str::to_owned).collect()
}

fn first_error(text: &str) -> &str {
    let is_error = |line: &&str| line.contains("rror:") || line.contains("undefined");
    text.lines().find(is_error).or(text.lines().next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_have_arguments_limits_and_words_to_be_replaced() {
        let one = Listed::parse(
            "@coll_error@reduceop 4 arg=-nonblocking timeLimit=600 mem=4.3 env=A=b strict=FALSE",
        );
        let expected = Listed {
            name: "reduceop".into(),
            ranks: 4,
            arguments: vec!["-nonblocking".into()],
            environment: vec![("A".into(), "b".into())],
            limit_s: 600,
            gigabytes: 4.3,
            end: End::GOOD,
        };
        assert_eq!(one, Some(expected));
        let end = Listed::parse("errfatal 1 resultTest=TestErrFatal").unwrap().end;
        assert!(end.is_met(false, false) && !end.is_met(true, true));
        let limits = ["hang 2 resultTest=TestErrFatal timeLimit=10", "slow 2 timeLimit=10"];
        assert_eq!(limits.map(|line| Listed::parse(line).unwrap().limit_s), [10, LIMIT_S]);
        let end = Listed::parse("abort 4 resultTest=TestStatusNoErrors").unwrap().end;
        assert!(end.is_met(false, true) && !end.is_met(false, false));
        assert_eq!(Listed::parse("# a comment 4"), None);
        assert_eq!(Listed::parse("@rmadir@"), None);
    }
}
