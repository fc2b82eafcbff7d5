//! What a parameter of C is in Fortran, by its type, its name and the function that has it.
//!
//! One answer for every parameter of every function that has a procedure; a parameter that no rule here knows is an error,
//! so that no procedure is half.

use crate::abi::Function;

/// A parameter, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// As Fortran calls it.
    pub(super) name: String,
    pub(super) class: Class,
}

/// Integers that differ in width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Int,
    Aint,
    Count,
    Offset,
}

/// Which way a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
    InOut,
}

/// Memory of the user, and how a section that is not contiguous gets there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Count and type say how much of it there is: a datatype is made of the descriptor.
    Own { count: String, datatype: String },
    /// Blocks of this type, one or more per rank: a section of a single stride has a type of its own, others are copied.
    Blocks { datatype: String },
    /// Elements whose type another buffer shares: a section is copied.
    Shared,
    /// A section that is not contiguous is refused.
    Contiguous,
    /// Only the place of its first element matters.
    Place,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Number(Number, Way),
    /// An array of assumed size.
    Numbers(Number, Way),
    /// Triples of first, last and step.
    Ranges,
    /// Weights of edges: an array that two names stand in for.
    Weights(Way),
    Logical(Way),
    Logicals(Way),
    /// A handle of this type.
    Handle(String, Way),
    /// An array of handles, and how many there are.
    Handles(String, Way, Length),
    Status(Way),
    Statuses,
    Text,
    /// Text that comes back, and the expression in C for the room that it may need.
    Answer(String),
    Choice {
        choice: Choice,
        is_const: bool,
    },
    /// An address that comes back as a C pointer.
    Pointer,
    /// A position in an array that Fortran counts from one.
    Position,
    Positions,
    AttributeIn,
    AttributeOut,
    ExtraState,
    /// A procedure with this interface.
    Procedure(String),
    /// What Fortran does not have: the expression in C.
    Absent(&'static str),
}

/// How many elements an array of handles has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// This parameter says.
    Parameter(String),
    /// One for each rank that this communicator, or its neighbourhood, sends to or receives from.
    Ranks { is_neighbor: bool, is_sending: bool },
}

/// A parameter as C writes it.
#[derive(Debug)]
struct Written<'a> {
    base: &'a str,
    name: &'a str,
    is_const: bool,
    stars: usize,
    is_array: bool,
}

/// The parameters of a function in order.
pub(super) fn parameters(function: &Function) -> Result<Vec<Parameter>, String> {
    if function.parameters == "void" {
        return Ok(Vec::new());
    }
    // What `MPI_Pcontrol` takes beyond its level is C's.
    let texts = function.parameters.split(',').filter(|text| text.trim() != "...");
    let written: Vec<_> = texts.map(written).collect();
    (0..written.len())
        .map(|at| {
            let class = class(function, &written, at).ok_or_else(|| {
                format!("{}: no rule says what {:?} is in Fortran", function.name, written[at])
            })?;
            let name = if written[at].name == "indx" { "index" } else { written[at].name };
            Ok(Parameter { name: name.to_owned(), class })
        })
        .collect()
}

fn written(text: &str) -> Written<'_> {
    let text = text.trim();
    let (text, is_array) = match text.find('[') {
        Some(at) => (&text[..at], true),
        None => (text, false),
    };
    let start = text.rfind([' ', '*']).map_or(0, |at| at + 1);
    let (kind, name) = text.split_at(start);
    let base = kind.split([' ', '*']).find(|word| !word.is_empty() && *word != "const").unwrap_or(name);
    Written { base, name, is_const: kind.contains("const"), stars: kind.matches('*').count(), is_array }
}

/// The handles that have a type in the module.
pub(super) const HANDLES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

/// Parameters that are logical; in these functions the name means a number.
const LOGICALS: [&str; 7] = ["commute", "flag", "high", "periods", "remain_dims", "reorder", "weighted"];
const NUMERIC_FLAGS: [&str; 2] = ["MPIX_Comm_agree", "MPIX_Comm_iagree"];

/// Numbers that go both ways.
const CHANGED: [&str; 4] = ["position", "buflen", "pset_len", "dims"];

fn class(function: &Function, written: &[Written<'_>], at: usize) -> Option<Class> {
    let parameter = &written[at];
    let function_name = function.name.as_str();
    if ["argc", "argv"].contains(&parameter.name) {
        return Some(Class::Absent(if parameter.stars > 0 { "NULL" } else { "0" }));
    }
    if LOGICALS.contains(&parameter.name) && !NUMERIC_FLAGS.contains(&function_name) {
        let way = if parameter.stars > 0 { Way::Out } else { Way::In };
        let out = if parameter.is_const { Way::In } else { Way::Out };
        return Some(if parameter.is_array { Class::Logicals(out) } else { Class::Logical(way) });
    }
    match parameter.base {
        "int" => number(function_name, parameter, Number::Int),
        "MPI_Aint" => number(function_name, parameter, Number::Aint),
        "MPI_Count" => number(function_name, parameter, Number::Count),
        "MPI_Offset" => number(function_name, parameter, Number::Offset),
        "MPI_Status" => Some(match (parameter.name, parameter.is_const) {
            ("array_of_statuses", _) => Class::Statuses,
            (_, true) => Class::Status(Way::In),
            _ if function_name.starts_with("MPI_Status_set") => Class::Status(Way::InOut),
            _ => Class::Status(Way::Out),
        }),
        "char" if parameter.is_const => Some(Class::Text),
        "char" => Some(Class::Answer(room(function_name).to_owned())),
        "void" => memory(function, written, at),
        base if HANDLES.contains(&base) => handle(function, written, at),
        base if base.ends_with("_function") || base.ends_with("_function_c") => {
            Some(Class::Procedure(base.to_owned()))
        }
        _ => None,
    }
}

fn number(function: &str, parameter: &Written<'_>, number: Number) -> Option<Class> {
    let name = parameter.name;
    let out = if parameter.is_const { Way::In } else { Way::Out };
    let is_list = parameter.is_array || (parameter.is_const && parameter.stars == 1);
    if name.ends_with("weights") {
        return Some(Class::Weights(out));
    }
    Some(match (parameter.stars, is_list) {
        _ if name == "ranges" => Class::Ranges,
        _ if name == "array_of_indices" => Class::Positions,
        (1, false) if name == "indx" => Class::Position,
        (_, true) if name == "dims" && !parameter.is_const && function == "MPI_Dims_create" => {
            Class::Numbers(number, Way::InOut)
        }
        (_, true) => Class::Numbers(number, out),
        (0, _) => Class::Number(number, Way::In),
        (1, _) => {
            let is_changed = CHANGED.contains(&name)
                || (function.ends_with("_free_keyval"))
                || NUMERIC_FLAGS.contains(&function) && name == "flag";
            Class::Number(number, if is_changed { Way::InOut } else { Way::Out })
        }
        _ => return None,
    })
}

/// How much room an answer needs, in C.
fn room(function: &str) -> &'static str {
    match function {
        "MPI_Error_string" => "MPI_MAX_ERROR_STRING",
        "MPI_Get_library_version" => "MPI_MAX_LIBRARY_VERSION_STRING",
        "MPI_Get_processor_name" => "MPI_MAX_PROCESSOR_NAME",
        "MPI_Info_get" => "(size_t)(*valuelen < 0 ? 0 : *valuelen) + 1",
        "MPI_Info_get_string" => "(size_t)(buflen_c < 0 ? 0 : buflen_c) + 1",
        "MPI_Info_get_nthkey" => "MPI_MAX_INFO_KEY",
        "MPI_Session_get_nth_pset" => "(size_t)(pset_len_c < 0 ? 0 : pset_len_c) + 1",
        _ => "MPI_MAX_OBJECT_NAME",
    }
}

fn handle(function: &Function, written: &[Written<'_>], at: usize) -> Option<Class> {
    let parameter = &written[at];
    let base = parameter.base.to_owned();
    let name = function.name.as_str();
    if parameter.is_array {
        let way = match base.as_str() {
            "MPI_Request" if !parameter.is_const => Way::InOut,
            _ if parameter.is_const => Way::In,
            _ => Way::Out,
        };
        let length = match parameter.name {
            "sendtypes" | "recvtypes" => Length::Ranks {
                is_neighbor: function.group == "topologies",
                is_sending: parameter.name == "sendtypes",
            },
            "array_of_datatypes" => Length::Parameter("max_datatypes".to_owned()),
            _ => Length::Parameter(
                written.iter().find(|other| ["count", "incount"].contains(&other.name))?.name.to_owned(),
            ),
        };
        return Some(Class::Handles(base, way, length));
    }
    let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
    let is_changed = ends(&["_free", "_disconnect", "_commit", "_finalize"])
        || ["MPI_Wait", "MPI_Test", "MPI_Start"].contains(&name)
        || (base == "MPI_Message" && name.contains("recv"));
    Some(match parameter.stars {
        0 => Class::Handle(base, Way::In),
        1 if name == "MPI_Cancel" || is_changed => Class::Handle(base, Way::InOut),
        1 => Class::Handle(base, Way::Out),
        _ => return None,
    })
}

/// Pointers to anything.
fn memory(function: &Function, written: &[Written<'_>], at: usize) -> Option<Class> {
    let parameter = &written[at];
    let name = function.name.as_str();
    if parameter.stars != 1 {
        return None;
    }
    match parameter.name {
        "baseptr" | "buffer_addr" => return Some(Class::Pointer),
        "attribute_val" if name.ends_with("get_attr") => return Some(Class::AttributeOut),
        "attribute_val" => return Some(Class::AttributeIn),
        "extra_state" => return Some(Class::ExtraState),
        _ => {}
    }
    let after = |ahead: usize, base: &str| written.get(at + ahead).filter(|next| next.base == base);
    let is_one = ["MPI_Fetch_and_op", "MPI_Compare_and_swap"].contains(&name);
    let is_place = ["MPI_Get_address", "MPI_Free_mem", "MPI_Win_detach"].contains(&name);
    let is_contiguous = name.starts_with("MPI_Win_")
        || name.contains("ttach_buffer")
        || name.starts_with("MPI_Buffer_attach")
        || (name.contains("ack") && !is_unpacked(name, parameter.name));
    let count = written.get(at + 1).filter(|next| next.name.ends_with("count") && !next.is_array);
    let is_reduction = !["rma", "notify"].contains(&function.group.as_str())
        && written.iter().any(|other| other.base == "MPI_Op");
    let choice = if is_one || is_place {
        Choice::Place
    } else if is_reduction {
        Choice::Shared
    } else if is_contiguous {
        Choice::Contiguous
    } else if let (Some(count), Some(datatype)) = (count, after(2, "MPI_Datatype")) {
        let (count, datatype) = (count.name.to_owned(), datatype.name.to_owned());
        match is_of_one_rank(function, parameter.name) {
            true => Choice::Own { count, datatype },
            false => Choice::Blocks { datatype },
        }
    } else {
        // Counts and displacements of each rank stand before the type, and partitions before the count.
        let datatype = (2..4).find_map(|ahead| after(ahead, "MPI_Datatype"));
        match datatype.filter(|datatype| !datatype.is_array) {
            Some(datatype) => Choice::Blocks { datatype: datatype.name.to_owned() },
            None => Choice::Shared,
        }
    };
    Some(Class::Choice { choice, is_const: parameter.is_const })
}

/// Whether this buffer of a call of packing is the unpacked one.
fn is_unpacked(function: &str, parameter: &str) -> bool {
    match parameter {
        "inbuf" => function.starts_with("MPI_Pack"),
        "outbuf" => function.starts_with("MPI_Unpack"),
        _ => true,
    }
}

/// Whether a buffer with a count and a type is for one rank, not for each.
fn is_of_one_rank(function: &Function, parameter: &str) -> bool {
    let collective = ["collectives", "persistent", "topologies"].contains(&function.group.as_str());
    let name = function.name.to_lowercase();
    if !collective || ["send_init", "recv_init"].iter().any(|end| name.trim_end_matches("_c").ends_with(end))
    {
        return true;
    }
    match parameter {
        "buffer" => true,
        "sendbuf" => name.contains("gather"),
        "recvbuf" => name.contains("scatter"),
        _ => false,
    }
}
