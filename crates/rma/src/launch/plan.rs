//! The plan of a job: its hosts, which of them is this one, and where each rank goes.

use super::binding;
use super::hosts::{Host, Hosts};
use super::options::{BindTo, Options};
use super::placing::{Seat, place};
use crate::network::is_own_address;
use crate::pmi::ProcessMapping;

/// Where the ranks of a job go.
#[derive(Debug)]
pub(super) struct LaunchPlan {
    pub(super) hosts: Vec<Host>,
    /// In rank order.
    pub(super) seats: Vec<Seat>,
    /// Whether each host is this one.
    is_here: Vec<bool>,
    bind_to: BindTo,
}

impl LaunchPlan {
    /// Makes the plan, with the hosts of the allocation when the command line names none; gives the job as many ranks as there are
    /// slots when it does not say how many.
    ///
    /// # Errors
    /// What is wrong with the hosts, or that this one has too few cores.
    pub(super) fn of(
        options: &mut Options,
        look_up: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let named = options.hosts.take().or(options.hostfile.take());
        let hosts = match named {
            Some(hosts) => Some(hosts),
            None => Hosts::of_allocation(look_up)?,
        };
        if let Some(hosts) = &hosts
            && !options.says_ranks
            && options.more.is_empty()
        {
            options.first.ranks = hosts.ranks();
        }
        let (ranks, here) = (options.ranks(), name_of_this_host());
        let hosts = match hosts {
            Some(hosts) => hosts.all().to_vec(),
            None => vec![Host { name: "localhost".to_owned(), slots: ranks }],
        };
        let is_here: Vec<bool> = hosts.iter().map(|host| is_this_host(&host.name, &here)).collect();
        let seats = place(&hosts, ranks, options.map_by);
        let mut plan = Self { hosts, seats, is_here, bind_to: options.bind_to };
        plan.merge_here();
        let ranks = plan.seats.iter().filter(|seat| plan.is_here[seat.host]).count() as u32;
        binding::sets(plan.bind_to, ranks).map_err(|why| format!("this host has {why}"))?;
        Ok(plan)
    }

    /// Two names of this host are one host.
    fn merge_here(&mut self) {
        let Some(first) = self.is_here.iter().position(|here| *here) else { return };
        let here = self.seats.iter_mut().filter(|seat| self.is_here[seat.host]);
        for (place, seat) in (0..).zip(here) {
            *seat = Seat { host: first, place };
        }
    }

    /// The name of the rank's host, if that is not this one.
    pub(super) fn other(&self, rank: u32) -> Option<&str> {
        let host = self.seats[rank as usize].host;
        (!self.is_here[host]).then(|| self.hosts[host].name.as_str())
    }

    /// The name of the rank's host.
    pub(super) fn host(&self, rank: u32) -> &str {
        &self.hosts[self.seats[rank as usize].host].name
    }

    /// The rank's place among those of its host.
    pub(super) fn place(&self, rank: u32) -> u32 {
        self.seats[rank as usize].place
    }

    /// The other hosts that have ranks, with these.
    pub(super) fn others(&self) -> Vec<(&str, Vec<u32>)> {
        let mut others: Vec<(&str, Vec<u32>)> =
            self.hosts.iter().map(|host| (host.name.as_str(), Vec::new())).collect();
        (0..).zip(&self.seats).for_each(|(rank, seat)| others[seat.host].1.push(rank));
        let mut is_here = self.is_here.iter();
        others.retain(|(_, ranks)| !is_here.next().is_some_and(|here| *here) && !ranks.is_empty());
        others
    }

    /// Ranks on this host.
    pub(super) fn here(&self) -> u32 {
        self.seats.iter().filter(|seat| self.is_here[seat.host]).count() as u32
    }

    /// Which ranks share a host.
    pub(super) fn mapping(&self) -> ProcessMapping {
        let nodes: Vec<u32> = self.seats.iter().map(|seat| seat.host as u32).collect();
        ProcessMapping::of_nodes(&nodes)
    }

    /// A line for each rank: its host, and what it is bound to, counted from 0 among what that host has.
    pub(super) fn lines(&self) -> Vec<String> {
        let seats = self.seats.iter().enumerate();
        seats
            .map(|(rank, seat)| {
                let (host, place) = (&self.hosts[seat.host].name, seat.place);
                match self.bind_to {
                    BindTo::None => format!("rank {rank}: {host}"),
                    BindTo::Core => format!("rank {rank}: {host}, core {place}"),
                    BindTo::Socket => format!("rank {rank}: {host}, a socket in turn ({place})"),
                }
            })
            .collect()
    }
}

pub(super) fn name_of_this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether a name is one of this host, whose own name is `own`: with a domain or without.
fn is_this_host(name: &str, own: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_own = name == own || (!(name.contains('.') && own.contains('.')) && short(name) == short(own));
    match name.parse() {
        Ok(address) => is_own_address(address),
        Err(_) => name == "localhost" || is_own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> LaunchPlan {
        let mut options = Options::read(line.split(' ').map(Into::into)).unwrap();
        LaunchPlan::of(&mut options, &|_| None).unwrap()
    }

    #[test]
    fn this_host_has_several_names() {
        for (name, is_own) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("n1", true),
            ("n1.cluster", true),
            ("n1.other", true),
            ("n2", false),
            ("192.0.2.1", false),
        ] {
            assert_eq!(is_this_host(name, "n1"), is_own, "{name}");
        }
        assert!(is_this_host("n1", "n1.cluster") && !is_this_host("n1.other", "n1.cluster"));
    }

    #[test]
    fn a_plan_has_a_seat_for_each_rank_and_the_mapping_agrees() {
        let all = plan("rmarun -n 4 a");
        assert_eq!((all.here(), all.mapping().to_string()), (4, "(vector,(0,1,4))".to_owned()));
        let two = plan("rmarun --hosts localhost,192.0.2.1:2,127.0.0.1 a");
        assert_eq!(two.here(), 2);
        assert_eq!(two.mapping().to_string(), "(vector,(0,1,1),(1,1,2))");
        assert_eq!(two.lines()[3], "rank 3: localhost");
        assert_eq!((two.other(0), two.other(1), two.other(3)), (None, Some("192.0.2.1"), None));
        assert_eq!(two.others(), [("192.0.2.1", vec![1, 2])]);
        assert_eq!([0, 1, 2, 3].map(|rank| two.place(rank)), [0, 0, 1, 1]);
        let turns = plan("rmarun --hosts localhost:2,192.0.2.1:2 --map-by node --bind-to socket a");
        assert_eq!(turns.mapping().to_string(), "(vector,(0,2,1))");
        assert_eq!(turns.lines()[3], "rank 3: 192.0.2.1, a socket in turn (1)");
    }
}
