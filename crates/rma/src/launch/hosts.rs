//! The hosts that a job may use, and how many ranks each is for: from the command line, a file, or the allocation of Slurm or PBS.
//!
//! Reading only: no name is looked up and no host is asked. Names come to stand on the command line of the launch agent, so what
//! could be an option or words of a shell there is refused.

use std::fmt::Write;

/// Most hosts, and most ranks of one.
const MOST: u32 = 65536;
/// Longest name (POSIX: `HOST_NAME_MAX` is 255 at most).
const NAME_LEN_MAX: usize = 255;

/// A host and how many ranks it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As it was given; the launch agent gets it.
    pub name: String,
    /// Ranks before another host is as good.
    pub slots: u32,
}

/// All hosts of a job, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    all: Vec<Host>,
    /// How many ranks the job gets that does not say it, if that is less than there are slots.
    ranks: Option<u32>,
}

impl Hosts {
    /// Reads `a,b:2,[::1]:3`, as `--hosts` takes it.
    ///
    /// # Errors
    /// A clause that names the part.
    pub fn of_list(text: &str) -> Result<Self, String> {
        let mut hosts = Self::default();
        for part in text.split(',') {
            hosts.add(host(part.trim())?)?;
        }
        Ok(hosts)
    }

    /// Reads a file: a host per line as `host`, `host:n` (MPICH) or `host slots=n` (Open MPI), with comments after `#`. Hosts that
    /// stand there more than once have the sum.
    ///
    /// # Errors
    /// A clause that names the line.
    pub fn of_file(text: &str) -> Result<Self, String> {
        let mut hosts = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let host = host(first).and_then(|mut host| {
                for word in words {
                    host.slots = match word.split_once('=') {
                        Some(("slots", number)) => count(number)?,
                        // More ranks than slots are no error here, so this limits nothing.
                        Some(("max_slots" | "max-slots", number)) => count(number).map(|_| host.slots)?,
                        _ => return Err(format!("{word:?} is not of the form slots=N")),
                    };
                }
                Ok(host)
            });
            host.and_then(|host| hosts.add(host)).map_err(|why| format!("line {}: {why}", at + 1))?;
        }
        if hosts.all.is_empty() { Err("it names no host".to_owned()) } else { Ok(hosts) }
    }

    /// The hosts of the allocation that this process runs in, if it runs in one: of Slurm, or of PBS.
    ///
    /// # Errors
    /// A clause that names the variable.
    pub fn of_allocation(look_up: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let set = |name: &str| look_up(name).filter(|value| !value.is_empty());
        if let Some(list) = set("SLURM_JOB_NODELIST") {
            let tasks = set("SLURM_TASKS_PER_NODE");
            let mut hosts = Self::of_slurm(&list, tasks.as_deref())?;
            // With a limit per node all nodes have as many tasks, and together perhaps more than were asked for.
            if let Some(text) = set("SLURM_NTASKS") {
                let ranks = count(&text).map_err(|why| format!("SLURM_NTASKS: {why}"))?;
                hosts.ranks = Some(ranks).filter(|ranks| *ranks < hosts.slots());
            }
            return Ok(Some(hosts));
        }
        let Some(path) = set("PBS_NODEFILE") else { return Ok(None) };
        let text =
            std::fs::read_to_string(&path).map_err(|cause| format!("PBS_NODEFILE: {path}: {cause}"))?;
        Self::of_file(&text).map(Some).map_err(|why| format!("PBS_NODEFILE: {path}: {why}"))
    }

    /// Reads Slurm's list of nodes, `n[1-3,07],x`, and tasks of each, `2(x3),1`.
    fn of_slurm(list: &str, tasks: Option<&str>) -> Result<Self, String> {
        let names = expand(list).map_err(|why| format!("SLURM_JOB_NODELIST: {why}"))?;
        let slots = match tasks {
            None => vec![1; names.len()],
            Some(text) => repeated(text).map_err(|why| format!("SLURM_TASKS_PER_NODE: {why}"))?,
        };
        if slots.len() != names.len() {
            return Err(format!(
                "SLURM_TASKS_PER_NODE is for {} nodes, and SLURM_JOB_NODELIST has {}",
                slots.len(),
                names.len()
            ));
        }
        let mut hosts = Self::default();
        for (name, slots) in names.into_iter().zip(slots) {
            hosts.add(Host { name: checked(&name)?, slots })?;
        }
        Ok(hosts)
    }

    /// The hosts in order.
    pub fn all(&self) -> &[Host] {
        &self.all
    }

    /// Slots of all hosts.
    pub fn slots(&self) -> u32 {
        self.all.iter().map(|host| host.slots).sum()
    }

    /// Ranks of a job that does not say how many.
    pub fn ranks(&self) -> u32 {
        self.ranks.unwrap_or_else(|| self.slots())
    }

    fn add(&mut self, host: Host) -> Result<(), String> {
        let slots = self.slots() + host.slots;
        if slots > MOST {
            return Err(format!("{slots} slots of all hosts are too many: at most {MOST}"));
        }
        match self.all.iter_mut().find(|known| known.name == host.name) {
            Some(known) => known.slots += host.slots,
            None => self.all.push(host),
        }
        Ok(())
    }
}

/// Reads `name`, `name:n`, `address` or `[address]:n`.
fn host(text: &str) -> Result<Host, String> {
    let (name, slots) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        // An address of IPv6 has more than one.
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(name, slots)| (name, Some(slots))),
    };
    Ok(Host { name: checked(name)?, slots: slots.map_or(Ok(1), count)? })
}

fn checked(name: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.:@%".contains(c);
    match name {
        "" => Err("a host's name is missing".to_owned()),
        _ if name.starts_with('-') || !name.chars().all(is_fine) || name.len() > NAME_LEN_MAX => {
            Err(format!("{name:?} is no name of a host"))
        }
        name => Ok(name.to_owned()),
    }
}

fn count(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("{text:?} is no number of ranks from 1 to {MOST}"))
}

/// The numbers of `2(x3),1`.
fn repeated(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.strip_suffix(')').and_then(|part| part.split_once("(x")) {
            Some((number, times)) => (number, count(times)?),
            None => (part, 1),
        };
        let number = count(number)?;
        if all.len() as u32 + times > MOST {
            return Err(format!("it is for more than {MOST} nodes"));
        }
        all.extend(std::iter::repeat_n(number, times as usize));
    }
    Ok(all)
}

/// The names of a list with ranges in brackets.
fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        // A comma in brackets does not end a name.
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ',' && depth == 0
        });
        let (pattern, tail) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        names.extend(expand_one(pattern)?);
        if names.len() > MOST as usize {
            return Err(format!("it has more than {MOST} nodes"));
        }
        rest = tail;
    }
    if names.is_empty() { Err("it has no node".to_owned()) } else { Ok(names) }
}

/// The names of `rack[1-2]node[01,03-04]`: each pair of brackets multiplies them.
fn expand_one(pattern: &str) -> Result<Vec<String>, String> {
    let bad = || format!("{pattern:?} is no list of nodes");
    let Some((before, rest)) = pattern.split_once('[') else { return Ok(vec![pattern.to_owned()]) };
    let (ranges, after) = rest.split_once(']').ok_or_else(bad)?;
    let tails = if after.is_empty() { vec![String::new()] } else { expand_one(after)? };
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad());
        let (from, to) = (number(first)?, number(last)?);
        let many = (u64::from(to.saturating_sub(from)) + 1) * tails.len() as u64;
        if from > to || first.len() > NAME_LEN_MAX || names.len() as u64 + many > u64::from(MOST) {
            return Err(bad());
        }
        for number in from..=to {
            for tail in &tails {
                let mut name = before.to_owned();
                // The first number of a range says how many digits all have.
                let _ = write!(name, "{number:0width$}{tail}", width = first.len());
                names.push(name);
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(hosts: Result<Hosts, String>) -> String {
        let hosts = hosts.unwrap();
        hosts.all().iter().map(|host| format!("{}={} ", host.name, host.slots)).collect()
    }

    #[test]
    fn lists_and_files_name_hosts_with_slots() {
        assert_eq!(
            show(Hosts::of_list("a,b:2,[::1]:3,fe80::1,me@c.d:4")),
            "a=1 b=2 ::1=3 fe80::1=1 me@c.d=4 "
        );
        assert_eq!(show(Hosts::of_list("a,b:2,a:3")), "a=4 b=2 ");
        let file = "# all\n\na\nb:2 # MPICH's\n  c slots=3 max_slots=4\nd slots=2\na\n";
        assert_eq!(show(Hosts::of_file(file)), "a=2 b=2 c=3 d=2 ");
        for (list, why) in [
            ("", "missing"),
            ("a,,b", "missing"),
            ("-oProxyCommand=x", "no name"),
            ("a;reboot", "no name"),
            ("a b", "no name"),
            ("a:0", "from 1"),
            ("a:-1", "from 1"),
            ("a:65537", "from 1"),
            ("a:65536,b", "too many"),
        ] {
            assert!(Hosts::of_list(list).unwrap_err().contains(why), "{list}");
        }
        for (file, why) in [("", "no host"), ("a\nb cpus=2", "line 2: \"cpus=2\""), ("a slots=x", "line 1")] {
            assert!(Hosts::of_file(file).unwrap_err().contains(why), "{file}");
        }
    }

    #[test]
    fn allocations_are_read_as_slurm_and_pbs_write_them() {
        let slurm = |list, tasks| show(Hosts::of_slurm(list, tasks));
        assert_eq!(slurm("n1", None), "n1=1 ");
        assert_eq!(slurm("n[1-3],x", Some("2(x3),1")), "n1=2 n2=2 n3=2 x=1 ");
        assert_eq!(slurm("n[08-10,7]", Some("1,2(x2),3")), "n08=1 n09=2 n10=2 n7=3 ");
        assert_eq!(slurm("r[1-2]n[1-2]-ib", None), "r1n1-ib=1 r1n2-ib=1 r2n1-ib=1 r2n2-ib=1 ");
        for (list, tasks) in [
            ("n[1-2]", Some("1")),
            ("n[1-2", None),
            ("n[2-1]", None),
            ("n[x]", None),
            ("n[0-4294967295]", None),
            ("n[1-9999]m[1-9999]", None),
            ("n1", Some("2(x")),
            ("n1", Some("1(x4000000000)")),
        ] {
            assert!(Hosts::of_slurm(list, tasks).is_err(), "{list} {tasks:?}");
        }
        let salloc = |tasks: &str| {
            let set = [
                ("SLURM_JOB_NODELIST", "n[1-2]"),
                ("SLURM_TASKS_PER_NODE", "3(x2)"),
                ("SLURM_NTASKS", tasks),
            ];
            let find = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Hosts::of_allocation(&find).map(|hosts| hosts.unwrap().ranks())
        };
        assert_eq!([salloc("5"), salloc("6"), salloc("9"), salloc("")], [5, 6, 6, 6].map(Ok));
        assert!(salloc("0").unwrap_err().contains("SLURM_NTASKS"));
        let file = std::env::temp_dir().join(format!("rma-pbs-{}", std::process::id()));
        std::fs::write(&file, "a\na\nb\n").unwrap();
        let pbs = |name: &str| (name == "PBS_NODEFILE").then(|| file.to_str().unwrap().to_owned());
        assert_eq!(show(Hosts::of_allocation(&pbs).map(Option::unwrap)), "a=2 b=1 ");
        std::fs::remove_file(&file).unwrap();
        assert!(Hosts::of_allocation(&pbs).unwrap_err().contains("PBS_NODEFILE"));
        assert_eq!(Hosts::of_allocation(&|_| None), Ok(None));
    }
}
