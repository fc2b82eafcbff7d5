//! The variables as channels read them, and the one rule on those that name code.
//!
//! Invariant: a name of code to load comes from the environment, which names libraries to the system's loader as well, or from
//! a program that has answered for it in `unsafe` code. So no safe function loads what safe code names.

use std::fmt;

/// The variables that name code to load.
pub(crate) const LIBRARIES: [&str; 3] = ["RMA_CHANNEL_PLUGIN", "RMA_OFI_LIB", "RMA_PMIX_LIB"];

/// Answers the text of a variable that is set.
#[derive(Clone, Copy)]
pub struct LookUp<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    may_load: bool,
}

impl<'a> LookUp<'a> {
    /// With the values that `read` answers, but for those that name code to load, which are the environment's.
    pub fn new(read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { read, may_load: false }
    }

    /// The same, also for those that name code to load.
    ///
    /// # Safety
    /// As for `Builder::may_load`, whenever `read` is asked.
    pub(crate) unsafe fn that_may_load(read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { read, may_load: true }
    }

    /// The text of a variable.
    pub fn text(self, name: &str) -> Option<String> {
        if self.may_load || !LIBRARIES.contains(&name) { (self.read)(name) } else { of_environment(name) }
    }

    /// The same as a function.
    pub fn reader(self) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| self.text(name)
    }
}

/// What the environment says of a variable.
pub(crate) fn of_environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl fmt::Debug for LookUp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookUp").field("may_load", &self.may_load).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{LIBRARIES, LookUp};

    #[test]
    fn programs_name_code_only_where_they_answer_for_it() {
        let instead = |name: &str| Some(format!("{name} of the program"));
        for name in LIBRARIES {
            let named = instead(name);
            assert_ne!(LookUp::new(&instead).text(name), named);
            // SAFETY: nothing is loaded here.
            assert_eq!(unsafe { LookUp::that_may_load(&instead) }.text(name), named);
        }
        assert_eq!(LookUp::new(&instead).reader()("RMA_SLOTS"), instead("RMA_SLOTS"));
        // What is not answered is not set, whatever the environment has.
        assert!(std::env::var_os("PATH").is_some() && LookUp::new(&|_| None).text("PATH").is_none());
    }
}
