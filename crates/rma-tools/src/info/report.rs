//! What there is to tell, as plain data.

use rma::channels::{Distance, LookUp, Plan, kinds, load};
use rma::config::Configuration;
use rma_core::config::Setting;
use serde_json::{Value, json};

/// The version of the standard that the C library follows.
pub const MPI_VERSION: (u32, u32) = (5, 0);

/// The version of the standard's binary interface that the C library has.
pub const ABI_VERSION: (u32, u32) = (1, 0);

/// The variables as one environment sets them.
#[derive(Debug)]
pub struct Report {
    /// Every variable; those with a wrong value have their default.
    pub settings: Vec<Setting>,
    /// A line for each wrong value.
    pub errors: Vec<String>,
    /// A line for each name that looks like a variable and is none.
    pub warnings: Vec<String>,
    /// Every channel.
    pub channels: Vec<ChannelReport>,
    /// What pairs of ranks use.
    pub plan: Plan,
}

/// A channel as it is here.
#[derive(Debug)]
pub struct ChannelReport {
    /// Its name in `RMA_CHANNEL`.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// About what a short packet costs within a node, and between nodes, in nanoseconds, where it reaches.
    pub cost_ns: [Option<u32>; 2],
    /// What there is of it, or why there is nothing.
    pub state: Result<String, String>,
}

impl Report {
    /// Reads every variable through `look_up`, but for those that name code to load, which are the environment's; `names` are all
    /// names of the environment.
    pub fn new(look_up: &dyn Fn(&str) -> Option<String>, names: Vec<String>) -> Self {
        let wrong = Configuration::refused(look_up);
        let right = |name: &str| if wrong.iter().any(|(bad, _)| *bad == name) { None } else { look_up(name) };
        // What is left is right: each value was read above.
        let configuration = Configuration::read(&right).unwrap_or_default();
        let mut errors: Vec<_> = wrong.iter().map(|(_, error)| error.cause().to_owned()).collect();
        let right = LookUp::new(&right);
        errors.extend(load(right).err().map(|error| error.cause().to_owned()));
        let channels = kinds().into_iter().map(|kind| ChannelReport {
            name: kind.name(),
            text: kind.text(),
            cost_ns: [Distance::Node, Distance::Remote].map(|distance| kind.cost_ns(distance, right)),
            state: kind.probe(right),
        });
        Self {
            channels: channels.collect(),
            plan: Plan::choose(&configuration.runtime.channel, right),
            settings: configuration.settings(),
            errors,
            warnings: configuration.warnings(names),
        }
    }

    /// Keeps the variables whose name contains one of these, in any case; all, when there are none.
    pub fn keep(&mut self, names: &[String]) {
        let names: Vec<_> = names.iter().map(|name| name.to_uppercase()).collect();
        let is_wanted =
            |setting: &Setting| names.iter().any(|name| setting.variable.name.contains(name.as_str()));
        self.settings.retain(|setting| names.is_empty() || is_wanted(setting));
    }

    /// The channels for programs.
    pub fn json_of_channels(&self) -> Value {
        let channels: Vec<_> = self
            .channels
            .iter()
            .map(|channel| {
                json!({
                    "name": channel.name,
                    "text": channel.text,
                    "node_ns": channel.cost_ns[0],
                    "remote_ns": channel.cost_ns[1],
                    "is_there": channel.state.is_ok(),
                    "state": channel.state.as_ref().unwrap_or_else(|why| why),
                })
            })
            .collect();
        let name = |distance| self.plan.of(distance).map(|kind| kind.name());
        json!({
            "channels": channels,
            "within_a_node": name(Distance::Node),
            "between_nodes": name(Distance::Remote),
            "windows_of_a_node_are_direct": self.plan.is_direct,
            "errors": self.errors,
        })
    }

    /// Everything for programs.
    pub fn json(&self) -> Value {
        let variables: Vec<_> = self
            .settings
            .iter()
            .map(|setting| {
                json!({
                    "name": setting.variable.name,
                    "value": setting.value,
                    "default": setting.default,
                    "range": setting.range,
                    "unit": setting.variable.unit.to_string(),
                    "text": setting.variable.text,
                    "reason": setting.variable.reason,
                })
            })
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "mpi": format!("{}.{}", MPI_VERSION.0, MPI_VERSION.1),
            "abi": format!("{}.{}", ABI_VERSION.0, ABI_VERSION.1),
            "channels": rma::channels::names(),
            "variables": variables,
            "errors": self.errors,
            "warnings": self.warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(set: &[(&str, &str)]) -> Report {
        let find =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Report::new(&find, set.iter().map(|(name, _)| (*name).to_owned()).collect())
    }

    #[test]
    fn the_versions_are_those_of_the_table() {
        let table = include_str!("../../../rma-capi/abi/constants.tsv");
        let value = |name: &str| -> u32 {
            let row = table.lines().find_map(|line| line.strip_prefix(&format!("{name}\tint\t")));
            row.unwrap().parse().unwrap()
        };
        assert_eq!(MPI_VERSION, (value("MPI_VERSION"), value("MPI_SUBVERSION")));
        assert_eq!(ABI_VERSION, (value("MPI_ABI_VERSION"), value("MPI_ABI_SUBVERSION")));
    }

    #[test]
    fn every_wrong_value_is_told_and_the_rest_is_in_force() {
        let report =
            report(&[("RMA_SLOTS", "0"), ("RMA_CHANNEL", "smoke"), ("RMA_DIRECT", "0"), ("RMA_SLOT", "1")]);
        let errors = report.errors.join("\n");
        assert_eq!(report.errors.len(), 2, "{errors}");
        for part in ["RMA_SLOTS is set to \"0\"", "from 1 to", "RMA_CHANNEL", "auto, shm, tcp"] {
            assert!(errors.contains(part), "{errors}");
        }
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        let value = |name: &str| {
            report.settings.iter().find(|setting| setting.variable.name == name).unwrap().value.clone()
        };
        assert_eq!((value("RMA_DIRECT").as_str(), value("RMA_CHANNEL").as_str()), ("0", "auto"));
    }

    #[test]
    fn json_has_every_variable() {
        let report = report(&[("RMA_SLOTS", "2")]);
        let json = report.json();
        let variables = json["variables"].as_array().unwrap();
        assert_eq!(variables.len(), report.settings.len());
        let slots = variables.iter().find(|variable| variable["name"] == "RMA_SLOTS").unwrap();
        assert_eq!((slots["value"].as_str(), slots["default"].as_str()), (Some("2"), Some("64")));
        assert_eq!(json["abi"], "1.0");
        assert_eq!(json["channels"], json!(rma::channels::names()));
    }

    #[test]
    fn channels_say_what_is_there_and_what_pairs_use() {
        for (set, within, between, is_direct) in [
            ("auto", Some("shm"), Some("tcp"), true),
            ("shm", Some("shm"), None, false),
            ("tcp,shm", Some("tcp"), Some("tcp"), true),
        ] {
            let json = report(&[("RMA_CHANNEL", set)]).json_of_channels();
            let name = |key: &str| json[key].as_str().map(str::to_owned);
            assert_eq!(name("within_a_node").as_deref(), within, "{set}");
            assert_eq!(name("between_nodes").as_deref(), between, "{set}");
            assert_eq!(json["windows_of_a_node_are_direct"], is_direct, "{set}");
            let shm = &json["channels"][0];
            assert_eq!(
                (&shm["name"], &shm["is_there"], &shm["remote_ns"]),
                (&json!("shm"), &json!(true), &json!(null))
            );
        }
    }

    #[test]
    fn names_choose() {
        let mut report = report(&[]);
        report.keep(&["tcp_listen".to_owned(), "SLOTS".to_owned()]);
        let names: Vec<_> = report.settings.iter().map(|setting| setting.variable.name).collect();
        assert_eq!(names, ["RMA_TCP_LISTEN", "RMA_SLOTS"]);
    }
}
