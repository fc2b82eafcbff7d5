//! The numbers that must be the same in all processes, because others rely on what a process makes of its
//! own.
//!
//! They travel as one word with the first reduction of a window's creation: the least and the greatest of all
//! ranks. So one that differs is found before anything is built on it, and named.

use super::EngineConfig;

/// A variable, and the lowest of its bits in the word.
const FIELDS: [(&str, u32); 4] =
    [("RMA_FENCE_PACKETS", 0), ("RMA_WINDOWS", 11), ("RMA_LOCK_DIRECTORY", 27), ("RMA_ANNOUNCERS", 40)];
/// Behind the last field.
const END: u32 = 49;

impl EngineConfig {
    /// What must be the same in all processes.
    pub(crate) fn alike(&self) -> u64 {
        let values = [self.fence_packets, self.windows, self.lock_directory, self.announcers];
        FIELDS.iter().zip(values).fold(0, |word, ((_, at), value)| word | value << at)
    }
}

/// What to say of words that differ: this rank's, the least, and the greatest.
pub(crate) fn difference(ours: u64, least: u64, greatest: u64) -> Option<String> {
    let theirs = [least, greatest].into_iter().find(|word| *word != ours)?;
    let ends = FIELDS.iter().skip(1).map(|(_, at)| *at).chain([END]);
    let value = |word: u64, from: u32, to: u32| word >> from & ((1 << (to - from)) - 1);
    FIELDS.iter().zip(ends).find_map(|((name, from), to)| {
        let [here, there] = [ours, theirs].map(|word| value(word, *from, to));
        let says = || {
            format!("{name} is {here} on this rank and {there} on another one, but must be the same in all processes")
        };
        (here != there).then(says)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_that_differs_is_named_with_both_values() {
        let ours = EngineConfig::default();
        let [fences, windows, most] = [(1024, 2048), (2, 7), (2, 1 << 15)]
            .map(|(fence_packets, windows)| EngineConfig { fence_packets, windows, ..ours.clone() }.alike());
        let ours = ours.alike();
        assert_eq!(difference(ours, ours, ours), None);
        let says = |least, greatest| difference(ours, least, greatest).unwrap();
        assert!(
            says(fences, ours).starts_with("RMA_FENCE_PACKETS is 2 on this rank and 1024 on another one")
        );
        assert!(says(windows, ours).starts_with("RMA_WINDOWS is 2048 on this rank and 7 on another one"));
        for (other, name) in [
            (EngineConfig { lock_directory: 4096, ..EngineConfig::default() }, "RMA_LOCK_DIRECTORY is 16 "),
            (EngineConfig { announcers: 256, ..EngineConfig::default() }, "RMA_ANNOUNCERS is 8 "),
        ] {
            assert!(says(ours, other.alike()).starts_with(name));
        }
        assert!(says(ours, most).starts_with("RMA_WINDOWS is 2048 on this rank and 32768 on another one"));
    }
}
