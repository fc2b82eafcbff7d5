//! The variables that ranks start with, read before any of them does: a wrong value is reported once for the job, and no rank starts.
//!
//! What a program between the launcher and a rank changes, a shell script say, is unknown here: ranks read their environment
//! themselves.

use super::options::{Options, Program};
use crate::config::Configuration;

/// What the options of the job set for all its ranks.
pub(super) fn environment(options: &Options) -> Vec<(String, String)> {
    let handler = options.initial_errhandler.as_ref();
    let set = [
        ("RMA_CHANNEL", options.channel.clone()),
        ("RMA_RANKS_PER_NODE", options.ranks_per_node.map(|ranks| ranks.to_string())),
        ("RMA_INITIAL_ERRHANDLER", handler.map(|name| name.to_ascii_lowercase())),
    ];
    set.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A line for each value that ranks would refuse. `inherited` is the launcher's own environment.
pub(super) fn refusals(options: &Options, inherited: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let common = environment(options);
    let mut lines = Vec::new();
    for program in options.programs() {
        let look_up = |name: &str| value(program, &common, name).or_else(|| inherited(name));
        for (_, error) in Configuration::refused(&look_up) {
            let line = error.to_string();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// What the command line sets. The program's own options stand above those of the job, and later ones above earlier ones.
fn value(program: &Program, common: &[(String, String)], name: &str) -> Option<String> {
    let set = program.variables.iter().rev().chain(common);
    set.into_iter().find(|(set, _)| set == name).map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str, inherited: &[(&str, &str)]) -> Vec<String> {
        let options = Options::read(line.split(' ').map(Into::into)).unwrap();
        let find = |name: &str| {
            inherited.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        refusals(&options, &find)
    }

    #[test]
    fn each_wrong_value_is_one_line_however_many_programs_have_it() {
        let wrong = [("RMA_SLOTS", "0"), ("RMA_DIRECT", "maybe"), ("RMA_SLOT", "x")];
        let said = lines("rmarun -n 3 a : -n 2 b", &wrong);
        assert_eq!(said.len(), 2, "{said:?}");
        for (line, parts) in
            said.iter().zip([["RMA_DIRECT", "maybe", "0 or 1"], ["RMA_SLOTS", "\"0\"", "from 1"]])
        {
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
        assert_eq!(lines("rmarun a", &[("RMA_SLOTS", "8")]), [""; 0]);
    }

    #[test]
    fn what_the_command_line_sets_counts() {
        assert_eq!(lines("rmarun -x RMA_SLOTS=0 -x RMA_SLOTS=1 a", &[("RMA_SLOTS", "0")]), [""; 0]);
        assert_eq!(lines("rmarun --channel tcp a", &[("RMA_CHANNEL", "smoke")]), [""; 0]);
        assert_eq!(lines("rmarun a : -x RMA_SLOTS=-1 b", &[]).len(), 1);
    }
}
