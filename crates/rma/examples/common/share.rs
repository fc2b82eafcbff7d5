//! How work is divided: contiguous shares that differ by one at most.

use std::ops::Range;

/// The part of `0..count` that is share number `index` of `shares`. The first ones get one more where it does not come out
/// even; with more shares than work the last ones are empty.
///
/// # Panics
/// When there is no such share.
pub(crate) fn share(count: u64, shares: u32, index: u32) -> Range<u64> {
    assert!(index < shares, "share {index} of {shares}");
    let (each, more) = (count / u64::from(shares), count % u64::from(shares));
    let start = |index: u64| index * each + index.min(more);
    start(u64::from(index))..start(u64::from(index) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once_and_evenly() {
        for (count, shares) in [(0, 1), (0, 7), (1, 4), (7, 7), (16, 7), (100, 3), (u64::MAX, 1000)] {
            let mut end = 0;
            for index in 0..shares {
                let share = share(count, shares, index);
                assert_eq!(share.start, end);
                assert!(share.end - share.start >= count / u64::from(shares));
                assert!(share.end - share.start <= count.div_ceil(u64::from(shares)));
                end = share.end;
            }
            assert_eq!(end, count);
        }
    }
}
