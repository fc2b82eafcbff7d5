//! The tables of the ABI, read: names of types, constants and functions.
//!
//! Reading is strict: a row that is not understood is an error, because a fact that is passed over is not
//! checked.

use std::collections::HashSet;

/// The handle types of the ABI: pointers to structures that are never defined.
pub(crate) const HANDLES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Group",
    "MPI_Win",
    "MPI_Datatype",
    "MPI_Op",
    "MPI_Info",
    "MPI_Errhandler",
    "MPI_Request",
    "MPI_Message",
    "MPI_File",
    "MPI_Session",
];

/// The enumerations of the ABI that have names.
pub(crate) const ENUMERATIONS: [&str; 2] = ["MPI_T_cb_safety", "MPI_T_source_order"];

/// What a constant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `int`.
    Int,
    /// An `MPI_Offset`: wider than an `int`, so that arithmetic and variable arguments see its width.
    Offset,
    /// A handle of this type.
    Handle(String),
    /// An address of this C type that no object has.
    Pointer(String),
    /// One of the values of this enumeration.
    Choice(String),
    /// Another name for a constant.
    Alias(String),
    /// Another name for a type.
    TypeAlias(String),
}

/// A row of the table of constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// As the table writes it; of aliases, the other name.
    pub(crate) text: String,
    /// Its value; of aliases, that of the other name, and 0 for types.
    pub(crate) value: i64,
}

/// A row of the table of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) returns: String,
    pub(crate) parameters: String,
}

/// The tables.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// Names of types.
    pub(crate) types: Vec<String>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) functions: Vec<Function>,
}

impl Tables {
    /// Reads the text of constants and functions.
    pub(crate) fn parse(constants: &str, functions: &str) -> Result<Self, String> {
        let mut names = HashSet::new();
        let mut read: Vec<Constant> = Vec::new();
        for cells in rows(constants, "name\ttype\tvalue")? {
            let [name, kind, text] = cells[..] else {
                unreachable!("rows have as many cells as the heading")
            };
            if !names.insert(name) {
                return Err(format!("the constant {name} is there twice"));
            }
            read.push(constant(name, kind, text, &read)?);
        }
        let mut functions_read = Vec::new();
        for cells in rows(functions, "group\tname\treturns\tparameters")? {
            let [group, name, returns, parameters] = cells[..] else {
                unreachable!("rows have as many cells as the heading")
            };
            if !names.insert(name) {
                return Err(format!("the function {name} is there twice"));
            }
            if !is_function(name) || parameters.is_empty() {
                return Err(format!("the row of {name} is no function of MPI"));
            }
            let [group, name, returns, parameters] = [group, name, returns, parameters].map(str::to_owned);
            functions_read.push(Function { group, name, returns, parameters });
        }
        Ok(Self { types: Vec::new(), constants: read, functions: functions_read })
    }

    /// The same with the names of types, of which this is the text.
    pub(crate) fn with_types(self, text: &str) -> Result<Self, String> {
        let types = rows(text, "name")?.into_iter().map(|cells| cells[0].to_owned()).collect();
        Ok(Self { types, ..self })
    }
}

/// Whether functions of MPI, or of its extensions, have such names.
fn is_function(name: &str) -> bool {
    name.starts_with("MPI_") || name.starts_with("MPIX_")
}

fn constant(name: &str, kind: &str, text: &str, before: &[Constant]) -> Result<Constant, String> {
    let (name, text) = (name.to_owned(), text.to_owned());
    if kind == "alias" {
        // The names of types are built by the preprocessor, and so are no rows of their own.
        let of = before.iter().find(|constant| constant.name == text);
        let is_type = text.starts_with("MPI_ABI_");
        return match of {
            Some(of) => Ok(Constant { name, kind: Kind::Alias(text.clone()), text, value: of.value }),
            None if is_type => Ok(Constant { name, kind: Kind::TypeAlias(text.clone()), text, value: 0 }),
            None => Err(format!("{name} is an alias of {text}, which no row above defines")),
        };
    }
    let value = number(&text).ok_or_else(|| format!("{name} has no number as its value: {text:?}"))?;
    let kind = match kind {
        "int" => Kind::Int,
        "MPI_Offset" => Kind::Offset,
        handle if HANDLES.contains(&handle) => Kind::Handle(handle.to_owned()),
        choice if ENUMERATIONS.contains(&choice) => Kind::Choice(choice.to_owned()),
        pointer if pointer.ends_with('*') || pointer.starts_with("MPI_T_") => {
            Kind::Pointer(pointer.to_owned())
        }
        other => return Err(format!("{name} has a type that is not known: {other:?}")),
    };
    Ok(Constant { name, kind, text, value })
}

/// A decimal or hexadecimal number.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The rows below this heading, cut into cells.
pub(crate) fn rows<'a>(text: &'a str, heading: &str) -> Result<Vec<Vec<&'a str>>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(heading) {
        return Err(format!("a table of the ABI does not begin with {heading:?}"));
    }
    let columns = heading.split('\t').count();
    lines
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            let is_whole = cells.len() == columns && cells.iter().all(|cell| !cell.is_empty());
            is_whole.then_some(cells).ok_or_else(|| format!("a row does not have {columns} cells: {line:?}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTIONS: &str = "group\tname\treturns\tparameters\nrma\tMPI_Put\tint\tint a\n";

    fn constants(rows: &str) -> Result<Vec<Constant>, String> {
        Tables::parse(&format!("name\ttype\tvalue\n{rows}"), FUNCTIONS).map(|tables| tables.constants)
    }

    #[test]
    fn values_of_an_enumeration_have_its_type_and_types_their_names() {
        let tables =
            Tables::parse("name\ttype\tvalue\nMPI_T_SOURCE_ORDERED\tMPI_T_source_order\t1\n", FUNCTIONS);
        let tables = tables.unwrap().with_types("name\nMPI_Aint\nMPI_T_source_order\n").unwrap();
        assert_eq!(tables.constants[0].kind, Kind::Choice("MPI_T_source_order".to_owned()));
        assert_eq!(tables.types, ["MPI_Aint", "MPI_T_source_order"]);
        assert!(tables.with_types("type\nMPI_Aint\n").is_err());
    }

    #[test]
    fn kinds_and_values_are_told_apart() {
        let rows = "MPI_SUM\tMPI_Op\t0x00000021\nMPI_ANY_TAG\tint\t-2\nMPI_HERE\tMPI_Offset\t-1\nMPI_IN_PLACE\tvoid*\t1\n\
                    MPI_PLUS\talias\tMPI_SUM\nMPI_ABI_Count\talias\tMPI_ABI_Offset\n";
        let read = constants(rows).unwrap();
        let kinds: Vec<_> = read.iter().map(|constant| (constant.kind.clone(), constant.value)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Handle("MPI_Op".to_owned()), 0x21),
                (Kind::Int, -2),
                (Kind::Offset, -1),
                (Kind::Pointer("void*".to_owned()), 1),
                (Kind::Alias("MPI_SUM".to_owned()), 0x21),
                (Kind::TypeAlias("MPI_ABI_Offset".to_owned()), 0),
            ]
        );
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (rows, why) in [
            ("MPI_A\tint\n", "3 cells"),
            ("MPI_A\tint\t\n", "3 cells"),
            ("MPI_A\tint\tx\n", "no number"),
            ("MPI_A\tlong\t1\n", "type that is not known"),
            ("MPI_A\talias\tMPI_B\n", "MPI_B, which no row above"),
            ("MPI_A\tint\t1\nMPI_A\tint\t1\n", "MPI_A is there twice"),
        ] {
            let error = constants(rows).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let heading = "name\ttype\tvalue\n";
        assert!(Tables::parse(heading, "group\tname\n").unwrap_err().contains("does not begin"));
        assert!(Tables::parse(heading, &format!("{FUNCTIONS}rma\tx\tint\tvoid\n")).is_err());
        assert!(
            Tables::parse(heading, &FUNCTIONS.replace("int a\n", "int a\nrma\tMPI_Put\tint\tint b\n"))
                .is_err()
        );
    }
}
