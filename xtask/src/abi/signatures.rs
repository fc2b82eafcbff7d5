//! The entry points as the sources write them, against the table: number, order and width of their parameters.
//!
//! No compiler sees both sides of a call from C into the library, and a count of 32 bits where the ABI has 64 works until it
//! does not. Types that say how wide they are must be the ones the table means; behind pointers only what is pointed to is
//! looked at, and only where it says so itself. Knows the shapes of `fn NAME(name: Type, …)` and of `fn NAME | NAME_c(…)`,
//! which declares both forms of a call, and nothing else of Rust.

use super::tables::{Function, HANDLES, Tables};

/// What Rust may call a type of C that is passed by value.
fn names_of(c: &str) -> Vec<&str> {
    match c {
        "int" | "MPI_Fint" => vec!["c_int", "i32"],
        "double" => vec!["f64", "c_double"],
        "char" => vec!["c_char"],
        "MPI_Aint" => vec!["MPI_Aint", "isize"],
        "MPI_Count" => vec!["MPI_Count", "i64"],
        "MPI_Offset" => vec!["MPI_Offset", "i64"],
        handle if HANDLES.contains(&handle) || handle == "MPI_Status" => vec![handle],
        _ => Vec::new(),
    }
}

/// Types of C that have names in Rust.
const NAMED: [&str; 7] = ["int", "double", "char", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Status"];

/// The types of counts and displacements that the macro for two forms has, and what they are in each form.
const FORMS: [[(&str, &str); 3]; 2] = [
    [("Number", "c_int"), ("Place", "c_int"), ("Offset", "MPI_Aint")],
    [("Number", "MPI_Count"), ("Place", "MPI_Aint"), ("Offset", "MPI_Count")],
];

/// What came of comparing.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Entry points that were found; one that a macro of its own writes, other than that for two forms, is not.
    pub(super) count: usize,
    /// A line for each difference.
    pub(super) findings: Vec<String>,
}

impl Compared {
    /// Compares every entry point in the text of a source file.
    pub(super) fn add(&mut self, tables: &Tables, path: &str, text: &str) {
        let findings: Vec<_> = entry_points(tables, text)
            .into_iter()
            .map(|(name, why)| why.map(|why| format!("{path}: {name}: {why}")))
            .collect();
        self.count += findings.len();
        self.findings.extend(findings.into_iter().flatten());
    }
}

/// Every entry point of a text that the table knows, and what is different about it.
fn entry_points(tables: &Tables, text: &str) -> Vec<(String, Option<String>)> {
    let lines: Vec<_> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = lines.join("\n");
    let read = |(at, _): (usize, &str)| {
        let (names, rest) = code[at + "fn ".len()..].split_once('(')?;
        let end = end_of(rest)?;
        let returns = match rest[end + 1..].trim_start().strip_prefix("->") {
            Some(after) => after.trim_start().split(|c: char| !is_word(c)).next().unwrap_or_default(),
            None => "c_int",
        };
        let forms = names.split('|').map(str::trim).zip(FORMS).filter_map(|(name, types)| {
            let function = tables.functions.iter().find(|function| function.name == name)?;
            let parameters = with_types(&rest[..end], types);
            Some((name.to_owned(), compare(function, &split(&parameters), returns)))
        });
        Some(forms.collect::<Vec<_>>())
    };
    code.match_indices("fn MPI").filter_map(read).flatten().collect()
}

/// Parameters, with the types that differ between the forms of a call replaced by those of one form.
fn with_types(parameters: &str, types: [(&str, &str); 3]) -> String {
    let known = |word| types.into_iter().find(|(name, _)| *name == word).map(|(_, c)| c);
    let ends = parameters.match_indices(|c| !is_word(c)).map(|(at, end)| (at, end.len()));
    let mut start = 0;
    let mut replaced = String::new();
    for (at, len) in ends.chain([(parameters.len(), 0)]) {
        let word = &parameters[start..at];
        replaced.push_str(known(word).unwrap_or(word));
        replaced.push_str(&parameters[at..at + len]);
        start = at + len;
    }
    replaced
}

/// What is different, if something is.
fn compare(function: &Function, parameters: &[&str], returns: &str) -> Option<String> {
    let expected: Vec<&str> = match function.parameters.as_str() {
        "void" => Vec::new(),
        // What a function takes beyond its parameters is in no list of Rust.
        list => list.split(',').map(str::trim).filter(|parameter| *parameter != "...").collect(),
    };
    if expected.len() != parameters.len() {
        return Some(format!("{} parameters, the table has {}", parameters.len(), expected.len()));
    }
    if !names_of(&function.returns).contains(&returns) {
        return Some(format!("returns {returns}, the table says {}", function.returns));
    }
    let mut pairs = parameters.iter().zip(expected);
    let (ours, theirs) = pairs.find(|(ours, theirs)| !is_same(ours, theirs))?;
    Some(format!("the parameter {ours:?} is not {theirs:?} of the table"))
}

/// Whether a parameter of Rust can be this one of C.
fn is_same(ours: &str, theirs: &str) -> bool {
    let Some((_, ours)) = ours.split_once(':') else { return false };
    let ours: String = ours.chars().filter(|c| !c.is_whitespace()).collect();
    let words: Vec<&str> =
        theirs.split(|c: char| !is_word(c)).filter(|word| !word.is_empty() && *word != "const").collect();
    let base = words.first().copied().unwrap_or_default();
    let depth = theirs.matches(['*', '[']).count();
    if depth == 0 {
        // Handles of the tool interface have no name here that says how wide they are.
        return names_of(base).contains(&last(&ours)) || names_of(base).is_empty();
    }
    let is_by_value = NAMED.iter().chain(&HANDLES).flat_map(|c| names_of(c)).any(|name| name == last(&ours));
    let pointee = ["In<", "Out<"].iter().find_map(|start| last(&ours).strip_prefix(start)?.strip_suffix('>'));
    let pointee = pointee.or_else(|| ours.strip_prefix("*mut").or_else(|| ours.strip_prefix("*const")));
    match pointee {
        _ if is_by_value => false,
        Some(pointee) if depth == 1 && !names_of(base).is_empty() => names_of(base).contains(&last(pointee)),
        _ => true,
    }
}

/// A type without the path to it.
fn last(kind: &str) -> &str {
    let generic = kind.find('<').unwrap_or(kind.len());
    let start = kind[..generic].rfind("::").map_or(0, |at| at + 2);
    &kind[start..]
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Where the bracket that was open before this text is closed.
fn end_of(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })
}

/// The parts between commas that are in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut before) = (0, ' ');
    let parts = text.split(|c| {
        // The arrow of a function type closes nothing.
        let closes = matches!(c, ')' | ']') || (c == '>' && before != '-');
        depth += i32::from(matches!(c, '(' | '[' | '<')) - i32::from(closes);
        before = c;
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(source: &str) -> Vec<String> {
        let functions = "group\tname\treturns\tparameters\n\
            rma\tMPI_Put\tint\tconst void *origin_addr, int origin_count, MPI_Aint disp, MPI_Win win\n\
            rma\tMPI_Put_c\tint\tconst void *origin_addr, MPI_Count origin_count, MPI_Aint disp, MPI_Win win\n\
            rma\tMPI_Lists\tint\tint n, const MPI_Aint list[], int ranges[][3], MPI_User_function *fn, MPI_Request *r\n\
            time\tMPI_Wtime\tdouble\tvoid\n";
        let tables = Tables::parse("name\ttype\tvalue\n", functions).unwrap();
        let mut compared = Compared::default();
        compared.add(&tables, "a.rs", source);
        compared.findings
    }

    #[test]
    fn what_agrees_passes() {
        for source in [
            "fn MPI_Put_c(origin_addr: Memory, origin_count: MPI_Count, disp: MPI_Aint, win: MPI_Win) raises X; |p| {}",
            "fn MPI_Put | MPI_Put_c(a: Memory, b: Number, c: MPI_Aint, d: MPI_Win)\nraises X; |p| {}",
            "fn MPI_Put_c(\n    a: In<u8>, // the data\n    b: crate::abi::MPI_Count,\n    c: isize,\n    d: MPI_Win,\n) -> c_int {}",
            "fn MPI_Lists(n: c_int, list: In<MPI_Aint>, r: In<[c_int; 3]>, f: Option<unsafe extern \"C\" fn(c_int, c_int) -> c_int>, q: Out<MPI_Request>) -> c_int {}",
            "fn MPI_Lists(n: i32, list: *const MPI_Aint, r: List, f: usize, q: Out<abi::MPI_Request>) -> c_int {}",
            "fn MPI_Wtime() -> f64 {}",
            "/// fn MPI_Wtime(x: c_int)",
            "fn MPI_Unknown(x: u8)",
        ] {
            assert_eq!(judge(source), [""; 0], "{source}");
        }
    }

    #[test]
    fn what_differs_is_named() {
        for (source, why) in [
            ("fn MPI_Wtime(x: c_int) -> f64 {}", "1 parameters, the table has 0"),
            ("fn MPI_Wtime() -> c_int {}", "returns c_int, the table says double"),
            (
                "fn MPI_Put_c(a: Memory, b: c_int, c: MPI_Aint, d: MPI_Win) raises",
                "\"b: c_int\" is not \"MPI_Count origin_count\"",
            ),
            (
                "fn MPI_Put_c(a: Memory, b: MPI_Aint, c: MPI_Count, d: MPI_Win) raises",
                "MPI_Count origin_count",
            ),
            ("fn MPI_Put_c(a: Memory, b: MPI_Count, c: MPI_Aint, d: MPI_Comm) raises", "MPI_Win win"),
            (
                "fn MPI_Put | MPI_Put_c(a: Memory, b: Place, c: MPI_Aint, d: MPI_Win)",
                "MPI_Put_c: the parameter",
            ),
            (
                "fn MPI_Put | MPI_Put_c(a: Memory, b: Offset, c: MPI_Aint, d: MPI_Win)",
                "MPI_Put: the parameter",
            ),
            (
                "fn MPI_Put | MPI_Put_c(a: Memory, b: MPI_Count, c: MPI_Aint, d: MPI_Win)",
                "MPI_Put: the parameter",
            ),
            ("fn MPI_Put_c(a: MPI_Count, b: MPI_Count, c: MPI_Aint, d: MPI_Win) raises", "void *origin_addr"),
            ("fn MPI_Lists(n: c_int, l: In<c_int>, r: X, f: X, q: X) raises", "const MPI_Aint list[]"),
            ("fn MPI_Lists(n: c_int, l: In<MPI_Aint>, r: X, f: X, q: Out<MPI_Win>) raises", "MPI_Request *r"),
        ] {
            let findings = judge(source).join("\n");
            assert!(findings.starts_with("a.rs: MPI_") && findings.contains(why), "{findings}");
        }
    }
}
