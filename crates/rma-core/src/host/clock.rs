//! The clock of the machine, and the one of a thread's time on a processor: for hosts without others.

use std::mem::MaybeUninit;
use std::time::Duration;

/// The machine's time, which goes on evenly and is the same to all of its processes; as [`super::Host::now`].
pub fn machine_time() -> Duration {
    time_of(libc::CLOCK_MONOTONIC).expect("Linux has this clock")
}

/// How long the calling thread has had a processor; `None` when the system does not say. As [`super::Host::processor_time`].
pub fn processor_time() -> Option<Duration> {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// By the C library, whose way to the clock checkers of memory know.
fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer leads to room for one value, which is this function's.
    let outcome = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    if outcome != 0 {
        return None;
    }
    // SAFETY: the call has filled it, as its answer says.
    let time = unsafe { time.assume_init() };
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_while_the_thread_computes_and_stands_while_another_does() {
        const WORK: Duration = Duration::from_millis(20);
        let start = processor_time().unwrap();
        // It ends when the clock says so: a clock that stood would not let it.
        let computes = || {
            let began = processor_time().unwrap();
            while processor_time().unwrap() - began < WORK {}
        };
        std::thread::spawn(computes).join().unwrap();
        let waited = processor_time().unwrap() - start;
        assert!(waited < WORK / 2, "{waited:?} while another thread had {WORK:?}");
        computes();
        assert!(processor_time().unwrap() - start >= WORK);
    }
}
