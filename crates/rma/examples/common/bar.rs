//! A progress bar for people: drawn on a terminal, and on nothing else.
//!
//! A rank's standard error is a pipe to the launcher, which passes on whole lines; so when the launcher itself writes to a
//! terminal, it names that terminal in a variable, and the bar is drawn there.

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rma::config::DEMO_TERMINAL;
use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;

const REDRAWS_PER_S: u8 = 10;
const TEMPLATE: &str = "{bar:40} {percent:>3} %  {elapsed} elapsed, {eta} left";

/// A bar of `steps` on rank 0, which stands for all; hidden on the other ranks, and without a terminal to draw it on.
pub(crate) fn bar(rank: u32, steps: u64) -> ProgressBar {
    bar_on(target(rank, std::env::var_os(DEMO_TERMINAL)), steps)
}

fn bar_on(target: ProgressDrawTarget, steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    match ProgressStyle::with_template(TEMPLATE) {
        Ok(style) => bar.with_style(style),
        // The default style shows less, but the template is constant and tested.
        Err(_) => bar,
    }
}

fn target(rank: u32, named: Option<OsString>) -> ProgressDrawTarget {
    if rank != 0 {
        return ProgressDrawTarget::hidden();
    }
    if std::io::stderr().is_terminal() {
        return ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S);
    }
    let open = |path| {
        let terminal = File::options().read(true).write(true).open(path).ok().filter(File::is_terminal)?;
        Some(Term::read_write_pair(terminal.try_clone().ok()?, terminal))
    };
    match named.and_then(open) {
        Some(terminal) => ProgressDrawTarget::term(terminal, REDRAWS_PER_S),
        None => ProgressDrawTarget::hidden(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_terminal_gets_no_bar() {
        if !std::io::stderr().is_terminal() {
            for name in [None, Some("/dev/null".into()), Some("/no/such/file".into())] {
                assert!(target(0, name).is_hidden());
            }
            let bar = bar(0, 3);
            bar.inc(3);
            assert!(bar.is_hidden());
        }
    }

    #[test]
    fn only_rank_0_has_a_bar() {
        if std::io::stderr().is_terminal() {
            return;
        }
        let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
        rustix::pty::grantpt(&terminal).and_then(|()| rustix::pty::unlockpt(&terminal)).unwrap();
        let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let is_hidden = |rank| target(rank, Some(name.clone().into())).is_hidden();
        assert_eq!([0, 1, 7].map(is_hidden), [false, true, true]);
    }

    #[test]
    fn the_template_is_legal() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
        bar_on(ProgressDrawTarget::hidden(), 2).finish_and_clear();
    }
}
