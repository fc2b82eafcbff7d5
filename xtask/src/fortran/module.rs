//! The modules of Fortran: interfaces of the calls, and procedures where an argument has no counterpart in C.

use super::constants;
use super::old;
use super::parameters::{Class, HANDLES, Number, Parameter, Way, parameters};
use super::text::statement;
use crate::abi::{Function, Tables};
use std::fmt::Write;

/// What a module's calls take for a handle and a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Types of their own: the module `mpi_f08`.
    Types,
    /// Integers: the module `mpi`.
    Integers,
}

/// A function with what its procedure is called.
#[derive(Debug)]
pub(super) struct Procedure<'a> {
    function: &'a Function,
    /// Before the function's name: a profiler calls what begins with a P.
    pub(super) prefix: &'static str,
    pub(super) parameters: Vec<Parameter>,
    style: Style,
}

/// What stands before the names of the functions, and before those by which a profiler calls them.
pub(super) const PREFIXES: [&str; 2] = ["", "P"];

/// The name that a call has between the module and the C part.
pub(super) fn symbol(function: &str) -> String {
    format!("abi_{}", function.to_lowercase())
}

/// The procedures of the functions, whose names begin with `prefix`.
pub(super) fn procedures<'a>(
    functions: &[&'a Function],
    style: Style,
    prefix: &'static str,
) -> Result<Vec<Procedure<'a>>, String> {
    let of = |function: &&'a Function| {
        Ok(Procedure { function, prefix, parameters: parameters(function)?, style })
    };
    functions.iter().map(of).collect()
}

/// A text with integers for the types of handles.
pub(super) fn with_integers(text: &str) -> String {
    HANDLES
        .iter()
        .fold(text.to_owned(), |text, handle| text.replace(&format!("type({handle})"), "integer(c_int)"))
}

/// An interface that takes addresses as integers, as old programs do.
pub(super) fn with_addresses(text: &str) -> String {
    text.replace("type(c_ptr), intent(out)", "integer(MPI_ADDRESS_KIND), intent(out)")
}

/// The text of a module.
pub(super) fn generate(tables: &Tables, functions: &[&Function], style: Style) -> Result<String, String> {
    let mut all = Vec::new();
    for prefix in PREFIXES {
        all.extend(procedures(functions, style, prefix)?);
    }
    let procedures = all;
    let mut text = String::new();
    let name = match style {
        Style::Types => "mpi_f08",
        Style::Integers => "mpi",
    };
    let _ = writeln!(
        text,
        "! The module {name} over the standard ABI of MPI 5.0. Written by `cargo xtask install`: do not edit.\n\
         module {name}\n  use, intrinsic :: iso_c_binding"
    );
    if style == Style::Integers {
        let shared = HANDLES.iter().copied().chain(["MPI_Status", "MPI_Status_f2f08", "MPI_Status_f082f"]);
        text += &statement(2, &format!("use mpi_f08, only: {}", shared.collect::<Vec<_>>().join(", ")));
    }
    text += "  implicit none\n\n";
    text += &constants::generate(tables, style);
    text += match style {
        Style::Types => include_str!("../../../crates/rma-capi/fortran/types.inc"),
        Style::Integers => "",
    };
    text += &constants::places(style);
    if style == Style::Types {
        text += include_str!("../../../crates/rma-capi/fortran/callbacks.inc");
    }
    text += &operators(style);
    for procedure in &procedures {
        text += &procedure.interface(&procedures)?;
    }
    text += include_str!("../../../crates/rma-capi/fortran/others.inc");
    if style == Style::Integers {
        text += old::INTERFACE;
    }
    text += "\ncontains\n\n";
    text += &comparisons(style);
    let procedures_of_all = include_str!("../../../crates/rma-capi/fortran/procedures.inc");
    text += &match style {
        Style::Types => {
            include_str!("../../../crates/rma-capi/fortran/statuses.inc").to_owned() + procedures_of_all
        }
        Style::Integers => with_integers(procedures_of_all) + old::PROCEDURES,
    };
    for procedure in procedures.iter().filter(|procedure| procedure.is_wrapped()) {
        text += &procedure.wrapper();
    }
    let _ = writeln!(text, "end module {name}");
    Ok(text)
}

/// What the comparisons of handles are called.
const OPERATORS: [(&str, &str); 2] = [("eq", "=="), ("ne", "/=")];

/// The operators that compare handles.
fn operators(style: Style) -> String {
    let mut text = String::new();
    for (name, operator) in OPERATORS.iter().filter(|_| style == Style::Types) {
        let _ = writeln!(text, "  interface operator({operator})");
        for handle in HANDLES {
            let _ = writeln!(text, "    procedure {handle}_{name}");
        }
        text += "  end interface\n";
    }
    text + "\n"
}

/// The procedures of the operators, one for each handle.
fn comparisons(style: Style) -> String {
    if style == Style::Integers {
        return String::new();
    }
    let mut text = String::new();
    for handle in HANDLES {
        for (name, operator) in OPERATORS {
            let _ = writeln!(
                text,
                "  elemental logical function {handle}_{name}(a, b)\n    type({handle}), intent(in) :: a, b\n    \
                 {handle}_{name} = a%MPI_VAL {operator} b%MPI_VAL\n  end function {handle}_{name}\n"
            );
        }
    }
    text
}

impl Procedure<'_> {
    /// Whether the module has a procedure, which calls the one in C with arguments that C has too.
    pub(super) fn is_wrapped(&self) -> bool {
        self.parameters.iter().any(|parameter| {
            matches!(parameter.class, Class::Logical(_) | Class::Logicals(_) | Class::Procedure(_))
        })
    }

    /// The function in C.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.prefix, self.function.name)
    }

    /// Whether it returns its answer.
    pub(super) fn is_function(&self) -> bool {
        self.function.returns != "int"
    }

    /// The name in the part in C.
    fn symbol(&self) -> String {
        symbol(&self.name())
    }

    /// What the procedure is called beside its generic name, which the standard says too.
    fn specific(&self) -> String {
        let has_choice =
            self.parameters.iter().any(|parameter| matches!(parameter.class, Class::Choice { .. }));
        match (self.style, has_choice) {
            (Style::Integers, _) => self.name(),
            (Style::Types, true) => self.name() + "_f08ts",
            (Style::Types, false) => self.name() + "_f08",
        }
    }

    /// Under which name programs call it: large counts share the name of small ones where a compiler can tell them apart.
    fn generic(&self, all: &[Procedure<'_>]) -> String {
        let name = self.name();
        let Some(short) = name.strip_suffix("_c") else { return name };
        let twin = all.iter().find(|other| other.name() == short);
        let is_told = twin.is_some_and(|twin| twin.shape() != self.shape());
        if is_told { short.to_owned() } else { name }
    }

    /// What tells procedures of one name apart.
    fn shape(&self) -> Vec<String> {
        let shapes = self.parameters.iter().map(|parameter| match &parameter.class {
            Class::Number(number, _) => kind(*number).replace("count", "wide").replace("address", "wide"),
            Class::Numbers(number, _) => {
                kind(*number).replace("count", "wide").replace("address", "wide") + "(*)"
            }
            _ => String::new(),
        });
        shapes.map(|shape| shape.to_lowercase().replace("_count_", "_address_")).collect()
    }

    /// The interface of the call, by which programs come straight to C, or that of the procedure around it.
    fn interface(&self, all: &[Procedure<'_>]) -> Result<String, String> {
        let generic = self.generic(all);
        if self.style == Style::Integers {
            return self.interface_of_integers();
        }
        let mut text = format!("  interface {generic}\n");
        if self.is_function() {
            text += &self.c_function(&self.specific())?;
        } else if self.is_wrapped() {
            let _ = writeln!(text, "    procedure {}", self.specific());
            text += &format!("  end interface\n  private :: {}\n  interface\n", self.symbol());
            text += &self.c_interface(&self.symbol());
        } else {
            text += &self.c_interface(&self.specific());
        }
        Ok(text + "  end interface\n\n")
    }

    /// The same where the procedure has no other name.
    fn interface_of_integers(&self) -> Result<String, String> {
        let name = &self.name();
        let pointer = |parameter: &Parameter| parameter.class == Class::Pointer;
        let text = if self.is_function() {
            "  interface\n".to_owned() + &self.c_function(name)?
        } else if self.is_wrapped() {
            format!("  private :: {}\n  interface\n{}", self.symbol(), self.c_interface(&self.symbol()))
        } else if self.parameters.iter().any(pointer) {
            let by_pointer = self.c_interface(&format!("{name}_cptr"));
            let by_integer = with_addresses(&self.c_interface(&format!("{name}_address")));
            format!("  interface {name}\n{by_pointer}{by_integer}")
        } else {
            "  interface\n".to_owned() + &self.c_interface(name)
        };
        Ok(text + "  end interface\n\n")
    }

    pub(super) fn c_interface(&self, called: &str) -> String {
        let mut text = statement(
            4,
            &format!(
                "subroutine {called}({}) bind(C, name=\"{}\")",
                self.arguments().join(", "),
                self.symbol()
            ),
        );
        text += "      import\n      implicit none\n";
        for parameter in &self.parameters {
            text += &match &parameter.class {
                Class::Logical(way) => {
                    format!("      integer(c_int), {} :: {}\n", intent(*way), parameter.name)
                }
                Class::Logicals(_) => format!("      type(c_ptr), value :: {}\n", parameter.name),
                Class::Procedure(_) => format!("      type(c_funptr), value :: {}\n", parameter.name),
                _ => self.declaration(parameter),
            };
        }
        text + &format!("      {} :: ierror\n    end subroutine\n", self.outcome())
    }

    /// A function that returns its answer: these have arguments by value, and their names in C.
    pub(super) fn c_function(&self, called: &str) -> Result<String, String> {
        let name = self.name();
        let kind = match self.function.returns.as_str() {
            "double" => "real(c_double)",
            "MPI_Aint" => "integer(MPI_ADDRESS_KIND)",
            other => return Err(format!("{name} returns {other}, which is nothing in Fortran")),
        };
        let names: Vec<_> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut text = format!(
            "    function {called}({}) bind(C, name=\"{name}\") result(answer)\n      import\n      implicit none\n",
            names.join(", ")
        );
        for parameter in &self.parameters {
            let Class::Number(number, Way::In) = parameter.class else {
                return Err(format!("{name} has an argument that is no number"));
            };
            let _ = writeln!(text, "      {}, value :: {}", self::kind(number), parameter.name);
        }
        Ok(text + &format!("      {kind} :: answer\n    end function\n"))
    }

    fn wrapper(&self) -> String {
        let specific = self.specific();
        let mut text = statement(2, &format!("subroutine {specific}({})", self.arguments().join(", ")));
        let (mut locals, mut call) = (String::new(), Vec::new());
        let (mut before, mut after) = (String::new(), String::new());
        for parameter in &self.parameters {
            let name = &parameter.name;
            text += &self.declaration(parameter)[2..];
            call.push(match &parameter.class {
                Class::Absent(_) => continue,
                Class::Logical(Way::In) => format!("merge(1_c_int, 0_c_int, {name})"),
                Class::Logical(_) => {
                    let _ = writeln!(locals, "    integer(c_int) :: {name}_c");
                    let _ = writeln!(before, "    {name}_c = 0");
                    let _ = writeln!(after, "    {name} = {name}_c /= 0");
                    format!("{name}_c")
                }
                Class::Logicals(_) => format!("c_loc({name})"),
                Class::Procedure(_) => format!("c_funloc({name})"),
                _ => name.clone(),
            });
        }
        call.push("ierror".to_owned());
        let _ = writeln!(text, "    {} :: ierror", self.outcome());
        text += &locals;
        text += &before;
        text += &statement(4, &format!("call {}({})", self.symbol(), call.join(", ")));
        text + &after + &format!("  end subroutine {specific}\n\n")
    }

    pub(super) fn arguments(&self) -> Vec<&str> {
        let present = self.parameters.iter().filter(|parameter| !matches!(parameter.class, Class::Absent(_)));
        present.map(|parameter| parameter.name.as_str()).chain(["ierror"]).collect()
    }

    pub(super) fn outcome(&self) -> &'static str {
        match self.style {
            Style::Types => "integer(c_int), optional, intent(out)",
            Style::Integers => "integer(c_int), intent(out)",
        }
    }

    /// Whether arguments are in use after the call has returned.
    fn is_asynchronous(&self) -> bool {
        let name = &self.function.name;
        self.function.group == "rma"
            || name.contains("ttach_buffer")
            || name.starts_with("MPI_Buffer_attach")
            || self.parameters.iter().any(|parameter| {
                matches!(&parameter.class, Class::Handle(handle, Way::Out) if handle == "MPI_Request")
            })
    }

    /// The declaration of an argument as programs see it.
    pub(super) fn declaration(&self, parameter: &Parameter) -> String {
        let name = &parameter.name;
        let held = if self.is_asynchronous() { ", asynchronous" } else { "" };
        let of = |handle: &str| match self.style {
            Style::Types => format!("type({handle})"),
            Style::Integers => "integer(c_int)".to_owned(),
        };
        let (attributes, shape) = match &parameter.class {
            Class::Absent(_) => return String::new(),
            Class::Number(number, way) => (format!("{}, {}", kind(*number), intent(*way)), ""),
            Class::Numbers(number, way) => (format!("{}, {}{held}", kind(*number), intent(*way)), "(*)"),
            Class::Ranges => ("integer(c_int), intent(in)".to_owned(), "(3, *)"),
            Class::Weights(Way::In) => ("integer(c_int), intent(in)".to_owned(), "(*)"),
            Class::Weights(_) => ("integer(c_int)".to_owned(), "(*)"),
            Class::Logical(way) => (format!("logical, {}", intent(*way)), ""),
            Class::Logicals(way) => (format!("logical, {}, target", intent(*way)), "(*)"),
            Class::Handle(handle, way) => (format!("{}, {}", of(handle), intent(*way)), ""),
            Class::Handles(handle, way, _) => (format!("{}, {}", of(handle), intent(*way)), "(*)"),
            Class::Status(way) => {
                let way = if *way == Way::In { ", intent(in)" } else { "" };
                match self.style {
                    Style::Types => (format!("type(MPI_Status){way}"), ""),
                    Style::Integers => (format!("integer(c_int){way}"), "(*)"),
                }
            }
            Class::Statuses => match self.style {
                Style::Types => ("type(MPI_Status)".to_owned(), "(*)"),
                Style::Integers => ("integer(c_int)".to_owned(), "(MPI_STATUS_SIZE, *)"),
            },
            Class::Text => ("character(len=*), intent(in)".to_owned(), ""),
            Class::Answer(_) => ("character(len=*), intent(out)".to_owned(), ""),
            Class::Choice { is_const, .. } => {
                let way = if *is_const { ", intent(in)" } else { "" };
                (format!("type(*), dimension(..){way}{held}"), "")
            }
            Class::Pointer => ("type(c_ptr), intent(out)".to_owned(), ""),
            Class::Position => ("integer(c_int), intent(out)".to_owned(), ""),
            Class::Positions => ("integer(c_int), intent(out)".to_owned(), "(*)"),
            Class::AttributeIn | Class::ExtraState => {
                ("integer(MPI_ADDRESS_KIND), intent(in)".to_owned(), "")
            }
            Class::AttributeOut => ("integer(MPI_ADDRESS_KIND), intent(out)".to_owned(), ""),
            Class::Procedure(_) if self.style == Style::Integers => ("procedure()".to_owned(), ""),
            Class::Procedure(interface) => (format!("procedure({interface})"), ""),
        };
        format!("      {attributes} :: {name}{shape}\n")
    }
}

fn kind(number: Number) -> &'static str {
    match number {
        Number::Int => "integer(c_int)",
        Number::Aint => "integer(MPI_ADDRESS_KIND)",
        Number::Count => "integer(MPI_COUNT_KIND)",
        Number::Offset => "integer(MPI_OFFSET_KIND)",
    }
}

fn intent(way: Way) -> &'static str {
    match way {
        Way::In => "intent(in)",
        Way::Out => "intent(out)",
        Way::InOut => "intent(inout)",
    }
}
