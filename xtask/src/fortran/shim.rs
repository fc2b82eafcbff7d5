//! The part in C: a function for each call, which takes what Fortran passes and calls the function of the standard ABI.
//!
//! What is behind the names that it uses is in `crates/rma-capi/fortran`.

use super::module::symbol;
use super::parameters::{Choice, Class, Length, Number, Parameter, Way, parameters};
use crate::abi::Function;
use std::fmt::Write;

/// The text of the file of calls of the names with this prefix.
pub(super) fn generate(functions: &[&Function], prefix: &str) -> Result<String, String> {
    let mut text = String::from(
        "/* The calls of Fortran over the standard ABI of MPI 5.0. Written by `cargo xtask install`: do not edit. */\n\
         #include \"support.h\"\n\n",
    );
    for function in functions.iter().filter(|function| function.returns == "int") {
        text += &call(function, prefix, &parameters(function)?);
    }
    Ok(text)
}

/// A function in the making.
#[derive(Debug, Default)]
struct Call {
    /// Its parameters.
    taken: Vec<String>,
    /// Declarations.
    locals: String,
    /// Statements that may fail, before the call.
    before: String,
    /// The arguments of the call: parameter and expression.
    given: Vec<(String, String)>,
    /// Expressions for parameters that a buffer's descriptor changes.
    replaced: Vec<(String, String)>,
    /// Statements after a call that has succeeded.
    then: String,
    /// Statements at the end.
    after: String,
}

fn call(function: &Function, prefix: &str, all: &[Parameter]) -> String {
    let mut call = Call::default();
    for parameter in all {
        call.add(function, all, parameter);
    }
    let name = &format!("{prefix}{}", function.name);
    call.taken.push("int *ierror".to_owned());
    let mut text = format!("void {}({})\n{{\n{}", symbol(name), call.taken.join(", "), call.locals);
    let made = format!("{name}({})", call.arguments().join(", "));
    if call.before.is_empty() {
        let _ = writeln!(text, "    int outcome = {made};");
    } else {
        let _ =
            writeln!(text, "    int outcome = MPI_SUCCESS;\n{}    if (outcome == MPI_SUCCESS)", call.before);
        let refused = refused(all);
        let _ = writeln!(text, "        outcome = {made};\n    else\n        outcome = {refused};");
    }
    if !call.then.is_empty() {
        let _ = writeln!(text, "    if (outcome == MPI_SUCCESS) {{\n{}    }}", call.then);
    }
    text + &call.after + "    if (ierror)\n        *ierror = outcome;\n}\n\n"
}

/// Whose error handler hears of an argument that is refused here.
fn refused(all: &[Parameter]) -> String {
    let handle = |parameter: &&Parameter| match &parameter.class {
        Class::Handle(handle, Way::In) => handle == "MPI_Comm" || handle == "MPI_Win",
        _ => false,
    };
    match all.iter().find(handle) {
        Some(Parameter { name, class: Class::Handle(handle, _) }) if handle == "MPI_Win" => {
            format!("abi_refuse_win(MPI_Win_of(*{name}), outcome)")
        }
        Some(Parameter { name, .. }) => format!("abi_refuse_comm(MPI_Comm_of(*{name}), outcome)"),
        None => "abi_refuse_comm(MPI_COMM_SELF, outcome)".to_owned(),
    }
}

fn c_type(number: Number) -> &'static str {
    match number {
        Number::Int => "int",
        Number::Aint => "MPI_Aint",
        Number::Count => "MPI_Count",
        Number::Offset => "MPI_Offset",
    }
}

impl Call {
    fn add(&mut self, function: &Function, all: &[Parameter], parameter: &Parameter) {
        let name = &parameter.name;
        match &parameter.class {
            Class::Absent(given) => self.given.push((name.clone(), (*given).to_owned())),
            Class::Number(number, way) => self.number(name, *number, *way),
            Class::Logical(Way::In) => self.value("int", name),
            Class::Logical(_) => self.pass(format!("int *{name}"), name),
            Class::Numbers(number, way) => {
                let is_const = if *way == Way::In { "const " } else { "" };
                self.pass(format!("{is_const}{} *{name}", c_type(*number)), name);
            }
            Class::Logicals(way) => {
                let is_const = if *way == Way::In { "const " } else { "" };
                self.pass(format!("{is_const}int *{name}"), name);
            }
            Class::Ranges => self.pass(format!("int {name}[][3]"), name),
            Class::Weights(way) => {
                let is_const = if *way == Way::In { "const " } else { "" };
                self.pass(format!("{is_const}int *{name}"), &format!("abi_weights({name})"));
            }
            Class::Handle(handle, way) => self.handle(handle, name, *way),
            Class::Handles(handle, way, length) => self.handles(all, handle, name, *way, length),
            Class::Status(Way::In) => self.pass(format!("const MPI_Status *{name}"), name),
            Class::Status(_) => self.pass(format!("MPI_Status *{name}"), &format!("abi_status({name})")),
            Class::Statuses => self.pass(format!("MPI_Status *{name}"), &format!("abi_statuses({name})")),
            Class::Text => self.text(name),
            Class::Answer(room) => self.answer(all, name, room),
            Class::Choice { choice, is_const } => self.choice(all, name, choice, *is_const),
            Class::Pointer => self.pass(format!("void **{name}"), name),
            Class::Position => {
                let _ = writeln!(self.locals, "    *{name} = MPI_UNDEFINED;");
                self.pass(format!("int *{name}"), name);
                let _ = writeln!(self.after, "    abi_from_one({name}, 1);");
            }
            Class::Positions => {
                let _ = writeln!(self.locals, "    *outcount = MPI_UNDEFINED;");
                self.pass(format!("int *{name}"), name);
                let _ = writeln!(self.after, "    abi_from_one({name}, *outcount);");
            }
            Class::AttributeIn => {
                let _ = writeln!(self.locals, "    MPI_Aint *{name}_c = abi_boxed(*{name});");
                let _ = writeln!(self.before, "    if (!{name}_c)\n        outcome = MPI_ERR_NO_MEM;");
                self.pass(format!("const MPI_Aint *{name}"), &format!("{name}_c"));
                let _ = writeln!(self.after, "    if (outcome)\n        abi_unboxed({name}_c, 1);");
            }
            Class::AttributeOut => {
                let keyval = &all[1].name;
                let _ = writeln!(self.locals, "    void *{name}_c = NULL;");
                self.pass(format!("MPI_Aint *{name}"), &format!("&{name}_c"));
                let _ = writeln!(
                    self.then,
                    "        if (*flag)\n            *{name} = abi_attribute(*{keyval}, {name}_c);"
                );
            }
            Class::ExtraState => {
                let procedures = all.iter().filter(|other| matches!(other.class, Class::Procedure(_)));
                let mut names: Vec<_> = procedures.map(|other| other.name.clone()).collect();
                names.resize(3, "NULL".to_owned());
                let _ =
                    writeln!(self.locals, "    void *{name}_c = abi_state({}, *{name});", names.join(", "));
                let _ = writeln!(self.before, "    if (!{name}_c)\n        outcome = MPI_ERR_NO_MEM;");
                self.pass(format!("const MPI_Aint *{name}"), &format!("{name}_c"));
            }
            Class::Procedure(interface) => self.procedure(function, name, interface),
        }
    }

    /// A parameter, and what the call is given for it.
    fn pass(&mut self, taken: String, given: &str) {
        let name =
            taken.split('[').next().and_then(|text| text.rsplit([' ', '*']).next()).unwrap_or_default();
        self.given.push((name.to_owned(), given.to_owned()));
        self.taken.push(taken);
    }

    fn arguments(&self) -> Vec<&str> {
        let of = |(name, given)| {
            let other = self.replaced.iter().find(|(replaced, _)| replaced == name);
            other.map_or(given, |(_, with): &(String, String)| with).as_str()
        };
        self.given.iter().map(|(name, given)| of((name, given))).collect()
    }

    fn value(&mut self, kind: &str, name: &str) {
        self.pass(format!("const {kind} *{name}"), &format!("*{name}"));
    }

    fn number(&mut self, name: &str, number: Number, way: Way) {
        match (way, name) {
            (Way::In, _) => self.value(c_type(number), name),
            // The length in C has room for a zero byte, which Fortran does not count.
            (_, "buflen" | "pset_len") => {
                let _ = writeln!(self.locals, "    const int {name}_c = *{name};");
                let _ = writeln!(self.locals, "    *{name} = {name}_c > 0 ? {name}_c + 1 : 0;");
                self.pass(format!("int *{name}"), name);
                let _ = writeln!(self.after, "    *{name} -= *{name} > 0;");
            }
            _ => self.pass(format!("{} *{name}", c_type(number)), name),
        }
    }

    fn handle(&mut self, handle: &str, name: &str, way: Way) {
        let from = match way {
            Way::In => return self.pass(format!("const int *{name}"), &format!("{handle}_of(*{name})")),
            Way::Out => "0".to_owned(),
            Way::InOut => format!("*{name}"),
        };
        let _ = writeln!(self.locals, "    {handle} {name}_c = {handle}_of({from});");
        self.pass(format!("int *{name}"), &format!("&{name}_c"));
        let _ = match way {
            Way::Out => writeln!(self.then, "        *{name} = int_of_{handle}({name}_c);"),
            // A request that is complete gives up what was kept for it.
            _ if handle == "MPI_Request" => writeln!(self.after, "    abi_request_back({name}, {name}_c);"),
            _ => writeln!(self.after, "    *{name} = int_of_{handle}({name}_c);"),
        };
    }

    fn handles(&mut self, all: &[Parameter], handle: &str, name: &str, way: Way, length: &Length) {
        let const_of = if way == Way::In { "const " } else { "" };
        match length {
            Length::Parameter(count) => {
                let _ = writeln!(self.locals, "    abi_handles {name}_c = {{0}};");
                let _ = writeln!(
                    self.before,
                    "    outcome = outcome ? outcome : abi_{}_begin(&{name}_c, *{count}, {});",
                    handle.to_lowercase(),
                    if way == Way::Out { "NULL" } else { name }
                );
                self.pass(format!("{const_of}int *{name}"), &format!("({handle} *){name}_c.handles"));
                let back = if way == Way::In { "NULL" } else { name };
                let _ = writeln!(self.after, "    abi_{}_end(&{name}_c, {back});", handle.to_lowercase());
            }
            Length::Ranks { is_neighbor, is_sending } => {
                let request = all
                    .iter()
                    .any(|other| matches!(&other.class, Class::Handle(h, Way::Out) if h == "MPI_Request"));
                let buffer = if *is_sending { "sendbuf" } else { "recvbuf" };
                let ranks = match (is_neighbor, is_sending) {
                    (false, _) => "abi_ranks",
                    (true, true) => "abi_destinations",
                    (true, false) => "abi_sources",
                };
                let _ = writeln!(self.locals, "    MPI_Datatype *{name}_c = NULL;");
                let _ = writeln!(
                    self.before,
                    "    outcome = outcome ? outcome : abi_types(&{name}_c, {buffer}, {ranks}(MPI_Comm_of(*comm)), {name});"
                );
                self.pass(format!("const int *{name}"), &format!("{name}_c"));
                match request {
                    true => {
                        let _ =
                            writeln!(self.after, "    abi_keep_memory({name}_c, outcome ? 0 : *request);");
                    }
                    false => {
                        let _ = writeln!(self.after, "    free({name}_c);");
                    }
                }
            }
        }
    }

    fn text(&mut self, name: &str) {
        let key = ["key", "value"].contains(&name);
        let _ = writeln!(self.locals, "    char *{name}_c = NULL;");
        let _ = writeln!(
            self.before,
            "    outcome = outcome ? outcome : abi_text(&{name}_c, {name}, {});",
            i32::from(key)
        );
        self.pass(format!("const CFI_cdesc_t *{name}"), &format!("{name}_c"));
        let _ = writeln!(self.after, "    free({name}_c);");
    }

    fn answer(&mut self, all: &[Parameter], name: &str, room: &str) {
        // Where nothing is found, or nothing was asked for, the text stays as it is.
        let has = |what: &&str| all.iter().any(|other| other.name == **what);
        let conditions = [("flag", "*flag"), ("buflen", "buflen_c > 0"), ("pset_len", "pset_len_c > 0")];
        let conditions: Vec<_> =
            conditions.iter().filter(|(what, _)| has(what)).map(|(_, condition)| *condition).collect();
        let when =
            if conditions.is_empty() { String::new() } else { format!("if ({}) ", conditions.join(" && ")) };
        let _ = writeln!(self.locals, "    char *{name}_c = calloc(1, {room});");
        let _ = writeln!(self.before, "    if (!{name}_c)\n        outcome = MPI_ERR_NO_MEM;");
        self.pass(format!("const CFI_cdesc_t *{name}"), &format!("{name}_c"));
        let _ = writeln!(self.then, "        {when}abi_answer({name}, {name}_c);");
        let _ = writeln!(self.after, "    free({name}_c);");
    }

    fn choice(&mut self, all: &[Parameter], name: &str, choice: &Choice, is_const: bool) {
        let begin = |text: &mut String, how: &str, more: &str| {
            let _ = writeln!(
                text,
                "    outcome = outcome ? outcome : abi_{how}(&{name}_c, {name}, \"{name}\"{more});"
            );
        };
        let taken = format!("const CFI_cdesc_t *{name}");
        let is_persistent =
            all.iter().any(|other| matches!(&other.class, Class::Handle(h, Way::In) if h == "MPI_Info"));
        let request =
            all.iter().any(|other| matches!(&other.class, Class::Handle(h, Way::Out) if h == "MPI_Request"));
        let copies = i32::from(!is_persistent || !request);
        match choice {
            Choice::Place => return self.pass(taken, &format!("abi_place({name})")),
            Choice::Contiguous => {
                let _ = writeln!(self.locals, "    abi_data {name}_c = {{0}};");
                begin(&mut self.before, "contiguous", "");
                return self.pass(taken, &format!("{name}_c.address"));
            }
            Choice::Own { count, datatype } => {
                let more = format!(", \"{count}\", *{count}, \"{datatype}\", MPI_Datatype_of(*{datatype})");
                begin(&mut self.before, "own", &more);
                let narrow = all.iter().any(|other| {
                    other.name == *count && matches!(other.class, Class::Number(Number::Int, _))
                });
                let cast = if narrow { "(int)" } else { "" };
                self.replaced.push((count.clone(), format!("{cast}{name}_c.count")));
                self.replaced.push((datatype.clone(), format!("{name}_c.type")));
            }
            Choice::Blocks { datatype } => {
                let more = format!(", MPI_Datatype_of(*{datatype}), {copies}");
                begin(&mut self.before, "blocks", &more);
                self.replaced.push((datatype.clone(), format!("{name}_c.type")));
            }
            Choice::Shared => begin(&mut self.before, "shared", &format!(", {copies}")),
        }
        let _ = writeln!(self.locals, "    abi_data {name}_c = {{0}};");
        self.pass(taken, &format!("{name}_c.address"));
        let back = if is_const { "NULL" } else { name };
        let request = if request && copies == 1 { "outcome ? 0 : *request" } else { "0" };
        let _ = writeln!(self.after, "    abi_data_end(&{name}_c, {back}, {request});");
    }

    fn procedure(&mut self, function: &Function, name: &str, interface: &str) {
        let taken = format!("abi_procedure {name}");
        let object = interface.trim_start_matches("MPI_");
        if object.contains("attr_function") || object.starts_with("Grequest") {
            // The state that C hands over says which procedure it is.
            return self.pass(taken, &format!("abi_{}", object.to_lowercase()));
        }
        let _ = writeln!(self.locals, "    {interface} *{name}_c = abi_{}({name});", object.to_lowercase());
        let _ = writeln!(
            self.before,
            "    if (!{name}_c)\n        outcome = MPI_ERR_NO_MEM; /* {} has no place left for a procedure */",
            function.name
        );
        self.pass(taken, &format!("{name}_c"));
    }
}
