//! The control variables: the configuration tables as tools see them, and the values that were written before the start.
//!
//! A value that is written before MPI is initialized takes the place of the environment's; the start reads each variable
//! once ([`take_settings`]). After that a few may still be changed, the others never.

use super::answer::{Answer, Fault};
use super::enumeration::{self, SWITCH};
use crate::abi::*;
use crate::arguments::{Memory, Text, TextOut};
use crate::process;
use parking_lot::Mutex;
use rma::config::Configuration;
use rma_core::config::{Setting, Unit};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::OnceLock;

/// One control variable: a row of a table, with its default.
pub(crate) struct ControlVariable {
    setting: Setting,
    /// The table's name.
    pub(crate) table: &'static str,
}

/// How values look to tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Number,
    /// A word of a list, by its place.
    Word(&'static [&'static str]),
    Text,
}

/// Characters of a value that is a text, its end included.
pub(crate) const TEXT_ROOM: usize = 256;

/// Variables that all processes of a job must have the same value of: they choose what travels between processes, or
/// bound what one of them takes from another.
const SAME_ON_ALL: [&str; 17] = [
    "RMA_CHANNEL",
    "RMA_CHANNEL_PLUGIN",
    "RMA_DIRECT",
    "RMA_RANKS_PER_NODE",
    "RMA_WINDOWS",
    "RMA_CREDITS",
    "RMA_UNIT_BYTES",
    "RMA_FENCE_PACKETS",
    "RMA_LOCK_DIRECTORY",
    "RMA_ANNOUNCERS",
    "RMA_MESSAGE_WINDOW",
    "RMA_SHM_RING_BYTES",
    "RMA_SHM_PACKET_BYTES",
    "RMA_TCP_PACKET_BYTES",
    "RMA_TCP_AUTHENTICATE",
    "RMA_OFI_PACKET_BYTES",
    "RMA_OFI_PROVIDER",
];

/// What was written before the start.
struct Written {
    values: BTreeMap<&'static str, String>,
    /// The start has read the variables.
    is_taken: bool,
}

static WRITTEN: Mutex<Written> = Mutex::new(Written { values: BTreeMap::new(), is_taken: false });

/// All control variables; an index is a place in this list.
pub(crate) fn variables() -> &'static [ControlVariable] {
    static VARIABLES: OnceLock<Vec<ControlVariable>> = OnceLock::new();
    VARIABLES.get_or_init(|| {
        let tables = Configuration::default().tables();
        let of = |table: rma::config::Table| {
            table.settings.into_iter().map(move |setting| ControlVariable { setting, table: table.name })
        };
        tables.into_iter().flat_map(of).collect()
    })
}

/// The values that the start takes instead of the environment's. Later ones come too late.
pub(crate) fn take_settings() -> BTreeMap<&'static str, String> {
    let mut written = WRITTEN.lock();
    written.is_taken = true;
    written.values.clone()
}

impl ControlVariable {
    pub(crate) fn name(&self) -> &'static str {
        self.setting.variable.name
    }

    pub(crate) fn words(&self) -> &'static [&'static str] {
        self.setting.words
    }

    /// What it does, what it may be and why it is what it is.
    pub(crate) fn description(&self) -> String {
        let Setting { variable, default, range, .. } = &self.setting;
        let unit = match variable.unit {
            Unit::Count => "count, ",
            Unit::Bytes => "bytes, ",
            Unit::Microseconds => "microseconds, ",
            Unit::Seconds => "seconds, ",
            Unit::Switch | Unit::Choice => "",
        };
        format!("{} ({unit}{range}; default {default}: {})", variable.text, variable.reason)
    }

    pub(crate) fn verbosity(&self) -> c_int {
        match self.table {
            "runtime" => MPI_T_VERBOSITY_USER_BASIC,
            "engine" => MPI_T_VERBOSITY_TUNER_BASIC,
            _ => MPI_T_VERBOSITY_TUNER_DETAIL,
        }
    }

    pub(crate) fn scope(&self) -> c_int {
        if SAME_ON_ALL.contains(&self.name()) { MPI_T_SCOPE_ALL_EQ } else { MPI_T_SCOPE_LOCAL }
    }

    pub(crate) fn datatype(&self) -> MPI_Datatype {
        match self.form() {
            Form::Number => MPI_UNSIGNED_LONG_LONG,
            Form::Word(_) => MPI_INT,
            Form::Text => MPI_CHAR,
        }
    }

    /// Elements of the type in a value.
    pub(crate) fn count(&self) -> c_int {
        if self.form() == Form::Text { TEXT_ROOM as c_int } else { 1 }
    }

    pub(crate) fn enumeration(&self, index: usize) -> MPI_T_enum {
        match self.form() {
            Form::Word(SWITCH) => enumeration::of_switches(),
            Form::Word(_) => enumeration::of_variable(index),
            Form::Number | Form::Text => MPI_T_enum(MPI_T_ENUM_NULL),
        }
    }

    /// Puts the value in force there.
    pub(crate) fn read(&self, buffer: Memory) -> Answer {
        let value = self.value();
        match self.form() {
            Form::Number => buffer.place().set("", value.parse().unwrap_or(0u64))?,
            Form::Word(SWITCH) => buffer.place().set("", c_int::from(value == "1"))?,
            Form::Word(words) => {
                let place = words.iter().position(|word| *word == value).unwrap_or_default();
                buffer.place().set("", place as c_int)?;
            }
            Form::Text => drop(TextOut::at(buffer).set_bytes("", value.as_bytes(), TEXT_ROOM)?),
        }
        Ok(())
    }

    /// Takes the value over, if it is legal and its time is not over.
    pub(crate) fn write(&self, buffer: Memory) -> Answer {
        let invalid = Fault(MPI_T_ERR_INVALID);
        let value = match self.form() {
            Form::Number => buffer.value().one("").map(|number: u64| number.to_string())?,
            Form::Word(words) => {
                let place: c_int = buffer.value().one("")?;
                let word = usize::try_from(place).ok().and_then(|place| words.get(place)).ok_or(invalid)?;
                if words == SWITCH { place.to_string() } else { (*word).to_owned() }
            }
            Form::Text => Text::at(buffer).get("", TEXT_ROOM - 1, rma::ErrorClass::Arg)?,
        };
        self.set(value)
    }

    fn set(&self, value: String) -> Answer {
        let name = self.name();
        Configuration::read(&|asked| (asked == name).then(|| value.clone()))?;
        if let Some(process) = process::running() {
            return match process.world.inner.runtime().change(name, &value)? {
                true => Ok(()),
                false => Err(Fault(MPI_T_ERR_CVAR_SET_NEVER)),
            };
        }
        let mut written = WRITTEN.lock();
        match written.is_taken {
            _ if process::is_finalized() => Err(Fault(MPI_T_ERR_CVAR_SET_NEVER)),
            // MPI is being initialized now.
            true => Err(Fault(MPI_T_ERR_CVAR_SET_NOT_NOW)),
            false => {
                written.values.insert(name, value);
                Ok(())
            }
        }
    }

    /// The value in force; before the start, that which it would have.
    fn value(&self) -> String {
        let name = self.name();
        let configuration = match process::of_life() {
            Some(process) => process.world.inner.runtime().configuration(),
            None => {
                let written = WRITTEN.lock().values.get(name).cloned();
                let value = written.or_else(|| Configuration::of_environment(name));
                // A value that is not legal is for the start to complain about.
                Configuration::read(&|asked| value.clone().filter(|_| asked == name)).unwrap_or_default()
            }
        };
        let mut settings = configuration.settings().into_iter();
        let setting = settings.find(|setting| setting.variable.name == name);
        setting.map(|setting| setting.value).unwrap_or_default()
    }

    fn form(&self) -> Form {
        match self.setting.variable.unit {
            Unit::Count | Unit::Bytes | Unit::Microseconds | Unit::Seconds => Form::Number,
            Unit::Switch => Form::Word(SWITCH),
            Unit::Choice if !self.words().is_empty() => Form::Word(self.words()),
            Unit::Choice => Form::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn variables_that_must_agree_are_those_that_the_documentation_marks() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tuning.md");
        let page = std::fs::read_to_string(path).unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let marked: BTreeSet<_> =
            rows.filter(|(_, rest)| rest.contains("Same")).map(|(name, _)| name).collect();
        assert_eq!(marked, BTreeSet::from(SAME_ON_ALL));
        let known = |name: &&str| variables().iter().any(|variable| variable.name() == *name);
        assert!(SAME_ON_ALL.iter().all(known), "{SAME_ON_ALL:?}");
    }

    #[test]
    fn descriptions_have_unit_range_and_default() {
        let slots = variables().iter().find(|variable| variable.name() == "RMA_SLOTS").unwrap();
        let text = slots.description();
        assert!(text.contains("(count, from 1 to 1048576; default 64: "), "{text}");
        assert!(variables().iter().all(|variable| variable.description().is_ascii()));
    }

    #[test]
    fn every_value_fits_its_form() {
        for variable in variables() {
            let value = &variable.setting.default;
            let fits = match variable.form() {
                Form::Number => value.parse::<u64>().is_ok(),
                Form::Word(SWITCH) => value == "0" || value == "1",
                Form::Word(words) => words.contains(&value.as_str()),
                Form::Text => value.len() < TEXT_ROOM,
            };
            assert!(fits, "{}: {value}", variable.name());
        }
    }
}
