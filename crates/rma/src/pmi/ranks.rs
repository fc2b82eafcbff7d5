//! Sets of ranks, and how they are written: `0-3,7`.

use super::LineError;
use std::fmt;

/// A set of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ranks(Vec<u32>);

impl Ranks {
    /// Reads what [`Ranks`] writes: ascending ranks below `size`.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn parse(text: &str, size: u32) -> Result<Self, LineError> {
        let refuse = || LineError::new(format!("{text:?} is no set of ranks below {size}"));
        let mut ranks: Vec<u32> = Vec::new();
        for part in text.split(',').filter(|_| text != "-") {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().map_err(|_| refuse());
            let (first, last) = (number(first)?, number(last)?);
            let is_next = ranks.last().is_none_or(|before| *before < first);
            if !is_next || last < first || last >= size {
                return Err(refuse());
            }
            ranks.extend(first..=last);
        }
        Ok(Self(ranks))
    }

    /// The ranks, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this one is among them.
    pub fn contains(&self, rank: u32) -> bool {
        self.0.binary_search(&rank).is_ok()
    }

    /// Adds one.
    pub fn add(&mut self, rank: u32) {
        if let Err(place) = self.0.binary_search(&rank) {
            self.0.insert(place, rank);
        }
    }

    /// The lowest.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// `rank 3`, or `ranks 0-3,7`.
    pub fn named(&self) -> String {
        format!("{} {self}", if self.len() == 1 { "rank" } else { "ranks" })
    }

    /// As it is written, if that is not longer than `most` bytes; otherwise a beginning of it, and `false`.
    pub fn within(&self, most: usize) -> (Self, bool) {
        if self.to_string().len() <= most {
            return (self.clone(), true);
        }
        // A rank takes six bytes with its comma at most.
        (Self(self.0.iter().copied().take(most / 6).collect()), false)
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Self {
        let mut ranks: Vec<u32> = ranks.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self(ranks)
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        let mut is_first = true;
        for run in runs {
            let before = if is_first { "" } else { "," };
            is_first = false;
            match run {
                [one] => write!(f, "{before}{one}")?,
                // Two are a list.
                [one, other] => write!(f, "{before}{one},{other}")?,
                [first, .., last] => write!(f, "{before}{first}-{last}")?,
                [] => {}
            }
        }
        if is_first { f.write_str("-") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_as_runs_and_read_again() {
        for (ranks, text) in [
            (&[][..], "-"),
            (&[3][..], "3"),
            (&[4, 3][..], "3,4"),
            (&[0, 1, 2, 3, 7][..], "0-3,7"),
            (&[9, 0, 1, 5, 6, 7, 8][..], "0,1,5-9"),
        ] {
            let set: Ranks = ranks.iter().copied().collect();
            assert_eq!(set.to_string(), text);
            assert_eq!(Ranks::parse(text, 10).unwrap(), set);
        }
        for hostile in
            ["", "x", "1-", "-1", "3-1", "2,1", "1,1", "0-10", "0-4294967295", "1,,2", "1-2-3", "99999999999"]
        {
            assert!(Ranks::parse(hostile, 10).is_err(), "{hostile}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_ranks() {
        let odd: Ranks = (0..40_000).filter(|rank| rank % 2 == 1).collect();
        let (cut, is_all) = odd.within(600);
        assert!(!is_all && cut.to_string().len() <= 600 && cut.len() == 100);
        let dense: Ranks = (0..65_536).collect();
        assert_eq!(dense.within(600), (dense.clone(), true));
    }
}
