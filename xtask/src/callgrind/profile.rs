//! What callgrind has written: the total, and the names of everything that was executed.
//!
//! The format names functions, source files and objects as `(number) name` at first and as `(number)` from then on, in
//! three spaces of numbers (valgrind manual, "Callgrind Format Specification"). A function or file counts as executed when
//! it has a line of costs of its own; callers of the measured loop have only the costs of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The profile of one run.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// Instructions executed while callgrind collected.
    pub(super) instructions: u64,
    /// The same by object.
    by_object: BTreeMap<String, u64>,
    /// Functions, with the object (program or library) that each lies in.
    functions: BTreeSet<(String, String)>,
    /// Source files of executed lines, inlined code included.
    files: BTreeSet<String>,
}

/// Parts of paths of source files that a direct call has no business in.
const FOREIGN_SOURCES: &[&str] = &[
    "/parking_lot",
    "/lock_api",
    "/rustix",
    "/mio-",
    "/std/src/sys/",
    "/alloc/src/alloc.rs",
    "/rma-core/src/engine/handle.rs",
];

/// Beginnings of names of functions that libraries may contribute: copies, which compilers call by themselves.
const LIBRARY_FUNCTIONS: &[&str] = &["mem", "__mem", "_mem"];

/// Parts of names of functions that the program itself must not contribute.
const FOREIGN_FUNCTIONS: &[&str] = &["alloc", "mutex", "Mutex", "lock_slow", "syscall", "futex", "panic"];

/// Parts of names of functions that allocate.
const ALLOCATORS: &[&str] = &["malloc", "calloc", "realloc", "memalign", "__rust_alloc", "__rdl_alloc"];

/// One space of numbers.
#[derive(Debug, Default)]
struct Names(BTreeMap<String, String>);

impl Profile {
    /// Reads callgrind's output; `None` when it has no total.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mut objects, mut files, mut functions) = (Names::default(), Names::default(), Names::default());
        let mut profile = Self::default();
        let mut total = None;
        let (mut object, mut file, mut function) = (String::new(), String::new(), String::new());
        let mut is_call = false;
        for line in text.lines() {
            if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                // The line after `calls=` gives the cost of the call, which is the callee's own as well.
                if !std::mem::take(&mut is_call) {
                    let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
                    *profile.by_object.entry(object.clone()).or_default() += cost.unwrap_or_default();
                    profile.functions.insert((function.clone(), object.clone()));
                    profile.files.insert(file.clone());
                }
                continue;
            }
            if let Some(value) = line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:")) {
                total = value.split_whitespace().next().and_then(|number| number.parse().ok()).or(total);
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            match key {
                "ob" => object = objects.resolve(value),
                "cob" => drop(objects.resolve(value)),
                "fl" | "fi" | "fe" => file = files.resolve(value),
                "cfl" | "cfi" => drop(files.resolve(value)),
                "fn" => function = functions.resolve(value),
                "cfn" => drop(functions.resolve(value)),
                "calls" => is_call = true,
                _ => {}
            }
        }
        profile.instructions = total?;
        Some(profile)
    }

    /// Instructions that were not executed in this program itself.
    pub(super) fn instructions_outside(&self, program: &str) -> u64 {
        let outside = self.by_object.iter().filter(|(object, _)| object.rsplit('/').next() != Some(program));
        outside.map(|(_, cost)| cost).sum()
    }

    /// Functions that were executed and allocate memory.
    pub(super) fn allocations(&self) -> Vec<String> {
        let is_allocation = |name: &str| ALLOCATORS.iter().any(|part| name.contains(part));
        let functions = self.functions.iter().filter(|(name, _)| is_allocation(name));
        functions.map(|(name, object)| format!("{name} of {object}")).collect()
    }

    /// What was executed that is an allocation, a lock, a system call or a way to them, in words; `own` are the objects that
    /// are looked at by name.
    pub(super) fn impurities(&self, own: &[&str]) -> Vec<String> {
        let functions = self.functions.iter().filter(|(name, object)| {
            let is_own = object.is_empty() || own.contains(&object.rsplit('/').next().unwrap_or_default());
            match is_own {
                true => FOREIGN_FUNCTIONS.iter().any(|part| name.contains(part)),
                false => !LIBRARY_FUNCTIONS.iter().any(|start| name.starts_with(start)),
            }
        });
        let functions = functions.map(|(name, object)| format!("{name} of {object}"));
        let files = self.files.iter().filter(|file| FOREIGN_SOURCES.iter().any(|part| file.contains(part)));
        functions.chain(files.map(|file| format!("code of {file}"))).collect()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, object) in &self.functions {
            writeln!(f, "  {name} ({})", object.rsplit('/').next().unwrap_or_default())?;
        }
        self.files.iter().try_for_each(|file| writeln!(f, "  {file}"))
    }
}

impl Names {
    /// The name that a `(number) name`, `(number)` or plain `name` stands for.
    fn resolve(&mut self, value: &str) -> String {
        let Some((number, name)) = value.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            return value.to_owned();
        };
        match name.trim_start() {
            "" => self.0.get(number).cloned().unwrap_or_default(),
            name => {
                self.0.insert(number.to_owned(), name.to_owned());
                name.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE: &str = "version: 1\nevents: Ir\n\nob=(1) /t/prog\nfl=(1) /s/src/main.rs\nfn=(1) prog::measured::put\n\
        10 5\nfi=(2) /s/rma-core/src/mem/copy.rs\n11 7\nfe=(1)\ncob=(2) /lib/libc.so.6\ncfi=(3) ???\ncfn=(2) memcpy\n\
        calls=1 0\n12 9\n\nob=(2)\nfl=(3)\nfn=(2)\n0 9\n\ntotals: 21\n";

    #[test]
    fn a_pure_profile_has_a_total_and_no_findings() {
        let profile = Profile::parse(PURE).unwrap();
        assert_eq!(profile.instructions, 21);
        let own = ("prog::measured::put".to_owned(), "/t/prog".to_owned());
        let library = ("memcpy".to_owned(), "/lib/libc.so.6".to_owned());
        assert_eq!(profile.functions, BTreeSet::from([own, library]));
        assert_eq!((profile.instructions_outside("prog"), profile.instructions_outside("other")), (9, 21));
        assert_eq!(profile.allocations(), [""; 0]);
        assert_eq!(profile.impurities(&["prog"]), [""; 0]);
    }

    #[test]
    fn libraries_locks_and_inlined_locks_are_found() {
        for (more, found) in [
            ("ob=(2)\nfn=(3) malloc\n0 1\n", "malloc of /lib/libc.so.6"),
            ("ob=(2)\nfn=(3) pthread_mutex_lock\n0 1\n", "pthread_mutex_lock of /lib/libc.so.6"),
            ("ob=(2)\nfn=(3) write\n0 1\n", "write of /lib/libc.so.6"),
            ("ob=(1)\nfn=(3) __rust_alloc\n0 1\n", "__rust_alloc of /t/prog"),
            (
                "fi=(4) /r/parking_lot-0.12.3/src/raw_mutex.rs\n3 1\n",
                "code of /r/parking_lot-0.12.3/src/raw_mutex.rs",
            ),
        ] {
            let profile = Profile::parse(&format!("{PURE}{more}")).unwrap();
            assert_eq!(profile.impurities(&["prog"]), [found], "{more}");
        }
    }

    #[test]
    fn allocations_are_found_in_every_object() {
        for function in ["malloc", "__rust_alloc_zeroed"] {
            let profile = Profile::parse(&format!("{PURE}ob=(2)\nfn=(3) {function}\n0 1\n")).unwrap();
            assert_eq!(profile.allocations().len(), 1, "{function}");
        }
    }

    #[test]
    fn output_without_a_total_is_none() {
        assert!(Profile::parse("events: Ir\nfn=(1) f\n1 2\n").is_none());
    }

    #[test]
    fn callers_of_the_loop_do_not_count() {
        let caller = "ob=(3) /lib/ld.so\nfl=(5)\nfn=(9) pthread_create\ncfn=(1)\ncalls=1 0\n3 21\n";
        assert_eq!(Profile::parse(&format!("{PURE}{caller}")).unwrap().impurities(&["prog"]), [""; 0]);
    }
}
