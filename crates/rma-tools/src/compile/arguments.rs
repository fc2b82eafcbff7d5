//! What the arguments of a compiler ask for, as far as a wrapper has to know.
//!
//! Two questions only: is there an input, and does the compiler stop before it links. An option with a value of its own is
//! known here so that the value is not taken for an input.

use std::ffi::{OsStr, OsString};

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-I",
    "-L",
    "-D",
    "-U",
    "-F",
    "-B",
    "-A",
    "-G",
    "-T",
    "-u",
    "-x",
    "-z",
    "-e",
    "-J",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-aux-info",
    "-arch",
    "-target",
    "-dumpbase",
    "-dumpdir",
    "-specs",
    "-wrapper",
    "--param",
    "--sysroot",
    "-mllvm",
    "-framework",
    "-h",
];

/// Options after which nothing is linked with the library: earlier phases only, or objects joined to an object.
const STOPS: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-r",
    "-fsyntax-only",
    "--compile",
    "--assemble",
    "--preprocess",
    "--precompile",
    "-emit-ast",
];

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Something is to be compiled or linked.
    pub(super) has_input: bool,
    /// The compiler stops before it links.
    pub(super) stops: bool,
}

impl Request {
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let mut request = Self::default();
        let mut words = arguments.iter().map(OsString::as_os_str);
        while let Some(word) = words.next() {
            if is_in(WITH_VALUE, word) {
                words.next();
            } else if is_in(STOPS, word) {
                request.stops = true;
            } else if is_input(word) {
                request.has_input = true;
            }
        }
        request
    }

    /// Whether the linker will run on the user's own.
    pub(super) fn links(self) -> bool {
        self.has_input && !self.stops
    }
}

fn is_in(list: &[&str], word: &OsStr) -> bool {
    list.iter().any(|known| word == *known)
}

/// Files, standard input, response files, and what goes to the linker: with any of them the compiler has work.
fn is_input(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    let is_option = bytes.len() > 1 && bytes[0] == b'-';
    !is_option || [&b"-l"[..], b"-Wl,", b"-Xlinker"].iter().any(|start| bytes.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Request {
        Request::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn programs_and_libraries_are_linked() {
        for line in [
            "a.c",
            "a.c -o a",
            "-o a b.o -lm",
            "-shared -fPIC a.o -o liba.so",
            "-x c -",
            "@objects",
            "-I include -D X=1 -include x.h a.c",
            "-lfoo",
            "-Wl,--as-needed",
            "-MD -MF a.d a.c",
        ] {
            assert!(request(line).links(), "{line}");
        }
    }

    #[test]
    fn earlier_phases_and_questions_are_not() {
        for line in [
            "",
            "--version",
            "-v",
            "-dumpmachine",
            "-print-search-dirs",
            "--help=optimizers",
            "-c a.c",
            "a.c -c -o a.o",
            "-E -",
            "-S a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-r a.o b.o -o c.o",
            "-o a",
            "-x c -v",
            "-I include -D X",
        ] {
            assert!(!request(line).links(), "{line}");
        }
    }

    #[test]
    fn the_value_of_an_option_is_no_option() {
        assert!(request("-o -c a.c").links());
        assert!(request("-D -E a.c").links());
        assert!(!request("-Xassembler -x").has_input);
    }
}
