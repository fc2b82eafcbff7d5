//! Which compiler, which flags, and the questions that build systems ask a wrapper.

use super::arguments::Request;
use super::bindings;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the wrappers of two languages differ in.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Name of the wrapper.
    name: &'static str,
    /// Variable that chooses the compiler.
    variable: &'static str,
    /// Option that chooses the compiler.
    option: &'static str,
    /// The compiler otherwise.
    default: fn() -> &'static str,
    /// Whether there are modules, which are compiled when they are first needed.
    has_modules: bool,
}

/// C.
pub const C: Language =
    Language { name: "rmacc", variable: "RMA_CC", option: "-cc=", default: || "cc", has_modules: false };
/// C++.
pub const CXX: Language =
    Language { name: "rmacxx", variable: "RMA_CXX", option: "-cxx=", default: || "c++", has_modules: false };
/// Fortran.
pub const FORTRAN: Language = Language {
    name: "rmafc",
    variable: "RMA_FC",
    option: "-fc=",
    default: bindings::default_compiler,
    has_modules: true,
};

/// A question that the wrapper answers itself, instead of becoming the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// The whole command.
    Command,
    /// The compiler, and what it gets for compiling.
    Compile,
    /// The compiler, and what it gets for linking.
    Link,
    /// Only what is added for compiling.
    CompileFlags,
    /// Only what is added for linking.
    LinkFlags,
    Include,
    LibraryDirectory,
    Library,
}

/// Spellings of the questions: those of the wrappers that build systems know.
const QUESTIONS: &[(&str, Question)] = &[
    ("-show", Question::Command),
    ("--show", Question::Command),
    ("-showme", Question::Command),
    ("--showme", Question::Command),
    ("-compile-info", Question::Compile),
    ("-compile_info", Question::Compile),
    ("-link-info", Question::Link),
    ("-link_info", Question::Link),
    ("-showme:compile", Question::CompileFlags),
    ("--showme:compile", Question::CompileFlags),
    ("-showme:link", Question::LinkFlags),
    ("--showme:link", Question::LinkFlags),
    ("-showme:incdirs", Question::Include),
    ("--showme:incdirs", Question::Include),
    ("-showme:libdirs", Question::LibraryDirectory),
    ("--showme:libdirs", Question::LibraryDirectory),
    ("-showme:libs", Question::Library),
    ("--showme:libs", Question::Library),
];

/// The library's name for the linker.
const LIBRARY: &str = "mpi_abi";

/// The program: answers a question, or becomes the compiler.
pub fn main(language: &Language, arguments: Vec<OsString>) -> ExitCode {
    match run(language, arguments) {
        Ok(code) => code,
        Err((code, why)) => {
            eprintln!("{}: {why}", language.name);
            ExitCode::from(code)
        }
    }
}

fn run(language: &Language, arguments: Vec<OsString>) -> Result<ExitCode, (u8, String)> {
    let itself =
        std::env::current_exe().map_err(|error| (1, format!("cannot find out where this is: {error}")))?;
    let prefix = prefix(&itself).map_err(|why| (1, why))?;
    let mut wrapper = Wrapper::new(language, &prefix, std::env::var_os(language.variable), arguments);
    if is_itself(&wrapper.compiler[0], &itself) {
        let why = format!(
            "{} is this wrapper itself; {} names a compiler",
            wrapper.compiler[0].display(),
            language.variable
        );
        return Err((2, why));
    }
    let needs_modules = wrapper.question.is_some() || Request::of(&wrapper.arguments).has_input;
    if language.has_modules && needs_modules {
        wrapper.modules = Some(bindings::folder(&prefix, &wrapper.compiler).map_err(|why| (1, why))?);
    }
    if let Some(question) = wrapper.question {
        let mut line = wrapper.answer(question);
        line.push("\n");
        // A reader that is gone needs no answer.
        let _ = std::io::stdout().write_all(line.as_encoded_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let program = wrapper.compiler.remove(0);
    let error = Command::new(&program).args(&wrapper.compiler).args(wrapper.command_line()).exec();
    let why = format!("cannot run {}: {error} ({} names a compiler)", program.display(), language.variable);
    Err((if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }, why))
}

/// The installation that this program is part of.
fn prefix(itself: &Path) -> Result<PathBuf, String> {
    let prefix = itself.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    match prefix.join("include/mpi.h").is_file() {
        true => Ok(prefix.to_owned()),
        false => Err(format!(
            "{} is not part of an installation: there is no {}/include/mpi.h (cargo xtask install makes one)",
            itself.display(),
            prefix.display()
        )),
    }
}

/// Whether the program of this name is the wrapper, which would call itself for ever.
fn is_itself(program: &OsStr, itself: &Path) -> bool {
    let path = Path::new(program);
    let found = if path.components().count() > 1 {
        Some(path.to_owned())
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|path| path.is_file())
    };
    found.and_then(|path| path.canonicalize().ok()).is_some_and(|path| path == itself)
}

/// One call.
#[derive(Debug)]
struct Wrapper {
    /// The compiler and its own first arguments.
    compiler: Vec<OsString>,
    question: Option<Question>,
    /// The user's arguments without those that are for the wrapper.
    arguments: Vec<OsString>,
    include: OsString,
    libraries: OsString,
    /// The folder of Fortran's module and library.
    modules: Option<PathBuf>,
    /// What programs are linked with: it has the names of the functions that there are, and no others.
    link: OsString,
}

impl Wrapper {
    /// `chosen` is the value of the variable; words in it are separated by spaces.
    fn new(language: &Language, prefix: &Path, chosen: Option<OsString>, arguments: Vec<OsString>) -> Self {
        let mut compiler = words(chosen.as_deref().unwrap_or_default());
        let mut question = None;
        let mut kept = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let text = argument.to_str().unwrap_or_default();
            if let Some(name) = text.strip_prefix(language.option) {
                compiler = words(OsStr::new(name));
            } else if let Some((_, asked)) = QUESTIONS.iter().find(|(spelling, _)| *spelling == text) {
                question = Some(*asked);
            } else {
                kept.push(argument);
            }
        }
        if compiler.is_empty() {
            compiler.push((language.default)().into());
        }
        let directory = |name| prefix.join(name).into_os_string();
        Self {
            compiler,
            question,
            arguments: kept,
            include: directory("include"),
            modules: None,
            libraries: directory("lib"),
            link: directory("lib/link"),
        }
    }

    fn compile_flags(&self) -> Vec<OsString> {
        let modules = self.modules.iter().map(|folder| joined("-I", folder.as_os_str()));
        modules.chain([joined("-I", &self.include)]).collect()
    }

    /// The name of the library's directory goes into the program, in a form that `LD_LIBRARY_PATH` overrides.
    fn link_flags(&self) -> Vec<OsString> {
        let mut flags = Vec::new();
        if let Some(folder) = &self.modules {
            flags.extend([joined("-L", folder.as_os_str()), joined("-Wl,-rpath,", folder.as_os_str())]);
            flags.push(joined("-l", OsStr::new(bindings::LIBRARY)));
        }
        flags.extend([
            joined("-L", &self.link),
            joined("-Wl,-rpath,", &self.libraries),
            "-Wl,--enable-new-dtags".into(),
            joined("-l", OsStr::new(LIBRARY)),
        ]);
        flags
    }

    /// What the compiler gets.
    fn command_line(&self) -> Vec<OsString> {
        let mut line = self.arguments.clone();
        let request = Request::of(&self.arguments);
        if request.has_input {
            line.extend(self.compile_flags());
        }
        if request.links() {
            line.extend(self.link_flags());
        }
        line
    }

    fn answer(&self, question: Question) -> OsString {
        let with_compiler = |parts: &[Vec<OsString>]| show(&[&self.compiler[..], &parts.concat()].concat());
        let (arguments, compile, link) = (self.arguments.clone(), self.compile_flags(), self.link_flags());
        match question {
            // Without input the question is what a program would be built with.
            Question::Command if !Request::of(&arguments).has_input && !Request::of(&arguments).stops => {
                with_compiler(&[arguments, compile, link])
            }
            Question::Command if !Request::of(&arguments).links() => with_compiler(&[arguments, compile]),
            Question::Command => with_compiler(&[arguments, compile, link]),
            Question::Compile => with_compiler(&[arguments, compile]),
            Question::Link => with_compiler(&[arguments, link]),
            Question::CompileFlags => show(&compile),
            Question::LinkFlags => show(&link),
            Question::Include => self.include.clone(),
            Question::LibraryDirectory => self.link.clone(),
            Question::Library => LIBRARY.into(),
        }
    }
}

fn words(text: &OsStr) -> Vec<OsString> {
    match text.to_str() {
        Some(text) => text.split_whitespace().map(OsString::from).collect(),
        None => vec![text.to_owned()],
    }
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut text = OsString::from(option);
    text.push(value);
    text
}

/// The words as a shell reads them, and CMake's `FindMPI`: it looks for options by patterns, which take a path with spaces only
/// in double quotes that begin behind the option.
fn show(words: &[OsString]) -> OsString {
    let mut line = OsString::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line.push(" ");
        }
        match word.to_str() {
            Some(text) => line.push(quoted(text)),
            None => line.push(word),
        }
    }
    line
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+.,/:@%^".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    let value = ["-I", "-L", "-Wl,"].iter().find_map(|option| word.strip_prefix(option));
    match value {
        // Within double quotes these mean something to a shell.
        Some(value) if !value.contains(['"', '$', '`', '\\', '!']) => {
            format!("{}\"{value}\"", &word[..word.len() - value.len()])
        }
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapper(chosen: Option<&str>, line: &str) -> Wrapper {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        Wrapper::new(&C, Path::new("/p q"), chosen.map(OsString::from), arguments)
    }

    fn answer(line: &str) -> String {
        let wrapper = wrapper(None, line);
        wrapper.answer(wrapper.question.unwrap()).into_string().unwrap()
    }

    const LINK: &str = r#"-L"/p q/lib/link" -Wl,"-rpath,/p q/lib" -Wl,--enable-new-dtags -lmpi_abi"#;

    #[test]
    fn flags_stand_behind_the_users() {
        let line = |text: &str| show(&wrapper(None, text).command_line()).into_string().unwrap();
        assert_eq!(line("-c a.c -I. -DX='1'"), r#"-c a.c -I. '-DX='\''1'\''' -I"/p q/include""#);
        assert_eq!(line("a.o -o a -lm"), format!(r#"a.o -o a -lm -I"/p q/include" {LINK}"#));
        assert_eq!(line("--version"), "--version");
        assert_eq!(line("-v"), "-v");
        assert_eq!(line(""), "");
    }

    #[test]
    fn the_compiler_is_the_option_s_or_the_variable_s() {
        for (chosen, line, compiler) in [
            (None, "a.c", "cc"),
            (Some(""), "a.c", "cc"),
            (Some("ccache gcc -m64"), "a.c", "ccache gcc -m64"),
            (Some("gcc"), "-cc=clang a.c", "clang"),
            (None, "a.c -cc=tcc", "tcc"),
        ] {
            let wrapper = wrapper(chosen, line);
            assert_eq!(show(&wrapper.compiler), compiler, "{line}");
            assert_eq!(wrapper.arguments, ["a.c"], "{line}");
        }
        assert_eq!(wrapper(None, "-cxx=x").arguments, ["-cxx=x"]);
    }

    #[test]
    fn questions_of_build_systems_are_answered() {
        for (line, expected) in [
            ("-show", format!(r#"cc -I"/p q/include" {LINK}"#)),
            ("-show -c a.c", r#"cc -c a.c -I"/p q/include""#.to_owned()),
            ("-show a.o -lm", format!(r#"cc a.o -lm -I"/p q/include" {LINK}"#)),
            ("-show -c", r#"cc -c -I"/p q/include""#.to_owned()),
            ("-compile-info", r#"cc -I"/p q/include""#.to_owned()),
            ("-link-info -O2", format!("cc -O2 {LINK}")),
            ("-showme:compile", r#"-I"/p q/include""#.to_owned()),
            ("-showme:link", LINK.to_owned()),
            ("-showme:incdirs", "/p q/include".to_owned()),
            ("-showme:libdirs", "/p q/lib/link".to_owned()),
            ("-showme:libs", "mpi_abi".to_owned()),
        ] {
            assert_eq!(answer(line), expected, "{line}");
        }
    }

    #[test]
    fn what_double_quotes_do_not_keep_stands_in_single_ones() {
        assert_eq!(quoted("-I/a $b/include"), "'-I/a $b/include'");
        assert_eq!(quoted("-I/a'b"), "-I\"/a'b\"");
    }

    #[test]
    fn a_program_that_is_not_installed_says_so() {
        let why = prefix(Path::new("/no/such/bin/rmacc")).unwrap_err();
        assert!(why.contains("no /no/such/include/mpi.h"), "{why}");
        let itself = std::env::current_exe().unwrap();
        assert!(is_itself(itself.as_os_str(), &itself.canonicalize().unwrap()));
        assert!(!is_itself(OsStr::new("sh"), &itself));
    }
}
