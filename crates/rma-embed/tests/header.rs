//! The header says what the library is: every function, every structure's size, every number.

mod support;

use object::{Object, ObjectSymbol};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::datatype::BasicType;
use rma_core::epoch::Assert;
use rma_core::ids::Rank;
use rma_core::kernel::ReduceOp;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use support::{compile, has, include, library, run};

fn header() -> String {
    fs::read_to_string(include().join("rma.h")).unwrap()
}

/// Names of the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let text = header();
    let lines = text.lines().filter_map(|line| line.strip_prefix("RMA_API "));
    let names = lines.map(|line| {
        let name = line.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap();
        name.to_owned()
    });
    names.collect()
}

#[test]
fn every_function_is_declared_and_exported() {
    let data = fs::read(library()).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let exported: BTreeSet<_> = symbols
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| name.starts_with("rma_"))
        .map(str::to_owned)
        .collect();
    assert!(exported.len() > 50, "{exported:?}");
    assert_eq!(declared(), exported);
}

/// A program that compares what the header says with what is known here, and uses every function.
fn program(assertion: &str) -> String {
    let mut text = String::from("#include \"rma.h\"\n#include <stdio.h>\n");
    let mut claim = |left: &str, right: u64| {
        writeln!(text, "{assertion}((uint64_t)({left}) == UINT64_C({right}), \"{left}\");").unwrap();
    };
    for (name, size) in rma_embed::SIZES.iter().chain(rma_ch_c::SIZES) {
        claim(&format!("sizeof({name})"), *size as u64);
    }
    for op in ReduceOp::ALL {
        claim(&op.name().replace("MPI_", "RMA_"), op.code().into());
    }
    for ty in BasicType::ALL {
        claim(&format!("RMA_BASIC({})", ty.code()), 0x54 << 56 | u64::from(ty.code()));
    }
    for (name, ty) in TYPES {
        claim(name, 0x54 << 56 | u64::from(ty.code()));
    }
    for class in CLASSES {
        claim(&class.name().replacen("MPIX_", "MPI_", 1).replacen("MPI_", "RMA_", 1), *class as i32 as u64);
    }
    claim("RMA_MIN_PACKET", MIN_PACKET as u64);
    claim("RMA_RANK_NULL", Rank::NULL.0.into());
    text += "typedef void (*function)(void);\nfunction all[] = {\n";
    for name in declared() {
        writeln!(text, "(function){name},").unwrap();
    }
    text + "};\nint main(void) {\n\
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) if (!all[i]) return 1;\n\
            printf(\"%d\\n\", rma_version());\n\
            return 0;\n}\n"
}

const TYPES: &[(&str, BasicType)] = &[
    ("RMA_BYTE", BasicType::Byte),
    ("RMA_INT8", BasicType::I8),
    ("RMA_UINT16", BasicType::U16),
    ("RMA_INT32", BasicType::I32),
    ("RMA_UINT64", BasicType::U64),
    ("RMA_FLOAT", BasicType::F32),
    ("RMA_DOUBLE", BasicType::F64),
    ("RMA_CHAR", BasicType::Char),
    ("RMA_WCHAR", BasicType::WChar),
    ("RMA_LOGICAL32", BasicType::Logical32),
    ("RMA_LONG_DOUBLE", BasicType::F80),
    ("RMA_COMPLEX_DOUBLE", BasicType::ComplexF64),
    ("RMA_FLOAT_INT", BasicType::FloatInt),
    ("RMA_DOUBLE_INT", BasicType::DoubleInt),
    ("RMA_LONG_INT", BasicType::LongInt),
    ("RMA_2INT", BasicType::IntInt),
    ("RMA_SHORT_INT", BasicType::ShortInt),
    ("RMA_LONG_DOUBLE_INT", BasicType::LongDoubleInt),
    ("RMA_2FLOAT", BasicType::FloatFloat),
    ("RMA_2DOUBLE", BasicType::DoubleDouble),
];

const CLASSES: &[ErrorClass] = &[
    ErrorClass::Buffer,
    ErrorClass::Count,
    ErrorClass::Type,
    ErrorClass::Rank,
    ErrorClass::Request,
    ErrorClass::Group,
    ErrorClass::Op,
    ErrorClass::Arg,
    ErrorClass::Truncate,
    ErrorClass::Other,
    ErrorClass::Intern,
    ErrorClass::Assert,
    ErrorClass::Base,
    ErrorClass::Disp,
    ErrorClass::Locktype,
    ErrorClass::NoMem,
    ErrorClass::RmaAttach,
    ErrorClass::RmaRange,
    ErrorClass::RmaShared,
    ErrorClass::RmaSync,
    ErrorClass::Size,
    ErrorClass::Win,
    ErrorClass::RmaFlavor,
    ErrorClass::ProcAborted,
    ErrorClass::ProcFailed,
];

#[test]
fn assertions_have_the_numbers_of_the_engine() {
    let text = header();
    let assertions = [
        ("RMA_NOCHECK", Assert::NO_CHECK),
        ("RMA_NOPRECEDE", Assert::NO_PRECEDE),
        ("RMA_NOPUT", Assert::NO_PUT),
        ("RMA_NOSTORE", Assert::NO_STORE),
        ("RMA_NOSUCCEED", Assert::NO_SUCCEED),
    ];
    for (name, assertion) in assertions {
        let found = text.split(&format!("{name} = ")).nth(1).unwrap();
        let number: String = found.chars().take_while(char::is_ascii_digit).collect();
        assert_eq!(Assert::from_bits(number.parse().unwrap()), assertion, "{name}");
    }
}

#[test]
fn c_and_cpp_agree_with_the_library() {
    let languages = [
        ("cc", "-std=c11", "_Static_assert", "program.c"),
        ("cc", "-std=c17", "_Static_assert", "program.c"),
        ("c++", "-std=c++11", "static_assert", "program.cpp"),
        ("c++", "-std=c++20", "static_assert", "program.cpp"),
    ];
    for (compiler, standard, assertion, name) in languages.into_iter().filter(|(compiler, ..)| has(compiler))
    {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join(name);
        fs::write(&source, program(assertion)).unwrap();
        let to = directory.path().join("program");
        compile(compiler, &[standard, "-pedantic", "-Wconversion"], &[source, library()], &to);
        assert_eq!(run(directory.path(), &[to.as_os_str()]), "1\n", "{compiler} {standard}");
    }
}
